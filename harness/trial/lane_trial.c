#include "harness/trial/lane_trial.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/lanes/deal.h"
#include "harness/trial/trial_run.h"

#include <stdlib.h>
#include <string.h>

/* A list of several hundred ops is run in no time, and brings a device to any state that a longer
 * one does. */
enum { DRAWN_COUNT_MIN = 24, DRAWN_COUNT_MAX = 400 };
#define DEAL_STREAM UINT64_C(0xDEA1)

/* Puts the drawing's findings first.  They show in the list before it was dealt, which has no
 * schedule: if both found one, that is the simpler list. */
static void put_drawn_first(struct trial *trial, const struct trial *drawn)
{
    if (drawn->findings.count == 0) {
        return;
    }
    struct trial *searched = array_resized(NULL, sizeof *searched); /* large for a stack */
    *searched = *trial;
    memset(trial->lists, 0, sizeof trial->lists);
    trial->findings.count = 0;
    trial_take_findings(trial, drawn);
    trial_take_findings(trial, searched);
    trial_lead(trial);
    op_list_init(&searched->ops); /* it and `searched` are still the trial's */
    op_list_init(&searched->searched);
    trial_deinit(searched);
    free(searched);
}

bool lane_trial_run(const struct lane_trial_plan *plan, const struct run_listener *listener,
                    struct trial *trial, struct lanes_found *found, char reason[RUN_REASON_BYTES])
{
    struct random random;
    struct trial *drawn = malloc(sizeof *drawn); /* large for a stack */
    CHECK(drawn != NULL);
    random_init(&random, plan->draw.setup->seed ^ DEAL_STREAM);
    *found = (struct lanes_found){0};
    struct trial_plan drawing = plan->draw;
    const uint64_t most = random_log_uniform(&random, DRAWN_COUNT_MIN, DRAWN_COUNT_MAX);
    drawing.is_for_lanes = true;
    drawing.op_count_max = most < drawing.op_count_max ? most : drawing.op_count_max;
    bool was_run = trial_run(&drawing, listener, drawn, reason);
    if (!was_run || trial_is_ended(drawn)) {
        *trial = *drawn;
        free(drawn);
        return was_run;
    }
    struct op_list dealt;
    op_list_init(&dealt);
    op_list_copy(&dealt, &drawn->ops);
    const size_t first = deal(&dealt, plan->lane_count, &random);
    deal_by_client(&dealt, first, &drawn->setup, plan->lane_count);
    was_run = lanes_search(plan->draw.target, &drawn->setup, &dealt, &plan->search, listener, trial,
                           found, reason);
    op_list_deinit(&dealt);
    put_drawn_first(trial, drawn);
    run_totals_add(&trial->totals, &drawn->totals);
    trial->digest ^= drawn->digest;
    trial_deinit(drawn);
    free(drawn);
    return was_run;
}
