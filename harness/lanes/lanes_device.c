#include "harness/lanes/private/lanes_state.h"

#include "explore/order.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/device/timeline.h"
#include "harness/lanes/lanes.h"

#include <stdlib.h>

/* Between two points an honest target looks at each of its events a few times. */
enum { LOOK_COUNT_MAX = 4096 };

/* --- events --- */

static void open_done(struct lanes *lanes)
{
    const struct timeline *timeline = lanes->calls.run->timelines[0];
    while (lanes->completed_count < timeline_completed_count(timeline)) {
        const uint64_t event = timeline_completed_at(timeline, lanes->completed_count++);
        CHECK(event > 0);
        if (event <= lanes->plan->ops->count) {
            lanes->unfinished[event] = 0;
        }
    }
    CHECK(lanes->completed_count == timeline_completed_count(timeline));
}

/* Opens the gates of lost events: who waits for one would otherwise wait forever. */
static void open_lost(struct lanes *lanes)
{
    const struct timeline *timeline = lanes->calls.run->timelines[0];
    for (uint64_t left = lanes->awaiting; left != 0; left &= left - 1) {
        const uint64_t event = lanes->awaited[__builtin_ctzll(left)];
        CHECK(event <= lanes->plan->ops->count);
        CHECK(event > 0);
        if (timeline_state(timeline, event) == EVENT_PENDING &&
            timeline_due_ns(timeline, event) == DELAY_NEVER) {
            lanes->unfinished[event] = 0;
        }
    }
}

void lanes_device_open_gates(struct lanes *lanes)
{
    open_done(lanes);
    open_lost(lanes);
    scheduler_events_changed(lanes->scheduler);
}

uint32_t lanes_device_events(void *context, uint64_t *events, uint32_t max)
{
    const struct lanes *lanes = context;
    return lanes->calls.run == NULL
               ? 0
               : lanes_events_coming(lanes->calls.run->timelines[0], events, max);
}

void lanes_device_complete(void *context, uint64_t event)
{
    struct lanes *lanes = context;
    timeline_complete(lanes->calls.run->timelines[0], event);
    lanes_device_open_gates(lanes);
    if (lanes->plan->watch != NULL) {
        lanes->plan->watch->completed(lanes->plan->watch->context, event);
    }
}

void lanes_device_complete_all(struct lanes *lanes)
{
    struct timeline *timeline = lanes->calls.run->timelines[0];
    while (timeline_pending_count(timeline) > 0) {
        timeline_complete(timeline, timeline_pending_at(timeline, 0));
    }
    lanes_device_open_gates(lanes);
}

/* --- what the target asks of it --- */

/* Each call into the device is a point. */
static void before_device_call(void *context, enum device_call_kind kind)
{
    CHECK((unsigned)kind < DEVICE_CALL_KIND_COUNT);
    struct lanes *lanes = context;
    CHECK(lanes->scheduler != NULL);
    lanes->look_count = 0;
    if (kind != DEVICE_CALL_HOST_ALLOC && scheduler_current() != NULL) {
        scheduler_step(lanes->scheduler,
                       &(struct step){.kind = STEP_DEVICE, .object = lanes->calls.run});
    }
}

static void await_event(void *context, uint64_t event)
{
    struct lanes *lanes = context;
    const uint8_t lane = scheduler_lane(lanes->scheduler);
    CHECK(event <= lanes->plan->ops->count);
    CHECK(lane < LANE_COUNT_MAX);
    CHECK((lanes->awaiting >> lane & 1) == 0);
    lanes->awaited[lane] = event;
    lanes->awaiting |= UINT64_C(1) << lane;
    scheduler_step(lanes->scheduler, &(struct step){.kind = STEP_WAIT,
                                                    .object = &lanes->unfinished[event],
                                                    .gate = &lanes->unfinished[event]});
    lanes->awaiting &= ~(UINT64_C(1) << lane);
}

static void note_look(void *context)
{
    struct lanes *lanes = context;
    if (++lanes->look_count > LOOK_COUNT_MAX) {
        lanes->look_count = 0;
        scheduler_yield(lanes->scheduler, NULL);
    }
    CHECK(lanes->look_count <= LOOK_COUNT_MAX);
}

/* Forgets that memory: who gets it next has nothing to do with who had it. */
static void gave_back(void *context, const void *memory, size_t bytes)
{
    const struct lanes *lanes = context;
    if (lanes->plan->order != NULL) {
        order_forget(lanes->plan->order, memory, bytes);
    }
}

void lanes_device_attach(struct lanes *lanes)
{
    lane_calls_attach(&lanes->calls, &lanes->waiter);
    for (uint32_t i = 0; i < lanes->calls.run->setup.host_count; i++) {
        device_set_witness(lanes->calls.run->hosts[i].device, before_device_call, lanes);
    }
}

/* --- its memory --- */

void lanes_device_init(struct lanes *lanes)
{
    CHECK(lanes->unfinished == NULL);
    lanes->awaited = array_zeroed(LANE_COUNT_MAX, sizeof *lanes->awaited);
    lanes->waiter = (struct device_waiter){lanes, await_event, note_look, gave_back};
}

void lanes_device_deinit(struct lanes *lanes)
{
    CHECK(lanes->awaited != NULL);
    CHECK(lanes->calls.run == NULL);
    free(lanes->awaited);
    free(lanes->unfinished);
}

void lanes_device_make(struct lanes *lanes, size_t op_count)
{
    CHECK(lanes->calls.run == NULL);
    free(lanes->unfinished);
    lanes->unfinished = array_resized(NULL, (op_count + 2) * sizeof *lanes->unfinished);
}

void lanes_device_reset(struct lanes *lanes)
{
    CHECK(lanes->unfinished != NULL);
    CHECK(lanes->calls.run == NULL);
    lanes->completed_count = lanes->look_count = lanes->awaiting = 0;
    for (size_t i = 0; i < lanes->plan->ops->count + 2; i++) {
        lanes->unfinished[i] = 1;
    }
}
