#include "harness/lanes/lanes.h"

#include "explore/order.h"
#include "explore/pthreads/pthreads.h"
#include "explore/pthreads/pthreads_imports.h"
#include "explore/strategies/strategies.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/lanes/private/lanes_state.h"
#include "harness/run/trial.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- a run, as lane 0 has it --- */

const char *lanes_why_not(const struct target_contract *contract)
{
    return !contract->thread_safe    ? "its contract does not allow calls from several threads"
           : !contract->queues_frees ? "it accepts no queued frees, so its calls cannot overlap"
           : contract->stream_ordered || contract->records
               ? "streams and recordings are not followed while calls overlap"
           : contract->regions.grows ? "which regions it holds is not followed while calls overlap"
           : contract->placement != PLACEMENT_RANGES || contract->header_bytes > 0
               ? "its blocks have no addresses, or headers"
               : NULL;
}

/* By a function of its own: a table may be a copy that lies elsewhere. */
bool lanes_why_not_scheduled(const struct target *target, char reason[LANES_WHY_NOT_BYTES])
{
    const struct pthreads_unmodelled *found = pthreads_find_unmodelled((const void *)target->open);
    if (found != NULL) {
        snprintf(reason, LANES_WHY_NOT_BYTES, "it imports %s, which %s; lanes model %s",
                 found->name, found->reason, pthreads_modelled);
    }
    return found != NULL;
}

static void collect_trial(struct lanes *lanes, const struct run *run)
{
    if (lanes->plan->is_again && lanes->calls.trial->first.kind == VERDICT_NONE &&
        run_findings(run)->count == 0) {
        trial_collect_counts(lanes->calls.trial, run);
    } else {
        trial_collect(lanes->calls.trial, run);
    }
}

static void finish_lanes(struct lanes *lanes)
{
    CHECK(lanes->calls.run != NULL);
    CHECK(lanes->spare == NULL);
    struct run *run = lanes->calls.run;
    lane_calls_detach(&lanes->calls);
    scheduler_alone(lanes->scheduler, true);
    lanes_device_complete_all(lanes);
    lane_calls_finish(&lanes->calls);
    collect_trial(lanes, run);
    lanes->is_collected = true;
    lanes->calls.run = NULL; /* no event of it completes any more */
    scheduler_events_changed(lanes->scheduler);
    run_end(run);
    lanes->spare = run;
    scheduler_alone(lanes->scheduler, false);
}

static struct run *open_run(struct lanes *lanes)
{
    CHECK(lanes->plan != NULL);
    CHECK(lanes->calls.run == NULL);
    const struct lanes_plan *plan = lanes->plan;
    struct run *spare = lanes->spare;
    lanes->spare = NULL;
    return spare != NULL ? run_begin_again(spare, plan->target, plan->setup, lanes->reason)
                         : run_create(plan->target, plan->setup, lanes->reason);
}

/* True if the target says that lanes may call it; otherwise sets the reason. */
static bool may_run(const struct lanes *lanes, const struct run *run)
{
    const char *why = lanes_why_not(&run->hosts[0].contract);
    if (why != NULL) {
        snprintf(lanes->reason, RUN_REASON_BYTES, "target '%s' cannot be run with lanes: %s",
                 lanes->plan->target->name, why);
    }
    return why == NULL;
}

static void run_body(void *context)
{
    struct lanes *lanes = context;
    struct run *run = open_run(lanes);
    lanes->is_refused = run == NULL || !may_run(lanes, run);
    if (lanes->is_refused) {
        run_destroy(run);
        return;
    }
    lanes->calls.run = run;
    run_go_on(run);
    op_list_copy(&run->ops, lanes->plan->ops);
    CHECK(run->ops.count == lanes->plan->ops->count);
    lanes_device_attach(lanes);
    lanes_ops_run(lanes);
    finish_lanes(lanes);
    CHECK(lanes->calls.run == NULL);
    pthreads_lane_end();
}

/* --- its memory --- */

struct lanes *lanes_create(enum scheduler_backend backend)
{
    struct lanes *lanes = array_zeroed(1, sizeof *lanes);
    pthreads_link();
    lanes->scheduler = scheduler_create(backend);
    CHECK(lanes->scheduler != NULL);
    lanes_device_init(lanes);
    return lanes;
}

static void forget_list(struct lanes *lanes)
{
    CHECK(lanes->calls.run == NULL);
    CHECK(lanes->spare == NULL || lanes->spare->timelines[0] == NULL);
    run_destroy(lanes->spare);
    lanes->spare = NULL;
    lane_calls_deinit(&lanes->calls);
}

void lanes_destroy(struct lanes *lanes)
{
    if (lanes == NULL) {
        return;
    }
    CHECK(lanes->calls.run == NULL);
    CHECK(scheduler_current() != lanes->scheduler);
    scheduler_destroy(lanes->scheduler);
    forget_list(lanes);
    lanes_device_deinit(lanes);
    overlap_deinit(&lanes->calls.overlap);
    free(lanes);
}

/* --- a run under the scheduler --- */

static void begin_lanes(struct lanes *lanes, const struct lanes_plan *plan)
{
    CHECK(lanes->calls.run == NULL);
    CHECK(plan->strategy != NULL);
    lanes->plan = plan;
    lanes->is_refused = lanes->is_collected = false;
    if (!plan->is_again) { /* makes anew what runs of another list cannot use */
        forget_list(lanes);
        lane_calls_init(&lanes->calls, plan->ops->count);
        lanes_device_make(lanes, plan->ops->count);
    }
    CHECK(lanes->calls.undone != NULL);
    lanes->calls.ops = plan->ops;
    lanes->calls.places_may_be_late = plan->order !=
                                      NULL; /* its atomic operations are points, too */
    lane_calls_reset(&lanes->calls);
    lanes_device_reset(lanes);
    plan->strategy->begin(plan->state, plan->run);
}

static enum rule find_rule(enum scheduler_outcome outcome)
{
    switch (outcome) { /* no default: the compiler names an outcome that is missing */
    case SCHEDULER_FINISHED:
    case SCHEDULER_STOPPED:
    case SCHEDULER_NOT_MODELLED:
        break; /* no verdict of the scheduler */
    case SCHEDULER_STUCK:
        return RULE_HANG;
    case SCHEDULER_DEADLOCK:
        return RULE_DEADLOCK;
    case SCHEDULER_LIVELOCK:
        return RULE_LIVELOCK;
    case SCHEDULER_LOST_WAKEUP:
        return RULE_LOST_WAKEUP;
    case SCHEDULER_RACE:
        return RULE_RACE;
    case SCHEDULER_MISUSE:
        return RULE_MISUSE;
    }
    CHECK(false); /* not for an outcome that breaks no rule */
    return RULE_NONE;
}

/* The run ended in the target's open(). */
static void begin_empty_trial(struct trial *trial, const struct setup *setup)
{
    CHECK(setup->host_count >= 1);
    trial->setup = *setup;
    op_list_init(&trial->ops);
}

/* Nobody broke anything: what the run showed up to there counts, and no more is known. */
static void take_not_modelled(struct trial *trial, const struct scheduler_report *report)
{
    CHECK(report->text[0] != '\0');
    trial->totals.not_modelled = 1;
    snprintf(trial->why_not_modelled, sizeof trial->why_not_modelled, "%.*s",
             (int)sizeof trial->why_not_modelled - 1, report->text);
}

/* The scheduler ended the run, not the judge: that is a broken promise of its own. */
static void take_outcome(struct lanes *lanes, const struct scheduler_report *report)
{
    CHECK(report->text[0] != '\0');
    struct run *run = lanes->calls.run;
    struct verdict verdict = {.kind = VERDICT_BROKEN,
                              .rule = find_rule(report->outcome),
                              .op = report->op == STEP_OP_NONE ? (uint32_t)lanes->plan->ops->count
                                                               : report->op};
    snprintf(verdict.reason, sizeof verdict.reason, "%.*s", (int)sizeof verdict.reason - 1,
             report->text);
    CHECK(verdict.rule != RULE_NONE);
    lanes->calls.trial->first = verdict;
    if (run == NULL) {
        begin_empty_trial(lanes->calls.trial, lanes->plan->setup);
        lanes->calls.trial->totals.broken = 1;
        return;
    }
    run->verdict = verdict;
    run->is_broken = true;
    run->totals.broken++;
    (void)lane_calls_tell(&lanes->calls);
}

/* Ends the run when the scheduler has ended, and keeps what is left of it. */
static void end_lanes(struct lanes *lanes, const struct scheduler_report *report)
{
    CHECK(lanes->calls.trial != NULL);
    const struct lanes_plan *plan = lanes->plan;
    struct trial *trial = lanes->calls.trial;
    const bool is_not_modelled = report->outcome == SCHEDULER_NOT_MODELLED;
    if (report->outcome != SCHEDULER_FINISHED && report->outcome != SCHEDULER_STOPPED &&
        !is_not_modelled) {
        take_outcome(lanes, report);
    }
    if (lanes->calls.run != NULL) { /* given up half-way */
        collect_trial(lanes, lanes->calls.run);
        run_abandon(lanes->calls.run);
        lanes->calls.run = NULL;
    } else if (is_not_modelled && !lanes->is_collected) {
        begin_empty_trial(trial, plan->setup);
    }
    if (is_not_modelled) {
        take_not_modelled(trial, report);
    }
    trial_name_first(trial); /* by the list without its schedule */
    if (!lanes->is_refused && !(plan->is_again && trial->first.kind == VERDICT_NONE)) {
        lanes_append_schedule(&trial->ops, report->switches, report->deviation_count);
    }
    CHECK(lanes->calls.run == NULL);
}

bool lanes_run(struct lanes *lanes, const struct lanes_plan *plan,
               const struct run_listener *listener, struct trial *trial,
               struct scheduler_report *report, char reason[RUN_REASON_BYTES])
{
    CHECK(plan->ops != NULL);
    memset(trial, 0, plan->is_again ? offsetof(struct trial, setup) : sizeof *trial);
    trial->findings.count = 0;
    const char *why_not = lanes_why_not_list(plan->ops);
    if (why_not != NULL) {
        snprintf(reason, RUN_REASON_BYTES, "%s", why_not);
        return false;
    }
    char why_not_scheduled[LANES_WHY_NOT_BYTES];
    if (!plan->is_again && lanes_why_not_scheduled(plan->target, why_not_scheduled)) {
        snprintf(reason, RUN_REASON_BYTES, "it cannot be run with lanes: %s", why_not_scheduled);
        return false;
    }
    begin_lanes(lanes, plan);
    lanes->calls.listener = listener;
    lanes->calls.trial = trial;
    lanes->reason = reason;
    const struct scheduler_plan scheduler_plan = {
        .strategy = plan->strategy,
        .strategy_state = plan->state,
        .body = run_body,
        .context = lanes,
        .events = lanes_device_events,
        .complete = lanes_device_complete,
        .client_count = lanes_count(plan->ops),
        .order = plan->order,
        .trace = plan->trace,
    };
    scheduler_run(lanes->scheduler, &scheduler_plan, report);
    end_lanes(lanes, report);
    CHECK(!lanes->is_refused || reason[0] != '\0');
    return !lanes->is_refused;
}

/* --- again --- */

/* Plug-ins run on threads: fibers would share thread-local data, and a plug-in may have some.
 */
enum scheduler_backend lanes_backend(const struct setup *setup)
{
    return strchr(setup->target, '/') != NULL ? SCHEDULER_THREADS : SCHEDULER_FIBERS;
}

bool lanes_run_once(struct lanes_plan plan, const struct run_listener *listener,
                    struct trial *trial, char reason[RUN_REASON_BYTES])
{
    struct scheduler_report report;
    struct lanes *lanes = lanes_create(lanes_backend(plan.setup));
    plan.order = plan.setup->checks_races ? order_create() : NULL;
    const bool was_run = lanes_run(lanes, &plan, listener, trial, &report, reason);
    lanes_destroy(lanes);
    if (plan.order != NULL) {
        order_destroy(plan.order);
    }
    return was_run;
}

bool lanes_replay_traced(const struct target *target, const struct setup *setup,
                         const struct op_list *ops, const struct lanes_plan *traced,
                         const struct run_listener *listener, struct trial *trial,
                         char reason[RUN_REASON_BYTES])
{
    struct op_list plain;
    struct schedule_switch *switches = NULL;
    op_list_init(&plain);
    const size_t count = lanes_take_schedule(ops, &plain, &switches);
    void *state = array_zeroed(1, strategy_replay.state_bytes);
    strategy_replay.init(state, 0, 0);
    strategy_replay_set(state, switches, count);
    const struct lanes_plan plan = {.target = target,
                                    .setup = setup,
                                    .ops = &plain,
                                    .strategy = &strategy_replay,
                                    .state = state,
                                    .trace = traced == NULL ? NULL : traced->trace,
                                    .watch = traced == NULL ? NULL : traced->watch};
    const bool was_run = lanes_run_once(plan, listener, trial, reason);
    if (strategy_replay.deinit != NULL) {
        strategy_replay.deinit(state);
    }
    free(state);
    free(switches);
    op_list_deinit(&plain);
    return was_run;
}

bool lanes_replay(const struct target *target, const struct setup *setup, const struct op_list *ops,
                  const struct run_listener *listener, struct trial *trial,
                  char reason[RUN_REASON_BYTES])
{
    return lanes_replay_traced(target, setup, ops, NULL, listener, trial, reason);
}
