#include "harness/lanes.h"

#include "explore/order.h"
#include "explore/pthreads.h"
#include "explore/strategy_replay.h"
#include "harness/check.h"
#include "harness/lane_calls.h"
#include "harness/progress.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Between two points an honest target looks at each of its events a few times. */
enum { LOOK_COUNT_MAX = 4096 };

struct lanes {
    struct scheduler *scheduler;
    const struct lanes_plan *plan;
    struct lane_calls calls;
    struct run *spare; /* one that ended; NULL: none */
    char *reason;
    struct device_waiter waiter;
    uint32_t *unfinished;  /* by event: 1 until it is done, or lost while somebody waits; a gate */
    uint64_t *awaited;     /* by lane: the event that it waits for */
    uint64_t awaiting;     /* bit per lane that waits for one */
    uint64_t completed_count, look_count;
    bool is_refused;
    struct lane_task { struct lanes *lanes; uint8_t lane; } tasks[LANES_CLIENT_COUNT_MAX];
};

/* --- lists ---------------------------------------------------------------------------------------------- */

bool lanes_are_in(const struct op_list *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        if (ops->ops[i].lane != 0 || ops->ops[i].kind == OP_SWITCH) {
            return true;
        }
    }
    return false;
}

uint8_t lanes_count(const struct op_list *ops)
{
    uint8_t highest = 0;
    for (size_t i = 0; i < ops->count; i++) {
        if (ops->ops[i].kind != OP_SWITCH && ops->ops[i].lane > highest) {
            highest = ops->ops[i].lane;
        }
    }
    return (uint8_t)(highest + 1);
}

size_t lanes_switch_count(const struct op_list *ops)
{
    size_t count = 0;
    for (size_t i = 0; i < ops->count; i++) {
        count += ops->ops[i].kind == OP_SWITCH;
    }
    return count;
}

void lanes_append_schedule(struct op_list *ops, const struct schedule_switch *switches, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct op op = op_make(OP_SWITCH);
        op.lane = switches[i].lane;
        op.ref = switches[i].op;
        op.size_bytes = switches[i].number;
        op.tag = switches[i].to;
        op.event = switches[i].completes ? (uint32_t)(switches[i].event - 1) : OP_NONE;
        op_list_append(ops, &op);
    }
}

static uint32_t renumbered(const uint32_t *numbers, size_t count, uint32_t op)
{
    return op < count ? numbers[op] : OP_NONE;
}

size_t lanes_take_schedule(const struct op_list *ops, struct op_list *plain, struct schedule_switch **switches)
{
    size_t count = 0;
    bool *keep = calloc(ops->count + 1, sizeof *keep);
    uint32_t *numbers = calloc(ops->count + 1, sizeof *numbers);
    *switches = calloc(ops->count + 1, sizeof **switches);
    CHECK(keep != NULL && numbers != NULL && *switches != NULL);
    for (size_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        keep[i] = op->kind != OP_SWITCH;
        numbers[i] = (uint32_t)(i - count);
        if (!keep[i]) {
            (*switches)[count++] = (struct schedule_switch){
                .lane = op->lane, .op = renumbered(numbers, i, op->ref), .number = (uint32_t)op->size_bytes,
                .completes = op->event != OP_NONE, .to = op->tag,
                .event = (uint64_t)renumbered(numbers, i, op->event) + 1};
        }
    }
    op_list_copy(plain, ops);
    op_list_filter(plain, keep);
    free(keep);
    free(numbers);
    return count;
}

/* --- the device -------------------------------------------------------------------------------------------- */

/* Opens the gates of what is done, and of what is waited for in vain. */
static void open_gates(struct lanes *lanes)
{
    const struct timeline *timeline = lanes->calls.run->timeline;
    while (lanes->completed_count < timeline_completed_count(timeline)) {
        const uint64_t event = timeline_completed_at(timeline, lanes->completed_count++);
        if (event <= lanes->plan->ops->count) {
            lanes->unfinished[event] = 0;
        }
    }
    for (uint64_t left = lanes->awaiting; left != 0; left &= left - 1) {
        const uint64_t event = lanes->awaited[__builtin_ctzll(left)];
        if (timeline_state(timeline, event) == EVENT_PENDING && timeline_due_ns(timeline, event) == DELAY_NEVER) {
            lanes->unfinished[event] = 0;
        }
    }
    scheduler_events_changed(lanes->scheduler);
}

static bool is_due_before(const struct timeline *timeline, uint64_t a, uint64_t b)
{
    const uint64_t due_a = timeline_due_ns(timeline, a);
    const uint64_t due_b = timeline_due_ns(timeline, b);
    return due_a != due_b ? due_a < due_b : a < b;
}

/* The pending events that are coming, those first that are due first. */
static uint32_t list_events(void *context, uint64_t *events, uint32_t max)
{
    const struct lanes *lanes = context;
    const struct timeline *timeline = lanes->calls.run == NULL ? NULL : lanes->calls.run->timeline;
    uint32_t count = 0;
    for (size_t i = 0; timeline != NULL && i < timeline_pending_count(timeline); i++) {
        const uint64_t event = timeline_pending_at(timeline, i);
        if (timeline_due_ns(timeline, event) == DELAY_NEVER ||
            (count == max && !is_due_before(timeline, event, events[count - 1]))) {
            continue;
        }
        uint32_t place = count < max ? count++ : count - 1;
        for (; place > 0 && is_due_before(timeline, event, events[place - 1]); place--) {
            events[place] = events[place - 1];
        }
        events[place] = event;
    }
    return count;
}

static void complete_event(void *context, uint64_t event)
{
    struct lanes *lanes = context;
    timeline_complete(lanes->calls.run->timeline, event);
    open_gates(lanes);
    if (lanes->plan->watch != NULL) {
        lanes->plan->watch->completed(lanes->plan->watch->context, event);
    }
}

/* Each call into the device is a point. */
static void before_device_call(void *context, enum device_call_kind kind)
{
    struct lanes *lanes = context;
    lanes->look_count = 0;
    if (kind != DEVICE_CALL_HOST_ALLOC && scheduler_current() != NULL) {
        scheduler_step(lanes->scheduler, &(struct step){.kind = STEP_DEVICE, .object = lanes->calls.run});
    }
}

static void await_event(void *context, uint64_t event)
{
    struct lanes *lanes = context;
    const uint8_t lane = scheduler_lane(lanes->scheduler);
    CHECK(event <= lanes->plan->ops->count);
    lanes->awaited[lane] = event;
    lanes->awaiting |= UINT64_C(1) << lane;
    scheduler_step(lanes->scheduler, &(struct step){.kind = STEP_WAIT, .object = &lanes->unfinished[event],
                                                    .gate = &lanes->unfinished[event]});
    lanes->awaiting &= ~(UINT64_C(1) << lane);
}

static void looked(void *context)
{
    struct lanes *lanes = context;
    if (++lanes->look_count > LOOK_COUNT_MAX) {
        lanes->look_count = 0;
        scheduler_yield(lanes->scheduler, NULL);
    }
}

/* --- judging -------------------------------------------------------------------------------------------------- */

/* No call is under way any more. */
static void judge_calls(struct lanes *lanes)
{
    scheduler_alone(lanes->scheduler, true);
    lane_calls_judge(&lanes->calls);
    open_gates(lanes);
    if (lanes->calls.run->is_broken) {
        scheduler_stop(lanes->scheduler);
    }
    scheduler_alone(lanes->scheduler, false);
}

/* --- ops -------------------------------------------------------------------------------------------------------- */

/* What the client knows it was told: whoever names what an op made comes after that op, and whoever ends it after all
 * that used it. */
static void order_after(struct lanes *lanes, const struct op *op)
{
    const struct op_kind_info *info = op_kind_info(op->kind);
    struct order *order = lanes->plan->order;
    if (order == NULL || op->ref >= lanes->plan->ops->count || !(info->has_block || info->has_program)) {
        return;
    }
    const uint8_t lane = scheduler_lane(lanes->scheduler);
    order_acquire(order, lane, &lanes->calls.undone[op->ref]);
    if (clients_ends_handle(op)) {
        order_acquire(order, lane, (const unsigned char *)&lanes->calls.undone[op->ref] + 1);
    }
}

static void order_before(struct lanes *lanes, const struct op *op, uint32_t number)
{
    struct order *order = lanes->plan->order;
    if (order == NULL) {
        return;
    }
    const uint8_t lane = scheduler_lane(lanes->scheduler);
    order_release(order, lane, &lanes->calls.undone[number]);
    if (op->ref < lanes->plan->ops->count) {
        order_release(order, lane, (const unsigned char *)&lanes->calls.undone[op->ref] + 1);
    }
}

static void await_op(struct lanes *lanes, uint32_t op)
{
    if (op < lanes->plan->ops->count && lanes->calls.undone[op] != 0) {
        scheduler_step(lanes->scheduler, &(struct step){.kind = STEP_WAIT, .object = &lanes->calls.undone[op],
                                                        .gate = &lanes->calls.undone[op]});
    }
}

/* Counters and the report are read in the call's own time; what they say is compared when no other call is under way. */
static void read_report(struct host *host)
{
    struct target_stats stats;
    host->target->stats(host->instance, &stats);
}

static void call_op(struct lanes *lanes, struct host *host, const struct op *op, uint32_t number)
{
    struct run *run = lanes->calls.run;
    struct call call = {.op = *op, .number = number, .slot = SLOT_NONE, .skipped = true};
    const uint32_t in_overlap = lane_calls_begin(&lanes->calls, host, scheduler_lane(lanes->scheduler));
    const bool may_begin = clients_may_begin(lanes->calls.clients, op);
    clients_begin(lanes->calls.clients, op);
    progress_begin(PROGRESS_OP, (enum op_kind)op->kind, number);
    lanes->look_count = 0;
    order_after(lanes, op);
    if (may_begin) {
        driver_call(host, run->timeline, &run->setup, op, number, &call);
    }
    if (op->kind == OP_REPORT) {
        read_report(host);
    }
    progress_end();
    clients_end(lanes->calls.clients, &call);
    const struct overlap_answer answer = {in_overlap, &call, overlap_message(host, &call)};
    overlap_end(&lanes->calls.overlap, &run->judge, &answer);
    lanes->calls.undone[number] = 0;
    order_before(lanes, op, number);
    open_gates(lanes);
    if (lanes->plan->watch != NULL) {
        lanes->plan->watch->returned(lanes->plan->watch->context, number);
    }
    scheduler_progress(lanes->scheduler);
    if (lanes->calls.overlap.under_way_count == 0) {
        judge_calls(lanes);
    }
}

static void run_op(struct lanes *lanes, uint32_t number)
{
    const struct op *op = &lanes->plan->ops->ops[number];
    const struct op_kind_info *info = op_kind_info(op->kind);
    if (info->has_block || info->has_program) {
        await_op(lanes, op->ref);
    }
    if (info->has_event) {
        await_op(lanes, op->event);
    }
    scheduler_op(lanes->scheduler, number);
    scheduler_step(lanes->scheduler,
                   &(struct step){.kind = STEP_OP, .gate = clients_gate(lanes->calls.clients, op)});
    call_op(lanes, &lanes->calls.run->hosts[op->host], op, number);
}

/* --- lanes -------------------------------------------------------------------------------------------------------- */

static void run_lane(void *context)
{
    const struct lane_task *task = context;
    const struct op_list *ops = task->lanes->plan->ops;
    for (uint32_t i = 0; i < ops->count; i++) {
        if (ops->ops[i].lane == task->lane) {
            run_op(task->lanes, i);
        }
    }
    pthreads_lane_end();
}

static void start_lane(struct lanes *lanes, uint8_t lane)
{
    lanes->tasks[lane] = (struct lane_task){lanes, lane};
    scheduler_client_start(lanes->scheduler, lane, run_lane, &lanes->tasks[lane]);
}

/* Lane 0, and the start of the others where they come up. */
static void run_main_lane(struct lanes *lanes)
{
    const struct op_list *ops = lanes->plan->ops;
    uint64_t started = 1;
    for (uint32_t i = 0; i < ops->count; i++) {
        const uint8_t lane = ops->ops[i].lane;
        if (lane == 0) {
            run_op(lanes, i);
        } else if ((started >> lane & 1) == 0) {
            started |= UINT64_C(1) << lane;
            start_lane(lanes, lane);
        }
    }
    for (uint8_t lane = 1; lane < LANES_CLIENT_COUNT_MAX; lane++) {
        if ((started >> lane & 1) != 0) {
            scheduler_step(lanes->scheduler, &(struct step){.kind = STEP_WAIT,
                                                            .gate = scheduler_lane_gate(lanes->scheduler, lane)});
            if (lanes->plan->order != NULL) {
                order_join(lanes->plan->order, 0, lane);
            }
        }
    }
}

/* Whoever gets that memory next has nothing to do with who had it. */
static void gave_back(void *context, const void *memory, size_t bytes)
{
    const struct lanes *lanes = context;
    if (lanes->plan->order != NULL) {
        order_forget(lanes->plan->order, memory, bytes);
    }
}

static void attach(struct lanes *lanes)
{
    lane_calls_attach(&lanes->calls, &lanes->waiter);
    for (uint32_t i = 0; i < lanes->calls.run->setup.host_count; i++) {
        device_set_witness(lanes->calls.run->hosts[i].device, before_device_call, lanes);
    }
}

const char *lanes_why_not(const struct target_contract *contract)
{
    return !contract->thread_safe    ? "its contract does not say that several threads may call it"
           : !contract->queues_frees ? "it takes no queued frees, so nothing of it can overlap"
                                     : NULL;
}

static void collect(struct lanes *lanes, const struct run *run)
{
    if (lanes->plan->is_again && lanes->calls.trial->first.kind == VERDICT_NONE) {
        trial_collect_counts(lanes->calls.trial, run);
    } else {
        trial_collect(lanes->calls.trial, run);
    }
}

/* A thread of the target may await an event that no client needs: run_finish() completes it, and so it must wake. */
static void complete_all(struct lanes *lanes)
{
    struct timeline *timeline = lanes->calls.run->timeline;
    while (timeline_pending_count(timeline) > 0) {
        timeline_complete(timeline, timeline_pending_at(timeline, 0));
    }
    open_gates(lanes);
}

static void finish(struct lanes *lanes)
{
    struct run *run = lanes->calls.run;
    lane_calls_detach(&lanes->calls);
    scheduler_alone(lanes->scheduler, true);
    complete_all(lanes);
    lane_calls_finish(&lanes->calls);
    collect(lanes, run);
    lanes->calls.run = NULL; /* no event of it completes any more */
    scheduler_events_changed(lanes->scheduler);
    run_end(run);
    lanes->spare = run;
    scheduler_alone(lanes->scheduler, false);
}

static struct run *open_run(struct lanes *lanes)
{
    const struct lanes_plan *plan = lanes->plan;
    struct run *spare = lanes->spare;
    lanes->spare = NULL;
    return spare != NULL ? run_begin_again(spare, plan->target, plan->setup, lanes->reason)
                         : run_create(plan->target, plan->setup, lanes->reason);
}

static void run_body(void *context)
{
    struct lanes *lanes = context;
    const struct lanes_plan *plan = lanes->plan;
    struct run *run = open_run(lanes);
    lanes->is_refused = run == NULL;
    if (run == NULL) {
        return;
    }
    const char *why = lanes_why_not(&run->hosts[0].contract);
    if (why != NULL) {
        snprintf(lanes->reason, RUN_REASON_BYTES, "target '%s' cannot be run with lanes: %s", plan->target->name, why);
        lanes->is_refused = true;
        run_destroy(run);
        return;
    }
    lanes->calls.run = run;
    op_list_copy(&run->ops, plan->ops);
    attach(lanes);
    run_main_lane(lanes);
    finish(lanes);
    pthreads_lane_end();
}

/* --- a run ------------------------------------------------------------------------------------------------------------ */

struct lanes *lanes_create(enum scheduler_backend backend)
{
    struct lanes *lanes = calloc(1, sizeof *lanes);
    CHECK(lanes != NULL);
    pthreads_link();
    lanes->scheduler = scheduler_create(backend);
    lanes->awaited = calloc(LANE_COUNT_MAX, sizeof *lanes->awaited);
    CHECK(lanes->awaited != NULL);
    lanes->waiter = (struct device_waiter){lanes, await_event, looked, gave_back};
    return lanes;
}

static void forget_list(struct lanes *lanes)
{
    run_destroy(lanes->spare);
    lanes->spare = NULL;
    lane_calls_deinit(&lanes->calls);
    free(lanes->unfinished);
    lanes->unfinished = NULL;
}

void lanes_destroy(struct lanes *lanes)
{
    if (lanes == NULL) {
        return;
    }
    scheduler_destroy(lanes->scheduler);
    forget_list(lanes);
    overlap_deinit(&lanes->calls.overlap);
    free(lanes->awaited);
    free(lanes);
}

/* What runs of another list cannot use. */
static void make_for_list(struct lanes *lanes, size_t count)
{
    forget_list(lanes);
    lane_calls_init(&lanes->calls, count);
    lanes->unfinished = malloc((count + 2) * sizeof *lanes->unfinished);
    CHECK(lanes->unfinished != NULL);
}

static void begin(struct lanes *lanes, const struct lanes_plan *plan)
{
    const size_t count = plan->ops->count;
    lanes->plan = plan;
    lanes->is_refused = false;
    lanes->completed_count = lanes->look_count = lanes->awaiting = 0;
    if (!plan->is_again) {
        make_for_list(lanes, count);
    }
    lanes->calls.ops = plan->ops;
    lanes->calls.places_may_be_late = plan->order != NULL; /* its atomic operations are points, too */
    lane_calls_reset(&lanes->calls);
    for (size_t i = 0; i < count + 2; i++) {
        lanes->unfinished[i] = 1;
    }
}

static enum rule rule_of(enum scheduler_outcome outcome)
{
    switch (outcome) {
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
    default:
        return RULE_HANG;
    }
}

/* The scheduler ended the run, not the judge: that is a broken promise of its own. */
static void take_outcome(struct lanes *lanes, const struct scheduler_report *report)
{
    struct run *run = lanes->calls.run;
    struct verdict verdict = {.kind = VERDICT_BROKEN, .rule = rule_of(report->outcome),
                              .op = report->op == STEP_OP_NONE ? (uint32_t)lanes->plan->ops->count : report->op};
    snprintf(verdict.reason, sizeof verdict.reason, "%.*s", (int)sizeof verdict.reason - 1, report->text);
    lanes->calls.trial->first = verdict;
    if (run == NULL) { /* in open() */
        lanes->calls.trial->setup = *lanes->plan->setup;
        lanes->calls.trial->totals.broken = 1;
        op_list_init(&lanes->calls.trial->ops);
        return;
    }
    run->verdict = verdict;
    run->is_broken = true;
    run->totals.broken++;
    (void)lane_calls_tell(&lanes->calls);
}

const char *lanes_why_not_list(const struct op_list *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        if ((ops->ops[i].flags & (OP_RELATIVE | OP_FITTED)) != 0) {
            return "a list with lanes has no %N and no size that is a fit: what they come to depends on the schedule";
        }
    }
    return lanes_count(ops) > LANES_CLIENT_COUNT_MAX ? "the list has more than 16 lanes" : NULL;
}
static_assert(LANES_CLIENT_COUNT_MAX == 16, "as the message says");

bool lanes_run(struct lanes *lanes, const struct lanes_plan *plan, const struct run_listener *listener,
               struct trial *trial, struct scheduler_report *report, char reason[RUN_REASON_BYTES])
{
    memset(trial, 0, plan->is_again ? offsetof(struct trial, setup) : sizeof *trial);
    const char *why_not = lanes_why_not_list(plan->ops);
    if (why_not != NULL) {
        snprintf(reason, RUN_REASON_BYTES, "%s", why_not);
        return false;
    }
    begin(lanes, plan);
    lanes->calls.listener = listener;
    lanes->calls.trial = trial;
    lanes->reason = reason;
    plan->strategy->begin(plan->state, plan->run);
    const struct scheduler_plan scheduler_plan = {
        .strategy = plan->strategy, .strategy_state = plan->state, .body = run_body, .context = lanes,
        .events = list_events, .complete = complete_event, .client_count = lanes_count(plan->ops),
        .order = plan->order, .trace = plan->trace,
    };
    scheduler_run(lanes->scheduler, &scheduler_plan, report);
    if (report->outcome != SCHEDULER_FINISHED && report->outcome != SCHEDULER_STOPPED) {
        take_outcome(lanes, report);
    }
    if (lanes->calls.run != NULL) { /* given up half-way */
        collect(lanes, lanes->calls.run);
        run_abandon(lanes->calls.run);
        lanes->calls.run = NULL;
    }
    if (!lanes->is_refused && !(plan->is_again && trial->first.kind == VERDICT_NONE)) {
        lanes_append_schedule(&trial->ops, report->switches, report->deviation_count);
    }
    return !lanes->is_refused;
}

/* --- again ------------------------------------------------------------------------------------------------------------ */

/* What is local to a thread would be shared by fibers, and nobody knows what a plug-in keeps there. */
enum scheduler_backend lanes_backend(const struct setup *setup)
{
    return strchr(setup->target, '/') != NULL ? SCHEDULER_THREADS : SCHEDULER_FIBERS;
}

bool lanes_replay(const struct target *target, const struct setup *setup, const struct op_list *ops,
                  const struct run_listener *listener, struct trial *trial, char reason[RUN_REASON_BYTES])
{
    return lanes_replay_told(target, setup, ops, NULL, listener, trial, reason);
}

bool lanes_replay_told(const struct target *target, const struct setup *setup, const struct op_list *ops,
                       const struct lanes_plan *told, const struct run_listener *listener, struct trial *trial,
                       char reason[RUN_REASON_BYTES])
{
    struct op_list plain;
    struct schedule_switch *switches = NULL;
    struct scheduler_report report;
    op_list_init(&plain);
    const size_t count = lanes_take_schedule(ops, &plain, &switches);
    void *state = calloc(1, strategy_replay.state_bytes);
    CHECK(state != NULL);
    strategy_replay.init(state, 0, 0);
    strategy_replay_set(state, switches, count);
    struct lanes *lanes = lanes_create(lanes_backend(setup));
    const struct lanes_plan plan = {
        .target = target, .setup = setup, .ops = &plain, .strategy = &strategy_replay, .state = state,
        .order = setup->checks_races ? order_create() : NULL,
        .trace = told == NULL ? NULL : told->trace, .watch = told == NULL ? NULL : told->watch};
    const bool was_run = lanes_run(lanes, &plan, listener, trial, &report, reason);
    lanes_destroy(lanes);
    if (plan.order != NULL) {
        order_destroy(plan.order);
    }
    if (strategy_replay.deinit != NULL) {
        strategy_replay.deinit(state);
    }
    free(state);
    free(switches);
    op_list_deinit(&plain);
    return was_run;
}
