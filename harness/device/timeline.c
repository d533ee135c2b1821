/* Virtual time: events and the order in which they complete. */
#include "harness/device/timeline.h"

#include "harness/base/array.h"
#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

/* 16 bytes: there is one for each op of a list of millions. */
struct event {
    uint64_t due_ns;
    uint32_t index; /* while it is pending its place in pending[]; done: which completion it was */
    uint8_t state;  /* enum event_state */
    uint8_t clock;  /* whose it is: of the timeline that added it */
    uint8_t stream;
    bool was_lost : 1; /* when it completed nothing but OP_COMPLETE could have done it */
    bool is_lost : 1;  /* for good: nothing starts it */
    bool is_started : 1;
    bool is_enqueued : 1; /* on a stream */
};
static_assert(sizeof(struct event) == 16, "as the list has them, so many there are");

/* The events by id, of all timelines of a run.  Piece i has ids from i * EVENT_PIECE_COUNT on;
 * NULL: none is an event.  No piece moves, and no memory is touched before its ids are there. */
enum { EVENT_PIECE_COUNT = 64 };
struct event_table {
    struct event **pieces;
    uint64_t piece_count;
    uint64_t completed_count; /* of all timelines */
    uint32_t timeline_count;  /* that share it */
};
struct due {
    uint64_t due_ns;
    uint64_t event;
};

struct timeline {
    struct timeline_counts counts; /* first: timeline_counts() */
    struct event_table *table;
    uint8_t clock;    /* its number among those that share the table */
    struct due *heap; /* smallest (due, id) first; entries of events that changed are stale */
    size_t heap_count, heap_capacity;
    uint64_t *pending;
    size_t pending_capacity;
    uint64_t *completed;
    uint64_t completed_capacity;
};

static struct timeline *create_on(struct event_table *table)
{
    struct timeline *timeline = calloc(1, sizeof *timeline);
    CHECK(timeline != NULL);
    CHECK(table->timeline_count < OP_HOST_COUNT_MAX);
    timeline->table = table;
    timeline->clock = (uint8_t)table->timeline_count++;
    return timeline;
}

struct timeline *timeline_create(void)
{
    struct event_table *table = calloc(1, sizeof *table);
    CHECK(table != NULL);
    return create_on(table);
}

struct timeline *timeline_create_beside(struct timeline *timeline)
{
    return create_on(timeline->table);
}

static void destroy_table(struct event_table *table)
{
    for (uint64_t i = 0; i < table->piece_count; i++) {
        free(table->pieces[i]);
    }
    free(table->pieces);
    free(table);
}

void timeline_destroy(struct timeline *timeline)
{
    if (timeline == NULL) {
        return;
    }
    struct event_table *table = timeline->table;
    CHECK_COSTLY(table->pieces != NULL || table->piece_count == 0);
    CHECK_COSTLY(timeline->counts.pending_count <= timeline->pending_capacity);
    if (--table->timeline_count == 0) {
        destroy_table(table);
    }
    free(timeline->heap);
    free(timeline->pending);
    free(timeline->completed);
    free(timeline);
}

/* An event whose piece is there. */
static struct event *event_at(const struct timeline *timeline, uint64_t event)
{
    return &timeline->table->pieces[event / EVENT_PIECE_COUNT][event % EVENT_PIECE_COUNT];
}

/* Others of the run are unknown here. */
static bool is_own(const struct timeline *timeline, uint64_t event)
{
    const struct event_table *table = timeline->table;
    const uint64_t piece = event / EVENT_PIECE_COUNT;
    return piece < table->piece_count && table->pieces[piece] != NULL &&
           event_at(timeline, event)->clock == timeline->clock;
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
    return delay_after_ns(timeline->counts.now_ns, delay_ns);
}

static void set_due(struct timeline *timeline, uint64_t event, uint64_t due_ns)
{
    CHECK(timeline_state(timeline, event) == EVENT_PENDING);
    if (event_at(timeline, event)->is_lost) {
        return;
    }
    event_at(timeline, event)->due_ns = due_ns;
    CHECK_COSTLY(due_ns >= timeline->counts.now_ns);
    if (due_ns != DELAY_NEVER) {
        heap_push(timeline, (struct due){due_ns, event});
    }
}

static void make_piece(struct event_table *table, uint64_t event)
{
    const uint64_t piece = event / EVENT_PIECE_COUNT;
    if (piece >= table->piece_count) {
        const uint64_t count = piece * 2 + 1;
        table->pieces = array_resized(table->pieces, count * sizeof *table->pieces);
        memset(&table->pieces[table->piece_count], 0,
               (count - table->piece_count) * sizeof *table->pieces);
        table->piece_count = count;
    }
    if (table->pieces[piece] == NULL) {
        table->pieces[piece] = calloc(EVENT_PIECE_COUNT, sizeof **table->pieces);
        CHECK(table->pieces[piece] != NULL);
    }
}

static void add_pending(struct timeline *timeline, uint64_t event)
{
    CHECK(event >= 1);
    make_piece(timeline->table, event);
    CHECK(event_at(timeline, event)->state == EVENT_UNKNOWN);
    timeline->pending = array_grown(timeline->pending, timeline->counts.pending_count,
                                    &timeline->pending_capacity, sizeof *timeline->pending);
    struct event *added = event_at(timeline, event);
    added->state = EVENT_PENDING;
    added->clock = timeline->clock;
    added->index = (uint32_t)timeline->counts.pending_count;
    timeline->pending[timeline->counts.pending_count++] = event;
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
    const struct event *one = event_at(timeline, event);
    const struct event *two = event_at(timeline, other);
    return one->is_enqueued && two->is_enqueued && one->stream == two->stream;
}

/* Returns when the last pending event before it in its stream is due; 0 = there is none. */
static uint64_t find_due_before(const struct timeline *timeline, uint64_t event)
{
    uint64_t due_ns = 0;
    for (size_t i = 0; i < timeline->counts.pending_count; i++) {
        const uint64_t other = timeline->pending[i];
        if (other < event && are_in_one_stream(timeline, event, other) &&
            event_at(timeline, other)->due_ns > due_ns) {
            due_ns = event_at(timeline, other)->due_ns;
        }
    }
    return due_ns;
}

/* The pending events of its stream after it are due no earlier than it is. */
static void delay_successors(struct timeline *timeline, uint64_t event)
{
    const uint64_t due_ns = event_at(timeline, event)->due_ns;
    for (size_t i = 0; event_at(timeline, event)->is_enqueued && i < timeline->counts.pending_count;
         i++) {
        const uint64_t other = timeline->pending[i];
        if (other > event && are_in_one_stream(timeline, event, other) &&
            event_at(timeline, other)->due_ns < due_ns) {
            set_due(timeline, other, due_ns);
        }
    }
}

void timeline_enqueue(struct timeline *timeline, uint64_t event, uint32_t stream, uint64_t delay_ns)
{
    CHECK(stream < OP_STREAM_COUNT_MAX);
    add_pending(timeline, event);
    event_at(timeline, event)->is_enqueued = true;
    event_at(timeline, event)->stream = (uint8_t)stream;
    const uint64_t before_ns = find_due_before(timeline, event);
    const uint64_t due_ns = compute_due(timeline, delay_ns);
    set_due(timeline, event, due_ns > before_ns ? due_ns : before_ns);
    if (delay_ns == 0 && before_ns == 0) {
        timeline_complete(timeline, event);
    }
}

uint32_t timeline_stream(const struct timeline *timeline, uint64_t event)
{
    return is_own(timeline, event) ? event_at(timeline, event)->stream : 0;
}

uint64_t timeline_last_enqueued(const struct timeline *timeline, uint32_t stream)
{
    uint64_t last = 0;
    for (size_t i = 0; i < timeline->counts.pending_count; i++) {
        const struct event *event = event_at(timeline, timeline->pending[i]);
        const bool is_there = event->is_enqueued && event->stream == stream;
        last = is_there && timeline->pending[i] > last ? timeline->pending[i] : last;
    }
    return last;
}

void timeline_start(struct timeline *timeline, uint64_t event, uint64_t delay_ns)
{
    CHECK(timeline_state(timeline, event) == EVENT_PENDING);
    event_at(timeline, event)->is_started = true;
    set_due(timeline, event, compute_due(timeline, delay_ns));
    if (delay_ns == 0 && !event_at(timeline, event)->is_lost) {
        timeline_complete(timeline, event);
    }
}

void timeline_start_at(struct timeline *timeline, uint64_t event, uint64_t due_ns)
{
    CHECK(timeline_state(timeline, event) == EVENT_PENDING);
    if (due_ns > timeline->counts.now_ns) {
        set_due(timeline, event, due_ns);
    } else if (!event_at(timeline, event)->is_lost) {
        timeline_complete(timeline, event);
    }
}

void timeline_give_up(struct timeline *timeline, uint64_t event)
{
    CHECK(timeline_due_ns(timeline, event) == DELAY_NEVER);
    struct event *waited = event_at(timeline, event);
    waited->is_lost = waited->is_lost || waited->is_started;
}

void timeline_postpone(struct timeline *timeline, uint64_t event, uint64_t delay_ns)
{
    CHECK(timeline_state(timeline, event) == EVENT_PENDING);
    uint64_t due_ns = 0;
    if (__builtin_add_overflow(event_at(timeline, event)->due_ns, delay_ns, &due_ns)) {
        due_ns = DELAY_NEVER;
    }
    CHECK_COSTLY(due_ns >= event_at(timeline, event)->due_ns);
    set_due(timeline, event, due_ns);
    event_at(timeline, event)->is_lost = event_at(timeline, event)->is_lost ||
                                         delay_ns == DELAY_NEVER;
    delay_successors(timeline, event);
}

enum event_state timeline_state(const struct timeline *timeline, uint64_t event)
{
    return is_own(timeline, event) ? (enum event_state)event_at(timeline, event)->state
                                   : EVENT_UNKNOWN;
}

uint64_t timeline_due_ns(const struct timeline *timeline, uint64_t event)
{
    CHECK(timeline_state(timeline, event) == EVENT_PENDING);
    return event_at(timeline, event)->due_ns;
}

static void complete_alone(struct timeline *timeline, uint64_t event)
{
    struct event *done = event_at(timeline, event);
    CHECK(timeline->counts.pending_count > 0);
    CHECK(timeline->pending[done->index] == event);
    const uint64_t last = timeline->pending[--timeline->counts.pending_count];
    timeline->pending[done->index] = last;
    event_at(timeline, last)->index = done->index;
    done->state = EVENT_DONE;
    done->was_lost = done->due_ns == DELAY_NEVER;
    CHECK(timeline->counts.completed_count < UINT32_MAX);
    done->index = (uint32_t)timeline->counts.completed_count;
    timeline->completed = array_grown(timeline->completed, timeline->counts.completed_count,
                                      &timeline->completed_capacity, sizeof event);
    timeline->completed[timeline->counts.completed_count++] = event;
    timeline->table->completed_count++;
}

/* The pending event of its stream that was enqueued first; the event itself where it is on none. */
static uint64_t find_first_in_stream(const struct timeline *timeline, uint64_t event)
{
    uint64_t first = event;
    for (size_t i = 0; event_at(timeline, event)->is_enqueued && i < timeline->counts.pending_count;
         i++) {
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
        if (event_at(timeline, due.event)->state == EVENT_PENDING &&
            event_at(timeline, due.event)->due_ns == due.due_ns) {
            timeline_complete(timeline, due.event);
        }
    }
    if (to_ns > timeline->counts.now_ns) {
        timeline->counts.now_ns = to_ns;
    }
    CHECK_COSTLY(timeline->counts.now_ns >= to_ns);
    CHECK_COSTLY(timeline->heap_count == 0 || timeline->heap[0].due_ns > to_ns);
}

void timeline_advance(struct timeline *timeline, uint64_t delay_ns)
{
    const uint64_t to_ns = compute_due(timeline, delay_ns);
    if (to_ns != DELAY_NEVER) {
        advance_to(timeline, to_ns);
    }
}

uint64_t timeline_pending_at(const struct timeline *timeline, size_t index)
{
    CHECK(index < timeline->counts.pending_count);
    return timeline->pending[index];
}

uint64_t timeline_completed_beside(const struct timeline *timeline)
{
    return timeline->table->completed_count;
}

uint64_t timeline_completed_index(const struct timeline *timeline, uint64_t event)
{
    CHECK(timeline_state(timeline, event) == EVENT_DONE);
    return event_at(timeline, event)->index;
}

void timeline_excuse(struct timeline *timeline, uint64_t index)
{
    CHECK(index <= timeline->counts.completed_count);
    for (; index < timeline->counts.completed_count; index++) {
        event_at(timeline, timeline->completed[index])->was_lost = true;
    }
}

bool timeline_was_lost(const struct timeline *timeline, uint64_t event)
{
    CHECK(timeline_state(timeline, event) == EVENT_DONE);
    return event_at(timeline, event)->was_lost;
}

uint64_t timeline_completed_at(const struct timeline *timeline, uint64_t index)
{
    CHECK(index < timeline->counts.completed_count);
    return timeline->completed[index];
}

/* --- others --- */

static bool is_coming(const struct timeline *timeline, uint64_t event)
{
    return event_at(timeline, event)->due_ns != DELAY_NEVER;
}

uint64_t timeline_last_due(const struct timeline *timeline, uint64_t event)
{
    struct due last = {0};
    for (size_t i = 0; i < timeline->counts.pending_count; i++) {
        const uint64_t other = timeline->pending[i];
        const struct due due = {event_at(timeline, other)->due_ns, other};
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
    struct due *dues = malloc((timeline->counts.pending_count + 1) * sizeof *dues);
    CHECK(dues != NULL);
    for (size_t i = 0; i < timeline->counts.pending_count; i++) {
        const uint64_t other = timeline->pending[i];
        if (other != event && is_coming(timeline, other)) {
            dues[count++] = (struct due){event_at(timeline, other)->due_ns, other};
        }
    }
    CHECK_COSTLY(count <= timeline->counts.pending_count);
    qsort(dues, count, sizeof *dues, compare_dues);
    for (size_t i = 0; i < count; i++) {
        timeline_complete(timeline, dues[i].event);
    }
    free(dues);
}
