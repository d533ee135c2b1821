/* Links the events of one file: finds which free ends which allocation, and checks that the sums
 * agree. */
#include "formats/profile/private/memory_events_state.h"

#include "harness/base/check.h"
#include "harness/base/order.h"

#include <inttypes.h>
#include <stdlib.h>

/* --- one address after the other --- */

static int compare_addresses(const void *a, const void *b)
{
    const struct kept_event *left = *(struct kept_event *const *)a;
    const struct kept_event *right = *(struct kept_event *const *)b;
    const int order = compare_places(left->host, left->facts[MEMORY_ADDR], right->host,
                                     right->facts[MEMORY_ADDR]);
    return order != 0 ? order : left < right ? -1 : left > right; /* they lie in order of time */
}

static enum import_result free_live(const struct memory_events *events, struct kept_event *event,
                                    const struct kept_event *live, struct import_error *error)
{
    if (event->size_bytes != 0 && event->size_bytes != live->size_bytes) {
        return memory_fail(events, event->at, error,
                           "address %" PRIu64 " is freed with %" PRIu64
                           " bytes, but was allocated with %" PRIu64,
                           event->facts[MEMORY_ADDR], event->size_bytes, live->size_bytes);
    }
    event->size_bytes = live->size_bytes;
    return IMPORT_OK;
}

/* *live: what the event before left at its address.  was_seen: there was one. */
static enum import_result link_one(struct memory_events *events, struct kept_event *event,
                                   bool was_seen, const struct kept_event **live,
                                   struct import_error *error)
{
    const struct kept_event *before = *live;
    *live = NULL;
    if (event->is_allocation) {
        *live = event;
        return before == NULL
                   ? IMPORT_OK
                   : memory_fail(events, event->at, error,
                                 "address %" PRIu64 " is allocated, but the block there is live",
                                 event->facts[MEMORY_ADDR]);
    }
    if (before != NULL) {
        return free_live(events, event, before, error);
    }
    if (was_seen && (event->size_bytes != 0 || events->empty_count == 0)) {
        return memory_fail(events, event->at, error, "address %" PRIu64 " is freed a second time",
                           event->facts[MEMORY_ADDR]);
    }
    event->was_there = !was_seen;
    event->is_left_out = was_seen; /* an empty block, whose allocation was left out, too */
    return IMPORT_OK;
}

static void find_unused(struct memory_events *events, struct kept_event *const *order)
{
    for (size_t i = 0; i < events->count; i++) {
        uint64_t *unused = &events->allocators[order[i]->host].unused_address;
        *unused += order[i]->facts[MEMORY_ADDR] == *unused; /* addresses ascend */
    }
}

enum import_result memory_events_link(struct memory_events *events, struct import_error *error)
{
    struct kept_event **order = calloc(events->count, sizeof(struct kept_event *));
    const struct kept_event *live = NULL;
    enum import_result result = IMPORT_OK;
    CHECK(order != NULL);
    for (size_t i = 0; i < events->count; i++) {
        order[i] = &events->events[i];
    }
    qsort(order, events->count, sizeof(struct kept_event *), compare_addresses);
    for (size_t i = 0; i < events->count && result == IMPORT_OK; i++) {
        const bool was_seen = i > 0 && order[i]->host == order[i - 1]->host &&
                              order[i]->facts[MEMORY_ADDR] == order[i - 1]->facts[MEMORY_ADDR];
        live = was_seen ? live : NULL;
        result = link_one(events, order[i], was_seen, &live, error);
    }
    find_unused(events, order);
    free(order);
    return result;
}

/* --- one event after the other --- */

static void extend_range(uint64_t value, bool is_first, uint64_t *min, uint64_t *max)
{
    *min = is_first || value < *min ? value : *min;
    *max = is_first || value > *max ? value : *max;
}

/* Sums what the allocator says of all of its memory. */
static void sum_capacity(struct allocator *allocator, const struct kept_event *event)
{
    if (!memory_has(event, MEMORY_BYTES_ALLOCATED) || !memory_has(event, MEMORY_BYTES_AVAILABLE)) {
        return;
    }
    if (event->facts[MEMORY_BYTES_AVAILABLE] > CAPACITY_BYTES_MAX ||
        event->facts[MEMORY_BYTES_RESERVED] > CAPACITY_BYTES_MAX) {
        return; /* an allocator without a limit has 2^63 */
    }
    const bool is_first = allocator->capacity_events++ == 0;
    const uint64_t heap = event->facts[MEMORY_BYTES_ALLOCATED] +
                          event->facts[MEMORY_BYTES_AVAILABLE];
    const uint64_t reserved = event->facts[MEMORY_BYTES_RESERVED];
    extend_range(heap, is_first, &allocator->heap_min, &allocator->heap_max);
    extend_range(heap + reserved, is_first, &allocator->total_min, &allocator->total_max);
    extend_range(reserved, is_first, &allocator->reserved_min, &allocator->reserved_max);
}

static void sum_peak(struct allocator *allocator, const struct kept_event *event)
{
    if (!memory_has(event, MEMORY_PEAK_BYTES_IN_USE)) {
        return;
    }
    const uint64_t peak = event->facts[MEMORY_PEAK_BYTES_IN_USE];
    if (!allocator->says_peak) {
        allocator->says_peak = true;
        allocator->first_peak_bytes = peak;
    }
    if (peak < allocator->in_use_max ||
        (peak > allocator->first_peak_bytes && peak != allocator->in_use_max)) {
        allocator->other_peak_count++;
    }
}

/* The bytes in use by the blocks, before the event. */
static int64_t count_in_use(const struct allocator *allocator)
{
    return (int64_t)allocator->base_bytes + allocator->live_bytes;
}

/* A free of a block of which nobody said the size. */
static void find_size(struct memory_events *events, const struct allocator *allocator,
                      struct kept_event *event)
{
    if (!allocator->says_in_use || !memory_has(event, MEMORY_BYTES_ALLOCATED)) {
        events->unsized_count++;
        event->is_left_out = true;
        return;
    }
    const int64_t taken = count_in_use(allocator) - (int64_t)event->facts[MEMORY_BYTES_ALLOCATED];
    event->size_bytes = taken > 0 ? (uint64_t)taken : 0;
    event->is_left_out = taken <= 0; /* an empty block, or the sums will differ */
    event->was_there = taken > 0;
}

static enum import_result check_in_use(const struct memory_events *events,
                                       struct allocator *allocator, const struct kept_event *event,
                                       struct import_error *error)
{
    if (!memory_has(event, MEMORY_BYTES_ALLOCATED)) {
        return IMPORT_OK;
    }
    const int64_t said = (int64_t)event->facts[MEMORY_BYTES_ALLOCATED];
    if (!allocator->says_in_use) {
        if (said < allocator->live_bytes) {
            return memory_fail(events, event->at, error,
                               "bytes_allocated is %" PRId64
                               ", below the bytes of the live blocks, %" PRId64,
                               said, allocator->live_bytes);
        }
        allocator->base_bytes = (uint64_t)(said - allocator->live_bytes);
        allocator->says_in_use = true;
        return IMPORT_OK;
    }
    if (said != count_in_use(allocator)) {
        return memory_fail(
            events, event->at, error,
            "bytes_allocated is %" PRId64 ", but the events so far sum to %" PRId64
            ": some events are missing%s",
            said, count_in_use(allocator),
            events->is_text ? " (a trace.json has only some events; the .xplane.pb has all)" : "");
    }
    return IMPORT_OK;
}

static enum import_result sum_one(struct memory_events *events, struct kept_event *event,
                                  struct import_error *error)
{
    struct allocator *allocator = &events->allocators[event->host];
    allocator->event_count++;
    if (!event->is_allocation && event->size_bytes == 0) {
        find_size(events, allocator, event);
    }
    const int64_t size = event->is_left_out ? 0 : (int64_t)event->size_bytes;
    const int64_t before = count_in_use(allocator);
    const bool knew = allocator->says_in_use;
    allocator->live_bytes += event->is_allocation ? size : -size;
    allocator->freed_start_bytes += event->was_there ? (uint64_t)size : 0;
    if (allocator->live_bytes > (int64_t)CAPACITY_BYTES_MAX ||
        allocator->freed_start_bytes > CAPACITY_BYTES_MAX) {
        return memory_fail(events, event->at, error,
                           "the blocks together have more than 2^50 bytes");
    }
    if (!allocator->says_peak) {
        allocator->first_peak_bytes = UINT64_MAX; /* until an event says one, none rises above it */
    }
    const enum import_result result = check_in_use(events, allocator, event, error);
    if (result != IMPORT_OK || !allocator->says_in_use) {
        return result;
    }
    if (allocator->freed_start_bytes > allocator->base_bytes) {
        return memory_fail(events, event->at, error,
                           "blocks from before the profile have %" PRIu64
                           " bytes, but only %" PRIu64 " were in use then",
                           allocator->freed_start_bytes, allocator->base_bytes);
    }
    const int64_t most = knew && before > count_in_use(allocator) ? before
                                                                  : count_in_use(allocator);
    allocator->in_use_max = (uint64_t)most > allocator->in_use_max ? (uint64_t)most
                                                                   : allocator->in_use_max;
    sum_peak(allocator, event);
    sum_capacity(allocator, event);
    return IMPORT_OK;
}

enum import_result memory_events_sum(struct memory_events *events, struct import_error *error)
{
    for (size_t i = 0; i < events->count; i++) {
        IMPORT_TRY(sum_one(events, &events->events[i], error));
    }
    return IMPORT_OK;
}
