/* The simulated device of one host: what its memory holds, its events in virtual time, and a log
 * of every call that the allocator made into it. */
#ifndef HARNESS_DEVICE_H
#define HARNESS_DEVICE_H

#include "harness/op.h"
#include "harness/target.h"

struct device;

/* Virtual time and events of a whole run, shared by its devices. */
struct timeline;
struct timeline *timeline_create(void);
void timeline_destroy(struct timeline *timeline);
uint64_t timeline_now_ns(const struct timeline *timeline);

/* Events.  An event is named by the op that made it: id = op number + 1, never 0. */
enum event_state { EVENT_UNKNOWN = 0, EVENT_PENDING, EVENT_DONE };
/* Makes an event that completes delay_ns from now (DELAY_NEVER: lost). */
void timeline_add(struct timeline *timeline, uint64_t event, uint64_t delay_ns);
/* A pending event that was added as lost now gets its due time, delay_ns from now. */
void timeline_start(struct timeline *timeline, uint64_t event, uint64_t delay_ns);
/* The same for an event of a collective: see OP_COLLECTIVE. */
void timeline_start_collective(struct timeline *timeline, uint64_t event, uint16_t group, uint32_t host,
                               uint32_t host_count, uint64_t delay_ns);
enum event_state timeline_state(const struct timeline *timeline, uint64_t event);
/* When it completes if nothing else happens; DELAY_NEVER when lost.  Only for pending events. */
uint64_t timeline_due_ns(const struct timeline *timeline, uint64_t event);
/* Completes it now.  No effect when it is not pending. */
void timeline_complete(struct timeline *timeline, uint64_t event);
/* Lets time pass; events complete in the order of their due times, then of their ids. */
void timeline_advance(struct timeline *timeline, uint64_t delay_ns);
/* Pending events, for choosing one: index < timeline_pending_count; order is deterministic. */
size_t timeline_pending_count(const struct timeline *timeline);
uint64_t timeline_pending_at(const struct timeline *timeline, size_t index);
/* Events that completed, in order, ever: [0, completed_count). */
uint64_t timeline_completed_count(const struct timeline *timeline);
uint64_t timeline_completed_at(const struct timeline *timeline, uint64_t index);

/* What one op made the allocator do, in order. */
enum device_call_kind { DEVICE_CALL_COPY, DEVICE_CALL_STAGE_OUT, DEVICE_CALL_STAGE_IN, DEVICE_CALL_WAIT,
                        DEVICE_CALL_UNLOAD, DEVICE_CALL_HOST_ALLOC };
struct device_call {
    enum device_call_kind kind;
    enum device_result result;
    uint64_t from;   /* copy, stage_out; event of wait; program of unload; stage of stage_in */
    uint64_t to;     /* copy, stage_in */
    uint64_t bytes;
    uint64_t completed_before; /* timeline_completed_count when the call began */
};

/* Creates the device; capacity_bytes >= 1. */
struct device *device_create(uint64_t capacity_bytes, struct timeline *timeline);
void device_destroy(struct device *device);
const struct device_services *device_services(struct device *device);

/* Begins a new op: forgets the log.  call_count_max bounds the device calls of the op: beyond it every call is
 * refused and device_hung says so. */
void device_begin_op(struct device *device, uint64_t call_count_max);
const struct device_call *device_calls(const struct device *device, size_t *count);
bool device_hung(const struct device *device);
/* Bytes of host memory that the target holds now. */
uint64_t device_host_bytes(const struct device *device);
/* A copy or stage of this op left the device's address range. */
bool device_left_range(const struct device *device);

/* The call-th call from now of this kind is refused once. */
void device_arm(struct device *device, enum fault_kind fault, uint64_t call);
/* Which faults fired during this op: bit per fault_kind. */
uint32_t device_faults_fired(const struct device *device);

/* Contents.  A block is stamped with its owner, a small number that the harness chooses; every byte of it then
 * knows which owner and which offset within the owner it holds.  While nothing moves, one record an owner
 * says it all; the first copy of an op writes the contents down range by range, and device_settle ends that.
 * Ranges stamped while nothing moves must be disjoint: the model sees to that before it lets a block be. */
void device_stamp(struct device *device, uint64_t address, uint64_t bytes, uint32_t owner);
/* Whether [address, address + bytes) holds exactly owner's bytes from offset 0. */
bool device_holds(const struct device *device, uint64_t address, uint64_t bytes, uint32_t owner);
/* Forgets what owner left: memory that is free holds nothing. */
void device_scrub(struct device *device, uint32_t owner);
/* After moves were checked: forgets every content.  The caller stamps what lives. */
void device_settle(struct device *device);
/* Host memory of the simulation itself, for the bound "in proportion to the blocks". */
uint64_t device_footprint_bytes(const struct device *device);

#endif
