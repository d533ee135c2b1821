/* The promises so far on one host: which blocks live where, who holds them, what the counters must
 * be.  It is built from ops and observations alone and never calls a target. */
#ifndef HARNESS_MODEL_MODEL_H
#define HARNESS_MODEL_MODEL_H

#include "harness/device/device.h"
#include "harness/op/op.h"
#include "harness/target.h"

struct fit; /* harness/op/fit.h */
struct span_map;

#define SLOT_NONE UINT32_MAX /* no slot */

/* The counters that the target must have.  The peak of bytes in use has bounds: inside a call the
 * order of completions and placement is not seen. */
struct model_counters {
    uint64_t capacity_bytes;
    uint64_t block_count, in_use_bytes, largest_block_bytes;
    uint64_t peak_low_bytes, peak_high_bytes;
    uint64_t reserved_bytes, peak_reserved_bytes;
};
/* Every model begins with them: they are read at each op, where a call would cost more than what it
 * returns. */
struct model;
static inline const struct model_counters *model_counters(const struct model *model)
{
    return (const struct model_counters *)(const void *)model;
}
static inline uint64_t model_capacity_bytes(const struct model *model)
{
    return model_counters(model)->capacity_bytes;
}
static inline uint64_t model_in_use_bytes(const struct model *model) /* live, dying, images */
{
    return model_counters(model)->in_use_bytes;
}
static inline uint64_t model_reserved_bytes(const struct model *model)
{
    return model_counters(model)->reserved_bytes;
}
static inline uint64_t model_free_bytes(const struct model *model) /* the rest */
{
    const struct model_counters *is = model_counters(model);
    return is->capacity_bytes - is->in_use_bytes - is->reserved_bytes;
}

enum block_state {
    BLOCK_LIVE = 0,
    BLOCK_DYING, /* freed; keeps its place until its events are done and its holds released */
    BLOCK_GONE   /* also a program that is evicted: it has no image now */
};

/* One block, or one program with its image.  An open value to read; only the model writes. */
struct block {
    uint64_t address;    /* bytes; meaningless when GONE or absent */
    uint64_t size_bytes; /* what it takes; a multiple of the granule */
    uint64_t handle;     /* the target's */
    uint64_t requested_bytes;
    uint64_t promised_bytes; /* the most that it may take by the contract; UINT64_MAX = anything */
    uint64_t align_bytes;    /* at least the granule */
    uint64_t stack_bytes;    /* programs: as asked, rounded up to granules */
    uint64_t stack_requested_bytes;
    uint32_t op;         /* the op that made it */
    uint32_t end_op;     /* kept memory: the op in which the block ended */
    uint32_t recording;  /* OP_RECORD of the recording to which it belongs; OP_NONE */
    uint32_t hold_count; /* external references */
    uint32_t use_count;  /* unfinished uses; programs: unfinished executions */
    uint32_t wait_count; /* unfinished events that a dying block waits for, uses not counted */
    uint32_t away_count; /* of these and of the uses: on other streams than its own */
    uint32_t live_index; /* place in its host's live list; UINT32_MAX = not in it */
    uint32_t next_of_op; /* the model's own, as is */
    uint32_t place;      /* its range in the map */
    uint8_t state;       /* enum block_state */
    uint8_t kind;        /* enum block_kind */
    uint8_t tag;
    uint8_t stream; /* of its request; contract.stream_ordered */
    bool is_known;  /* the client has a handle: not freed, not unloaded, not donated */
    bool is_absent; /* LIVE or DYING, but its contents are in host memory: it takes no range now */
};
static inline bool block_is_movable(const struct block *block)
{
    return block->state == BLOCK_LIVE && !block->is_absent && block->hold_count == 0 &&
           block->use_count == 0;
}

/* --- for scenarios and generators: choose the next op from what is there --- */

/* Blocks (buffers and outputs) that the client may still name: index < count.  The order depends
 * on the ops alone.  O(1). */
size_t model_live_count(const struct model *model);
const struct block *model_live(const struct model *model, size_t index);
/* Programs that were loaded and not unloaded, evicted ones included. */
size_t model_program_count(const struct model *model);
const struct block *model_program(const struct model *model, size_t index);
/* The block or program that op made; NULL when there is none or it is gone for the client. */
const struct block *model_find(const struct model *model, uint32_t op);
/* Dying blocks, index < count. */
size_t model_dying_count(const struct model *model);
/* Pending events of the whole run. */
size_t model_event_count(const struct model *model);
uint32_t model_event_op(const struct model *model, size_t index);

/* The regions that the target holds now, ascending and disjoint; none where its contract does not
 * grow. */
const struct device_region *model_regions(const struct model *model, size_t *count);
/* The one that holds all of [address, address + size_bytes), size_bytes >= 1; NULL: none does. */
const struct device_region *model_region_of(const struct model *model, uint64_t address,
                                            uint64_t size_bytes);

uint64_t model_granule_bytes(const struct model *model);
/* If the contract grows, these count within the regions held, and no hole spans two. */
uint64_t model_largest_hole_bytes(const struct model *model); /* O(blocks), kept until a change */
uint64_t model_hole_count(const struct model *model);         /* the same */
uint64_t model_now_ns(const struct model *model);
const struct target_contract *model_contract(const struct model *model);
bool model_is_asleep(const struct model *model);
/* Nothing is in use: no block is dying or in host memory, none has an unfinished use, and no
 * program executes.  O(blocks). */
bool model_is_idle(const struct model *model);

/* Return how the last op of this host ended: scenarios may react to it. */
enum target_result model_last_result(const struct model *model);
bool model_last_skipped(const struct model *model);
uint32_t model_last_op(const struct model *model); /* its number; OP_NONE before the first */

/* --- for judges, reports and searches: all of it --- */

/* Slots name blocks and programs until they are GONE and the client cannot name them. */
uint32_t model_slot_of_op(const struct model *model,
                          uint32_t op); /* SLOT_NONE when there is none */
const struct block *model_block(const struct model *model, uint32_t slot);
/* The ranges of all blocks that take room now, so of none that is absent; a span's owner is the
 * slot. */
const struct span_map *model_map(const struct model *model);
/* Dying blocks: index < model_dying_count. */
const struct block *model_dying(const struct model *model, size_t index);
/* For each slot the latest due time of its unfinished events: wait_due_ns[slot] over all of them,
 * use_due_ns[slot] over uses and executions alone; 0 = none, DELAY_NEVER = one is lost, 1 = done,
 * but not taken in yet.  Both arrays have model_slot_count places.  O(slots + pending events). */
size_t model_slot_count(const struct model *model);
void model_due_times(const struct model *model, uint64_t *wait_due_ns, uint64_t *use_due_ns);
/* Busy programs, unloaded ones included.  They are what keeps the stack reserved. */
size_t model_busy_count(const struct model *model);
/* Kept memory: blocks that are GONE, and of which something on their stream is not done
 * (contract.stream_ordered), or whose recording was not dropped (contract.records).  Requests of
 * that stream and recording may have it: it may lie under other blocks.  index < model_kept_count.
 */
size_t model_kept_count(const struct model *model);
const struct block *model_kept(const struct model *model, size_t index);
uint32_t model_kept_slot(const struct model *model, size_t index);
/* Why a request of that stream, as the op under way, may not have the memory that this one of them
 * left. */
enum kept_for { KEPT_FOR_NONE = 0, KEPT_FOR_STREAM, KEPT_FOR_RECORDING };
enum kept_for model_kept_for(const struct model *model, const struct block *kept, uint32_t stream);
/* At least so much of the memory that is kept for other streams than that one was not given out
 * again, wherever it lies: what was kept first, less what its stream has asked for since.  O(blocks
 * of the host * streams). */
uint64_t model_kept_elsewhere_bytes(const struct model *model, uint32_t stream);
/* Recordings, by their OP_RECORD: the one that is open (OP_NONE: none is), and those that ended and
 * were not dropped, index < model_recording_count. */
uint32_t model_open_recording(const struct model *model);
size_t model_recording_count(const struct model *model);
uint32_t model_recording(const struct model *model, size_t index);
bool model_has_recording(const struct model *model, uint32_t op);
/* No block is absent or kept, and the target is awake. */
bool model_is_plain(const struct model *model);
/* Absent blocks: index < model_absent_count.  A return takes its block out and changes the order of
 * the others. */
size_t model_absent_count(const struct model *model);
uint32_t model_absent_slot(const struct model *model, size_t index);

/* Blocks that were retired: they are among block_count and in_use_bytes, but have no tag. */
uint64_t model_retired_count(const struct model *model);
uint64_t model_retired_bytes(const struct model *model);
/* Returns the bytes in use without that tag's blocks and retired ones; OP_TAG_COUNT: no tag. */
uint64_t model_in_use_without(const struct model *model, unsigned tag);
const uint64_t *model_tag_bytes(const struct model *model); /* OP_TAG_COUNT of them */
uint64_t model_tag_count(const struct model *model, uint8_t tag);

/* --- places that a request could be given --- */

/* A window of size_bytes (>= 1) that begins where a block ends or the stack does, aligned up, and
 * in which nothing lies that may not be moved: what is there in part or whole has fewer than
 * taken_bytes (>= 1) together. */
struct model_window_query {
    uint64_t size_bytes, align_bytes, taken_bytes;
    size_t count_max; /* the least ones that are wanted, >= 1 */
};
struct model_window {
    uint64_t start, taken_bytes;
};
/* Sets *windows to the count_max of them with the fewest bytes, the lowest first among equals, or
 * to all if there are fewer.  Dying blocks count as what may not be moved.  False: it gave up,
 * since to go on would be to look at a good part of all blocks, and *windows means nothing.  The
 * model keeps what it learns.  O(log blocks + blocks that came and went since), and more for each
 * place where size_bytes - taken_bytes are free in 2.5 times size_bytes. */
bool model_find_windows(const struct model *model, const struct model_window_query *query,
                        struct model_window *windows, size_t *count);
/* Sets where the holes of size_bytes (>= 1) or more begin, the same way; count_max of them. */
bool model_find_holes(const struct model *model, uint64_t size_bytes, size_t count_max,
                      struct model_window *holes, size_t *count);
/* The largest block of which a part lies in the window, and what is above the window up to the next
 * block that is not in it. */
uint64_t model_largest_inside(const struct model *model, uint64_t start, uint64_t size_bytes,
                              uint64_t *free_above_bytes);
/* False: wherever neighbouring blocks that may be moved have fewer than taken_bytes (>= 1)
 * together, the holes between and next to them have fewer than size_bytes (>= 1).  True: they have
 * as much somewhere, or the same as above. */
bool model_may_slide(const struct model *model, uint64_t size_bytes, uint64_t taken_bytes);

/* No more than so many blocks may not be moved now: for each hold, each unfinished use, and each
 * dying block one. */
uint64_t model_pinned_count_max(const struct model *model);
/* Returns the most bytes that aligning the blocks may take wherever they are moved. */
uint64_t model_slack_bytes(const struct model *model);
/* The lowest range at or above address that no block and no stack takes, searched on from the
 * bottom when there is none above.  False: nothing is free. */
bool model_free_range(const struct model *model, uint64_t address, uint64_t *start, uint64_t *end);
/* Returns the size that the fit names now, at least 1: a granule if there is no such block, and it
 * subtracts nothing if nothing would be left.  O(1), or O(blocks) after a change for FIT_HOLE. */
uint64_t fit_bytes(const struct fit *fit, const struct model *model);
/* Slow and complete, for tests. */
bool model_invariants_hold(const struct model *model);

#endif
