/* Memory events of PyTorch's profiler (kineto) in a Chrome trace: instants "[memory]" of a block
 * that is made (Bytes > 0) or freed, and "[OutOfMemory]" of a request that failed.  Each may say
 * what is allocated and reserved after it. */
#include "formats/common/import.h"
#include "formats/common/trace.h"
#include "formats/profile/private/chrome_trace.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/order.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {"\"[memory]\"", "\"[OutOfMemory]\"", NULL};
static const char name_of_blocks[] = "allocated by PyTorch";
static const char name_of_cache[] = "reserved by PyTorch, not usable here";

enum { DEVICE_TYPE_CPU = 0, DEVICE_KEY_FACTOR = 1 << 16 };

/* One event of a device. */
struct kineto_event {
    int64_t time_ns;
    size_t at, length, line; /* of its text */
    int64_t bytes;           /* > 0: made; < 0: freed; of a failure: the request */
    uint64_t address;
    uint64_t allocated, reserved; /* after it */
    bool has_totals, is_failure;
    uint8_t host;
};

struct kineto_device {
    int64_t key;           /* of type and id */
    uint64_t total_bytes;  /* of its memory; 0 = not said */
    bool has_base;         /* what follows is known */
    uint64_t base_bytes;   /* allocated when the window began */
    uint64_t before_bytes; /* of it, what a free of the window tells apart */
    int64_t live_bytes;    /* since the window began */
    uint64_t reserved_max;
    uint64_t unused_address; /* of no event, nor the one behind it */
    uint64_t failure_count;
};

struct kineto {
    struct kineto_event *events;
    size_t count, room;
    struct kineto_device devices[OP_HOST_COUNT_MAX];
    size_t device_count;
    uint64_t totals[OP_HOST_COUNT_MAX]; /* by id: memory of the device; 0 = not said */
    uint64_t host_count, host_bytes;    /* events of the CPU's memory, and what they make */
    uint64_t again_count;               /* blocks made where one was live */
    uint64_t other_sum_count;           /* events of which the total is not that of the blocks */
    size_t counted_at, counted_line;    /* lines up to a byte of the text */
};

/* --- reading --- */

static bool take_integer(const json_t *arguments, const char *name, int64_t *number)
{
    const json_t *value = json_object_get(arguments, name);
    *number = json_integer_value(value);
    return json_is_integer(value);
}

static enum import_result keep_event(struct kineto *kineto, struct chrome_trace *trace,
                                     const struct kineto_event *event, int64_t type, int64_t id)
{
    const int64_t key = type * DEVICE_KEY_FACTOR + id;
    size_t device = 0;
    while (device < kineto->device_count && kineto->devices[device].key != key) {
        device++;
    }
    if (device == OP_HOST_COUNT_MAX) {
        return chrome_trace_fail(trace, event->at, "more than 64 devices");
    }
    if (device == kineto->device_count) {
        kineto->devices[kineto->device_count++] = (struct kineto_device){.key = key};
    }
    ARRAY_ADD(kineto->events, kineto->count, kineto->room) = *event;
    kineto->events[kineto->count - 1].host = (uint8_t)device;
    return IMPORT_OK;
}

static enum import_result take_event(struct chrome_trace *trace, size_t at, const json_t *value)
{
    struct kineto *kineto = trace->context;
    /* Events come in the order of the file, so that each byte is looked at once. */
    for (; kineto->counted_at < at; kineto->counted_at++) {
        kineto->counted_line += trace->text[kineto->counted_at] == '\n';
    }
    struct kineto_event event = {
        .at = at, .length = trace->offset - at, .line = kineto->counted_line + 1};
    const char *name = json_string_value(json_object_get(value, "name"));
    const json_t *arguments = json_object_get(value, "args");
    int64_t type = 0, id = 0, address = 0, allocated = 0, reserved = 0;
    uint32_t picoseconds = 0;
    event.is_failure = name != NULL && strcmp(name, "[OutOfMemory]") == 0;
    if (name == NULL || (!event.is_failure && strcmp(name, "[memory]") != 0)) {
        return IMPORT_OK;
    }
    if (!chrome_trace_time(json_object_get(value, "ts"), &event.time_ns, &picoseconds) ||
        !take_integer(arguments, "Bytes", &event.bytes) ||
        !take_integer(arguments, "Device Type", &type)) {
        return chrome_trace_fail(trace, at,
                                 "a memory event lacks 'ts', 'Bytes' or 'Device Type' as a number");
    }
    if (type == DEVICE_TYPE_CPU) {
        kineto->host_count++;
        kineto->host_bytes += event.bytes > 0 && !event.is_failure ? (uint64_t)event.bytes : 0;
        return IMPORT_OK;
    }
    (void)take_integer(arguments, "Device Id", &id);
    const bool has_address = take_integer(arguments, "Addr", &address);
    event.has_totals = take_integer(arguments, "Total Allocated", &allocated) &&
                       take_integer(arguments, "Total Reserved", &reserved);
    const int64_t most = (int64_t)IMPORT_CAPACITY_MAX;
    if (event.bytes > most || event.bytes < -most || allocated < 0 || allocated > most ||
        reserved < 0 || reserved > most || type < 0 || type > DEVICE_KEY_FACTOR || id < -1 ||
        id > DEVICE_KEY_FACTOR / 2 || (event.is_failure && event.bytes < 0)) {
        return chrome_trace_fail(trace, at, "a number of a memory event is out of its range");
    }
    if (!event.is_failure && !has_address) {
        return chrome_trace_fail(trace, at, "the memory event has no 'Addr'");
    }
    event.address = (uint64_t)address;
    event.allocated = (uint64_t)allocated;
    event.reserved = (uint64_t)reserved;
    return event.bytes == 0 ? IMPORT_OK : keep_event(kineto, trace, &event, type, id);
}

/* "deviceProperties": [{"id": 0, "totalGlobalMem": 42505273344, ...}]; what is wrong in it is as if
 * it were not there. */
static enum import_result take_member(struct chrome_trace *trace, const char *name,
                                      size_t name_length, size_t at, size_t length)
{
    static const char wanted[] = "deviceProperties";
    struct kineto *kineto = trace->context;
    if (name_length != sizeof wanted - 1 || memcmp(name, wanted, name_length) != 0) {
        return IMPORT_OK;
    }
    json_t *list = json_loadb(trace->text + at, length, 0, NULL);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *device = json_array_get(list, i);
        int64_t id = -1, bytes = 0;
        if (take_integer(device, "id", &id) && take_integer(device, "totalGlobalMem", &bytes) &&
            id >= 0 && id < OP_HOST_COUNT_MAX && bytes > 0 &&
            bytes <= (int64_t)IMPORT_CAPACITY_MAX) {
            kineto->totals[id] = (uint64_t)bytes;
        }
    }
    json_decref(list);
    return IMPORT_OK;
}

/* --- order and sums --- */

static int compare_times(const void *a, const void *b)
{
    const struct kineto_event *left = a;
    const struct kineto_event *right = b;
    return compare_then((left->time_ns > right->time_ns) - (left->time_ns < right->time_ns),
                        compare_numbers(left->at, right->at));
}

/* Two addresses in a row for what no event tells apart. */
static void find_unused(struct kineto *kineto)
{
    uint64_t *addresses = malloc((kineto->count + 1) * sizeof *addresses);
    uint64_t unused = 1;
    CHECK(addresses != NULL);
    for (size_t i = 0; i < kineto->count; i++) {
        addresses[i] = kineto->events[i].address;
    }
    sort_numbers(addresses, kineto->count);
    for (size_t i = 0; i < kineto->count; i++) {
        unused = addresses[i] - unused <= 1 ? addresses[i] + 1 : unused;
    }
    free(addresses);
    for (size_t i = 0; i < kineto->device_count; i++) {
        kineto->devices[i].unused_address = unused;
    }
}

/* --- the trace --- */

struct kineto_feed {
    struct kineto *kineto;
    struct event_trace *trace;
    struct import *import;
};

/* A tag has its number from the first block that needs it on. */
static uint8_t tag_of(struct kineto_feed *feed, const char *name)
{
    return trace_tag(feed->trace, name, strlen(name));
}

static struct trace_event describe(const struct kineto_event *event)
{
    const uint64_t bytes = (uint64_t)(event->bytes < 0 ? -event->bytes : event->bytes);
    return (struct trace_event){
        .address = event->address, .size_bytes = bytes, .host = event->host, .line = event->line};
}

/* Sums what is in use after the event, by the blocks and by what the event says. */
static void add_sums(struct kineto_feed *feed, const struct kineto_event *event)
{
    struct kineto_device *device = &feed->kineto->devices[event->host];
    if (!event->has_totals) {
        return;
    }
    const int64_t base = (int64_t)event->allocated - device->live_bytes;
    if (!device->has_base) {
        device->has_base = base >= (int64_t)device->before_bytes;
        device->base_bytes = device->has_base ? (uint64_t)base : 0;
    }
    const bool is_other = device->has_base && base != (int64_t)device->base_bytes;
    feed->kineto->other_sum_count += is_other;
    device->reserved_max = event->reserved > device->reserved_max ? event->reserved
                                                                  : device->reserved_max;
    if (device->has_base && !is_other) {
        import_say(feed->import, (uint32_t)feed->import->ops.count - 1, SAID_IN_USE_BYTES,
                   event->allocated);
    }
}

/* Makes a block.  If it takes the place of a live one, the window lacks that one's free. */
static enum import_result make_block(struct kineto_feed *feed, const struct kineto_event *event)
{
    struct trace_event what = describe(event);
    feed->kineto->devices[event->host].live_bytes += event->bytes;
    if (trace_is_live(feed->trace, event->host, event->address)) {
        const struct trace_event old = {
            .address = what.address, .host = what.host, .line = what.line};
        feed->kineto->again_count++;
        IMPORT_TRY(trace_free(feed->trace, &old));
    }
    what.tag = tag_of(feed, name_of_blocks);
    return trace_alloc(feed->trace, &what);
}

static enum import_result free_block(struct kineto_feed *feed, const struct kineto_event *event)
{
    struct trace_event what = describe(event);
    struct kineto_device *device = &feed->kineto->devices[event->host];
    const bool was_there = !trace_is_live(feed->trace, event->host, event->address);
    what.tag = was_there ? tag_of(feed, SETUP_BEFORE_NAME) : 0;
    device->live_bytes += event->bytes;
    device->before_bytes += was_there ? what.size_bytes : 0;
    return trace_free(feed->trace, &what);
}

/* Adds a failed request.  What PyTorch had reserved and free was of no use to it. */
static enum import_result fail_request(struct kineto_feed *feed, const struct kineto_event *event)
{
    struct kineto_device *device = &feed->kineto->devices[event->host];
    const bool has_cache = event->has_totals && event->reserved > event->allocated;
    struct trace_event cache = {.address = device->unused_address,
                                .size_bytes = event->reserved - event->allocated,
                                .host = event->host,
                                .line = event->line};
    struct trace_event what = describe(event);
    device->failure_count++;
    if (!has_cache) {
        return trace_failed(feed->trace, &what);
    }
    cache.tag = tag_of(feed, name_of_cache);
    IMPORT_TRY(trace_alloc(feed->trace, &cache));
    IMPORT_TRY(trace_failed(feed->trace, &what));
    return trace_free(feed->trace, &cache);
}

static enum import_result feed_all(struct kineto_feed *feed)
{
    struct kineto *kineto = feed->kineto;
    for (size_t i = 0; i < kineto->count; i++) {
        const struct kineto_event *event = &kineto->events[i];
        IMPORT_TRY(event->is_failure  ? fail_request(feed, event)
                   : event->bytes > 0 ? make_block(feed, event)
                                      : free_block(feed, event));
        if (!event->is_failure) {
            add_sums(feed, event);
        }
    }
    for (size_t i = 0; i < kineto->device_count; i++) {
        const struct kineto_device *device = &kineto->devices[i];
        if (device->has_base && device->base_bytes > device->before_bytes) {
            const struct trace_event rest = {.address = device->unused_address + 1,
                                             .size_bytes = device->base_bytes -
                                                           device->before_bytes,
                                             .host = (uint8_t)i,
                                             .tag = tag_of(feed, SETUP_BEFORE_NAME)};
            IMPORT_TRY(trace_was_there(feed->trace, &rest));
        }
    }
    return IMPORT_OK;
}

/* --- the device --- */

/* After a failure the device had less than the request beside what was reserved. */
static uint64_t choose_capacity(const struct kineto *kineto, bool *is_from_failure)
{
    uint64_t capacity_bytes = 0;
    *is_from_failure = false;
    for (size_t i = 0; i < kineto->device_count; i++) {
        const int64_t id = kineto->devices[i].key % DEVICE_KEY_FACTOR;
        const uint64_t total = id >= 0 && id < OP_HOST_COUNT_MAX ? kineto->totals[id] : 0;
        capacity_bytes = total > capacity_bytes ? total : capacity_bytes;
    }
    for (size_t i = 0; i < kineto->count; i++) {
        const struct kineto_event *event = &kineto->events[i];
        if (event->is_failure && event->has_totals && kineto->device_count == 1) {
            const uint64_t most = event->reserved + (uint64_t)event->bytes - 1;
            *is_from_failure = capacity_bytes == 0 || most < capacity_bytes;
            capacity_bytes = *is_from_failure ? most : capacity_bytes;
            break;
        }
    }
    return capacity_bytes / IMPORT_GRANULE_BYTES * IMPORT_GRANULE_BYTES;
}

/* The first of the window. */
static void tell_failure(const struct kineto *kineto, const char *text, struct import *import)
{
    size_t i = 0;
    while (i < kineto->count && !kineto->events[i].is_failure) {
        i++;
    }
    if (i == kineto->count) {
        return;
    }
    const struct kineto_event *event = &kineto->events[i];
    import_quote(import, text + event->at, event->length, event->line);
    if (!event->has_totals) {
        return;
    }
    import_tell(
        import,
        "line %zu: a request for %s failed; of %s that PyTorch had reserved, %s were allocated",
        event->line, size_text_of((uint64_t)event->bytes).text, size_text_of(event->reserved).text,
        size_text_of(event->allocated).text);
    if (event->reserved > event->allocated) {
        import_assume(
            import,
            "the %s that were reserved and free are taken to be of no use to that request: the trace does not say how they lay",
            size_text_of(event->reserved - event->allocated).text);
    }
}

static void add_notes(const struct kineto *kineto, struct import *import)
{
    for (size_t i = 0; i < kineto->device_count; i++) {
        const struct kineto_device *device = &kineto->devices[i];
        import_name_device(import, i, "GPU %" PRId64, device->key % DEVICE_KEY_FACTOR);
        import_note(import, "device %zu is the profiler's device %" PRId64 " of type %" PRId64, i,
                    device->key % DEVICE_KEY_FACTOR, device->key / DEVICE_KEY_FACTOR);
        if (device->reserved_max > 0 && i < 4) {
            import_tell(import, "device %zu: PyTorch had at most %s reserved", i,
                        size_text_of(device->reserved_max).text);
        }
    }
    if (kineto->host_count > 0) {
        import_note(import,
                    "left out: %" PRIu64 " events of host memory (CPU), which make %" PRIu64
                    " bytes",
                    kineto->host_count, kineto->host_bytes);
    }
    if (kineto->again_count > 0) {
        import_assume(
            import,
            "%" PRIu64
            " blocks are made where one is live: the free is not in the window, and taken to be just before",
            kineto->again_count);
    }
    if (kineto->other_sum_count > 0) {
        import_tell(import,
                    "after %" PRIu64
                    " events, what is allocated is not the sum of the blocks: events are missing",
                    kineto->other_sum_count);
    }
}

static enum import_result build(struct kineto *kineto, const struct import_input *input,
                                struct import *import, struct import_error *error)
{
    struct kineto_feed feed = {.kineto = kineto, .import = import};
    bool is_from_failure = false;
    qsort(kineto->events, kineto->count, sizeof *kineto->events, compare_times);
    find_unused(kineto);
    import->setup.capacity_bytes = choose_capacity(kineto, &is_from_failure);
    snprintf(import->setup.system, sizeof import->setup.system, "pytorch");
    feed.trace = trace_begin(input, import, error);
    const enum import_result result = feed_all(&feed);
    if (result != IMPORT_OK) {
        trace_abandon(feed.trace);
        return result;
    }
    add_notes(kineto, import);
    tell_failure(kineto, input->text, import);
    if (is_from_failure) {
        import_assume(
            import,
            "the capacity is what was reserved when the request failed, and less than the request more: that much was refused");
    }
    return trace_end(feed.trace, NULL);
}

static enum import_result import_kineto(const struct import_input *input, struct import *import,
                                        struct import_error *error)
{
    struct kineto *kineto = calloc(1, sizeof *kineto);
    CHECK(kineto != NULL);
    struct chrome_trace trace = {.text = input->text,
                                 .length = input->length,
                                 .error = error,
                                 .words = words,
                                 .take = take_event,
                                 .take_member = take_member,
                                 .context = kineto,
                                 .may_end_with_comma = true};
    enum import_result result = chrome_trace_read(&trace);
    if (result == IMPORT_OK && kineto->count > 0) {
        result = build(kineto, input, import, error);
    } else if (result == IMPORT_OK) {
        result = kineto->host_count > 0
                     ? IMPORT_LACKS(error,
                                    "all %" PRIu64
                                    " memory events of the trace are of host memory (CPU)",
                                    kineto->host_count)
                     : IMPORT_LACKS(
                           error,
                           "the trace has no memory event: profile with profile_memory=True");
    }
    free(kineto->events);
    free(kineto);
    return result;
}

static unsigned recognise_kineto(const char *text, size_t length)
{
    static const char *const signs[] = {"\"deviceProperties\"", "\"baseTimeNanoseconds\"",
                                        "\"cpu_op\"", NULL};
    if (!chrome_trace_is_likely(text, length)) {
        return 0;
    }
    return text_has_any(text, length, words) ? 84 : text_has_any(text, length, signs) ? 30 : 0;
}

const struct format format_kineto = {
    .name = "kineto",
    .summary = "memory events of PyTorch's profiler in a Chrome trace (profile_memory=True)",
    .recognise = recognise_kineto,
    .import = import_kineto,
};
