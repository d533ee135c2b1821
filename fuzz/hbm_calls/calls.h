/* Plays any bytes as calls of libhbm's own interface: what lists of ops cannot say, because they
 * are the same for every allocator.  Options and requests that are refused, chips, shapes, compound
 * launches, reports as text, services that refuse at any call (host memory while it opens, too),
 * and an end with everything still allocated. */
#ifndef FUZZ_HBM_CALLS_CALLS_H
#define FUZZ_HBM_CALLS_CALLS_H

#include <stddef.h>
#include <stdint.h>

enum {
    HBM_CALLS_HEADER_BYTES = 8,
    HBM_CALLS_CALL_BYTES = 4,
    HBM_CALLS_MAX = 256 /* what is behind is not read */
};

/* NULL, or what does not hold (fuzz/hbm_calls/private/state.h), a text that stays.  *call is the
 * number of the last call that was made, from 0.  What a call means depends on what is live;
 * fuzz/hbm_calls/calls_play.c has every byte. */
const char *hbm_calls_play(const uint8_t *bytes, size_t length, size_t *call);

/* Any text, with a NUL behind it, is a shape, or libhbm reports an error inside the text.  NULL, or
 * what does not hold, a text that stays. */
const char *hbm_calls_check_shape_text(const char *text, size_t length);

#endif
