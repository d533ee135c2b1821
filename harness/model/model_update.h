/* Functions that change a model as a run goes on.  Only the rooms call/, rules/, run/ and lanes/
 * write it; all others read model.h. */
#ifndef HARNESS_MODEL_MODEL_UPDATE_H
#define HARNESS_MODEL_MODEL_UPDATE_H

#include "harness/model/model.h"

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
/* Ends what the harness does on its own (a fault, a retirement) in the same way: model_last_op and
 * its like do not see it. */
void model_end_unseen_op(struct model *model, bool skipped);
const struct model_gone *model_gone(const struct model *model, size_t *count);
void model_forget_gone(struct model *model);

/* The properties of a new block. */
struct model_new {
    uint64_t requested_bytes, align_bytes, stack_bytes, stack_requested_bytes;
    uint64_t promised_bytes; /* the most that it may take by the contract; 0 = find out */
    enum block_kind kind;
    uint8_t tag, stream;
};
/* False: the range intersects that of slot *other, and nothing changed.  Else *slot is the new
 * block's.  A retired block is held for ever, and neither its op nor any list leads to it. */
bool model_add(struct model *model, const struct model_new *what, const struct target_block *at,
               uint32_t *slot, uint32_t *other);
/* The client freed it: dying until event (0 = none), uses and holds end, and, where frees are
 * ordered by streams, what was enqueued on its stream. */
void model_free(struct model *model, uint32_t slot, uint64_t event);
/* Frees in the same way, without an event, a buffer that nothing keeps: it is gone at once, and
 * nobody has to be told (model_gone).  False: it is no such buffer, and nothing changed. */
bool model_end_plain(struct model *model, uint32_t slot);
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
/* Sets all addresses at once, so that blocks may swap places: addresses[i] for the i-th range of
 * the map in ascending order.  False: the new ranges intersect; then *slot names one of them and
 * nothing changed. */
bool model_relocate(struct model *model, const uint64_t *addresses, uint32_t *slot);
/* Does the same for count blocks: those in slots, each of which has a range.  O(count log ranges).
 */
bool model_relocate_some(struct model *model, const uint32_t *slots, const uint64_t *addresses,
                         size_t count);
/* The block's contents are in host memory alone: it is absent.  It counts as before, and takes no
 * range. */
void model_strand(struct model *model, uint32_t slot);
/* An absent block is back; false as for model_add. */
bool model_return(struct model *model, uint32_t slot, uint64_t address, uint32_t *other);
/* This op begins a recording; ends the one that is open; drops the one of that OP_RECORD, which
 * ended. */
void model_begin_recording(struct model *model);
void model_end_recording(struct model *model);
void model_drop_recording(struct model *model, uint32_t op);
/* The target sleeps from here on, or is awake again. */
void model_set_asleep(struct model *model, bool is_asleep);
/* The target holds these regions now, as device_regions() has them. */
void model_set_regions(struct model *model, const struct device_region *regions, size_t count);
/* From here on events complete in an order that has nothing to do with when they are due. */
void model_set_unordered(struct model *model);
/* Widens the peak's bounds where the order in which calls took effect is not known.  The peak is
 * never below what is in use now. */
void model_widen_peak(struct model *model, uint64_t low_bytes, uint64_t high_bytes);

#endif
