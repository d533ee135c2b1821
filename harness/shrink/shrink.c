#include "harness/shrink/shrink.h"

#include "harness/base/check.h"
#include "harness/lanes/lanes.h"
#include "harness/shrink/private/shrink_state.h"

#include <stdlib.h>
#include <string.h>

/* --- trying --- */

bool shrinker_is_over(const struct shrinker *shrinker)
{
    return shrinker->replays_left == 0 || shrinker->ops_left == 0;
}

static void tell_found(const struct shrinker *shrinker)
{
    if (shrinker->attempt->found != NULL) {
        shrinker->attempt->found(shrinker->attempt->found_context, shrinker->result);
    }
}

/* A list with lanes may become longer as it runs: what a switch waited for is written down. */
static void make_room(struct shrinker *shrinker)
{
    const size_t count = shrinker->result->ops.count + 1;
    if (count > shrinker->keep_room) {
        shrinker->keep = realloc(shrinker->keep, count);
        CHECK(shrinker->keep != NULL);
        shrinker->keep_room = count;
    }
}

/* test: is_same or explains of the attempt. */
static bool try_list(struct shrinker *shrinker, const struct setup *setup,
                     bool (*test)(void *context, const struct setup *setup, struct op_list *ops,
                                  struct verdict *first))
{
    const struct shrink_try *attempt = shrinker->attempt;
    struct shrink_result *result = shrinker->result;
    if (shrinker_is_over(shrinker)) {
        return false;
    }
    shrinker->replays_left--;
    result->replays++;
    const size_t count = shrinker->trial.count;
    const bool is_same = test(attempt->context, setup, &shrinker->trial, &result->first);
    const uint64_t cost = attempt->cost == NULL ? count + 1 : *attempt->cost;
    shrinker->ops_left -= cost < shrinker->ops_left ? cost : shrinker->ops_left;
    if (!is_same) {
        return false;
    }
    op_list_copy(&result->ops, &shrinker->trial);
    if (setup != &result->setup) {
        setup_copy(&result->setup, setup);
    }
    result->is_minimal = false;
    make_room(shrinker);
    tell_found(shrinker);
    return true;
}

bool shrinker_try(struct shrinker *shrinker)
{
    return try_list(shrinker, &shrinker->result->setup, shrinker->attempt->is_same);
}

bool shrinker_try_setup(struct shrinker *shrinker, const struct setup *setup)
{
    return try_list(shrinker, setup, shrinker->attempt->is_same);
}

void shrinker_copy_kept(struct shrinker *shrinker)
{
    op_list_copy(&shrinker->trial, &shrinker->result->ops);
    op_list_filter(&shrinker->trial, shrinker->keep);
}

bool shrinker_try_subset(struct shrinker *shrinker)
{
    shrinker_copy_kept(shrinker);
    return shrinker_try(shrinker);
}

bool shrinker_try_op(struct shrinker *shrinker, size_t i, const struct op *op)
{
    if (op_equal(op, &shrinker->result->ops.ops[i])) {
        return false;
    }
    op_list_copy(&shrinker->trial, &shrinker->result->ops);
    shrinker->trial.ops[i] = *op;
    return shrinker_try(shrinker);
}

uint64_t shrinker_granule(const struct shrinker *shrinker)
{
    const uint64_t granule_bytes = shrinker->result->setup.granule_bytes;
    return granule_bytes == 0 ? 1 : granule_bytes;
}

/* --- all of it --- */

/* A reserve for work that is worth nothing unless single ops can be removed afterwards: it may take
 * three quarters of what is left. */
struct reserve {
    uint64_t replays, ops;
};

static struct reserve reserve_take(struct shrinker *shrinker)
{
    const struct reserve reserve = {shrinker->replays_left / 4, shrinker->ops_left / 4};
    shrinker->replays_left -= reserve.replays;
    shrinker->ops_left -= reserve.ops;
    return reserve;
}

static void reserve_give_back(struct shrinker *shrinker, struct reserve reserve)
{
    shrinker->replays_left += reserve.replays;
    shrinker->ops_left += reserve.ops;
}

static void run_search(struct shrinker *shrinker)
{
    while (!lanes_are_in(&shrinker->result->ops) && shrinker_search(shrinker)) {
        shrinker_remove_single_ops(shrinker);
    }
}

/* Sizes of a large device leave more ways open to a search, those of a small one make each try
 * cheap. */
static void simplify_and_search(struct shrinker *shrinker)
{
    while (shrinker_merge_requests(shrinker)) {
        shrinker_remove_ops(shrinker);
    }
    run_search(shrinker);
    shrinker_simplify_setup(shrinker);
    shrinker_simplify_ops(shrinker);
    shrinker_remove_ops(shrinker);
    if (shrinker->attempt->changes_setup) {
        run_search(shrinker);
        shrinker_simplify_ops(shrinker);
    }
}

static bool try_explanation(struct shrinker *shrinker)
{
    return try_list(shrinker, &shrinker->result->setup, shrinker->attempt->explains);
}

static bool try_without_alignment(struct shrinker *shrinker)
{
    const struct op_list *ops = &shrinker->result->ops;
    if (ops->count == 0 || ops->ops[ops->count - 1].align_log2 == 0) {
        return false;
    }
    op_list_copy(&shrinker->trial, ops);
    shrinker->trial.ops[ops->count - 1].align_log2 = 0;
    return try_explanation(shrinker);
}

static bool try_without_lifetime(struct shrinker *shrinker, size_t i)
{
    const struct op_list *ops = &shrinker->result->ops;
    shrinker_keep_all_but(shrinker, i, 1);
    if (!shrinker->keep[ops->count - 1]) {
        return false; /* what broke needs it */
    }
    shrinker_copy_kept(shrinker);
    return try_explanation(shrinker);
}

/* True if no rounding up explains the refusal: less is refused, too. */
static bool try_smaller_request(struct shrinker *shrinker)
{
    static const unsigned eighths[] = {4, 5, 6, 7};
    const struct op_list *ops = &shrinker->result->ops;
    const size_t last = ops->count - 1;
    if (ops->count == 0 || !shrinker_is_request(&ops->ops[last])) {
        return false;
    }
    for (size_t i = 0; i < sizeof eighths / sizeof eighths[0]; i++) {
        op_list_copy(&shrinker->trial, ops);
        shrinker->trial.ops[last].size_bytes = ops->ops[last].size_bytes / 8 * eighths[i];
        shrinker->trial.ops[last].unpadded_bytes = 0;
        if (try_explanation(shrinker)) {
            return true;
        }
    }
    return false;
}

static void look_for_cause(struct shrinker *shrinker)
{
    const struct op_list *ops = &shrinker->result->ops;
    if (shrinker->attempt->explains == NULL || shrinker->is_own) {
        return;
    }
    bool is_found = try_without_alignment(shrinker);
    for (size_t i = 0; i + 1 < ops->count;) {
        const bool is_explained = try_without_lifetime(shrinker, i);
        is_found = is_found || is_explained;
        i = is_explained ? 0 : i + 1;
    }
    is_found = try_smaller_request(shrinker) || is_found;
    if (is_found) {
        shrinker_remove_single_ops(shrinker);
    }
}

/* Asks for the cause in the list as it is: in a shorter one another defect may refuse it, too. */
static void ask_for_cause(struct shrinker *shrinker)
{
    const struct shrink_try *attempt = shrinker->attempt;
    struct shrink_result *result = shrinker->result;
    if (attempt->find_cause == NULL) {
        return;
    }
    op_list_copy(&shrinker->trial, &result->ops);
    const enum shrink_cause cause = attempt->find_cause(attempt->context, &result->setup,
                                                        &shrinker->trial, &result->first);
    shrinker->is_own = cause == SHRINK_CAUSE_OWN;
    if (cause == SHRINK_CAUSE_OTHER) {
        op_list_copy(&result->ops, &shrinker->trial);
        make_room(shrinker);
        tell_found(shrinker);
    }
}

static void shrink_all(struct shrinker *shrinker)
{
    ask_for_cause(shrinker);
    if (!lanes_are_in(&shrinker->result->ops)) {
        shrinker_remove_unrelated(shrinker);
    }
    shrinker_remove_switches(shrinker);
    shrinker_remove_ops(shrinker);
    shrinker_remove_schedule(shrinker);
    const struct reserve reserve = reserve_take(shrinker);
    simplify_and_search(shrinker);
    reserve_give_back(shrinker, reserve);
    shrinker_remove_single_ops(shrinker);
    shrinker_remove_schedule(shrinker);
    if (!shrinker->result->is_minimal) {
        shrinker_remove_single_ops(shrinker);
    }
    look_for_cause(shrinker);
}

bool shrink(const struct shrink_try *attempt, const struct op_list *ops, uint64_t replay_count_max,
            struct shrink_result *result)
{
    memset(result, 0, sizeof *result);
    op_list_init(&result->ops);
    setup_init(&result->setup);
    setup_copy(&result->setup, attempt->setup);
    struct shrinker shrinker = {
        .attempt = attempt, .result = result, .replays_left = 1, .ops_left = UINT64_MAX};
    op_list_init(&shrinker.trial);
    op_list_copy(&shrinker.trial, ops);
    const bool is_found = shrinker_try(&shrinker);
    if (is_found) {
        shrinker.replays_left = replay_count_max;
        shrinker.ops_left = attempt->op_count_max == 0 ? UINT64_MAX : attempt->op_count_max;
        shrink_all(&shrinker);
        free(shrinker.keep);
    } else {
        op_list_deinit(&result->ops);
    }
    op_list_deinit(&shrinker.trial);
    return is_found;
}
