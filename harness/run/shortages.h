/* Hosts that share a device and met each other there: what one asked of it others had.  That is the
 * job's doing, which woke one side before the other slept, and breaks no promise of an allocator;
 * unless the other side sleeps and still has memory (rule not_released). */
#ifndef HARNESS_RUN_SHORTAGES_H
#define HARNESS_RUN_SHORTAGES_H

#include "harness/op/op.h"

struct call;
struct host;

enum { SHORTAGE_COUNT_MAX = 32 }; /* that are told of each run */

struct shortage {
    uint64_t asked_bytes, left_bytes; /* of the shared device, at the first call refused */
    uint64_t holder_bytes;            /* what the holder, who had most of all others, had of it */
    uint32_t op;
    uint32_t holder_since; /* the op that woke the holder, or put it to sleep; OP_NONE: it has slept
                              from the start */
    uint8_t host, holder;
    bool is_holder_awake;
};

struct shortages {
    struct shortage shortages[SHORTAGE_COUNT_MAX]; /* count of them, in their order */
    size_t count;
    uint64_t total;                    /* those that found no place, too */
    uint32_t since[OP_HOST_COUNT_MAX]; /* by host: its last sleep or wake that was OK; OP_NONE */
};

void shortages_init(struct shortages *shortages);
/* After each call of a member that is judged.  hosts: by index; members: bit per host that shares
 * the device, all of them open.  True: the device was short, and the call did not end OK. */
bool shortages_hear(struct shortages *shortages, const struct host *hosts, uint64_t members,
                    const struct host *host, const struct call *call);

#endif
