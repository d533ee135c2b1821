/* The state of a play of calls: the allocator that bytes have opened, the device below it, and what
 * is live in it. */
#ifndef FUZZ_HBM_CALLS_PRIVATE_STATE_H
#define FUZZ_HBM_CALLS_PRIVATE_STATE_H

#include "allocator/hbm.h"
#include "allocator/hbm_shape.h"
#include "fuzz/hbm_calls/private/device.h"

enum { CALLS_BUFFERS_MAX = 640, CALLS_PROGRAMS_MAX = 16 };

struct calls_buffer {
    struct hbm_buffer *handle;
    uint32_t hold_count;
    bool is_freed; /* and the holds are all that is left to give back */
};

/* Zero is a valid start. */
struct calls_play {
    struct calls_device device;
    struct hbm_options options;
    struct hbm *hbm;
    struct calls_buffer buffers[CALLS_BUFFERS_MAX];
    size_t buffer_count;
    struct hbm_program *programs[CALLS_PROGRAMS_MAX];
    size_t program_count;
    uint64_t event_count; /* the newest event, from 1 */
    uint64_t retired_count;
    uint64_t line_count; /* of reports on an out-of-memory */
    const char *broken;  /* the first thing that did not hold, as a text that stays; NULL: none */
};

void calls_expect(struct calls_play *play, bool holds, const char *what);

/* Opens libhbm as HBM_CALLS_HEADER_BYTES say.  False: it did not open; play->broken says whether it
 * should have. */
bool calls_open(struct calls_play *play, const uint8_t *header);

/* A shape of that type and rank, of 65536 of each. */
void calls_make_shape(unsigned which, unsigned number, struct hbm_shape *shape);

/* c: not whole granules (bit 0), align as a power of two of granules (1-2), output (3), shape (4-6:
 * none, or a type and rank), name of the tag (7).  *shape must stay as long as the request. */
struct hbm_request calls_make_request(const struct calls_play *play, uint64_t granules, uint8_t b,
                                      uint8_t c, struct hbm_shape *shape);

/* A new event, as long as there are any. */
uint64_t calls_next_event(struct calls_play *play);

/* There is room for one more. */
void calls_add_buffer(struct calls_play *play, struct hbm_buffer *handle);
/* The number of a buffer that is not freed, or buffer_count. */
size_t calls_pick_live(const struct calls_play *play, unsigned number);
/* Buffer i was freed: it stays until its holds are given back, too. */
void calls_freed(struct calls_play *play, size_t i);
/* Another one takes its number. */
void calls_drop_buffer(struct calls_play *play, size_t i);

#endif
