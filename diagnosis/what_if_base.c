#include "diagnosis/private/what_if_parts.h"

#include "harness/base/check.h"
#include "harness/lanes/lanes_list.h"
#include "harness/run/run_state.h"

#include <stdlib.h>

/* Records how each op ended, while the list is run. */
struct answers {
    bool *is_done;    /* by op: it acted, and was not refused for want of memory or as invalid */
    bool *has_failed; /* by op: the device refused it something */
    uint32_t chosen;  /* the op to look at; OP_NONE */
    bool is_broken;   /* a promise other than that of an out-of-memory broke first */
};

/* One client makes all calls, in the order of the list. */
static void take_lanes_out(struct what_if_base *base)
{
    bool *keep = malloc((base->ops.count + 1) * sizeof *keep);
    CHECK(keep != NULL);
    for (size_t i = 0; i < base->ops.count; i++) {
        keep[i] = base->ops.ops[i].kind != OP_SWITCH;
        base->ops.ops[i].lane = 0;
    }
    op_list_filter(&base->ops, keep);
    free(keep);
}

static bool is_oom(const struct verdict *verdict, const struct observation *seen)
{
    return seen->result == TARGET_NO_MEMORY && verdict->kind != VERDICT_BROKEN;
}

/* False: this op is the last to be looked at. */
static bool note_answer(struct answers *answers, const struct run *run,
                        const struct verdict *verdict, uint32_t i)
{
    const struct observation *seen = run_observation(run);
    answers->is_done[i] = seen->skipped == 0 &&
                          (seen->result == TARGET_OK || seen->result == TARGET_FAILED);
    answers->has_failed[i] = seen->result == TARGET_FAILED;
    if (verdict->kind == VERDICT_BROKEN) {
        answers->is_broken = true;
        return false;
    }
    if (!is_oom(verdict, seen)) {
        return true;
    }
    const bool breaks = verdict->kind == VERDICT_PREMATURE || verdict->kind == VERDICT_DISPUTED;
    answers->chosen = breaks || answers->chosen == OP_NONE ? i : answers->chosen;
    return !breaks;
}

/* True if a later op names what op `chosen` asked for.  False if a later op counts in live blocks:
 * then nobody can tell. */
static bool is_granted_elsewhere(const struct op_list *ops, uint32_t chosen)
{
    bool is_named = false;
    for (size_t i = chosen == OP_NONE ? ops->count : chosen; i < ops->count; i++) {
        if ((ops->ops[i].flags & (OP_RELATIVE | OP_FITTED)) != 0) {
            return false;
        }
        is_named = is_named || ops->ops[i].ref == chosen;
    }
    return is_named;
}

static void run_list(struct run *run, struct what_if_base *base, struct answers *answers)
{
    run_judge_promises_only(run);
    for (uint32_t i = 0; i < base->ops.count; i++) {
        if (!note_answer(answers, run, run_step(run, &base->ops.ops[i]), i)) {
            break;
        }
    }
    base->is_whole = !answers->is_broken && is_granted_elsewhere(&base->ops, answers->chosen);
    const struct op_list *resolved = run_ops(run);
    for (size_t i = 0; i < resolved->count; i++) {
        base->ops.ops[i] = resolved->ops[i];
    }
}

/* The execution that was refused never ran: its event is over at once. */
static void forget_event(struct op *op)
{
    op->event = OP_NONE;
    op->delay_ns = 0;
    if (op->kind == OP_FREE_AFTER) {
        op->kind = OP_FREE;
    }
}

static void filter_ops(struct what_if_base *base, struct answers *answers, const bool *keep)
{
    size_t kept = 0;
    for (size_t i = 0; i < base->ops.count; i++) {
        answers->has_failed[kept] = answers->has_failed[i];
        kept += keep[i];
        base->left_out_count += !keep[i];
    }
    op_list_filter(&base->ops, keep);
}

/* Memory that was in use when it was to be retired was not, and must not be in a variant. */
static void leave_out_skipped_retirements(struct what_if_base *base, struct answers *answers)
{
    bool *keep = malloc(base->ops.count + 1);
    CHECK(keep != NULL);
    for (size_t i = 0; i < base->ops.count; i++) {
        keep[i] = base->ops.ops[i].kind != OP_RETIRE || answers->is_done[i];
    }
    filter_ops(base, answers, keep);
    free(keep);
}

/* Keeps what was done, and what made events that are still named: an op that was skipped may have.
 */
static void keep_done(struct what_if_base *base, struct answers *answers)
{
    const size_t count = base->ops.count;
    bool *keep = calloc(count + 1, sizeof *keep);
    CHECK(keep != NULL);
    for (size_t i = count; i-- > 0;) {
        struct op *op = &base->ops.ops[i];
        keep[i] = keep[i] || answers->is_done[i] || i == base->op;
        if (!keep[i] || op->event >= i) {
            continue;
        }
        const bool was_refused = base->ops.ops[op->event].kind == OP_EXECUTE &&
                                 !answers->is_done[op->event];
        if (was_refused) {
            keep[i] = op->kind == OP_FREE_AFTER;
            forget_event(op);
        } else {
            keep[op->event] = true;
        }
    }
    filter_ops(base, answers, keep);
    free(keep);
}

/* The list ends with the op that is looked at, and has what was done; unless all of it was done
 * elsewhere. */
static void cut_list(struct what_if_base *base, struct answers *answers)
{
    base->op = answers->chosen;
    if (base->is_whole) {
        leave_out_skipped_retirements(base, answers);
        return;
    }
    if (base->op != OP_NONE) {
        base->ops.count = base->op + 1;
    }
    keep_done(base, answers);
}

enum what_if_result what_if_base_init(struct what_if_base *base, const struct target *target,
                                      const struct setup *setup, const struct op_list *ops)
{
    char reason[RUN_REASON_BYTES];
    struct answers answers = {.chosen = OP_NONE};
    *base = (struct what_if_base){.op = OP_NONE, .has_lanes = lanes_are_in(ops)};
    base->setup = *setup;
    op_list_init(&base->ops);
    op_list_copy(&base->ops, ops);
    take_lanes_out(base);
    struct run *run = run_create(target, setup, reason);
    if (run == NULL) {
        return WHAT_IF_TARGET_REFUSED;
    }
    answers.is_done = calloc(base->ops.count + 1, sizeof *answers.is_done);
    answers.has_failed = base->has_failed = calloc(base->ops.count + 1, sizeof *answers.has_failed);
    CHECK(answers.is_done != NULL && answers.has_failed != NULL);
    base->contract = *model_contract(run_model(run, 0));
    base->setup.capacity_bytes = run_setup(run)->capacity_bytes;
    run_list(run, base, &answers);
    if (!answers.is_broken && answers.chosen == OP_NONE) {
        answers.is_broken = run_finish(run)->kind != VERDICT_NONE;
    }
    run_destroy(run);
    if (!answers.is_broken) {
        cut_list(base, &answers);
    }
    free(answers.is_done);
    return answers.is_broken ? WHAT_IF_PROMISE_BROKE : WHAT_IF_DONE;
}

void what_if_base_deinit(struct what_if_base *base)
{
    op_list_deinit(&base->ops);
    free(base->has_failed);
}
