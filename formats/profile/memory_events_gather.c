/* Events are checked one by one and kept, with their texts as numbers. */
#include "formats/common/cursor.h"
#include "formats/profile/private/memory_events.h"

#include "formats/profile/private/memory_events_state.h"
#include "harness/base/array.h"

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
        return import_fail(error, IMPORT_INVALID, 0, 0, "the event at byte %zu: %s", at, text);
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
        if (event->facts[fact] > CAPACITY_BYTES_MAX) {
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
    events->events = array_grown(events->events, events->count, &events->room,
                                 sizeof *events->events);
    struct kept_event *kept = &events->events[events->count++];
    *kept = (struct kept_event){.time_ns = event->time_ns,
                                .at = event->at,
                                .size_bytes = size_bytes,
                                .time_ps = (uint16_t)event->time_ps,
                                .host = (uint8_t)host,
                                .known = (uint8_t)event->known,
                                .is_allocation = event->is_allocation,
                                .tag = event->is_allocation ? name_event(events, event)
                                                            : UINT32_MAX};
    memcpy(kept->facts, event->facts, sizeof kept->facts);
    if (event->is_allocation && kept->tag != UINT32_MAX) {
        name_table_weigh(&events->tags, kept->tag, size_bytes);
    }
    return IMPORT_OK;
}
