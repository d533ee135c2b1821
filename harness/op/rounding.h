/* Computes how large a block may be for a request: the published function of a contract's rounding,
 * and its text, as in the head of an .ops file.  docs/promise.md, "How large a block may be". */
#ifndef HARNESS_OP_ROUNDING_H
#define HARNESS_OP_ROUNDING_H

#include "harness/target.h"

enum { ROUNDING_TEXT_BYTES = 112, ROUNDING_REASON_BYTES = 192 };

/* No request may be larger, and no block is: beyond every device. */
#define ROUNDING_BYTES_MAX (UINT64_C(1) << 63)

/* Granules and nothing beyond them. */
bool rounding_is_plain(const struct target_rounding *rounding);
/* NULL, or what is wrong with it: an unknown kind, a number of steps or a size out of range. */
const char *rounding_flaw(const struct target_rounding *rounding);

/* The most bytes that the block of a request may have: the request rounded up to its class, plus
 * the overhead, rounded up to granules.  granule_bytes: a power of two up to 2^30.  Never above
 * ROUNDING_BYTES_MAX, except for ROUNDING_ANY: UINT64_MAX.  Pure. */
uint64_t rounding_bytes_max(const struct target_rounding *rounding, uint64_t granule_bytes,
                            uint64_t asked_bytes);
/* Returns the bytes that a request of 1..ROUNDING_BYTES_MAX bytes needs when its refusal is judged:
 * as many as its block may have.  The bytes asked if granules alone are promised, or nothing is. */
uint64_t rounding_bytes_needed(const struct target_rounding *rounding, uint64_t granule_bytes,
                               uint64_t asked_bytes);

/* "granule", "any", "classes=8 smallest=4K overhead=512": rounding_parse reads it back. */
void rounding_print(const struct target_rounding *rounding, char text[ROUNDING_TEXT_BYTES]);

/* The error in a text, and its place there. */
struct rounding_error {
    size_t at;
    char reason[ROUNDING_REASON_BYTES];
};
/* text: length bytes, words with blanks between them.  False: *error is set, *rounding is as it
 * was. */
bool rounding_parse(const char *text, size_t length, struct target_rounding *rounding,
                    struct rounding_error *error);

#endif
