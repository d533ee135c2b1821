/* The state of a play of calls: the allocator that bytes have opened, the device below it, and what
 * is live in it. */
#ifndef FUZZ_HBM_CALLS_PRIVATE_STATE_H
#define FUZZ_HBM_CALLS_PRIVATE_STATE_H

#include "allocator/hbm.h"
#include "allocator/hbm_shape.h"

/* --- device.c --- */

/* The device below libhbm when its own interface is played: it has events, time, host memory that
 * is counted, and calls that refuse or do their work in parts, but no contents. */
enum { CALLS_EVENTS_MAX = 1024 };

/* The services that can refuse, or do their work in parts. */
enum calls_service {
    CALLS_COPY = 0,
    CALLS_STAGE_OUT,
    CALLS_STAGE_IN,
    CALLS_WAIT,
    CALLS_UNLOAD,
    CALLS_HOST_MEMORY,
    CALLS_SERVICE_COUNT
};

/* After `after` more calls the next `count` go wrong: they refuse, or (copy, stage in, unload) are
 * done in part. */
struct calls_fault {
    uint32_t after, count;
    bool is_partial;
};

/* Invariant: host_bytes is what host_alloc gave and host_free did not get back. */
struct calls_device {
    struct calls_fault faults[CALLS_SERVICE_COUNT];
    bool is_done[CALLS_EVENTS_MAX], is_lost[CALLS_EVENTS_MAX];
    uint64_t completed_count;
    uint64_t clock_ns;
    uint64_t stage_count; /* of which the last one has this token */
    size_t host_bytes;
    uint64_t refusal_count;
};

/* Zero is a valid start. */
struct hbm_services calls_device_services(struct calls_device *device);

/* Event numbers are below CALLS_EVENTS_MAX. */
void calls_device_complete(struct calls_device *device, uint64_t event);
/* No wait will complete it; calls_device_complete still does. */
void calls_device_lose(struct calls_device *device, uint64_t event);
/* Every service works again, and every event is done. */
void calls_device_calm(struct calls_device *device);

/* --- state.c --- */

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

/* --- check.c: what must hold of libhbm whatever is called ---
 *
 * Counters, reports, errors and shapes agree in all the ways that there are to ask.  Each function
 * returns NULL, or what does not hold as a text that stays. */

/* Checks one heap, at any time: its own invariants, its counters' sum, and that it holds
 * *host_bytes of host memory, which asking may change: what completed is taken in. */
const char *calls_check_heap(struct hbm *hbm, const size_t *host_bytes);

/* After a call with this result: the last failure is of a form that the result can have, and has a
 * text. */
const char *calls_check_failure(const struct hbm *hbm, enum hbm_result result);

/* The visited report and the printed one: sorted, in sum what the counters say, each line
 * printable.  Sets *result to that of the visit; a refused one has visited nothing. */
const char *calls_check_report(struct hbm *hbm, enum hbm_result *result);

/* A valid shape prints as what is read as the same shape, and padding never makes it smaller. */
const char *calls_check_shape(const struct hbm_shape *shape);

#endif
