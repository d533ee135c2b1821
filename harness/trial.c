/* Whole trials: a scenario or a recorded list from the first op to the final promises. */
#include "harness/check.h"
#include "harness/run.h"

#include <stdalign.h>
#include <stddef.h>
#include <string.h>

static void tell(const struct run_listener *listener, const struct run *run, const struct verdict *verdict)
{
    if (listener != NULL && listener->judged != NULL) {
        listener->judged(listener->context, run, verdict);
    }
}

/* Takes the verdict; false when the trial is over because a promise is broken. */
static bool take_verdict(struct trial *trial, const struct run *run, const struct verdict *verdict,
                         const struct run_listener *listener)
{
    tell(listener, run, verdict);
    if (!run_is_broken(run)) {
        return true;
    }
    trial->first = *verdict;
    return false;
}

static void end_trial(struct trial *trial, struct run *run, const struct run_listener *listener)
{
    if (!run_is_broken(run)) {
        const struct verdict *last = run_finish(run);
        take_verdict(trial, run, last, listener);
    }
    trial->totals = *run_totals(run);
    trial->digest = run_digest(run);
    trial->setup = *run_setup(run);
    op_list_init(&trial->ops);
    op_list_copy(&trial->ops, run_ops(run));
    run_destroy(run);
}

bool trial_run(const struct target *target, const struct scenario *scenario, const struct setup *setup,
               bool capacity_is_free, uint64_t op_count_max, const struct run_listener *listener,
               struct trial *trial, char reason[RUN_REASON_BYTES])
{
    alignas(max_align_t) unsigned char state[SCENARIO_STATE_BYTES] = {0};
    struct random random;
    struct setup drawn = *setup;
    struct op op;
    struct scenario_view view;
    memset(trial, 0, sizeof *trial);
    random_init(&random, setup->seed);
    strncpy(drawn.scenario, scenario->name, SETUP_NAME_BYTES - 1);
    scenario->begin(state, &random, &drawn, capacity_is_free);
    struct run *run = run_create(target, &drawn, reason);
    if (run == NULL) {
        return false;
    }
    bool goes_on = true;
    for (uint64_t i = 0; i < op_count_max && i < scenario->ops_per_trial && goes_on; i++) {
        run_view(run, &view);
        goes_on = scenario->next(state, &random, &view, &op) &&
                  take_verdict(trial, run, run_step(run, &op), listener);
    }
    end_trial(trial, run, listener);
    return true;
}

bool trial_replay(const struct target *target, const struct setup *setup, const struct op_list *ops,
                  const struct run_listener *listener, struct trial *trial, char reason[RUN_REASON_BYTES])
{
    memset(trial, 0, sizeof *trial);
    struct run *run = run_create(target, setup, reason);
    if (run == NULL) {
        return false;
    }
    for (size_t i = 0; i < ops->count && take_verdict(trial, run, run_step(run, &ops->ops[i]), listener); i++) {
    }
    end_trial(trial, run, listener);
    return true;
}

void trial_deinit(struct trial *trial)
{
    op_list_deinit(&trial->ops);
}
