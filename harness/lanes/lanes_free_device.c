#include "harness/lanes/private/lanes_free_state.h"

#include "harness/base/check.h"
#include "harness/device/timeline.h"
#include "harness/lanes/lanes_free.h"
#include "harness/lanes/private/lanes_events.h"

#include <time.h>

/* About what a few calls take: events complete between them, and in their midst. */
enum { EVENT_DELAY_NS_MAX = 50000 };

/* --- completions --- */

/* The event that is due first; 0 = none is coming, or nothing may happen now but what somebody
 * waits for. */
static uint64_t next_event(const struct free_lanes *lanes)
{
    uint64_t next = 0;
    if (lanes->is_judging && lanes->awaiting_count == 0) {
        return 0;
    }
    return lanes_events_coming(lanes->calls.run->timelines[0], &next, 1) == 0 ? 0 : next;
}

/* Lets the lanes go on for a while, unless all of them wait for the device. */
static void delay_event(struct free_lanes *lanes)
{
    struct random *random = &lanes->device_random;
    if (lanes->awaiting_count >= lanes->lane_count || random_chance(random, 1, 2)) {
        return;
    }
    const struct timespec delay = {.tv_nsec = (long)random_below(random, EVENT_DELAY_NS_MAX)};
    device_guard_leave(&lanes->guard);
    (void)nanosleep(&delay, NULL);
    device_guard_enter(&lanes->guard);
}

static void *complete_events(void *context)
{
    struct free_lanes *lanes = context;
    device_guard_enter(&lanes->guard);
    while (!lanes->is_device_off) {
        if (next_event(lanes) == 0) {
            device_guard_await(&lanes->guard);
            continue;
        }
        delay_event(lanes);
        timeline_complete(lanes->calls.run->timelines[0], next_event(lanes));
        device_guard_tell(&lanes->guard);
    }
    device_guard_leave(&lanes->guard);
    return NULL;
}

void lanes_free_device_start(struct free_lanes *lanes)
{
    CHECK(pthread_create(&lanes->device_thread, NULL, complete_events, lanes) == 0);
}

void lanes_free_device_end(struct free_lanes *lanes)
{
    device_guard_enter(&lanes->guard);
    CHECK(!lanes->is_device_off);
    lanes->is_device_off = true;
    device_guard_tell(&lanes->guard);
    device_guard_leave(&lanes->guard);
    CHECK(pthread_join(lanes->device_thread, NULL) == 0);
}

/* --- what the target asks of it --- */

static bool is_coming(const struct timeline *timeline, uint64_t event)
{
    return timeline_state(timeline, event) == EVENT_PENDING &&
           timeline_due_ns(timeline, event) != DELAY_NEVER;
}

/* Waits within a service: the caller has the guard. */
static void await_event(void *context, uint64_t event)
{
    CHECK(event > 0);
    struct free_lanes *lanes = context;
    lanes->awaiting_count++;
    device_guard_tell(&lanes->guard);
    while (is_coming(lanes->calls.run->timelines[0], event)) {
        device_guard_await(&lanes->guard);
    }
    CHECK(lanes->awaiting_count > 0);
    lanes->awaiting_count--;
}

static void note_look(void *context)
{
    (void)context; /* a lane that polls keeps nobody from going on */
}

static void gave_back(void *context, const void *memory, size_t bytes)
{
    (void)context;
    (void)memory;
    (void)bytes;
}

void lanes_free_device_init(struct free_lanes *lanes, uint64_t seed)
{
    CHECK(lanes->calls.run == NULL);
    CHECK(lanes->plan != NULL);
    random_init(&lanes->device_random, seed);
    lanes->waiter = (struct device_waiter){lanes, await_event, note_look, gave_back};
}
