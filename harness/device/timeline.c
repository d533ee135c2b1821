/* Virtual time: events and the order in which they complete. */
#include "harness/device/timeline.h"

#include "harness/base/array.h"
#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

struct event {
    uint64_t due_ns;
    uint32_t pending_index;   /* place in pending[] */
    uint8_t state;            /* enum event_state */
    bool was_lost;            /* when it completed nothing but OP_COMPLETE could have done it */
    uint64_t completed_index; /* once it is done: which completion it was */
    bool is_lost;             /* for good: nothing starts it */
    bool is_enqueued;         /* on a stream */
    uint8_t stream;
};
struct due {
    uint64_t due_ns;
    uint64_t event;
};
/* Executions of one collective, of the hosts that have enqueued theirs. */
struct collective {
    uint16_t group;
    uint32_t count;
    struct {
        uint64_t event, delay_ns;
        uint32_t host;
    } members[OP_HOST_COUNT_MAX];
};

struct timeline {
    uint64_t now_ns;
    struct event *events; /* by id */
    uint64_t event_capacity;
    struct due *heap; /* smallest (due, id) first; entries of events that changed are stale */
    size_t heap_count, heap_capacity;
    uint64_t *pending;
    size_t pending_count, pending_capacity;
    uint64_t *completed;
    uint64_t completed_count, completed_capacity;
    struct collective *collectives; /* not joined by all hosts yet */
    size_t collective_count, collective_capacity;
};

struct timeline *timeline_create(void)
{
    struct timeline *timeline = calloc(1, sizeof *timeline);
    CHECK(timeline != NULL);
    return timeline;
}

void timeline_destroy(struct timeline *timeline)
{
    if (timeline == NULL) {
        return;
    }
    CHECK_COSTLY(timeline->events != NULL || timeline->event_capacity == 0);
    CHECK_COSTLY(timeline->pending_count <= timeline->pending_capacity);
    free(timeline->events);
    free(timeline->heap);
    free(timeline->pending);
    free(timeline->completed);
    free(timeline->collectives);
    free(timeline);
}

uint64_t timeline_now_ns(const struct timeline *timeline)
{
    return timeline->now_ns;
}

static bool is_due_before(const struct due *a, const struct due *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->event < b->event;
}

static void heap_push(struct timeline *timeline, struct due due)
{
    CHECK_COSTLY(due.due_ns != DELAY_NEVER);
    timeline->heap = array_grown(timeline->heap, timeline->heap_count, &timeline->heap_capacity,
                                 sizeof due);
    CHECK_COSTLY(timeline->heap_count < timeline->heap_capacity);
    size_t i = timeline->heap_count++;
    while (i > 0 && is_due_before(&due, &timeline->heap[(i - 1) / 2])) {
        timeline->heap[i] = timeline->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    timeline->heap[i] = due;
    CHECK_COSTLY(timeline->heap[0].due_ns <= due.due_ns);
}

static void heap_pop(struct timeline *timeline)
{
    CHECK(timeline->heap_count > 0);
    struct due *heap = timeline->heap;
    const struct due last = heap[--timeline->heap_count];
    size_t i = 0;
    for (size_t child = 1; child < timeline->heap_count; child = 2 * i + 1) {
        child += child + 1 < timeline->heap_count && is_due_before(&heap[child + 1], &heap[child]);
        if (!is_due_before(&heap[child], &last)) {
            break;
        }
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;
    CHECK_COSTLY(i == 0 || i < timeline->heap_count);
}

static uint64_t compute_due(const struct timeline *timeline, uint64_t delay_ns)
{
    uint64_t due_ns = 0;
    if (delay_ns == DELAY_NEVER || __builtin_add_overflow(timeline->now_ns, delay_ns, &due_ns)) {
        return DELAY_NEVER;
    }
    return due_ns;
}

static void set_due(struct timeline *timeline, uint64_t event, uint64_t due_ns)
{
    CHECK(timeline_state(timeline, event) == EVENT_PENDING);
    if (timeline->events[event].is_lost) {
        return;
    }
    timeline->events[event].due_ns = due_ns;
    CHECK_COSTLY(due_ns >= timeline->now_ns);
    if (due_ns != DELAY_NEVER) {
        heap_push(timeline, (struct due){due_ns, event});
    }
}

static void add_pending(struct timeline *timeline, uint64_t event)
{
    CHECK(event >= 1);
    if (event >= timeline->event_capacity) {
        const uint64_t capacity = event * 2 + 64;
        timeline->events = realloc(timeline->events, capacity * sizeof *timeline->events);
        CHECK(timeline->events != NULL);
        memset(&timeline->events[timeline->event_capacity], 0,
               (capacity - timeline->event_capacity) * sizeof *timeline->events);
        timeline->event_capacity = capacity;
    }
    CHECK(timeline->events[event].state == EVENT_UNKNOWN);
    timeline->pending = array_grown(timeline->pending, timeline->pending_count,
                                    &timeline->pending_capacity, sizeof *timeline->pending);
    timeline->events[event].state = EVENT_PENDING;
    timeline->events[event].pending_index = (uint32_t)timeline->pending_count;
    timeline->pending[timeline->pending_count++] = event;
}

void timeline_add(struct timeline *timeline, uint64_t event, uint64_t delay_ns)
{
    add_pending(timeline, event);
    set_due(timeline, event, compute_due(timeline, delay_ns));
    if (delay_ns == 0) {
        timeline_complete(timeline, event);
    }
}

/* --- streams --- */

static bool are_in_one_stream(const struct timeline *timeline, uint64_t event, uint64_t other)
{
    const struct event *one = &timeline->events[event];
    const struct event *two = &timeline->events[other];
    return one->is_enqueued && two->is_enqueued && one->stream == two->stream;
}

/* Of the pending events of its stream before it, when the last is due; 0 = there is none. */
static uint64_t find_due_before(const struct timeline *timeline, uint64_t event)
{
    uint64_t due_ns = 0;
    for (size_t i = 0; i < timeline->pending_count; i++) {
        const uint64_t other = timeline->pending[i];
        if (other < event && are_in_one_stream(timeline, event, other) &&
            timeline->events[other].due_ns > due_ns) {
            due_ns = timeline->events[other].due_ns;
        }
    }
    return due_ns;
}

/* The pending events of its stream after it are due no earlier than it is. */
static void delay_successors(struct timeline *timeline, uint64_t event)
{
    const uint64_t due_ns = timeline->events[event].due_ns;
    for (size_t i = 0; timeline->events[event].is_enqueued && i < timeline->pending_count; i++) {
        const uint64_t other = timeline->pending[i];
        if (other > event && are_in_one_stream(timeline, event, other) &&
            timeline->events[other].due_ns < due_ns) {
            set_due(timeline, other, due_ns);
        }
    }
}

void timeline_enqueue(struct timeline *timeline, uint64_t event, uint32_t stream, uint64_t delay_ns)
{
    CHECK(stream < OP_STREAM_COUNT_MAX);
    add_pending(timeline, event);
    timeline->events[event].is_enqueued = true;
    timeline->events[event].stream = (uint8_t)stream;
    const uint64_t before_ns = find_due_before(timeline, event);
    const uint64_t due_ns = compute_due(timeline, delay_ns);
    set_due(timeline, event, due_ns > before_ns ? due_ns : before_ns);
    if (delay_ns == 0 && before_ns == 0) {
        timeline_complete(timeline, event);
    }
}

uint32_t timeline_stream(const struct timeline *timeline, uint64_t event)
{
    return event < timeline->event_capacity ? timeline->events[event].stream : 0;
}

uint64_t timeline_last_enqueued(const struct timeline *timeline, uint32_t stream)
{
    uint64_t last = 0;
    for (size_t i = 0; i < timeline->pending_count; i++) {
        const struct event *event = &timeline->events[timeline->pending[i]];
        const bool is_there = event->is_enqueued && event->stream == stream;
        last = is_there && timeline->pending[i] > last ? timeline->pending[i] : last;
    }
    return last;
}

void timeline_start(struct timeline *timeline, uint64_t event, uint64_t delay_ns)
{
    CHECK(timeline_state(timeline, event) == EVENT_PENDING);
    set_due(timeline, event, compute_due(timeline, delay_ns));
    if (delay_ns == 0 && !timeline->events[event].is_lost) {
        timeline_complete(timeline, event);
    }
}

void timeline_postpone(struct timeline *timeline, uint64_t event, uint64_t delay_ns)
{
    CHECK(timeline_state(timeline, event) == EVENT_PENDING);
    uint64_t due_ns = 0;
    if (__builtin_add_overflow(timeline->events[event].due_ns, delay_ns, &due_ns)) {
        due_ns = DELAY_NEVER;
    }
    CHECK_COSTLY(due_ns >= timeline->events[event].due_ns);
    set_due(timeline, event, due_ns);
    timeline->events[event].is_lost = timeline->events[event].is_lost || delay_ns == DELAY_NEVER;
    delay_successors(timeline, event);
}

enum event_state timeline_state(const struct timeline *timeline, uint64_t event)
{
    return event < timeline->event_capacity ? timeline->events[event].state : EVENT_UNKNOWN;
}

uint64_t timeline_due_ns(const struct timeline *timeline, uint64_t event)
{
    CHECK(timeline_state(timeline, event) == EVENT_PENDING);
    return timeline->events[event].due_ns;
}

static void complete_alone(struct timeline *timeline, uint64_t event)
{
    struct event *done = &timeline->events[event];
    CHECK(timeline->pending_count > 0);
    CHECK(timeline->pending[done->pending_index] == event);
    const uint64_t last = timeline->pending[--timeline->pending_count];
    timeline->pending[done->pending_index] = last;
    timeline->events[last].pending_index = done->pending_index;
    done->state = EVENT_DONE;
    done->was_lost = done->due_ns == DELAY_NEVER;
    done->completed_index = timeline->completed_count;
    timeline->completed = array_grown(timeline->completed, timeline->completed_count,
                                      &timeline->completed_capacity, sizeof event);
    timeline->completed[timeline->completed_count++] = event;
}

/* The pending event of its stream that was enqueued first; the event itself where it is on none. */
static uint64_t find_first_in_stream(const struct timeline *timeline, uint64_t event)
{
    uint64_t first = event;
    for (size_t i = 0; timeline->events[event].is_enqueued && i < timeline->pending_count; i++) {
        const uint64_t other = timeline->pending[i];
        first = other < first && are_in_one_stream(timeline, event, other) ? other : first;
    }
    return first;
}

void timeline_complete(struct timeline *timeline, uint64_t event)
{
    while (timeline_state(timeline, event) == EVENT_PENDING) {
        complete_alone(timeline, find_first_in_stream(timeline, event));
    }
}

void timeline_cancel(struct timeline *timeline, uint64_t event)
{
    if (timeline_state(timeline, event) == EVENT_PENDING) {
        complete_alone(timeline, event);
    }
}

static void advance_to(struct timeline *timeline, uint64_t to_ns)
{
    while (timeline->heap_count > 0 && timeline->heap[0].due_ns <= to_ns) {
        const struct due due = timeline->heap[0];
        heap_pop(timeline);
        if (timeline->events[due.event].state == EVENT_PENDING &&
            timeline->events[due.event].due_ns == due.due_ns) {
            timeline_complete(timeline, due.event);
        }
    }
    if (to_ns > timeline->now_ns) {
        timeline->now_ns = to_ns;
    }
    CHECK_COSTLY(timeline->now_ns >= to_ns);
    CHECK_COSTLY(timeline->heap_count == 0 || timeline->heap[0].due_ns > to_ns);
}

void timeline_advance(struct timeline *timeline, uint64_t delay_ns)
{
    const uint64_t to_ns = compute_due(timeline, delay_ns);
    if (to_ns != DELAY_NEVER) {
        advance_to(timeline, to_ns);
    }
}

size_t timeline_pending_count(const struct timeline *timeline)
{
    return timeline->pending_count;
}

uint64_t timeline_pending_at(const struct timeline *timeline, size_t index)
{
    CHECK(index < timeline->pending_count);
    return timeline->pending[index];
}

uint64_t timeline_completed_count(const struct timeline *timeline)
{
    return timeline->completed_count;
}

uint64_t timeline_completed_index(const struct timeline *timeline, uint64_t event)
{
    CHECK(timeline_state(timeline, event) == EVENT_DONE);
    return timeline->events[event].completed_index;
}

void timeline_excuse(struct timeline *timeline, uint64_t index)
{
    CHECK(index <= timeline->completed_count);
    for (; index < timeline->completed_count; index++) {
        timeline->events[timeline->completed[index]].was_lost = true;
    }
}

bool timeline_was_lost(const struct timeline *timeline, uint64_t event)
{
    CHECK(timeline_state(timeline, event) == EVENT_DONE);
    return timeline->events[event].was_lost;
}

uint64_t timeline_completed_at(const struct timeline *timeline, uint64_t index)
{
    CHECK(index < timeline->completed_count);
    return timeline->completed[index];
}

/* --- others --- */

static bool is_coming(const struct timeline *timeline, uint64_t event)
{
    return timeline->events[event].due_ns != DELAY_NEVER;
}

uint64_t timeline_last_due(const struct timeline *timeline, uint64_t event)
{
    struct due last = {0};
    for (size_t i = 0; i < timeline->pending_count; i++) {
        const uint64_t other = timeline->pending[i];
        const struct due due = {timeline->events[other].due_ns, other};
        if (other != event && is_coming(timeline, other) &&
            (last.event == 0 || is_due_before(&last, &due))) {
            last = due;
        }
    }
    return last.event;
}

static int compare_dues(const void *a, const void *b)
{
    const struct due *left = a;
    const struct due *right = b;
    return is_due_before(left, right) ? -1 : is_due_before(right, left);
}

void timeline_complete_others(struct timeline *timeline, uint64_t event)
{
    size_t count = 0;
    struct due *dues = malloc((timeline->pending_count + 1) * sizeof *dues);
    CHECK(dues != NULL);
    for (size_t i = 0; i < timeline->pending_count; i++) {
        const uint64_t other = timeline->pending[i];
        if (other != event && is_coming(timeline, other)) {
            dues[count++] = (struct due){timeline->events[other].due_ns, other};
        }
    }
    CHECK_COSTLY(count <= timeline->pending_count);
    qsort(dues, count, sizeof *dues, compare_dues);
    for (size_t i = 0; i < count; i++) {
        timeline_complete(timeline, dues[i].event);
    }
    free(dues);
}

/* --- collectives --- */

static bool has_joined(const struct collective *collective, uint32_t host)
{
    for (uint32_t i = 0; i < collective->count; i++) {
        if (collective->members[i].host == host) {
            return true;
        }
    }
    return false;
}

/* The open collective of this group that host may still join; a new one when there is none. */
static struct collective *collective_for(struct timeline *timeline, uint16_t group, uint32_t host)
{
    CHECK_COSTLY(host < OP_HOST_COUNT_MAX);
    for (size_t i = 0; i < timeline->collective_count; i++) {
        struct collective *collective = &timeline->collectives[i];
        if (collective->group == group && !has_joined(collective, host)) {
            return collective;
        }
    }
    timeline->collectives = array_grown(timeline->collectives, timeline->collective_count,
                                        &timeline->collective_capacity,
                                        sizeof *timeline->collectives);
    CHECK_COSTLY(timeline->collective_count < timeline->collective_capacity);
    struct collective *collective = &timeline->collectives[timeline->collective_count++];
    collective->group = group;
    collective->count = 0;
    return collective;
}

void timeline_start_collective(struct timeline *timeline, uint64_t event, uint16_t group,
                               uint32_t host, uint32_t host_count, uint64_t delay_ns)
{
    CHECK(host < host_count);
    CHECK(host_count <= OP_HOST_COUNT_MAX);
    timeline_start(timeline, event, COLLECTIVE_BOUND_NS);
    struct collective *collective = collective_for(timeline, group, host);
    CHECK(collective->count < host_count);
    const uint32_t i = collective->count++;
    collective->members[i].event = event;
    collective->members[i].delay_ns = delay_ns;
    collective->members[i].host = host;
    if (collective->count < host_count) {
        return;
    }
    for (uint32_t k = 0; k < host_count; k++) {
        const uint64_t member = collective->members[k].event;
        if (timeline->events[member].state != EVENT_PENDING || timeline->events[member].is_lost) {
            continue;
        }
        if (collective->members[k].delay_ns == 0) {
            timeline_complete(
                timeline, member); /* as in timeline_start: what is pending is due later than now */
        } else {
            set_due(timeline, member, compute_due(timeline, collective->members[k].delay_ns));
        }
    }
    *collective = timeline->collectives[--timeline->collective_count];
}
