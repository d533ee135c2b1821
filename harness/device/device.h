/* The simulated device of one host: what its memory holds, the faults that strike it, and a log of
 * every call that the allocator made into it.  Its events are those of a timeline
 * (harness/device/timeline.h). */
#ifndef HARNESS_DEVICE_DEVICE_H
#define HARNESS_DEVICE_DEVICE_H

#include "harness/op/op.h"
#include "harness/target.h"

#include <stdbool.h>
#include <stdint.h>

struct device;

struct host_memory;
struct timeline;

/* The kinds of call that the allocator makes during an op, kept in order. */
enum device_call_kind {
    DEVICE_CALL_COPY,
    DEVICE_CALL_STAGE_OUT,
    DEVICE_CALL_STAGE_IN, /* and stage_copy */
    DEVICE_CALL_WAIT,
    DEVICE_CALL_UNLOAD,
    DEVICE_CALL_HOST_ALLOC,
    DEVICE_CALL_MAP,
    DEVICE_CALL_REGION_TAKE,
    DEVICE_CALL_REGION_GIVE
};
struct device_call {
    enum device_call_kind kind;
    enum device_result result;
    uint64_t from; /* copy, stage_out, region_give; event of wait; program of unload; stage of
                      stage_in; bytes asked of region_take */
    uint64_t to;   /* copy, stage_in, map, region_take; stage of stage_out, 0 when it was refused */
    uint64_t bytes;            /* region_take: granted, 0 when it was refused */
    uint64_t completed_before; /* timeline_completed_count when the call began */
    uint32_t owner;            /* stage_in: whose bytes lead; UINT32_MAX = nobody's */
};
enum { DEVICE_CALL_KIND_COUNT = DEVICE_CALL_REGION_GIVE + 1 };
/* Returns the fault that refuses such calls: see fault_refuses().  No fault refuses to take a
 * region back. */
enum fault_kind device_call_refusal(enum device_call_kind kind);

/* Creates the device; capacity_bytes >= 1. */
struct device *device_create(uint64_t capacity_bytes, struct timeline *timeline);
/* Sets how the target reads the timeline's time; a new device has a clock that is right. */
struct setup_clock;
void device_set_clock(struct device *device, const struct setup_clock *clock);
void device_destroy(struct device *device);
const struct device_services *device_services(struct device *device);

/* Begins a new op: forgets the log.  call_count_max bounds the device calls of the op: beyond it
 * every call is refused and device_hung says so.  Calls that go on after DEVICE_PARTIAL are not
 * counted: they end by themselves. The calls that cannot be refused are bounded, too: after 2^26 of
 * completed_count, event_done and clock_ns with no other call in between the op is hung, and to let
 * the target come back every event is said to be done, the count grows with each call, and the
 * clock is at its end. */
void device_begin_op(struct device *device, uint64_t call_count_max);
/* Another call begins while that of an op is under way: its device calls go into the same log, and
 * come on top of the bound. */
void device_join_op(struct device *device, uint64_t call_count_max);
/* The op's call has returned: until the next op the clock does not jump (FAULT_CLOCK_JUMP,
 * FAULT_POLL_JUMP).  Returns device_was_quiet(). */
bool device_end_op(struct device *device);
/* Returns the calls since the op began; not NULL where there are none. */
const struct device_call *device_calls(const struct device *device, size_t *count);
static inline const struct device_call *device_calls_until(const struct device *device,
                                                           const struct device_call **end)
{
    size_t count = 0;
    const struct device_call *calls = device_calls(device, &count);
    *end = calls + count;
    return calls;
}
/* A loop over them: made is each of them; the log does not change meanwhile. */
#define EACH_DEVICE_CALL(device, made)                                                            \
    for (const struct device_call *made##_end, *made = device_calls_until((device), &made##_end); \
         made < made##_end; made++)
/* Returns how many completions the target must have seen.  It has to look again after each device
 * call, but what completed between its last looks (FAULT_POLL_JUMP) came too late.  The count holds
 * until the next op begins. */
uint64_t device_seen_count(const struct device *device);
bool device_hung(const struct device *device);
/* Calls since the op began, looks at the events and the clock among them. */
uint64_t device_call_total(const struct device *device);
/* Since the op began nothing was asked of the device, nothing struck and nothing is amiss, and all
 * of its memory is there. */
bool device_was_quiet(const struct device *device);
/* Bytes of host memory that the target holds now. */
uint64_t device_host_bytes(const struct device *device);
struct host_memory *device_host_memory(struct device *device);
/* After so many blocks, events and programs: it holds no more than it may, and wrote nowhere else.
 */
bool device_keeps_host_memory(struct device *device, uint64_t item_count);
/* A call of this op left the device's address range, or what of it is mapped. */
bool device_left_range(const struct device *device);
/* Bytes of the device with memory behind them: all of them but what the target gave back. */
uint64_t device_mapped_bytes(const struct device *device);
/* Stages that were not ended. */
size_t device_stage_count(const struct device *device);
/* The regions that the target holds now, ascending and disjoint; valid until the next call. */
const struct device_region *device_regions(const struct device *device, size_t *count);
/* Grows with each region that is taken or given back. */
uint64_t device_region_changes(const struct device *device);
/* True if the target ever gave back something that was no region; *address is where. */
bool device_gave_wrongly(const struct device *device, uint64_t *address);

/* The fault strikes the call-th call of its kind from now (1 = the next; 0: it is disarmed), once
 * or for ever.  Of calls that are refused only the refusing kinds take notice
 * (fault_refuses(), FAULT_ANY); FAULT_CLOCK_JUMP counts every call but host_alloc,
 * and FAULT_POLL_JUMP completed_count and event_done, unless there is a device_waiter.
 * FAULT_UNLOAD_BUSY for ever: the next unload after each busy time is granted.  FAULT_COPY_HALF for
 * ever: the same call halves what is left, until that is at most 64 KiB. */
struct device_fault {
    enum fault_kind kind;
    uint64_t call;
    uint64_t delay_ns; /* where its kind has one */
    bool is_for_ever;
};
void device_arm(struct device *device, const struct device_fault *fault);
/* Disarms every fault and ends busy times.  Calls that stopped half-way still go on. */
void device_disarm_all(struct device *device);
/* While it is pinned no event of it completes, no fault strikes, no call is counted for one or told
 * to the witness, and a wait for an event that is pending is refused.  False at first. */
void device_pin(struct device *device, bool is_pinned);
/* From here on the target hears other ids of blocks and programs, in the same order.  Before the
 * first of them is named. */
void device_rename(struct device *device);
/* Returns the id that the target hears for what op `number` makes: never 0. */
uint64_t device_id(const struct device *device, uint32_t number);
/* Sets whether the target calls again after DEVICE_PARTIAL; false at first. */
void device_set_resumes(struct device *device, bool resumes);
/* The witness is told of each call that can be refused, before it is answered, unless the device is
 * pinned.  NULL, as at first: nobody is told. */
typedef void device_witness(void *context, enum device_call_kind call);
void device_set_witness(struct device *device, device_witness *witness, void *context);
/* Decides how a wait for an event that is coming passes the time, and hears of each look at the
 * events or the clock.  NULL, as at first: virtual time goes on until the event is done, and nobody
 * hears of looks. */
struct device_waiter {
    void *context;
    void (*wait)(void *context, uint64_t event); /* returns when the event is done, or lost */
    void (*looked)(void *context);
    void (*gave_back)(void *context, const void *memory, size_t bytes); /* host memory */
};
void device_set_waiter(struct device *device, const struct device_waiter *waiter);
/* Returns which calls a fault refused during this op: bit per kind that fault_refuses().
 * FAULT_REGION is among them if a region was granted short. */
uint32_t device_faults_fired(const struct device *device);
/* Returns which faults struck during this op: bit per fault_kind.  A fault strikes when it comes to
 * its call, even if there is nothing to spoil: a wait for an event that is done already cannot lose
 * it. */
uint32_t device_faults_struck(const struct device *device);
/* True if a fault fired or struck. */
static inline bool device_had_fault(const struct device *device)
{
    return device_faults_fired(device) != 0 || device_faults_struck(device) != 0;
}
/* Tells which owner a program's image is, for FAULT_UNLOAD_HALF: false = it has none. */
struct device_images {
    bool (*owner_of)(const void *context, uint64_t program, uint32_t *owner);
    const void *context; /* must outlive the device's calls */
};
void device_set_images(struct device *device, const struct device_images *images);

/* Contents.  A block is stamped with its owner, a small number that the harness chooses; every byte
 * of it then knows which owner and which offset within the owner it holds.  While nothing moves,
 * one record an owner says it all; the first copy (or half unload) writes the contents down range
 * by range, and device_settle ends that. Ranges stamped while nothing moves must be disjoint: the
 * model sees to that before it lets a block be. */
void device_stamp(struct device *device, uint64_t address, uint64_t bytes, uint32_t owner);
/* True if [address, address + bytes) holds exactly owner's bytes from offset 0. */
bool device_holds(const struct device *device, uint64_t address, uint64_t bytes, uint32_t owner);
/* True if a stage that was not ended holds exactly owner's bytes [0, bytes). */
bool device_has_staged(const struct device *device, uint32_t owner, uint64_t bytes);
/* True if the stage has not ended; *owner is whose bytes lead it then, UINT32_MAX = nobody's. */
bool device_has_stage(const struct device *device, uint64_t stage, uint32_t *owner);
/* The stage, if it has not ended, holds owner's bytes [0, bytes): they were taken out before the
 * owner was known. */
void device_stamp_stage(struct device *device, uint64_t stage, uint64_t bytes, uint32_t owner);
/* Forgets what owner left, stages included: memory that is free holds nothing. */
void device_scrub(struct device *device, uint32_t owner);
/* After moves were checked: forgets every content.  The caller stamps what lives. */
void device_settle(struct device *device);
/* Settles in the same way after moves were checked, without a look at what the op left alone.  It
 * forgets the contents where the op's device calls read or wrote.  The caller stamps the blocks
 * that live there; all others keep their stamps.  O(calls log blocks). */
void device_settle_moved(struct device *device);

/* The memory of one real device that several simulated ones share, as those of two processes do:
 * each has addresses of its own, and what all of them have together is bounded.  A device has what
 * is mapped, or, of a target that grows, its regions.  A map beyond the bound is refused as a fault
 * would refuse it, a region as where no free range is large enough. */

struct device;

struct device_pool {
    uint64_t size_bytes;
    uint64_t used_bytes; /* that its members have; what they had when they joined may be more than
                            there is */
};

/* Returns the bytes that the pool's members may still have. */
static inline uint64_t device_pool_left_bytes(const struct device_pool *pool)
{
    return pool->used_bytes < pool->size_bytes ? pool->size_bytes - pool->used_bytes : 0;
}

/* From here on what the device has is of the pool, which outlives that.  It is in none. by_regions:
 * its regions count, not what is mapped. */
void device_join_pool(struct device *device, struct device_pool *pool, bool by_regions);
/* Gives all that its ended process had back to its pool.  Does nothing without a pool. */
void device_leave_pool(struct device *device);
/* Notes that its pool has no room for the region of so many bytes that the op's request needs.
 * That counts as a refused region, whether the target asked for one or not. */
void device_pool_refuse_region(struct device *device, uint64_t bytes);
/* NULL: it has memory of its own. */
const struct device_pool *device_pool_of(const struct device *device);
/* Returns the bytes that the device has of its pool; 0 without a pool. */
uint64_t device_pool_bytes(const struct device *device);
/* The first call that the pool refused in the op: the bytes that it asked for, and the bytes that
 * were left then.  Bytes 0: it refused none. */
struct device_pool_refusal {
    uint64_t asked_bytes, left_bytes;
};
struct device_pool_refusal device_pool_refusal(const struct device *device);

#endif
