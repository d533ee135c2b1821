/* How the run changes a model.  Only harness/ includes it; scenarios see model.h. */
#ifndef HARNESS_MODEL_MODEL_UPDATE_H
#define HARNESS_MODEL_MODEL_UPDATE_H

#include "harness/device/span_map.h"
#include "harness/model/model.h"

#define SLOT_NONE UINT32_MAX

/* A place that became free during the current op: its contents may be forgotten, and a target that
 * does not queue frees is told now. */
struct model_gone {
    uint64_t handle;
    uint32_t slot; /* that the block had */
    bool is_freed; /* a buffer that the client freed; else a program's image */
};

/* timeline must outlive the model. */
struct model *model_create(uint64_t capacity_bytes, const struct target_contract *contract,
                           const struct timeline *timeline);
void model_destroy(struct model *model);

/* Begins and ends op number `op` of this host.  The target has counted by the end of an op that was
 * not skipped: only after that may its peak no longer include what completed before. */
void model_begin_op(struct model *model, uint32_t op);
void model_end_op(struct model *model, enum target_result result, bool skipped);
/* The same for what the harness does on its own (a fault, a retirement): model_last_op and its like
 * do not see it. */
void model_end_unseen_op(struct model *model, bool skipped);
const struct model_gone *model_gone(const struct model *model, size_t *count);
void model_forget_gone(struct model *model);

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

/* What a new block is like. */
struct model_new {
    uint64_t requested_bytes, align_bytes, stack_bytes, stack_requested_bytes;
    enum block_kind kind;
    uint8_t tag;
};
/* False: the range intersects that of slot *other, and nothing changed.  Else *slot is the new
 * block's.  A retired block is held for ever, and neither its op nor any list leads to it. */
bool model_add(struct model *model, const struct model_new *what, const struct target_block *at,
               uint32_t *slot, uint32_t *other);
/* The client freed it: dying until event (0 = none), uses and holds end. */
void model_free(struct model *model, uint32_t slot, uint64_t event);
void model_use(struct model *model, uint32_t slot, uint64_t event); /* programs: an execution */
void model_hold(struct model *model, uint32_t slot);
void model_release(struct model *model, uint32_t slot);
/* A new block of this op takes over the place of slot. */
uint32_t model_donate(struct model *model, uint32_t slot, const struct model_new *what,
                      const struct target_block *at);
/* So much of the stack was reserved and given back at once: only the peak remembers it. */
void model_reserve_briefly(struct model *model, uint64_t stack_bytes);
void model_evict(struct model *model, uint32_t slot);
/* An evicted program's image is back; false as for model_add. */
bool model_reload(struct model *model, uint32_t slot, const struct target_block *at,
                  uint32_t *other);
/* event is done: ends uses, executions and waits for it.  Events are taken in one by one in the
 * order in which the timeline completed them. */
void model_complete(struct model *model, uint64_t event);
/* All addresses at once, so that blocks may swap places: addresses[i] for the i-th range of the map
 * in ascending order.  False: the new ranges intersect; then *slot names one of them and nothing
 * changed. */
bool model_relocate(struct model *model, const uint64_t *addresses, uint32_t *slot);
/* The block's contents are in host memory alone: it is absent.  It counts as before, and takes no
 * range. */
void model_strand(struct model *model, uint32_t slot);
/* An absent block is back; false as for model_add. */
bool model_return(struct model *model, uint32_t slot, uint64_t address, uint32_t *other);
/* Absent blocks: index < model_absent_count.  A return takes its block out and changes the order of
 * the others. */
size_t model_absent_count(const struct model *model);
uint32_t model_absent_slot(const struct model *model, size_t index);

/* Bounds of the peak of bytes in use: inside a call the order of completions and placement is not
 * seen. */
struct model_counters {
    uint64_t block_count, in_use_bytes, largest_block_bytes;
    uint64_t peak_low_bytes, peak_high_bytes;
    uint64_t reserved_bytes, peak_reserved_bytes;
};
const struct model_counters *model_counters(const struct model *model);
/* From here on events complete in an order that has nothing to do with when they are due. */
void model_set_unordered(struct model *model);
/* Where it is not known in which order calls took effect the peak is somewhere in between.  Never
 * below what is in use now. */
void model_widen_peak(struct model *model, uint64_t low_bytes, uint64_t high_bytes);
/* Blocks that were retired: they are among block_count and in_use_bytes, but have no tag. */
uint64_t model_retired_count(const struct model *model);
uint64_t model_retired_bytes(const struct model *model);
/* In use, blocks of that tag and what was retired left out; OP_TAG_COUNT: no tag is. */
uint64_t model_in_use_without(const struct model *model, unsigned tag);
const uint64_t *model_tag_bytes(const struct model *model); /* OP_TAG_COUNT of them */
uint64_t model_tag_count(const struct model *model, uint8_t tag);

/* The lowest range at or above address that no block and no stack takes, searched on from the
 * bottom when there is none above.  False: nothing is free. */
bool model_free_range(const struct model *model, uint64_t address, uint64_t *start, uint64_t *end);
/* Slow and complete, for tests. */
bool model_invariants_hold(const struct model *model);

#endif
