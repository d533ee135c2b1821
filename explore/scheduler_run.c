#include "explore/scheduler.h"

#include "explore/order.h"
#include "explore/private/check.h"
#include "explore/private/scheduler_state.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Thread_local struct scheduler *scheduler_of_thread;

enum { REPIN_PERIOD = 1024, STEPS_MAX_DEFAULT = 100000, CLOCK_STEP_NS = 100 };

const char *scheduler_outcome_name(enum scheduler_outcome outcome)
{
    static const char *const names[] = {"finished", "deadlock", "livelock", "lost_wakeup",
                                        "race",     "misuse",   "stuck",    "stopped"};
    EXPLORE_CHECK((unsigned)outcome < sizeof names / sizeof names[0]);
    return names[outcome];
}

/* --- life --- */

struct scheduler *scheduler_create(enum scheduler_backend backend)
{
    struct scheduler *scheduler = calloc(1, sizeof *scheduler);
    EXPLORE_CHECK(scheduler != NULL);
#ifdef EXPLORE_REAL_LOCKS
    backend =
        SCHEDULER_THREADS; /* a thread sanitizer takes the fibers of a thread for that thread */
#endif
    scheduler->backend = backend;
    scheduler->processor = -1;
    carrier_init_main(&scheduler->main, scheduler);
    return scheduler;
}

void scheduler_destroy(struct scheduler *scheduler)
{
    if (scheduler == NULL) {
        return;
    }
    scheduler_watch_destroy(scheduler);
    for (size_t i = 0; i < LANE_COUNT_MAX; i++) {
        if (scheduler->lanes[i].has_carrier) {
            carrier_deinit(&scheduler->lanes[i].carrier, scheduler->backend);
        }
    }
    object_table_deinit(&scheduler->objects);
    free(scheduler->switches);
    free(scheduler->threads);
    free(scheduler);
}

/* --- what can happen next --- */

static bool is_open(const struct lane *lane)
{
    return lane->step.gate == NULL || *lane->step.gate == 0;
}

static bool has_deadline(const struct lane *lane)
{
    return lane->step.deadline_ns != 0 && lane->step.deadline_ns != STEP_NO_DEADLINE;
}

/* Lanes that can go on, and those whose time-out may fire. */
static void find_lanes(const struct scheduler *scheduler, uint64_t *ready, uint64_t *sleepers)
{
    *ready = *sleepers = 0;
    for (uint64_t left = scheduler->living; left != 0; left &= left - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(left);
        if (is_open(&scheduler->lanes[i])) {
            *ready |= UINT64_C(1) << i;
        } else if (has_deadline(&scheduler->lanes[i])) {
            *sleepers |= UINT64_C(1) << i;
        }
    }
    if (scheduler->is_alone) {
        const uint64_t allowed = ~scheduler->clients | UINT64_C(1) << scheduler->alone_lane;
        *ready &= allowed;
        *sleepers &= allowed;
    }
}

static void find_events(struct scheduler *scheduler)
{
    const struct scheduler_plan *plan = scheduler->plan;
    if (scheduler->events_changed) {
        scheduler->events_changed = false;
        scheduler->event_count = plan->events == NULL
                                     ? 0
                                     : plan->events(plan->context, scheduler->events,
                                                    EVENT_COUNT_MAX);
    }
}

/* --- lost wakeups --- */

/* When nothing can happen, who waits for a condition is woken for no reason, as POSIX allows: when
 * it comes back to the same wait its condition does not hold, and if it goes anywhere else it does,
 * and nobody had told it. */
static bool probe_next(struct scheduler *scheduler, uint8_t *lane)
{
    for (uint8_t i = 0; i < scheduler->lane_count; i++) {
        struct lane *waiter = &scheduler->lanes[i];
        if ((scheduler->living >> i & 1) != 0 && waiter->step.kind == STEP_COND_WAIT &&
            !is_open(waiter) && !waiter->was_probed) {
            waiter->was_probed = true;
            scheduler->probed_lane = i;
            scheduler->probed_object = waiter->step.object;
            *lane = i;
            return true;
        }
    }
    return false;
}

static void forget_probes(struct scheduler *scheduler)
{
    for (uint8_t i = 0; i < scheduler->lane_count; i++) {
        scheduler->lanes[i].was_probed = false;
    }
}

/* The woken lane takes a step. */
static void watch_probed(struct scheduler *scheduler, const struct step *step)
{
    if (scheduler->current != scheduler->probed_lane || step->kind == STEP_LOCK) {
        return;
    }
    const void *object = scheduler->probed_object;
    if (step->kind == STEP_COND_WAIT && step->object == object) {
        if (step->gate != NULL) { /* it waits again */
            scheduler->probed_lane = LANE_COUNT_MAX;
        }
        return;
    }
    scheduler_fail(
        scheduler, SCHEDULER_LOST_WAKEUP,
        "lane %u (op %d) waited on condition variable #%u though its condition held: nobody was left to wake it",
        scheduler->current, (int)scheduler->lanes[scheduler->current].op,
        scheduler_object(scheduler, object, NULL)->number);
}

/* --- decisions --- */

static struct point point_now(const struct scheduler *scheduler)
{
    const struct lane *lane = &scheduler->lanes[scheduler->current];
    return (struct point){.lane = scheduler->current,
                          .kind = (uint8_t)lane->step.kind,
                          .op = lane->op,
                          .number = lane->number};
}

static void record(struct scheduler *scheduler, const struct point *at,
                   const struct decision *decision)
{
    if (scheduler->switch_count == scheduler->switch_capacity) {
        scheduler->switch_capacity = scheduler->switch_capacity * 2 + 64;
        scheduler->switches = realloc(scheduler->switches,
                                      scheduler->switch_capacity * sizeof *scheduler->switches);
        EXPLORE_CHECK(scheduler->switches != NULL);
    }
    scheduler->switches[scheduler->switch_count++] = (struct schedule_switch){
        .lane = at->lane,
        .op = at->op,
        .number = at->number,
        .completes = decision->completes,
        .to = decision->lane,
        .event = decision->event};
}

static bool is_allowed(const struct choice *choice, const struct decision *decision)
{
    if (!decision->completes) {
        return decision->lane < LANE_COUNT_MAX &&
               ((choice->lanes | choice->sleepers) >> decision->lane & 1) != 0;
    }
    for (uint32_t i = 0; i < choice->event_count; i++) {
        if (choice->events[i] == decision->event) {
            return true;
        }
    }
    return false;
}

static struct decision ask(struct scheduler *scheduler, const struct choice *choice)
{
    const struct decision otherwise = decision_default(choice);
    const uint64_t able = choice->lanes | choice->sleepers;
    const bool is_choice = (able & (able - 1)) != 0 || (able != 0) + choice->event_count > 1;
    struct decision decision = otherwise;
    if (!scheduler->is_alone && is_choice) {
        scheduler->decision_count++;
        decision = scheduler->plan->strategy->choose(scheduler->plan->strategy_state, choice);
        EXPLORE_CHECK(is_allowed(choice, &decision));
    }
    if (!decision_equal(&decision, &otherwise)) {
        record(scheduler, &choice->at, &decision);
        scheduler->kept_count = scheduler->switch_count;
    } else if (decision.completes) {
        record(scheduler, &choice->at,
               &decision); /* kept only if a deviation follows at the same point */
    }
    return decision;
}

/* Who yields goes on only when somebody else has, or nobody else can. */
static uint64_t without_yielded(struct scheduler *scheduler, uint64_t ready, uint64_t sleepers)
{
    if ((ready & ~scheduler->yielded) != 0) {
        return ready & ~scheduler->yielded;
    }
    /* Nobody who goes on does anything: it takes an event, or time. */
    return scheduler->event_count > 0 || sleepers != 0 ? 0 : ready;
}

static void wake_by_time(struct scheduler *scheduler, uint8_t number)
{
    struct lane *lane = &scheduler->lanes[number];
    lane->timed_out = true;
    scheduler->now_ns = scheduler->now_ns > lane->step.deadline_ns ? scheduler->now_ns
                                                                   : lane->step.deadline_ns;
}

_Noreturn static void end_stuck(struct scheduler *scheduler)
{
    scheduler_describe(scheduler);
    scheduler_leave(scheduler, SCHEDULER_DEADLOCK);
}

static uint8_t decide_on(struct scheduler *scheduler)
{
    while (scheduler->living != 0) {
        uint64_t ready, sleepers;
        find_lanes(scheduler, &ready, &sleepers);
        find_events(scheduler);
        const uint64_t fresh = without_yielded(scheduler, ready, sleepers);
        const bool is_quiet = fresh == 0 && scheduler->event_count == 0;
        uint8_t probed = 0;
        if (is_quiet && probe_next(scheduler, &probed)) {
            return probed;
        }
        if (is_quiet && sleepers == 0) {
            end_stuck(scheduler);
        }
        const struct choice choice = {.at = point_now(scheduler),
                                      .lanes = fresh,
                                      .sleepers = sleepers,
                                      .event_count = scheduler->event_count,
                                      .events = scheduler->events,
                                      .next = scheduler->next,
                                      .index = scheduler->decision_count,
                                      .step_count = scheduler->taken_count,
                                      .client_lanes = scheduler->clients};
        const struct decision decision = ask(scheduler, &choice);
        if (!decision.completes) {
            if ((sleepers >> decision.lane & 1) != 0) {
                wake_by_time(scheduler, decision.lane);
                scheduler->yielded = 0;
            }
            return decision.lane;
        }
        scheduler->yielded = 0;
        scheduler->events_changed = true;
        scheduler->taken_count++;
        scheduler->plan->complete(scheduler->plan->context, decision.event);
        scheduler_progress(scheduler);
    }
    scheduler_leave(scheduler, SCHEDULER_FINISHED);
}

/* Whose turn it is next.  Events complete meanwhile. */
static uint8_t decide(struct scheduler *scheduler)
{
    scheduler->kept_count = scheduler->switch_count;
    const uint8_t next = decide_on(scheduler);
    scheduler->switch_count = scheduler->kept_count;
    return next;
}

/* --- turns --- */

static void note_turn(struct scheduler *scheduler, uint8_t number)
{
    struct lane *lane = &scheduler->lanes[number];
    scheduler->report->switch_count += number != scheduler->current;
    scheduler->taken_count++;
    scheduler->current = number;
    if (lane->step.kind != STEP_YIELD) {
        scheduler->yielded &= UINT64_C(1) << number; /* the others may find something new */
    }
    if (number != scheduler->probed_lane) {
        scheduler->probed_lane = LANE_COUNT_MAX;
    }
    if (scheduler->plan->trace != NULL) {
        const struct point point = point_now(scheduler);
        scheduler->plan->trace->took(scheduler->plan->trace->context, &point, lane->step.object,
                                     lane->step.place);
    }
}

static struct carrier *carrier_of(struct scheduler *scheduler, uint8_t number)
{
    return &scheduler->lanes[number].carrier;
}

/* For the watch: which thread to look at. */
static void note_thread(struct scheduler *scheduler)
{
    if (scheduler->backend == SCHEDULER_THREADS) {
        scheduler->running_thread = carrier_of(scheduler, scheduler->current)->thread;
    }
}

/* Returns when it is the turn of the lane that runs now. */
static void take_turn(struct scheduler *scheduler)
{
    const uint8_t self = scheduler->current;
    const uint8_t next = decide(scheduler);
    note_turn(scheduler, next);
    if (next != self) {
        note_thread(scheduler);
        carrier_switch(carrier_of(scheduler, self), carrier_of(scheduler, next),
                       scheduler->backend);
    }
}

enum step_result scheduler_step(struct scheduler *scheduler, const struct step *step)
{
    struct lane *lane = &scheduler->lanes[scheduler->current];
    lane->step = *step;
    scheduler->next[scheduler->current] = (struct footprint){
        step->object == NULL ? 0
                             : object_table_find(&scheduler->objects, step->object, NULL)->number,
        step->reads_only};
    scheduler->report->step_count++;
    atomic_store_explicit(&scheduler->step_total, scheduler->step_total + 1, memory_order_relaxed);
    if (scheduler->probed_lane != LANE_COUNT_MAX) {
        watch_probed(scheduler, step);
    }
    const uint64_t most = scheduler->plan->step_count_max == 0 ? STEPS_MAX_DEFAULT
                                                               : scheduler->plan->step_count_max;
    if (++scheduler->steps_since_progress > most) {
        scheduler_describe(scheduler);
        scheduler_leave(scheduler, SCHEDULER_LIVELOCK);
    }
    take_turn(scheduler);
    lane->number++;
    const bool timed_out = lane->timed_out;
    lane->timed_out = false;
    lane->step.gate = NULL;
    lane->step.deadline_ns = 0;
    return timed_out ? STEP_TIMED_OUT : STEP_GRANTED;
}

void scheduler_yield(struct scheduler *scheduler, const void *place)
{
    scheduler->yielded |= UINT64_C(1) << scheduler->current;
    scheduler_step(scheduler,
                   &(struct step){.kind = STEP_YIELD, .reads_only = true, .place = place});
}

void scheduler_sleep(struct scheduler *scheduler, uint64_t delay_ns, const void *place)
{
    static const uint32_t closed = 1;
    const uint64_t now_ns = scheduler->now_ns;
    const uint64_t deadline_ns = delay_ns < STEP_NO_DEADLINE - 1 - now_ns ? now_ns + delay_ns
                                                                          : STEP_NO_DEADLINE - 1;
    scheduler_step(scheduler, &(struct step){.kind = STEP_SLEEP,
                                             .reads_only = true,
                                             .gate = &closed,
                                             .deadline_ns = deadline_ns,
                                             .place = place});
}

/* --- lanes --- */

/* The turn goes to somebody else for good. */
_Noreturn static void end_lane(struct scheduler *scheduler)
{
    const uint8_t self = scheduler->current;
    struct lane *lane = &scheduler->lanes[self];
    lane->step = (struct step){.kind = STEP_END};
    lane->lives = 0;
    scheduler->living &= ~(UINT64_C(1) << self);
    const uint8_t next = decide(scheduler);
    note_turn(scheduler, next);
    note_thread(scheduler);
    carrier_end(&lane->carrier, carrier_of(scheduler, next), scheduler->backend);
}

static void run_lane(void *context)
{
    struct scheduler *scheduler = context;
    struct lane *lane = &scheduler->lanes[scheduler->current];
    lane->number++; /* its start was a point */
    lane->body(lane->context);
    end_lane(scheduler);
}

_Noreturn void scheduler_lane_exit(struct scheduler *scheduler)
{
    end_lane(scheduler);
}

static void pin(const struct scheduler *scheduler, const struct lane *lane)
{
    if (scheduler->backend == SCHEDULER_THREADS && scheduler->processor >= 0) {
        carrier_pin(&lane->carrier, scheduler->processor);
    }
}

static void start_lane(struct scheduler *scheduler, uint8_t number, void (*body)(void *context),
                       void *context)
{
    struct lane *lane = &scheduler->lanes[number];
    if (!lane->has_carrier) {
        carrier_init(&lane->carrier, scheduler, scheduler->backend);
        lane->has_carrier = true;
        pin(scheduler, lane);
    }
    lane->body = body;
    lane->context = context;
    lane->step = (struct step){.kind = STEP_START};
    lane->op = STEP_OP_NONE;
    lane->number = 0;
    lane->lives = 1;
    lane->timed_out = lane->was_probed = false;
    scheduler->next[number] = (struct footprint){0};
    scheduler->living |= UINT64_C(1) << number;
    if (scheduler->plan->order != NULL && number != scheduler->current) {
        order_start(scheduler->plan->order, scheduler->current, number);
    }
    carrier_start(&lane->carrier, scheduler->backend, run_lane, scheduler);
}

uint8_t scheduler_lane_start(struct scheduler *scheduler, bool is_client,
                             void (*body)(void *context), void *context)
{
    const uint8_t number = scheduler->lane_count;
    if (number == LANE_COUNT_MAX) {
        scheduler_fail(scheduler, SCHEDULER_MISUSE, "more than %d lanes", LANE_COUNT_MAX);
    }
    scheduler->lane_count++;
    scheduler->clients |= (uint64_t)is_client << number;
    start_lane(scheduler, number, body, context);
    return number;
}

void scheduler_client_start(struct scheduler *scheduler, uint8_t number,
                            void (*body)(void *context), void *context)
{
    EXPLORE_CHECK(number >= 1);
    EXPLORE_CHECK(number < scheduler->plan->client_count);
    EXPLORE_CHECK((scheduler->clients >> number & 1) == 0);
    scheduler->clients |= UINT64_C(1) << number;
    start_lane(scheduler, number, body, context);
}

const uint32_t *scheduler_lane_gate(struct scheduler *scheduler, uint8_t lane)
{
    EXPLORE_CHECK(lane < scheduler->lane_count);
    return &scheduler->lanes[lane].lives;
}

uint8_t scheduler_lane(const struct scheduler *scheduler)
{
    return scheduler->current;
}

uint8_t scheduler_lane_count(const struct scheduler *scheduler)
{
    return scheduler->lane_count;
}

void scheduler_op(struct scheduler *scheduler, uint32_t op)
{
    scheduler->lanes[scheduler->current].op = op;
    scheduler->lanes[scheduler->current].number = 0;
}

void scheduler_progress(struct scheduler *scheduler)
{
    scheduler->steps_since_progress = 0;
    forget_probes(scheduler);
}

void scheduler_alone(struct scheduler *scheduler, bool is_alone)
{
    scheduler->is_alone = is_alone;
    scheduler->alone_lane = scheduler->current;
    scheduler_watch_pause(scheduler, is_alone);
}

void scheduler_events_changed(struct scheduler *scheduler)
{
    scheduler->events_changed = true;
}

uint64_t scheduler_now_ns(const struct scheduler *scheduler)
{
    struct scheduler *clock = (struct scheduler *)(uintptr_t)scheduler;
    return clock->now_ns += CLOCK_STEP_NS;
}

struct order *scheduler_order(const struct scheduler *scheduler)
{
    return scheduler->plan->order;
}

struct object *scheduler_object(struct scheduler *scheduler, const void *address, const char *kind)
{
    return object_table_find(&scheduler->objects, address, kind);
}

void scheduler_object_forget(struct scheduler *scheduler, const void *address)
{
    object_table_forget(&scheduler->objects, address);
}

/* --- a run --- */

_Noreturn void scheduler_leave(struct scheduler *scheduler, enum scheduler_outcome outcome)
{
    struct carrier *self = carrier_of(scheduler, scheduler->current);
    const bool is_over = scheduler->lanes[scheduler->current].lives == 0;
    scheduler->report->outcome = outcome;
    if (is_over) {
        carrier_end(self, &scheduler->main, scheduler->backend);
    }
    carrier_switch(self, &scheduler->main, scheduler->backend);
    EXPLORE_CHECK(false);
    abort();
}

_Noreturn void scheduler_fail(struct scheduler *scheduler, enum scheduler_outcome outcome,
                              const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(scheduler->report->text, sizeof scheduler->report->text, format, arguments);
    va_end(arguments);
    scheduler_leave(scheduler, outcome);
}

_Noreturn void scheduler_stop(struct scheduler *scheduler)
{
    scheduler_leave(scheduler, SCHEDULER_STOPPED);
}

/* The threads of lanes take turns: on one processor a turn costs half. */
static void choose_processor(struct scheduler *scheduler)
{
    if (scheduler->backend != SCHEDULER_THREADS || scheduler->run_count++ % REPIN_PERIOD != 0) {
        return;
    }
    const int here = sched_getcpu();
    if (here == scheduler->processor) {
        return;
    }
    scheduler->processor = here;
    for (size_t i = 0; i < LANE_COUNT_MAX; i++) {
        pin(scheduler, &scheduler->lanes[i]);
    }
}

static void reset(struct scheduler *scheduler, const struct scheduler_plan *plan,
                  struct scheduler_report *report)
{
    scheduler->plan = plan;
    scheduler->report = report;
    scheduler->living = scheduler->clients = scheduler->yielded = 0;
    scheduler->lane_count = scheduler->current = 0;
    scheduler->is_alone = false;
    scheduler->event_count = 0;
    scheduler->events_changed = true;
    scheduler->probed_lane = LANE_COUNT_MAX;
    scheduler->now_ns = scheduler->steps_since_progress = 0;
    scheduler->decision_count = scheduler->taken_count = 0;
    scheduler->switch_count = 0;
    object_table_clear(&scheduler->objects);
    if (plan->order != NULL) {
        order_reset(plan->order);
    }
}

static void give_up_rest(struct scheduler *scheduler)
{
    for (uint64_t left = scheduler->living; left != 0; left &= left - 1) {
        carrier_give_up(carrier_of(scheduler, (uint8_t)__builtin_ctzll(left)), scheduler->backend);
    }
}

void scheduler_run(struct scheduler *scheduler, const struct scheduler_plan *plan,
                   struct scheduler_report *report)
{
    struct scheduler *outer = scheduler_of_thread;
    EXPLORE_CHECK(outer == NULL);
    memset(report, 0, sizeof *report);
    for (uint8_t i = 0; i < scheduler->lane_count; i++) {
        scheduler->lanes[i].lives = 0; /* of the run before */
    }
    reset(scheduler, plan, report);
    choose_processor(scheduler);
    scheduler->clients = 1;
    scheduler->lane_count = plan->client_count == 0 ? 1 : plan->client_count;
    EXPLORE_CHECK(scheduler->lane_count <= LANE_COUNT_MAX);
    start_lane(scheduler, 0, plan->body, plan->context);
    scheduler->running_thread = pthread_self();
    note_thread(scheduler);
    scheduler_watch_begin(scheduler);
    if (scheduler->backend == SCHEDULER_FIBERS) {
        scheduler_of_thread = scheduler;
    }
    carrier_switch(&scheduler->main, &scheduler->lanes[0].carrier, scheduler->backend);
    scheduler_of_thread = NULL;
    scheduler_watch_end(scheduler);
    give_up_rest(scheduler);
    report->summary = (struct run_summary){.decision_count = scheduler->decision_count,
                                           .lane_count = scheduler->lane_count,
                                           .is_cut = report->outcome != SCHEDULER_FINISHED};
    report->op = scheduler->lanes[scheduler->current].op;
    report->switches = scheduler->switches;
    report->deviation_count = scheduler->switch_count;
}
