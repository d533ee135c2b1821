/* Passes the turn from lane to lane, and begins and ends lanes. */
#include "explore/order.h"
#include "explore/private/check.h"
#include "explore/private/scheduler_state.h"

enum { STEPS_MAX_DEFAULT = 100000, CLOCK_STEP_NS = 100 };

static void note_turn(struct scheduler *scheduler, uint8_t number)
{
    EXPLORE_CHECK(number < scheduler->lane_count);
    EXPLORE_CHECK((scheduler->living >> number & 1) != 0);
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
        const struct point point = scheduler_point_now(scheduler);
        scheduler->plan->trace->took(scheduler->plan->trace->context, &point, lane->step.object,
                                     lane->step.place);
    }
}

void scheduler_note_thread(struct scheduler *scheduler)
{
    EXPLORE_CHECK(scheduler->current < scheduler->lane_count);
    EXPLORE_CHECK(scheduler->backend == SCHEDULER_FIBERS ||
                  scheduler->lanes[scheduler->current].has_carrier);
    if (scheduler->backend == SCHEDULER_THREADS) {
        struct carrier *carrier = scheduler_carrier_of(scheduler, scheduler->current);
        scheduler->running_thread = carrier->thread;
        atomic_store_explicit(&scheduler->running_task, &carrier->task, memory_order_relaxed);
    }
}

/* Returns when it is the turn of the lane that runs now. */
static void take_turn(struct scheduler *scheduler)
{
    EXPLORE_CHECK((scheduler->living >> scheduler->current & 1) != 0);
    const uint8_t self = scheduler->current;
    const uint8_t next = scheduler_decide(scheduler);
    note_turn(scheduler, next);
    if (next != self) {
        scheduler_note_thread(scheduler);
        carrier_switch(scheduler_carrier_of(scheduler, self), scheduler_carrier_of(scheduler, next),
                       scheduler->backend);
    }
    EXPLORE_CHECK(scheduler->current == self);
}

enum step_result scheduler_step(struct scheduler *scheduler, const struct step *step)
{
    EXPLORE_CHECK(scheduler->current < scheduler->lane_count);
    struct lane *lane = &scheduler->lanes[scheduler->current];
    lane->step = *step;
    scheduler->next[scheduler->current] = (struct footprint){
        step->object == NULL ? 0
                             : object_table_find(&scheduler->objects, step->object, NULL)->number,
        step->reads_only};
    scheduler->report->step_count++;
    atomic_store_explicit(&scheduler->step_total, scheduler->step_total + 1, memory_order_relaxed);
    if (scheduler->probed_lane != LANE_COUNT_MAX) {
        scheduler_check_probed(scheduler, step);
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
    EXPLORE_CHECK(lane == &scheduler->lanes[scheduler->current]);
    return timed_out ? STEP_TIMED_OUT : STEP_GRANTED;
}

void scheduler_yield(struct scheduler *scheduler, const void *place)
{
    EXPLORE_CHECK(scheduler->current < scheduler->lane_count);
    EXPLORE_CHECK((scheduler->living >> scheduler->current & 1) != 0);
    scheduler->yielded |= UINT64_C(1) << scheduler->current;
    scheduler_step(scheduler,
                   &(struct step){.kind = STEP_YIELD, .reads_only = true, .place = place});
}

void scheduler_sleep(struct scheduler *scheduler, uint64_t delay_ns, const void *place)
{
    EXPLORE_CHECK(scheduler->current < scheduler->lane_count);
    static const uint32_t closed = 1;
    const uint64_t now_ns = scheduler->now_ns;
    const uint64_t deadline_ns = delay_ns < STEP_NO_DEADLINE - 1 - now_ns ? now_ns + delay_ns
                                                                          : STEP_NO_DEADLINE - 1;
    EXPLORE_CHECK(deadline_ns != STEP_NO_DEADLINE);
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
    EXPLORE_CHECK(lane->lives != 0);
    EXPLORE_CHECK((scheduler->living >> self & 1) != 0);
    lane->step = (struct step){.kind = STEP_END};
    lane->lives = 0;
    scheduler->living &= ~(UINT64_C(1) << self);
    const uint8_t next = scheduler_decide(scheduler);
    note_turn(scheduler, next);
    scheduler_note_thread(scheduler);
    carrier_end(&lane->carrier, scheduler_carrier_of(scheduler, next), scheduler->backend);
}

static void run_lane(void *context)
{
    struct scheduler *scheduler = context;
    struct lane *lane = &scheduler->lanes[scheduler->current];
    EXPLORE_CHECK(lane->body != NULL);
    EXPLORE_CHECK(lane->lives != 0);
    lane->number++; /* its start was a point */
    lane->body(lane->context);
    end_lane(scheduler);
}

_Noreturn void scheduler_lane_exit(struct scheduler *scheduler)
{
    end_lane(scheduler);
}

void scheduler_pin_lane(const struct scheduler *scheduler, const struct lane *lane)
{
    if (scheduler->backend == SCHEDULER_THREADS && scheduler->processor >= 0) {
        carrier_pin(&lane->carrier, scheduler->processor);
    }
}

void scheduler_begin_lane(struct scheduler *scheduler, uint8_t number, void (*body)(void *context),
                          void *context)
{
    EXPLORE_CHECK(number < scheduler->lane_count);
    EXPLORE_CHECK((scheduler->living >> number & 1) == 0);
    EXPLORE_CHECK(body != NULL);
    struct lane *lane = &scheduler->lanes[number];
    if (!lane->has_carrier) {
        carrier_init(&lane->carrier, scheduler, scheduler->backend);
        lane->has_carrier = true;
        scheduler_pin_lane(scheduler, lane);
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
        scheduler_fail(scheduler, SCHEDULER_MISUSE,
                       "the target starts more threads than the %d lanes allowed", LANE_COUNT_MAX);
    }
    scheduler->lane_count++;
    scheduler->clients |= (uint64_t)is_client << number;
    scheduler_begin_lane(scheduler, number, body, context);
    EXPLORE_CHECK((scheduler->living >> number & 1) != 0);
    EXPLORE_CHECK(number < scheduler->lane_count);
    return number;
}

void scheduler_client_start(struct scheduler *scheduler, uint8_t number,
                            void (*body)(void *context), void *context)
{
    EXPLORE_CHECK(number >= 1);
    EXPLORE_CHECK(number < scheduler->plan->client_count);
    EXPLORE_CHECK((scheduler->clients >> number & 1) == 0);
    scheduler->clients |= UINT64_C(1) << number;
    scheduler_begin_lane(scheduler, number, body, context);
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
    EXPLORE_CHECK(scheduler->current < scheduler->lane_count);
    EXPLORE_CHECK(scheduler->lanes[scheduler->current].lives != 0);
    scheduler->lanes[scheduler->current].op = op;
    scheduler->lanes[scheduler->current].number = 0;
}

void scheduler_progress(struct scheduler *scheduler)
{
    EXPLORE_CHECK(scheduler->plan != NULL);
    EXPLORE_CHECK(scheduler->current < scheduler->lane_count);
    scheduler->steps_since_progress = 0;
    scheduler_forget_probes(scheduler);
}

void scheduler_alone(struct scheduler *scheduler, bool is_alone)
{
    EXPLORE_CHECK(scheduler->current < scheduler->lane_count);
    EXPLORE_CHECK((scheduler->living >> scheduler->current & 1) != 0);
    scheduler->is_alone = is_alone;
    scheduler->alone_lane = scheduler->current;
    scheduler_watch_pause(scheduler, is_alone);
}

void scheduler_events_changed(struct scheduler *scheduler)
{
    EXPLORE_CHECK(scheduler->plan != NULL);
    scheduler->events_changed = true;
}

uint64_t scheduler_now_ns(const struct scheduler *scheduler)
{
    struct scheduler *clock = (struct scheduler *)(uintptr_t)scheduler;
    return clock->now_ns += CLOCK_STEP_NS;
}
