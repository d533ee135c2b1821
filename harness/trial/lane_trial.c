#include "harness/trial/lane_trial.h"

#include "harness/lanes/deal.h"
#include "harness/trial/trial_run.h"

/* A list of several hundred ops is run in no time, and brings a device to any state that a longer
 * one does. */
enum { DRAWN_COUNT_MIN = 24, DRAWN_COUNT_MAX = 400 };
#define DEAL_STREAM UINT64_C(0xDEA1)

/* Draws the list; false: the target refused, or a broken promise ended the drawing. */
static bool draw_ops(const struct lane_trial_plan *plan, struct random *random,
                     const struct run_listener *listener, struct trial *trial,
                     char reason[RUN_REASON_BYTES], bool *was_run)
{
    struct trial_plan drawing = plan->draw;
    const uint64_t most = random_log_uniform(random, DRAWN_COUNT_MIN, DRAWN_COUNT_MAX);
    drawing.op_count_max = most < drawing.op_count_max ? most : drawing.op_count_max;
    *was_run = trial_run(&drawing, listener, trial, reason);
    return *was_run && !trial_is_ended(trial);
}

/* What the drawing found shows in the list before it was dealt. */
static void take_findings(struct trial *trial, const struct trial *drawn)
{
    if (drawn->findings.count > 0) {
        run_findings_copy(&trial->findings, &drawn->findings);
        trial->first = drawn->first;
        trial->setup = drawn->setup;
        op_list_copy(&trial->ops, &drawn->ops);
    }
}

bool lane_trial_run(const struct lane_trial_plan *plan, const struct run_listener *listener,
                    struct trial *trial, struct lanes_found *found, char reason[RUN_REASON_BYTES])
{
    struct random random;
    struct trial drawn;
    bool was_run = false;
    random_init(&random, plan->draw.setup->seed ^ DEAL_STREAM);
    *found = (struct lanes_found){0};
    if (!draw_ops(plan, &random, listener, &drawn, reason, &was_run)) {
        *trial = drawn;
        return was_run;
    }
    struct op_list dealt;
    op_list_init(&dealt);
    op_list_copy(&dealt, &drawn.ops);
    deal(&dealt, plan->lane_count, &random);
    was_run = lanes_search(plan->draw.target, &drawn.setup, &dealt, &plan->search, listener, trial,
                           found, reason);
    op_list_deinit(&dealt);
    trial_name_first(trial);
    run_totals_add(&trial->totals, &drawn.totals);
    trial->digest ^= drawn.digest;
    if (trial->first.kind == VERDICT_NONE) {
        take_findings(trial, &drawn);
    }
    trial_deinit(&drawn);
    return was_run;
}
