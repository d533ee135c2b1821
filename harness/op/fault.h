/* The faults of the device: each is a way in which one kind of device call does not do what it
 * should.  An OP_FAULT arms one; it strikes the n-th call of its kind from then on, once or
 * forever. */
#ifndef HARNESS_OP_FAULT_H
#define HARNESS_OP_FAULT_H

#include <stdbool.h>
#include <stdint.h>

/* Order is part of the byte format of fuzz inputs: append only.  The first four and FAULT_REGION
 * refuse; they also name the kinds of device call that can be refused (device_faults_fired). */
enum fault_kind {
    FAULT_COPY = 0,    /* copy, map, stage_out, stage_in or stage_copy is refused */
    FAULT_WAIT,        /* event_wait is refused */
    FAULT_UNLOAD,      /* unload is refused */
    FAULT_HOST_MEMORY, /* host_alloc is refused */
    FAULT_COPY_HALF, /* copy: the first half arrives, DEVICE_PARTIAL; the same call again goes on */
    FAULT_COPY_LATE, /* copy and stages: done, but delay_ns later; events complete meanwhile */
    FAULT_WAIT_TIMEOUT, /* event_wait: delay_ns pass at most, then it is refused unless the event is
                           done */
    FAULT_EVENT_LOST,   /* event_wait: the event awaited is lost, and stays so */
    FAULT_EVENT_LATE,   /* event_wait: the event awaited is due delay_ns later than it was */
    FAULT_EVENT_EARLY,  /* event_wait: the event awaited is done at once, before it was due */
    FAULT_EVENT_DOUBLED, /* event_wait: its completion is counted twice (completed_count) */
    FAULT_EVENT_ORDER,   /* event_wait: the pending event that is due last completes before the one
                            awaited */
    FAULT_EVENT_OTHERS, /* event_wait: every other pending event that is not lost completes first */
    FAULT_UNLOAD_BUSY,  /* unload: refused, and for delay_ns from then each one; then granted */
    FAULT_UNLOAD_HALF,  /* unload: half of the image is gone, DEVICE_PARTIAL; the same call again
                           ends it */
    FAULT_CLOCK_JUMP,   /* any call that can fail: before it the clock jumps ahead by delay_ns */
    FAULT_ANY,          /* whichever call that can be refused: it is */
    FAULT_POLL_JUMP,    /* event_done or completed_count, of one client: before it the clock jumps
                           ahead by delay_ns */
    FAULT_REGION,       /* region_take is refused */
    FAULT_REGION_SHORT, /* region_take: the region has half of the bytes */
    FAULT_KIND_COUNT
};
enum {
    FAULT_CALL_COUNT = 4
}; /* kinds of call that every target makes and that can be refused: FAULT_COPY..FAULT_HOST_MEMORY
    */

struct fault_info {
    const char *name;    /* as in .ops text: "copy_half" */
    const char *summary; /* one sentence without its full stop */
    bool has_delay;      /* it takes delay_ns */
    bool needs_resuming; /* strikes only targets whose contract resumes: others never see
                            DEVICE_PARTIAL */
};
const struct fault_info *fault_info(enum fault_kind kind);
/* True if the fault refuses calls of one kind: the kinds of device_faults_fired. */
static inline bool fault_refuses(enum fault_kind kind)
{
    return (unsigned)kind < FAULT_CALL_COUNT || kind == FAULT_REGION;
}
/* True if it strikes nothing but region_take, which only targets that grow call. */
static inline bool fault_is_of_regions(enum fault_kind kind)
{
    return kind == FAULT_REGION || kind == FAULT_REGION_SHORT;
}

#endif
