/* From the decoded file to plain numbers, every one of them checked, and held to what each segment
 * says of its blocks. */
#include "formats/torch/private/torch.h"

#include "harness/base/array.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum place { PLACE_ROOT, PLACE_SEGMENT, PLACE_BLOCK, PLACE_TRACE, PLACE_EVENT };

struct reader {
    struct torch_snapshot *snapshot;
    size_t visit_count_max, visit_count;
    enum place place; /* of what is read */
    size_t outer, inner;
    struct import_error *error;
};

static enum import_result __attribute__((format(printf, 2, 3)))
fail_at_place(struct reader *reader, const char *reason, ...)
{
    char text[IMPORT_REASON_BYTES / 2];
    char path[96] = "";
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(text, sizeof text, reason, arguments);
    va_end(arguments);
    switch (reader->place) {
    case PLACE_ROOT:
        break;
    case PLACE_SEGMENT:
        snprintf(path, sizeof path, "segments[%zu]: ", reader->outer);
        break;
    case PLACE_BLOCK:
        snprintf(path, sizeof path, "segments[%zu].blocks[%zu]: ", reader->outer, reader->inner);
        break;
    case PLACE_TRACE:
        snprintf(path, sizeof path, "device_traces[%zu]: ", reader->outer);
        break;
    case PLACE_EVENT:
        snprintf(path, sizeof path, "device_traces[%zu][%zu]: ", reader->outer, reader->inner);
        break;
    }
    return import_fail(reader->error, IMPORT_INVALID, 0, 0, "%s%s", path, text);
}

/* Every dict that is visited passes here; it counts with its keys, all of which are looked at. */
static enum import_result enter_place(struct reader *reader, const json_t *value, enum place place)
{
    reader->place = place;
    if (!json_is_object(value)) {
        return fail_at_place(reader, "it is not a dict");
    }
    reader->visit_count += 1 + json_object_size(value);
    if (reader->visit_count > reader->visit_count_max) {
        return fail_at_place(
            reader,
            "values are shared so often that there are more of them up to here than bytes in the file");
    }
    return IMPORT_OK;
}

/* Counts the keys that are not among known, which ends with NULL. */
static void count_unknown(struct reader *reader, const json_t *object, const char *const *known)
{
    struct torch_snapshot *snapshot = reader->snapshot;
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)object, key, value)
    {
        size_t i = 0;
        while (known[i] != NULL && strcmp(known[i], key) != 0) {
            i++;
        }
        if (known[i] == NULL && snapshot->unknown_keys++ == 0) {
            snprintf(snapshot->unknown_key, sizeof snapshot->unknown_key, "%s", key);
        }
    }
}

/* A whole number of 0..max; *number is untouched where the key is not there and need not be. */
static enum import_result read_number(struct reader *reader, const json_t *object, const char *key,
                                      bool is_needed, uint64_t max, uint64_t *number)
{
    const json_t *value = json_object_get(object, key);
    if (value == NULL && is_needed) {
        return fail_at_place(reader, "'%s' is missing", key);
    }
    if (value == NULL) {
        return IMPORT_OK;
    }
    if (!json_is_integer(value)) {
        return fail_at_place(reader, "'%s' is not a whole number", key);
    }
    const json_int_t read = json_integer_value(value);
    if (read < 0 || (uint64_t)read > max) {
        return fail_at_place(reader, "'%s' is %" JSON_INTEGER_FORMAT "; accepted: 0 to %" PRIu64,
                             key, read, max);
    }
    *number = (uint64_t)read;
    return IMPORT_OK;
}

static enum import_result read_host(struct reader *reader, const json_t *object, uint8_t *host)
{
    uint64_t device = 0;
    const enum import_result result = read_number(reader, object, "device", false,
                                                  OP_HOST_COUNT_MAX - 1, &device);
    *host = (uint8_t)device;
    return result;
}

/* --- segments and blocks --- */

struct sums {
    uint64_t total, allocated, active, requested;
};

static enum import_result read_state(struct reader *reader, const json_t *object,
                                     enum torch_state *state)
{
    static const struct {
        const char *name;
        enum torch_state state;
    } states[] = {
        {"inactive", TORCH_INACTIVE},
        {"active_allocated", TORCH_ALLOCATED},
        {"active_awaiting_free", TORCH_AWAITING_FREE},
        {"active_pending_free", TORCH_AWAITING_FREE},
    };
    const char *name = json_string_value(json_object_get(object, "state"));
    if (name == NULL) {
        return fail_at_place(reader, "'state' is missing or not a text");
    }
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        if (strcmp(states[i].name, name) == 0) {
            *state = states[i].state;
            return IMPORT_OK;
        }
    }
    return fail_at_place(reader, "the state '%.40s' is unknown", name);
}

/* Torch 1.13 keeps what a block was used for, the last use first. */
static const json_t *get_frames(const json_t *object)
{
    const json_t *frames = json_object_get(object, "frames");
    return frames != NULL
               ? frames
               : json_object_get(json_array_get(json_object_get(object, "history"), 0), "frames");
}

static enum import_result read_requested(struct reader *reader, const json_t *object,
                                         struct torch_block *block)
{
    block->requested_bytes = block->size_bytes;
    const enum import_result result = read_number(reader, object, "requested_size", false,
                                                  CAPACITY_BYTES_MAX, &block->requested_bytes);
    if (result != IMPORT_OK || block->state == TORCH_INACTIVE) {
        return result; /* of a block that is not active it is what its last use had asked for */
    }
    if (block->requested_bytes == 0 || block->requested_bytes > block->size_bytes) {
        return fail_at_place(reader,
                             "%" PRIu64 " bytes were requested in a block of %" PRIu64 " bytes",
                             block->requested_bytes, block->size_bytes);
    }
    return IMPORT_OK;
}

/* at: where it must begin. */
static enum import_result read_block(struct reader *reader, const json_t *object, uint64_t at,
                                     struct torch_block *block)
{
    static const char *const known[] = {"address", "size", "requested_size", "state", "frames",
                                        "history", NULL};
    enum import_result result = enter_place(reader, object, PLACE_BLOCK);
    if (result == IMPORT_OK) {
        count_unknown(reader, object, known);
        block->address = at;
        result = read_number(reader, object, "address", false, TORCH_ADDRESS_MAX, &block->address);
    }
    if (result == IMPORT_OK && block->address != at) {
        return fail_at_place(reader,
                             "it begins at %" PRIu64 ", not at %" PRIu64
                             ", where the block before it ends or the segment begins",
                             block->address, at);
    }
    if (result == IMPORT_OK) {
        result = read_number(reader, object, "size", true, CAPACITY_BYTES_MAX, &block->size_bytes);
    }
    if (result == IMPORT_OK && block->size_bytes == 0) {
        return fail_at_place(reader, "the block has 0 bytes");
    }
    if (result == IMPORT_OK) {
        result = read_state(reader, object, &block->state);
    }
    return result == IMPORT_OK ? read_requested(reader, object, block) : result;
}

static void add_block(struct torch_snapshot *snapshot, const json_t *object,
                      struct torch_block *block, struct sums *sums)
{
    block->name = TORCH_NO_NAME;
    sums->total += block->size_bytes;
    if (block->state != TORCH_INACTIVE) {
        block->name = torch_name_of(&snapshot->names, get_frames(object));
        torch_name_count(&snapshot->names, block->name, block->size_bytes);
        sums->active += block->size_bytes;
        sums->requested += block->requested_bytes;
        sums->allocated += block->state == TORCH_ALLOCATED ? block->size_bytes : 0;
    }
    snapshot->blocks = array_grown(snapshot->blocks, snapshot->block_count, &snapshot->block_room,
                                   sizeof *block);
    snapshot->blocks[snapshot->block_count++] = *block;
}

static enum import_result check_sum(struct reader *reader, const json_t *object, const char *key,
                                    uint64_t sum)
{
    uint64_t said = sum;
    const enum import_result result = read_number(reader, object, key, false, CAPACITY_BYTES_MAX,
                                                  &said);
    if (result == IMPORT_OK && said != sum) {
        return fail_at_place(reader, "'%s' is %" PRIu64 ", but its blocks have %" PRIu64, key, said,
                             sum);
    }
    return result;
}

static enum import_result check_sums(struct reader *reader, const json_t *object,
                                     const struct sums *sums)
{
    reader->place = PLACE_SEGMENT;
    enum import_result result = check_sum(reader, object, "total_size", sums->total);
    if (result == IMPORT_OK) {
        result = check_sum(reader, object, "allocated_size", sums->allocated);
    }
    if (result == IMPORT_OK) {
        result = check_sum(reader, object, "active_size", sums->active);
    }
    return result == IMPORT_OK ? check_sum(reader, object, "requested_size", sums->requested)
                               : result;
}

static enum import_result read_blocks(struct reader *reader, const json_t *blocks, uint64_t address,
                                      uint8_t host, struct sums *sums)
{
    for (size_t i = 0; i < json_array_size(blocks); i++) {
        struct torch_block block = {.segment = (uint32_t)reader->outer,
                                    .index = (uint32_t)i,
                                    .host = host,
                                    .begins_segment = i == 0};
        const json_t *object = json_array_get(blocks, i);
        reader->inner = i;
        const enum import_result result = read_block(reader, object, address + sums->total, &block);
        if (result != IMPORT_OK) {
            return result;
        }
        add_block(reader->snapshot, object, &block, sums);
        reader->snapshot->segment_bytes[host] += block.size_bytes;
        if (reader->snapshot->segment_bytes[host] > CAPACITY_BYTES_MAX) {
            return fail_at_place(
                reader, "with this block, the segments of device %u have more than 2^50 bytes",
                host);
        }
    }
    return IMPORT_OK;
}

static enum import_result read_segment(struct reader *reader, const json_t *object)
{
    static const char *const known[] = {
        "device",        "address",        "total_size", "allocated_size", "active_size",
        "blocks",        "requested_size", "stream",     "segment_type",   "segment_pool_id",
        "is_expandable", "frames",         NULL};
    uint64_t address = 0;
    uint8_t host = 0;
    struct sums sums = {0};
    enum import_result result = enter_place(reader, object, PLACE_SEGMENT);
    if (result == IMPORT_OK) {
        count_unknown(reader, object, known);
        result = read_host(reader, object, &host);
    }
    if (result == IMPORT_OK) {
        result = read_number(reader, object, "address", true, TORCH_ADDRESS_MAX, &address);
    }
    const json_t *blocks = json_object_get(object, "blocks");
    if (result == IMPORT_OK && json_array_size(blocks) == 0) {
        return fail_at_place(reader, "'blocks' is not a list with blocks");
    }
    if (result == IMPORT_OK) {
        result = read_blocks(reader, blocks, address, host, &sums);
    }
    return result == IMPORT_OK ? check_sums(reader, object, &sums) : result;
}

static enum import_result read_segments(struct reader *reader, const json_t *segments)
{
    if (!json_is_array(segments)) {
        return fail_at_place(reader, "'segments' is missing or not a list");
    }
    for (size_t i = 0; i < json_array_size(segments); i++) {
        reader->outer = i;
        const enum import_result result = read_segment(reader, json_array_get(segments, i));
        if (result != IMPORT_OK) {
            return result;
        }
    }
    reader->snapshot->segment_count = json_array_size(segments);
    return IMPORT_OK;
}

/* --- events --- */

static enum import_result read_action(struct reader *reader, const json_t *object,
                                      struct torch_event *event)
{
    static const struct {
        const char *name;
        enum torch_action action;
    } actions[] = {
        {"alloc", TORCH_ALLOC},
        {"free_requested", TORCH_FREE_REQUESTED},
        {"free_completed", TORCH_FREE_COMPLETED},
        {"oom", TORCH_OOM},
        {"segment_alloc", TORCH_SEGMENT_ALLOC},
        {"segment_map", TORCH_SEGMENT_ALLOC},
        {"segment_free", TORCH_SEGMENT_FREE},
        {"segment_unmap", TORCH_SEGMENT_FREE},
        {"snapshot", TORCH_OTHER},
        {"user_defined", TORCH_OTHER},
    };
    struct torch_snapshot *snapshot = reader->snapshot;
    const char *name = json_string_value(json_object_get(object, "action"));
    if (name == NULL) {
        return fail_at_place(reader, "'action' is missing or not a text");
    }
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(actions[i].name, name) == 0) {
            event->action = (uint8_t)actions[i].action;
            snapshot->snapshots += strcmp(name, "snapshot") == 0 ? 1 : 0;
            return IMPORT_OK;
        }
    }
    event->action = TORCH_OTHER;
    if (snapshot->unknown_actions++ == 0) {
        snprintf(snapshot->unknown_action, sizeof snapshot->unknown_action, "%s", name);
    }
    return IMPORT_OK;
}

static enum import_result read_times(struct reader *reader, const json_t *object,
                                     struct torch_event *event)
{
    const json_t *stream = json_object_get(object, "stream");
    const json_t *time = json_object_get(object, "time_us");
    if (stream != NULL && !json_is_integer(stream)) {
        return fail_at_place(reader, "'stream' is not a whole number");
    }
    if (time != NULL && !json_is_integer(time)) {
        return fail_at_place(reader, "'time_us' is not a whole number");
    }
    event->stream = (uint64_t)json_integer_value(
        stream); /* a pointer that the file prints with a sign */
    event->time_us = time == NULL ? TORCH_NO_TIME : json_integer_value(time);
    return IMPORT_OK;
}

/* What has no size, and what needs an address. */
static enum import_result read_place(struct reader *reader, const json_t *object,
                                     struct torch_event *event)
{
    const bool is_oom = event->action == TORCH_OOM;
    /* What was asked for in vain may be any number: a negative count of elements does that. */
    const enum import_result result = read_number(
        reader, object, "size", true, is_oom ? INT64_MAX : CAPACITY_BYTES_MAX, &event->size_bytes);
    if (result == IMPORT_OK && event->size_bytes == 0) {
        return fail_at_place(reader, "the event has 0 bytes");
    }
    if (result == IMPORT_OK && is_oom) {
        event->free_bytes = UINT64_MAX;
        return read_number(reader, object, "device_free", false, CAPACITY_BYTES_MAX,
                           &event->free_bytes);
    }
    return result != IMPORT_OK
               ? result
               : read_number(reader, object, "addr", true, TORCH_ADDRESS_MAX, &event->address);
}

static enum import_result read_event(struct reader *reader, const json_t *object,
                                     struct torch_event *event)
{
    static const char *const known[] = {"action",        "addr",   "size",        "stream",
                                        "time_us",       "frames", "device_free", "compile_context",
                                        "user_metadata", NULL};
    enum import_result result = enter_place(reader, object, PLACE_EVENT);
    if (result == IMPORT_OK) {
        count_unknown(reader, object, known);
        result = read_action(reader, object, event);
    }
    if (result != IMPORT_OK || event->action == TORCH_OTHER) {
        return result;
    }
    result = read_place(reader, object, event);
    return result == IMPORT_OK ? read_times(reader, object, event) : result;
}

static void add_event(struct torch_snapshot *snapshot, const json_t *object,
                      struct torch_event *event)
{
    event->name = TORCH_NO_NAME;
    if (event->action == TORCH_ALLOC || event->action == TORCH_OOM) {
        event->name = torch_name_of(&snapshot->names, json_object_get(object, "frames"));
        torch_name_count(&snapshot->names, event->name, event->size_bytes);
    }
    snapshot->segment_events += event->action == TORCH_SEGMENT_ALLOC ||
                                        event->action == TORCH_SEGMENT_FREE
                                    ? 1
                                    : 0;
    snapshot->events = array_grown(snapshot->events, snapshot->event_count, &snapshot->event_room,
                                   sizeof *event);
    snapshot->events[snapshot->event_count++] = *event;
}

static enum import_result read_trace(struct reader *reader, const json_t *events)
{
    if (!json_is_array(events)) {
        return fail_at_place(reader, "it is not a list");
    }
    for (size_t i = 0; i < json_array_size(events); i++) {
        struct torch_event event = {
            .host = (uint8_t)reader->outer, .index = (uint32_t)i, .life = TORCH_NO_EVENT};
        const json_t *object = json_array_get(events, i);
        reader->inner = i;
        const enum import_result result = read_event(reader, object, &event);
        if (result != IMPORT_OK) {
            return result;
        }
        if (event.action != TORCH_OTHER) {
            add_event(reader->snapshot, object, &event);
        }
    }
    return IMPORT_OK;
}

static enum import_result read_traces(struct reader *reader, const json_t *traces)
{
    if (traces != NULL && !json_is_array(traces)) {
        return fail_at_place(reader, "'device_traces' is not a list");
    }
    for (size_t i = 0; i < json_array_size(traces); i++) {
        reader->place = PLACE_TRACE;
        reader->outer = i;
        if (i == OP_HOST_COUNT_MAX) {
            return fail_at_place(reader, "more than %d devices", OP_HOST_COUNT_MAX);
        }
        const enum import_result result = read_trace(reader, json_array_get(traces, i));
        if (result != IMPORT_OK) {
            return result;
        }
    }
    return IMPORT_OK;
}

enum import_result torch_read(const json_t *root, size_t visit_count_max,
                              struct torch_snapshot *snapshot, struct import_error *error)
{
    static const char *const known[] = {"segments", "device_traces", "allocator_settings",
                                        "external_annotations", NULL};
    struct reader reader = {
        .snapshot = snapshot, .visit_count_max = visit_count_max, .error = error};
    if (!json_is_object(root) && !json_is_array(root)) {
        return fail_at_place(&reader,
                             "the file is neither a dict with 'segments' nor a list of segments");
    }
    if (json_is_object(root)) {
        count_unknown(&reader, root, known);
    }
    /* torch.cuda.memory_snapshot gives the segments alone. */
    enum import_result result = read_segments(
        &reader, json_is_array(root) ? root : json_object_get(root, "segments"));
    if (result == IMPORT_OK) {
        reader.place = PLACE_ROOT;
        result = read_traces(&reader, json_object_get(root, "device_traces"));
    }
    return result == IMPORT_OK ? torch_sort_blocks(snapshot, error) : result;
}
