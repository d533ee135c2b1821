/* Shrinking while it is under way, as its passes share it. */
#ifndef HARNESS_SHRINK_PRIVATE_SHRINK_STATE_H
#define HARNESS_SHRINK_PRIVATE_SHRINK_STATE_H

#include "harness/op/op.h"

struct setup;
struct shrink_result;
struct shrink_try;

struct shrinker {
    const struct shrink_try *attempt;
    struct shrink_result *result;
    uint64_t replays_left, ops_left; /* ops: of the lists that are tried */
    struct op_list trial;            /* the list being tried */
    bool *keep;                      /* by op of result->ops; keep_room of them */
    size_t keep_room;
    bool is_own; /* the mitigation is what lacked: see enum shrink_cause */
};

/* --- shrink.c --- */

/* No list is tried any more. */
bool shrinker_is_over(const struct shrinker *shrinker);
/* Tries shrinker->trial; true when it is the same finding.  Then it becomes the result. */
bool shrinker_try(struct shrinker *shrinker);
/* Tries in the same way with another setup, which becomes that of the result. */
bool shrinker_try_setup(struct shrinker *shrinker, const struct setup *setup);
/* Tries the ops of the result that are marked in shrinker->keep. */
bool shrinker_try_subset(struct shrinker *shrinker);
/* Tries the result with op i replaced; false when that changes nothing. */
bool shrinker_try_op(struct shrinker *shrinker, size_t i, const struct op *op);

/* Asks for a block: an alloc or an output. */
static inline bool shrinker_is_request(const struct op *op)
{
    return op->kind == OP_ALLOC || op->kind == OP_OUTPUT;
}

/* Makes shrinker->trial of the ops of the result that are marked in shrinker->keep. */
void shrinker_copy_kept(struct shrinker *shrinker);

/* Returns the granule in bytes, at least 1. */
uint64_t shrinker_granule(const struct shrinker *shrinker);

/* --- shrink_remove.c --- */

/* Marks in keep what stays when [first, first + count) goes and every op that names a dropped one.
 */
void shrinker_keep_all_but(struct shrinker *shrinker, size_t first, size_t count);
/* Drops in the same way for ops of a list, as long as the result, that are marked false already. */
void shrinker_drop_namers(struct shrinker *shrinker, const struct op_list *ops);
/* Removes chunks of `count` from the end to `from`: later ops depend on earlier ones.  True when
 * any went. */
bool shrinker_remove_chunks(struct shrinker *shrinker, size_t from, size_t count);
/* Removes all but what the last op needs, as far as that shows in a few replays. */
void shrinker_remove_unrelated(struct shrinker *shrinker);
/* Chunks, then single ops until none can go. */
void shrinker_remove_ops(struct shrinker *shrinker);
/* Single ops alone; *is_minimal of the result says whether that ended. */
void shrinker_remove_single_ops(struct shrinker *shrinker);

/* The fewer switches, the fewer points at which an op has to stand where it does. */
void shrinker_remove_switches(struct shrinker *shrinker);
/* Fewer switches, lanes and ops; without lanes there is nothing to do. */
void shrinker_remove_schedule(struct shrinker *shrinker);

/* --- shrink_simplify.c --- */

/* Lets neighbouring requests become one.  True when any did. */
bool shrinker_merge_requests(struct shrinker *shrinker);
/* Simpler numbers in each op. */
void shrinker_simplify_ops(struct shrinker *shrinker);

/* Fewer hosts, a smaller device, a simpler granule; where the setup may change. */
void shrinker_simplify_setup(struct shrinker *shrinker);

/* --- shrink_search.c --- */

/* Random edits that keep the finding; at the end the list is not longer, and the same unless it is
 * shorter.  True when it is. */
bool shrinker_search(struct shrinker *shrinker);

#endif
