/* The parts of a simulated device that device_*.c share, the contents of its memory, and the
 * beginning and end of each of its calls. */
#ifndef HARNESS_DEVICE_PRIVATE_DEVICE_STATE_H
#define HARNESS_DEVICE_PRIVATE_DEVICE_STATE_H

#include "harness/base/array.h"
#include "harness/device/device.h"
#include "harness/device/host_memory.h"
#include "harness/device/span_map.h"
#include "harness/device/timeline.h"
#include "harness/op/setup.h"

#include <stdlib.h>

/* The contents of a simulated device's memory, owner by owner.  device.h says what a stamp, an
 * owner and settling are. */

/* The range on which an owner was last stamped; bytes 0 = nothing. */
struct contents_record {
    uint64_t address, bytes;
};
struct contents {
    /* by owner, record_capacity of them; what memory holds unless is_detailed */
    struct contents_record *records;
    size_t record_capacity;
    struct span_map map; /* range by range, while is_detailed */
    bool is_detailed;
    bool is_exact;        /* while is_detailed: the records say the same */
    size_t idle_count;    /* stamps since then */
    struct span *scratch; /* extents of the copy under way */
    size_t scratch_capacity;
};
void contents_init(struct contents *contents);
void contents_deinit(struct contents *contents);
size_t contents_footprint_bytes(const struct contents *contents);

/* The parts of the next two that not every op needs. */
void contents_grow(struct contents *contents, uint32_t owner);
void contents_put_range(struct contents *contents, uint64_t address, uint64_t bytes,
                        uint32_t owner);
void contents_erase_range(struct contents *contents, const struct contents_record *record,
                          uint32_t owner);

static inline void contents_stamp(struct contents *contents, uint64_t address, uint64_t bytes,
                                  uint32_t owner)
{
    if (owner >= contents->record_capacity) {
        contents_grow(contents, owner);
    }
    contents->records[owner] = (struct contents_record){address, bytes};
    if (contents->is_detailed) {
        contents_put_range(contents, address, bytes, owner);
    }
}
bool contents_hold(const struct contents *contents, uint64_t address, uint64_t bytes,
                   uint32_t owner);
static inline void contents_scrub(struct contents *contents, uint32_t owner)
{
    if (owner >= contents->record_capacity) {
        return;
    }
    const struct contents_record record = contents->records[owner];
    contents->records[owner].bytes = 0;
    if (contents->is_detailed && record.bytes > 0) {
        contents_erase_range(contents, &record, owner);
    }
}
void contents_settle(struct contents *contents);
/* Nothing but what the records say is in memory, once those are stamped anew whose bytes went
 * elsewhere.  It goes on range by range until as many were stamped as there are records. */
void contents_keep(struct contents *contents);
/* The first half of what the owner was last stamped with is gone, wherever its bytes are now. */
void contents_lose_half(struct contents *contents, uint32_t owner);

/* Nobody's bytes lie in [start, end). */
void contents_erase(struct contents *contents, uint64_t start, uint64_t end);
/* Copies as memmove does. */
void contents_copy(struct contents *contents, uint64_t from, uint64_t to, uint64_t bytes);
/* Extents of a range, counted from its start. */
struct contents_piece {
    struct span *spans; /* count of them; the caller frees */
    size_t count;
};
struct contents_piece contents_take(struct contents *contents, uint64_t from, uint64_t bytes);
/* Puts the bytes [offset, offset + bytes) of the piece down at `to`, over whatever was there. */
void contents_put(struct contents *contents, const struct contents_piece *piece, uint64_t offset,
                  uint64_t to, uint64_t bytes);

/* The faults of a simulated device that are armed, and the calls that they come to.
 * harness/op/fault.h says what each of them does. */

struct device_faults {
    struct device_fault armed[FAULT_KIND_COUNT]; /* call 0 = not armed */
    bool resumes;
    bool is_pinned;         /* nothing strikes, and no call is counted */
    uint32_t fired, struck; /* as device_faults_fired and device_faults_struck say */
    uint64_t busy_until_ns; /* until then no unload is granted */
    bool is_grant_due;      /* the unload after that is granted, whatever FAULT_UNLOAD_BUSY says */
};

void faults_arm(struct device_faults *faults, const struct device_fault *fault);
/* Counts one call for the fault.  Returns what is armed when it strikes this call, else NULL. */
const struct device_fault *faults_strike(struct device_faults *faults, enum fault_kind kind);
/* True if the fault was armed forever and has begun to strike.  Calls that continue a begun one are
 * not counted. */
bool faults_goes_on(struct device_faults *faults, enum fault_kind kind);
/* Counts one call of this kind, which fault_refuses(), for the faults that refuse it. */
bool faults_refuse(struct device_faults *faults, enum fault_kind call);
/* True during the times in which no unload is granted. */
bool faults_are_busy(struct device_faults *faults, uint64_t now_ns);
/* Counts one event_wait that was not refused.  Changes the event awaited and others as the faults
 * want it; true: the wait times out, and its time has passed. */
bool faults_disturb_wait(struct device_faults *faults, struct timeline *timeline, uint64_t event);

/* A block on its way through host memory: the extents it consisted of, from offset 0. */
struct stage {
    uint64_t id; /* 0 = free place */
    uint64_t bytes;
    struct contents_piece piece;
};

/* The copy or stage_in that stopped half-way. */
struct begun {
    bool is_open;
    struct device_call call;
    uint64_t done_bytes; /* from the end that goes first */
};

struct device {
    uint64_t capacity_bytes;
    struct timeline *timeline;
    struct setup_clock clock;
    struct device_services services;
    bool is_renamed; /* ids are others: see device_rename() */
    struct contents contents;
    struct span_map unmapped; /* without memory; the owner is no matter */
    struct device_pool *pool; /* whose memory it has; NULL = its own */
    bool is_pooled_by_regions;
    struct device_pool_refusal pool_refusal; /* of this op, the first one */
    struct stage *stages;
    size_t stage_count, stage_count_live;
    size_t stage_hint; /* where the last one was found: the next one is often behind it */
    uint64_t stage_id_last;
    struct device_call *calls;
    size_t call_count, call_capacity;
    uint64_t call_count_max;
    uint64_t total_count; /* calls of this op, those that are not logged included */
    uint64_t poll_count;  /* since the last call that can be refused */
    uint64_t look_count;  /* looks at the events and the clock in this op */
    uint64_t unseen_from; /* see device_seen_count(); UINT64_MAX: all */
    struct device_faults faults;
    struct begun begun;
    uint64_t *half_unloaded; /* programs, half_unloaded_count of them */
    size_t half_unloaded_count, half_unloaded_capacity;
    struct device_images images;
    uint64_t doubled_count;             /* completions that the target sees twice */
    const struct device_waiter *waiter; /* NULL = none */
    device_witness *witness;            /* NULL = none */
    void *witness_context;
    struct host_memory host_memory;
    bool hung, is_runaway;
    bool is_in_op;
    bool left_range;
    struct device_region *regions; /* region_count of them, ascending */
    size_t region_count, region_capacity;
    uint64_t region_changes;
    bool gave_wrongly;
    uint64_t wrong_address; /* that was given back first, while no region began there */
};

/* --- its stages --- */

/* id 0: a free place.  NULL: there is none. */
static inline struct stage *stage_find(struct device *device, uint64_t id)
{
    const size_t count = device->stage_count;
    size_t at = device->stage_hint;
    for (size_t i = 0; i < count; i++, at++) {
        at = at < count ? at : 0;
        if (device->stages[at].id == id) {
            device->stage_hint = at;
            return &device->stages[at];
        }
    }
    return NULL;
}

/* NULL: there is no such stage, or it has ended. */
static inline struct stage *stage_of(struct device *device, uint64_t id)
{
    return id == 0 ? NULL : stage_find(device, id);
}

static inline void stage_end(struct device *device, struct stage *stage)
{
    device->stage_count_live -= stage->id != 0;
    free(stage->piece.spans);
    *stage = (struct stage){0};
}

/* --- its calls --- */

/* Any call that can be refused begins here. */
static inline struct device_call begin_call(struct device *device, enum device_call_kind kind)
{
    if (device->witness != NULL && !device->faults.is_pinned) {
        device->witness(device->witness_context, kind);
    }
    /* Host memory is none of the device: who takes some need not look at the events again. */
    const bool may_jump = device->is_in_op && kind != DEVICE_CALL_HOST_ALLOC;
    const struct device_fault *jump = may_jump ? faults_strike(&device->faults, FAULT_CLOCK_JUMP)
                                               : NULL;
    if (jump != NULL) {
        timeline_advance(device->timeline, jump->delay_ns);
    }
    device->poll_count = 0;
    device->unseen_from = kind == DEVICE_CALL_HOST_ALLOC ? device->unseen_from : UINT64_MAX;
    return (struct device_call){.kind = kind, .completed_before = device_seen_count(device)};
}

/* And ends here, in the log of the op. */
static inline enum device_result end_call(struct device *device, struct device_call *call,
                                          enum device_result result)
{
    device->calls = array_grown(device->calls, device->call_count, &device->call_capacity,
                                sizeof *device->calls);
    call->result = result;
    device->calls[device->call_count++] = *call;
    return result;
}

/* Counts a call; true when it must be refused because the op made too many. */
static inline bool is_over_bound(struct device *device)
{
    if (++device->total_count > device->call_count_max) {
        device->hung = true;
    }
    return device->hung;
}

static inline bool is_in_range(struct device *device, uint64_t address, uint64_t bytes)
{
    if (bytes <= device->capacity_bytes && address <= device->capacity_bytes - bytes) {
        return true;
    }
    device->left_range = true;
    return false;
}

/* True if that holds and there is memory behind all of the range. */
static inline bool is_mapped(struct device *device, uint64_t address, uint64_t bytes)
{
    struct span hole;
    if (is_in_range(device, address, bytes) &&
        (device->unmapped.count == 0 ||
         !span_map_intersects(&device->unmapped, address, address + bytes, &hole))) {
        return true;
    }
    device->left_range = true;
    return false;
}

/* --- its services --- */

/* The services that give memory back and take it again. */
void device_unmap(void *context, uint64_t address, uint64_t bytes);
enum device_result device_map(void *context, uint64_t address, uint64_t bytes);

/* The services that take and give back regions. */
enum device_result device_region_take(void *context, uint64_t bytes, struct device_region *region);
void device_region_give(void *context, uint64_t address);

/* Returns all services, as the target gets them. */
struct device_services device_offered(struct device *device);

#endif
