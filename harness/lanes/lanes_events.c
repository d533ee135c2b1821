#include "harness/lanes/private/lanes_events.h"
#include "harness/base/check.h"

#include "harness/device/timeline.h"

static bool is_due_before(const struct timeline *timeline, uint64_t a, uint64_t b)
{
    const uint64_t due_a = timeline_due_ns(timeline, a);
    const uint64_t due_b = timeline_due_ns(timeline, b);
    return due_a != due_b ? due_a < due_b : a < b;
}

uint32_t lanes_events_coming(const struct timeline *timeline, uint64_t *events, uint32_t max)
{
    CHECK(max >= 1);
    uint32_t count = 0;
    for (size_t i = 0; i < timeline_pending_count(timeline); i++) {
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
    CHECK(count <= max);
    return count;
}
