/* Events are checked one by one and kept, with their texts as numbers. */
#include "formats/common/cursor.h"
#include "formats/profile/private/memory_events.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/order.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const fact_names[MEMORY_FACT_COUNT] = {
    [MEMORY_ADDR] = "addr",
    [MEMORY_REQUESTED_BYTES] = "requested_bytes",
    [MEMORY_ALLOCATION_BYTES] = "allocation_bytes",
    [MEMORY_BYTES_ALLOCATED] = "bytes_allocated",
    [MEMORY_BYTES_AVAILABLE] = "bytes_available",
    [MEMORY_BYTES_RESERVED] = "bytes_reserved",
    [MEMORY_PEAK_BYTES_IN_USE] = "peak_bytes_in_use",
};
static const char *const text_names[MEMORY_TEXT_COUNT] = {
    [MEMORY_ALLOCATOR_NAME] = "allocator_name",
    [MEMORY_INDEX_ON_HOST] = "index_on_host",
    [MEMORY_DEVICE_ORDINAL] = "device_ordinal",
    [MEMORY_TF_OP] = "tf_op",
    [MEMORY_REGION_TYPE] = "region_type",
    [MEMORY_DATA_TYPE] = "data_type",
    [MEMORY_SHAPE] = "shape",
};

static void set_fact(struct memory_event *event, size_t fact, uint64_t value)
{
    event->facts[fact] = value;
    event->known |= 1u << fact;
}

bool memory_event_take_number(struct memory_event *event, const char *name, size_t name_length,
                              uint64_t number, bool is_negative)
{
    const size_t fact = text_find_name(fact_names, MEMORY_FACT_COUNT, name, name_length);
    const size_t which = text_find_name(text_names, MEMORY_TEXT_COUNT, name, name_length);
    if (fact != MEMORY_FACT_COUNT) {
        set_fact(event, fact, number);
        return !is_negative || fact == MEMORY_ADDR;
    }
    if (which != MEMORY_TEXT_COUNT) {
        char digits[24];
        const int length = is_negative
                               ? snprintf(digits, sizeof digits, "%" PRId64, (int64_t)number)
                               : snprintf(digits, sizeof digits, "%" PRIu64, number);
        name_keep(digits, (size_t)length, event->texts[which], MEMORY_TEXT_BYTES);
    }
    return true;
}

/* Decimal digits and nothing else, below 2^64. */
static bool parse_digits(const char *text, size_t length, uint64_t *number)
{
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        const uint64_t digit = (uint64_t)(unsigned char)text[i] - '0';
        if (digit > 9 || value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *number = value;
    return length > 0;
}

bool memory_event_take_text(struct memory_event *event, const char *name, size_t name_length,
                            const char *text, size_t length)
{
    const size_t fact = text_find_name(fact_names, MEMORY_FACT_COUNT, name, name_length);
    const size_t which = text_find_name(text_names, MEMORY_TEXT_COUNT, name, name_length);
    if (fact != MEMORY_FACT_COUNT) {
        const bool is_negative = fact == MEMORY_ADDR && length > 0 &&
                                 text[0] == '-'; /* pointers as signed numbers */
        uint64_t number = 0;
        const bool is_number = parse_digits(text + is_negative, length - is_negative, &number);
        set_fact(event, fact, is_negative ? 0 - number : number);
        return is_number;
    }
    if (which != MEMORY_TEXT_COUNT) {
        name_keep(text, length, event->texts[which], MEMORY_TEXT_BYTES);
    }
    return true;
}

struct memory_events *memory_events_create(const struct import_input *input, bool is_text)
{
    struct memory_events *events = calloc(1, sizeof *events);
    CHECK(events != NULL);
    events->input = input;
    events->is_text = is_text;
    return events;
}

void memory_events_destroy(struct memory_events *events)
{
    name_table_deinit(&events->tags);
    name_table_deinit(&events->devices);
    free(events->events);
    free(events);
}

enum import_result memory_fail(const struct memory_events *events, size_t at,
                               struct import_error *error, const char *reason, ...)
{
    char text[IMPORT_REASON_BYTES];
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(text, sizeof text, reason, arguments);
    va_end(arguments);
    if (!events->is_text) {
        return IMPORT_REFUSE(error, 0, "the event at byte %zu: %s", at, text);
    }
    size_t line = 0;
    size_t column = 0;
    import_position(events->input->text, at, &line, &column);
    return import_fail(error, IMPORT_INVALID, line, column, "%s", text);
}

/* Refuses an event that is wrong by itself. */
static enum import_result check_event(const struct memory_events *events,
                                      const struct memory_event *event, struct import_error *error)
{
    for (int fact = MEMORY_REQUESTED_BYTES; fact <= MEMORY_BYTES_ALLOCATED; fact++) {
        if (event->facts[fact] > IMPORT_CAPACITY_MAX) {
            return memory_fail(events, event->at, error, "%s is %" PRIu64 ", more than 2^50",
                               fact_names[fact], event->facts[fact]);
        }
    }
    if ((event->known & 1u << MEMORY_ADDR) == 0) {
        return memory_fail(events, event->at, error, "the memory event has no 'addr'");
    }
    const bool has_size = (event->known & 1u << MEMORY_ALLOCATION_BYTES) != 0;
    if (has_size && event->facts[MEMORY_REQUESTED_BYTES] > event->facts[MEMORY_ALLOCATION_BYTES]) {
        return memory_fail(events, event->at, error,
                           "requested_bytes is %" PRIu64 ", more than allocation_bytes, "
                           "%" PRIu64,
                           event->facts[MEMORY_REQUESTED_BYTES],
                           event->facts[MEMORY_ALLOCATION_BYTES]);
    }
    if (event->is_allocation && !has_size && (event->known & 1u << MEMORY_REQUESTED_BYTES) == 0) {
        return memory_fail(events, event->at, error,
                           "the allocation has neither 'allocation_bytes' nor 'requested_bytes'");
    }
    return IMPORT_OK;
}

static uint32_t name_device(struct memory_events *events, const struct memory_event *event,
                            const char *device)
{
    char name[MEMORY_TEXT_BYTES + 16];
    const char *given = event->texts[MEMORY_ALLOCATOR_NAME];
    if (given[0] == '\0') {
        const char *index = event->texts[MEMORY_INDEX_ON_HOST];
        index = index[0] != '\0' ? index : event->texts[MEMORY_DEVICE_ORDINAL];
        snprintf(name, sizeof name, "device %s", index);
        given = index[0] != '\0' ? name : device;
    }
    return name_table_add_whole(&events->devices, given, strlen(given));
}

/* The op, or else what is known of the region and the tensor. */
static uint32_t name_event(struct memory_events *events, const struct memory_event *event)
{
    const char *op = event->texts[MEMORY_TF_OP];
    if (op[0] != '\0') {
        return name_table_add(&events->tags, op, strlen(op));
    }
    char name[3 * MEMORY_TEXT_BYTES + 16];
    const char *region = event->texts[MEMORY_REGION_TYPE];
    const char *type = event->texts[MEMORY_DATA_TYPE];
    const char *shape = event->texts[MEMORY_SHAPE];
    const bool has_type = type[0] != '\0' && strcmp(type, "0") != 0; /* 0: none (DT_INVALID) */
    if (region[0] == '\0' && shape[0] == '\0' && !has_type) {
        return UINT32_MAX;
    }
    const int length = snprintf(
        name, sizeof name, "%s%s%s%s%s%s", region, region[0] != '\0' && has_type ? " " : "",
        has_type ? "type " : "", has_type ? type : "",
        (region[0] != '\0' || has_type) && shape[0] != '\0' ? " " : "", shape);
    return name_table_add(&events->tags, name, (size_t)length);
}

enum import_result memory_events_add(struct memory_events *events, const struct memory_event *event,
                                     const char *device, struct import_error *error)
{
    IMPORT_TRY(check_event(events, event, error));
    const uint32_t host = name_device(events, event, device);
    if (host >= OP_HOST_COUNT_MAX) {
        return memory_fail(events, event->at, error, "more than %d allocators", OP_HOST_COUNT_MAX);
    }
    const bool has_size = (event->known & 1u << MEMORY_ALLOCATION_BYTES) != 0;
    uint64_t size_bytes = event->facts[MEMORY_ALLOCATION_BYTES];
    if (event->is_allocation) {
        size_bytes = has_size ? size_bytes : event->facts[MEMORY_REQUESTED_BYTES];
        if (size_bytes == 0) {
            events->empty_count++;
            return IMPORT_OK;
        }
    }
    struct kept_event kept = {.time_ns = event->time_ns,
                              .at = event->at,
                              .size_bytes = size_bytes,
                              .time_ps = (uint16_t)event->time_ps,
                              .host = (uint8_t)host,
                              .known = (uint8_t)event->known,
                              .is_allocation = event->is_allocation,
                              .tag = event->is_allocation ? name_event(events, event) : UINT32_MAX};
    memcpy(kept.facts, event->facts, sizeof kept.facts);
    if (kept.tag != UINT32_MAX) {
        name_table_weigh(&events->tags, kept.tag, size_bytes);
    }
    ARRAY_ADD(events->events, events->count, events->room) = kept;
    return IMPORT_OK;
}

/* --- one address after the other --- */

static int compare_addresses(const void *a, const void *b)
{
    const struct kept_event *left = *(struct kept_event *const *)a;
    const struct kept_event *right = *(struct kept_event *const *)b;
    return compare_then(compare_places(left->host, left->facts[MEMORY_ADDR], right->host,
                                       right->facts[MEMORY_ADDR]),
                        left < right ? -1 : left > right); /* they lie in order of time */
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
    if (before != NULL && event->size_bytes != 0 && event->size_bytes != before->size_bytes) {
        return memory_fail(events, event->at, error,
                           "address %" PRIu64 " is freed with %" PRIu64
                           " bytes, but was allocated with %" PRIu64,
                           event->facts[MEMORY_ADDR], event->size_bytes, before->size_bytes);
    }
    if (before != NULL) {
        event->size_bytes = before->size_bytes;
        return IMPORT_OK;
    }
    if (was_seen && (event->size_bytes != 0 || events->empty_count == 0)) {
        return memory_fail(events, event->at, error, "address %" PRIu64 " is freed a second time",
                           event->facts[MEMORY_ADDR]);
    }
    event->was_there = !was_seen;
    event->is_left_out = was_seen; /* an empty block, whose allocation was left out, too */
    return IMPORT_OK;
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
    for (size_t i = 0; i < events->count; i++) {
        uint64_t *unused = &events->allocators[order[i]->host].unused_address;
        *unused += order[i]->facts[MEMORY_ADDR] == *unused; /* addresses ascend */
    }
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
    if (event->facts[MEMORY_BYTES_AVAILABLE] > IMPORT_CAPACITY_MAX ||
        event->facts[MEMORY_BYTES_RESERVED] > IMPORT_CAPACITY_MAX) {
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
    if (allocator->live_bytes > (int64_t)IMPORT_CAPACITY_MAX ||
        allocator->freed_start_bytes > IMPORT_CAPACITY_MAX) {
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
