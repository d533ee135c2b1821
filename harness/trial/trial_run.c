#include "harness/trial/trial_run.h"

#include "harness/base/check.h"
#include "harness/base/target_option.h"
#include "harness/generate/faulting.h"
#include "harness/generate/slipping.h"
#include "harness/lanes/lanes.h"
#include "harness/op/limits.h"
#include "harness/run/run_state.h"

#include <stdalign.h>
#include <stddef.h>
#include <string.h>

/* Tells of the verdict; false when the trial is over because a promise is broken. */
static bool take_verdict(const struct run *run, const struct verdict *verdict,
                         const struct run_listener *listener)
{
    if (listener != NULL && listener->judged != NULL) {
        listener->judged(listener->context, run, verdict);
    }
    return !run_is_broken(run);
}

static void end_trial(struct trial *trial, struct run *run, const struct run_listener *listener)
{
    if (!run_is_broken(run)) {
        (void)take_verdict(run, run_finish(run), listener);
    }
    trial_collect_last(trial, run);
    trial_name_first(trial);
    run_destroy(run);
}

/* The source of a trial's ops. */
struct op_source {
    alignas(max_align_t) unsigned char state[SCENARIO_STATE_BYTES];
    const struct scenario *scenario;
    struct random random;
    struct faulting faulting;
    struct retrying retrying;
    struct sleeping sleeping;
    struct streaming streaming;
    struct open_recording recording;
    struct given given; /* of a list in place of the scenario's ops */
};

/* Leaves out drawn options that the target does not take.  Those that the user gave stay: the
 * target may refuse them. */
static void keep_to_target(const struct trial_plan *plan, struct setup *drawn)
{
    uint32_t count = plan->setup->option_count;
    for (uint32_t i = count; i < drawn->option_count; i++) {
        if (target_has_option(plan->target, drawn->options[i].key)) {
            drawn->options[count++] = drawn->options[i];
        }
    }
    drawn->option_count = count;
    if (plan->capacity_is_free) {
        limits_keep_setup(&plan->target->limits, drawn);
    }
}

static void source_init(struct op_source *source, const struct trial_plan *plan,
                        struct setup *drawn)
{
    memset(source, 0, sizeof *source);
    source->scenario = plan->scenario;
    random_init(&source->random, plan->setup->seed);
    faulting_init(&source->faulting, &plan->faults, plan->setup->seed);
    retrying_init(&source->retrying, plan->setup->seed);
    sleeping_init(&source->sleeping, &plan->faults, plan->setup->seed);
    streaming_init(&source->streaming, plan->setup->seed);
    recording_init(&source->recording, plan->setup->seed);
    given_init(&source->given, plan->given);
    strncpy(drawn->scenario, plan->scenario->name, SETUP_NAME_BYTES - 1);
    if (plan->given == NULL) {
        plan->scenario->begin(source->state, &source->random, drawn, plan->capacity_is_free);
    }
    keep_to_target(plan, drawn);
    if (plan->is_for_lanes) {
        setup_drop_clocks(drawn);
    }
    source->sleeping.is_off = drawn->shared_hosts != 0;
}

/* True if the last op is asked again. */
static bool retry_last(struct op_source *source, const struct run *run, struct op *op)
{
    const struct op_list *ops = run_ops(run);
    const struct observation *last = run_observation(run);
    return ops->count > 0 && last->skipped == 0 && last->result == TARGET_NO_MEMORY &&
           op_kind_info((enum op_kind)ops->ops[ops->count - 1].kind)->can_be_refused &&
           retrying_next(&source->retrying, &ops->ops[ops->count - 1], op);
}

/* Retries, faults and sleeps come before the scenario is asked: it names ops by the number that its
 * own will have.  False: the scenario is over. */
static bool source_next(struct op_source *source, const struct run *run, struct op *op)
{
    struct scenario_view view;
    run_view(run, &view);
    if (source->given.ops != NULL) {
        return faulting_next(&source->faulting, &view, op) ||
               given_next(&source->given, view.op_number, op);
    }
    if (retry_last(source, run, op) || faulting_next(&source->faulting, &view, op) ||
        sleeping_next(&source->sleeping, &view, op) ||
        recording_next(&source->recording, &view, op)) {
        return true;
    }
    if (!source->scenario->next(source->state, &source->random, &view, op)) {
        return false;
    }
    streaming_place(&source->streaming, &view, op);
    return true;
}

bool trial_run(const struct trial_plan *plan, const struct run_listener *listener,
               struct trial *trial, char reason[RUN_REASON_BYTES])
{
    struct op_source source;
    struct setup drawn = *plan->setup;
    struct op op;
    memset(trial, 0, sizeof *trial);
    CHECK(plan->scenario->ops_per_trial > 0);
    source_init(&source, plan, &drawn);
    if (plan->begun != NULL) {
        plan->begun(plan->context, &drawn);
    }
    struct run *run = run_create(plan->target, &drawn, reason);
    if (run == NULL) {
        given_deinit(&source.given);
        return false;
    }
    run_go_on(run);
    const uint64_t op_count_max = plan->setup->until_step != 0 ? UINT64_MAX
                                                               : plan->scenario->ops_per_trial;
    bool goes_on = true;
    for (uint64_t i = 0; i < plan->op_count_max && i < op_count_max && goes_on; i++) {
        goes_on = source_next(&source, run, &op);
        if (goes_on) {
            limits_keep_op(&plan->target->limits, &op);
            if (plan->chosen != NULL) {
                plan->chosen(plan->context, &op);
            }
            goes_on = take_verdict(run, run_step(run, &op), listener);
        }
    }
    given_deinit(&source.given);
    end_trial(trial, run, listener);
    return true;
}

/* How a list is run again. */
enum { RENAMED = 1, PROMISES_ONLY = 2, OPS_WANTED = 4 };

/* Unless OPS_WANTED, trial->ops is empty where the list is what was recorded; lists with lanes are
 * replayed whatever `how` says. */
static bool run_again(const struct target *target, const struct setup *setup,
                      const struct op_list *ops, unsigned how, const struct run_listener *listener,
                      struct trial *trial, char reason[RUN_REASON_BYTES])
{
    if (lanes_are_in(ops)) {
        return lanes_replay(target, setup, ops, listener, trial, reason);
    }
    struct run *run = run_create(target, setup, reason);
    memset(trial, 0, sizeof *trial);
    if (run == NULL) {
        return false;
    }
    run_expect(run, ops);
    run_go_on(run);
    if ((how & RENAMED) != 0) {
        run_rename(run);
    }
    if ((how & PROMISES_ONLY) != 0) {
        run_judge_promises_only(run);
    }
    for (size_t i = 0; i < ops->count && take_verdict(run, run_step(run, &ops->ops[i]), listener);
         i++) {
    }
    const size_t count = run_ops(run)->count;
    end_trial(trial, run, listener);
    if ((how & OPS_WANTED) != 0 && trial->ops.count == 0) {
        op_list_copy(&trial->ops, &(const struct op_list){.ops = ops->ops, .count = count});
    }
    return true;
}

bool trial_replay(const struct target *target, const struct setup *setup, const struct op_list *ops,
                  const struct run_listener *listener, struct trial *trial,
                  char reason[RUN_REASON_BYTES])
{
    return run_again(target, setup, ops, OPS_WANTED, listener, trial, reason);
}

bool trial_repeat(const struct target *target, const struct setup *setup, const struct op_list *ops,
                  const struct run_listener *listener, struct trial *trial,
                  char reason[RUN_REASON_BYTES])
{
    return run_again(target, setup, ops, 0, listener, trial, reason);
}

bool trial_confirm(const struct target *target, const struct setup *setup,
                   const struct op_list *ops, struct trial *trial, char reason[RUN_REASON_BYTES])
{
    return run_again(target, setup, ops, PROMISES_ONLY, NULL, trial, reason);
}

bool trial_confirm_renamed(const struct target *target, const struct setup *setup,
                           const struct op_list *ops, struct trial *trial,
                           char reason[RUN_REASON_BYTES])
{
    CHECK(!lanes_are_in(ops));
    return run_again(target, setup, ops, PROMISES_ONLY | RENAMED, NULL, trial, reason);
}
