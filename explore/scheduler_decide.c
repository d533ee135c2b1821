/* Decides what happens next, of all that can. */
#include "explore/private/check.h"
#include "explore/private/scheduler_state.h"

#include <stdlib.h>

static bool is_gate_open(const struct lane *lane)
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
        if (is_gate_open(&scheduler->lanes[i])) {
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
    EXPLORE_CHECK(scheduler->plan != NULL);
    const struct scheduler_plan *plan = scheduler->plan;
    if (scheduler->events_changed) {
        scheduler->events_changed = false;
        scheduler->event_count = plan->events == NULL
                                     ? 0
                                     : plan->events(plan->context, scheduler->events,
                                                    EVENT_COUNT_MAX);
    }
    EXPLORE_CHECK(scheduler->event_count <= EVENT_COUNT_MAX);
}

/* --- lost wakeups --- */

/* When nothing can happen, who waits for a condition is woken for no reason, as POSIX allows: when
 * it comes back to the same wait its condition does not hold, and if it goes anywhere else it does,
 * and nobody had told it. */
static bool has_woken_waiter(struct scheduler *scheduler, uint8_t *lane)
{
    EXPLORE_CHECK(scheduler->lane_count <= LANE_COUNT_MAX);
    for (uint8_t i = 0; i < scheduler->lane_count; i++) {
        struct lane *waiter = &scheduler->lanes[i];
        if ((scheduler->living >> i & 1) != 0 && waiter->step.kind == STEP_COND_WAIT &&
            !is_gate_open(waiter) && !waiter->was_probed) {
            waiter->was_probed = true;
            scheduler->probed_lane = i;
            EXPLORE_CHECK(waiter->lives != 0);
            scheduler->probed_object = waiter->step.object;
            *lane = i;
            return true;
        }
    }
    return false;
}

void scheduler_forget_probes(struct scheduler *scheduler)
{
    EXPLORE_CHECK(scheduler->lane_count <= LANE_COUNT_MAX);
    EXPLORE_CHECK(scheduler->plan != NULL);
    for (uint8_t i = 0; i < scheduler->lane_count; i++) {
        scheduler->lanes[i].was_probed = false;
    }
}

void scheduler_check_probed(struct scheduler *scheduler, const struct step *step)
{
    EXPLORE_CHECK(scheduler->probed_lane < scheduler->lane_count);
    EXPLORE_CHECK(scheduler->current < scheduler->lane_count);
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
        "lane %u (op %d) waits on condition variable #%u although its condition holds: no other lane can wake it",
        scheduler->current, (int)scheduler->lanes[scheduler->current].op,
        scheduler_object(scheduler, object, NULL)->number);
}

/* --- decisions --- */

struct point scheduler_point_now(const struct scheduler *scheduler)
{
    const struct lane *lane = &scheduler->lanes[scheduler->current];
    return (struct point){.lane = scheduler->current,
                          .kind = (uint8_t)lane->step.kind,
                          .op = lane->op,
                          .number = lane->number};
}

static void record_switch(struct scheduler *scheduler, const struct point *at,
                          const struct decision *decision)
{
    EXPLORE_CHECK(at->lane < scheduler->lane_count);
    if (scheduler->switch_count == scheduler->switch_capacity) {
        scheduler->switch_capacity = scheduler->switch_capacity * 2 + 64;
        scheduler->switches = realloc(scheduler->switches,
                                      scheduler->switch_capacity * sizeof *scheduler->switches);
        EXPLORE_CHECK(scheduler->switches != NULL);
    }
    EXPLORE_CHECK(scheduler->switch_count < scheduler->switch_capacity);
    scheduler->switches[scheduler->switch_count++] = (struct schedule_switch){
        .lane = at->lane,
        .op = at->op,
        .number = at->number,
        .completes = decision->completes,
        .to = decision->lane,
        .event = decision->event};
}

static struct decision ask_strategy(struct scheduler *scheduler, const struct choice *choice)
{
    EXPLORE_CHECK(choice->event_count <= EVENT_COUNT_MAX);
    EXPLORE_CHECK((choice->lanes & choice->sleepers) == 0);
    const struct decision otherwise = decision_default(choice);
    const uint64_t able = choice->lanes | choice->sleepers;
    const bool is_choice = (able & (able - 1)) != 0 || (able != 0) + choice->event_count > 1;
    struct decision decision = otherwise;
    if (!scheduler->is_alone && is_choice) {
        scheduler->decision_count++;
        decision = scheduler->plan->strategy->choose(scheduler->plan->strategy_state, choice);
        EXPLORE_CHECK(decision_is_offered(&decision, choice));
    }
    if (!decision_equal(&decision, &otherwise)) {
        record_switch(scheduler, &choice->at, &decision);
        scheduler->recorded_count = scheduler->switch_count;
    } else if (decision.completes) {
        record_switch(scheduler, &choice->at,
                      &decision); /* kept only if a deviation follows at the same point */
    }
    EXPLORE_CHECK(scheduler->recorded_count <= scheduler->switch_count);
    return decision;
}

/* Leaves a lane that yields out until another has gone on, or no other can. */
static uint64_t leave_out_yielded(struct scheduler *scheduler, uint64_t ready, uint64_t sleepers)
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
    EXPLORE_CHECK(!lane->timed_out);
    EXPLORE_CHECK(has_deadline(lane));
    lane->timed_out = true;
    scheduler->now_ns = scheduler->now_ns > lane->step.deadline_ns ? scheduler->now_ns
                                                                   : lane->step.deadline_ns;
    EXPLORE_CHECK(scheduler->now_ns >= lane->step.deadline_ns);
}

_Noreturn static void end_in_deadlock(struct scheduler *scheduler)
{
    scheduler_describe(scheduler);
    scheduler_leave(scheduler, SCHEDULER_DEADLOCK);
}

static uint8_t decide_lane(struct scheduler *scheduler)
{
    while (scheduler->living != 0) {
        uint64_t ready, sleepers;
        find_lanes(scheduler, &ready, &sleepers);
        EXPLORE_CHECK(((ready | sleepers) & ~scheduler->living) == 0);
        EXPLORE_CHECK((ready & sleepers) == 0);
        find_events(scheduler);
        const uint64_t fresh = leave_out_yielded(scheduler, ready, sleepers);
        const bool is_quiet = fresh == 0 && scheduler->event_count == 0;
        uint8_t probed = 0;
        if (is_quiet && has_woken_waiter(scheduler, &probed)) {
            return probed;
        }
        if (is_quiet && sleepers == 0) {
            end_in_deadlock(scheduler);
        }
        const struct choice choice = {.at = scheduler_point_now(scheduler),
                                      .lanes = fresh,
                                      .sleepers = sleepers,
                                      .event_count = scheduler->event_count,
                                      .events = scheduler->events,
                                      .next = scheduler->next,
                                      .index = scheduler->decision_count,
                                      .step_count = scheduler->taken_count,
                                      .client_lanes = scheduler->clients};
        const struct decision decision = ask_strategy(scheduler, &choice);
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
        EXPLORE_CHECK(scheduler->plan->complete != NULL);
        scheduler->plan->complete(scheduler->plan->context, decision.event);
        scheduler_progress(scheduler);
    }
    scheduler_leave(scheduler, SCHEDULER_FINISHED);
}

uint8_t scheduler_decide(struct scheduler *scheduler)
{
    scheduler->recorded_count = scheduler->switch_count;
    const uint8_t next = decide_lane(scheduler);
    EXPLORE_CHECK(scheduler->recorded_count <= scheduler->switch_count);
    scheduler->switch_count = scheduler->recorded_count;
    EXPLORE_CHECK(next < scheduler->lane_count);
    return next;
}
