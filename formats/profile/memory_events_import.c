/* Turns memory events into a trace, and puts before it what was there when the profile began. */
#include "formats/profile/private/memory_events.h"

#include "formats/common/trace.h"
#include "harness/base/check.h"
#include "harness/base/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_TAG = 0 };

/* --- order --- */

static int compare_times(const void *a, const void *b)
{
    const struct kept_event *left = a;
    const struct kept_event *right = b;
    return compare_then((left->time_ns > right->time_ns) - (left->time_ns < right->time_ns),
                        compare_places(left->time_ps, left->at, right->time_ps, right->at));
}

/* Hosts in the order of their first events.  hosts[i] is the device that became host i; returns how
 * many. */
static size_t number_hosts(struct memory_events *events, uint8_t hosts[OP_HOST_COUNT_MAX])
{
    int number[OP_HOST_COUNT_MAX];
    size_t count = 0;
    for (size_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        number[i] = -1;
    }
    for (size_t i = 0; i < events->count; i++) {
        const uint8_t device = events->events[i].host;
        if (number[device] < 0) {
            number[device] = (int)count;
            hosts[count++] = device;
        }
        events->events[i].host = (uint8_t)number[device];
    }
    return count;
}

/* --- the trace --- */

/* The parts that a trace is made with. */
struct memory_feed {
    struct memory_events *events;
    struct event_trace *trace;
    struct import *import;
    struct import_error *error;
    uint8_t *tags; /* by index into events->tags */
    uint8_t before_tag;
    uint64_t rest_count;
};

static void say_sums(const struct memory_feed *feed, const struct kept_event *event)
{
    const uint32_t op = (uint32_t)feed->import->ops.count - 1;
    if (memory_has(event, MEMORY_BYTES_ALLOCATED)) {
        import_say(feed->import, op, SAID_IN_USE_BYTES, event->facts[MEMORY_BYTES_ALLOCATED]);
    }
    const uint64_t first = feed->events->allocators[event->host].first_peak_bytes;
    if (memory_has(event, MEMORY_PEAK_BYTES_IN_USE) &&
        event->facts[MEMORY_PEAK_BYTES_IN_USE] > first) {
        /* It rose, so the most in use lies in the window. */
        import_say(feed->import, op, SAID_PEAK_BYTES, event->facts[MEMORY_PEAK_BYTES_IN_USE]);
    }
}

static enum import_result feed_one(struct memory_feed *feed, const struct kept_event *event)
{
    const struct trace_event what = {
        .address = event->facts[MEMORY_ADDR],
        .size_bytes = event->size_bytes,
        .requested_bytes = event->facts[MEMORY_REQUESTED_BYTES],
        .host = event->host,
        .tag = event->was_there           ? feed->before_tag
               : event->tag == UINT32_MAX ? NO_TAG
                                          : feed->tags[event->tag],
    };
    if (event->is_left_out) {
        return IMPORT_OK;
    }
    const enum import_result result = event->is_allocation ? trace_alloc(feed->trace, &what)
                                                           : trace_free(feed->trace, &what);
    if (result != IMPORT_OK) {
        const struct import_error inner = *feed->error;
        (void)memory_fail(feed->events, event->at, feed->error, "%s", inner.reason);
        return result;
    }
    say_sums(feed, event);
    return IMPORT_OK;
}

static uint64_t find_rest(const struct allocator *allocator)
{
    return allocator->says_in_use ? allocator->base_bytes - allocator->freed_start_bytes : 0;
}

/* Adds what was in use when the window began, and no event tells apart. */
static enum import_result feed_rests(struct memory_feed *feed, size_t host_count)
{
    for (size_t host = 0; host < host_count; host++) {
        const struct allocator *allocator = &feed->events->allocators[host];
        if (find_rest(allocator) > 0) {
            const struct trace_event rest = {.address = allocator->unused_address,
                                             .size_bytes = find_rest(allocator),
                                             .host = (uint8_t)host,
                                             .tag = feed->before_tag};
            IMPORT_TRY(trace_was_there(feed->trace, &rest));
            feed->rest_count++;
        }
    }
    return IMPORT_OK;
}

static enum import_result feed_all(struct memory_feed *feed, size_t host_count)
{
    feed->before_tag = trace_tag(feed->trace, SETUP_BEFORE_NAME, strlen(SETUP_BEFORE_NAME));
    feed->tags = name_table_give_tags(&feed->events->tags, trace_give_tag, feed->trace);
    for (size_t i = 0; i < feed->events->count; i++) {
        IMPORT_TRY(feed_one(feed, &feed->events->events[i]));
    }
    return feed_rests(feed, host_count);
}

/* --- devices --- */

/* Returns all bytes of an allocator, 0 if it does not say: those in use and free, and the reserved
 * ones if only the sum with them stays the same. */
static uint64_t find_capacity(const struct allocator *allocator)
{
    const bool has_stack = allocator->reserved_max > 0;
    return has_stack && allocator->heap_min != allocator->heap_max ? allocator->total_max
                                                                   : allocator->heap_max;
}

/* The largest; 0 where no allocator says, or one of those that do not does not say either what is
 * in use.  The others need as much as they had in use. */
static uint64_t find_largest_capacity(const struct memory_events *events, size_t host_count)
{
    uint64_t largest = 0;
    bool is_said = false;
    for (size_t host = 0; host < host_count; host++) {
        const struct allocator *allocator = &events->allocators[host];
        const uint64_t bytes = find_capacity(allocator);
        if (bytes == 0 && !allocator->says_in_use) {
            return 0;
        }
        is_said = is_said || bytes > 0;
        const uint64_t needed = bytes > 0 ? bytes : allocator->in_use_max;
        largest = needed > largest ? needed : largest;
    }
    return is_said ? largest : 0;
}

/* Nobody knows where the rest lies or who holds it: it stays where it is.  Rests are the last of
 * the missing start. */
static void hold_rests(const struct memory_feed *feed, const struct trace_totals *totals)
{
    struct import *import = feed->import;
    const size_t end = (size_t)(totals->retired + totals->at_start);
    struct op_list holds;
    CHECK(feed->rest_count <= totals->at_start);
    if (feed->rest_count == 0) {
        return;
    }
    op_list_init(&holds);
    for (size_t i = end - (size_t)feed->rest_count; i < end; i++) {
        op_list_append(&holds, &OP_ON(OP_HOLD, (uint32_t)i, .host = import->ops.ops[i].host));
    }
    op_list_insert(&import->ops, end, holds.ops, holds.count);
    for (size_t i = 0; i < import->said_count; i++) {
        import->said[i].op += import->said[i].op >= end ? (uint32_t)holds.count : 0;
    }
    op_list_deinit(&holds);
}

/* --- notes --- */

static void note_hosts(const struct memory_feed *feed, const uint8_t *hosts, size_t host_count)
{
    char list[400];
    size_t used = 0;
    list[0] = '\0';
    for (size_t host = 0; host < host_count; host++) {
        const char *name = feed->events->devices.names[hosts[host]].text;
        import_name_device(feed->import, host, "%s", name);
        if (used < sizeof list) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%zu = %s",
                                     host == 0 ? "" : ", ", host, name);
        }
    }
    if (used >= sizeof list) {
        memcpy(list + sizeof list - sizeof "...", "...", sizeof "...");
    }
    import_note(feed->import, "devices: %s", list);
}

static void note_sums(const struct memory_feed *feed, size_t host_count)
{
    uint64_t rest_bytes = 0, silent_count = 0, unlimited_count = 0, other_peaks = 0,
             stack_bytes = 0;
    for (size_t host = 0; host < host_count; host++) {
        const struct allocator *allocator = &feed->events->allocators[host];
        rest_bytes += find_rest(allocator);
        silent_count += !allocator->says_in_use;
        unlimited_count += find_capacity(allocator) == 0;
        other_peaks += allocator->other_peak_count;
        stack_bytes = allocator->reserved_max > stack_bytes ? allocator->reserved_max : stack_bytes;
    }
    if (feed->rest_count > 0) {
        import_assume(
            feed->import,
            "tag '" SETUP_BEFORE_NAME "': %" PRIu64 " bytes on %" PRIu64
            " devices were in use, and no event allocates or frees them; one held block stands for them on each device, since only the sum is known",
            rest_bytes, feed->rest_count);
    }
    if (silent_count > 0) {
        import_assume(feed->import,
                      "on %" PRIu64
                      " devices, nothing was live before the events: none gives the bytes in use",
                      silent_count);
    }
    if (unlimited_count > 0) {
        import_assume(
            feed->import,
            "%" PRIu64
            " devices have the capacity of the others, or as much as they need: no event gives one of up to 2^50 bytes",
            unlimited_count);
    }
    if (other_peaks > 0) {
        import_note(feed->import,
                    "%" PRIu64 " events give a peak other than the most in use in the window",
                    other_peaks);
    }
    if (stack_bytes > 0) {
        import_note(
            feed->import,
            "up to %" PRIu64
            " bytes were reserved for the stack of programs: not replayed, because no event names the program",
            stack_bytes);
    }
}

static void add_notes(const struct memory_feed *feed, const uint8_t *hosts, size_t host_count)
{
    const struct memory_events *events = feed->events;
    note_hosts(feed, hosts, host_count);
    note_sums(feed, host_count);
    if (events->empty_count > 0) {
        import_note(feed->import, "left out: %" PRIu64 " allocations of 0 bytes",
                    events->empty_count);
    }
    if (events->unsized_count > 0) {
        import_note(feed->import,
                    "left out: %" PRIu64
                    " frees of blocks from before the profile, whose size is unknown",
                    events->unsized_count);
    }
    import_note(feed->import, "a profile does not record failed requests");
}

/* --- all --- */

static enum import_result make_ops(struct memory_feed *feed, const struct import_input *input,
                                   const uint8_t *hosts, size_t host_count)
{
    struct trace_totals totals = {0};
    const uint64_t capacity_bytes = find_largest_capacity(feed->events, host_count);
    feed->import->setup.capacity_bytes = capacity_bytes;
    feed->import->setup.host_count = (uint32_t)
        host_count; /* those whose events are left out, too */
    feed->trace = trace_begin(input, feed->import, feed->error);
    for (size_t host = 0; capacity_bytes != 0 && host < host_count; host++) {
        trace_limit_host(feed->trace, (uint8_t)host,
                         find_capacity(&feed->events->allocators[host]));
    }
    enum import_result result = feed_all(feed, host_count);
    if (result != IMPORT_OK) {
        trace_abandon(feed->trace);
        return result;
    }
    add_notes(feed, hosts, host_count);
    result = trace_end(feed->trace, &totals);
    if (result == IMPORT_OK) {
        hold_rests(feed, &totals);
    }
    return result;
}

enum import_result memory_events_import(struct memory_events *events,
                                        const struct import_input *input, struct import *import,
                                        struct import_error *error)
{
    uint8_t hosts[OP_HOST_COUNT_MAX];
    struct memory_feed feed = {.events = events, .import = import, .error = error};
    if (events->count == 0) {
        return IMPORT_LACKS(error,
                            "the profile has no memory event: was it taken with host tracing on?");
    }
    qsort(events->events, events->count, sizeof *events->events, compare_times);
    const size_t host_count = number_hosts(events, hosts);
    enum import_result result = memory_events_link(events, error);
    if (result == IMPORT_OK) {
        result = memory_events_sum(events, error);
    }
    if (result == IMPORT_OK) {
        result = make_ops(&feed, input, hosts, host_count);
    }
    free(feed.tags);
    return result;
}
