/* From the decoded file to plain numbers, every one of them checked, and held to what each segment
 * says of its blocks. */
#include "formats/torch/private/torch.h"

#include "harness/base/array.h"
#include "harness/base/order.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum torch_place { PLACE_ROOT, PLACE_SEGMENT, PLACE_BLOCK, PLACE_TRACE, PLACE_EVENT, PLACE_COUNT };

/* The keys that mean something: their names, and the places whose dicts may have them. */
#define ROOT (1U << PLACE_ROOT)
#define SEGMENT (1U << PLACE_SEGMENT)
#define BLOCK (1U << PLACE_BLOCK)
#define EVENT (1U << PLACE_EVENT)
/* clang-format off */
#define FIELDS(row) \
    row(ACTION, "action", EVENT) \
    row(ACTIVE_SIZE, "active_size", SEGMENT) \
    row(ADDR, "addr", EVENT) \
    row(ADDRESS, "address", SEGMENT | BLOCK) \
    row(ALLOCATED_SIZE, "allocated_size", SEGMENT) \
    row(ALLOCATOR_SETTINGS, "allocator_settings", ROOT) \
    row(BLOCKS, "blocks", SEGMENT) \
    row(COMPILE_CONTEXT, "compile_context", EVENT) \
    row(DEVICE, "device", SEGMENT) \
    row(DEVICE_FREE, "device_free", EVENT) \
    row(DEVICE_TRACES, "device_traces", ROOT) \
    row(EXTERNAL_ANNOTATIONS, "external_annotations", ROOT) \
    row(FRAMES, "frames", SEGMENT | BLOCK | EVENT) \
    row(HISTORY, "history", BLOCK) \
    row(IS_EXPANDABLE, "is_expandable", SEGMENT) \
    row(REQUESTED_SIZE, "requested_size", SEGMENT | BLOCK) \
    row(SEGMENTS, "segments", ROOT) \
    row(SEGMENT_POOL_ID, "segment_pool_id", SEGMENT) \
    row(SEGMENT_TYPE, "segment_type", SEGMENT) \
    row(SIZE, "size", BLOCK | EVENT) \
    row(STATE, "state", BLOCK) \
    row(STREAM, "stream", SEGMENT | EVENT) \
    row(TIME_US, "time_us", EVENT) \
    row(TOTAL_SIZE, "total_size", SEGMENT) \
    row(USER_METADATA, "user_metadata", EVENT)
/* clang-format on */
#define FIELD_NUMBER(number, name, places) FIELD_##number,
#define FIELD_ROW(number, name, places) [FIELD_##number] = {name, places},
enum torch_field { FIELDS(FIELD_NUMBER) FIELD_COUNT };
static const struct {
    const char *name;
    unsigned places;
} fields[FIELD_COUNT] = {FIELDS(FIELD_ROW)};

enum { LARGE_SEGMENT_BYTES = 20 << 20 }; /* unless large_segment_size_mb says otherwise */

/* Which field each value of a dict of one shape is: nearly all dicts of a place have one shape. */
struct dict_layout {
    uint32_t shape;
    size_t count, room;
    uint8_t *fields; /* FIELD_COUNT: none */
};

struct torch_reader {
    const struct plain_tree *tree;
    struct torch_snapshot *snapshot;
    size_t visit_count_max, visit_count;
    enum torch_place place; /* of what is read */
    size_t outer, inner;
    struct dict_layout layouts[PLACE_COUNT];
    struct plain_value record[FIELD_COUNT]; /* of the dict that is read */
    struct import_error *error;
};

static enum import_result __attribute__((format(printf, 2, 3)))
fail_at_place(struct torch_reader *reader, const char *reason, ...)
{
    char text[IMPORT_REASON_BYTES / 2];
    char path[96] = "";
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(text, sizeof text, reason, arguments);
    va_end(arguments);
    const bool is_trace = reader->place == PLACE_TRACE || reader->place == PLACE_EVENT;
    const char *list = is_trace ? "device_traces" : "segments";
    if (reader->place == PLACE_SEGMENT || reader->place == PLACE_TRACE) {
        snprintf(path, sizeof path, "%s[%zu]: ", list, reader->outer);
    } else if (reader->place != PLACE_ROOT) {
        snprintf(path, sizeof path, "%s[%zu]%s[%zu]: ", list, reader->outer,
                 is_trace ? "" : ".blocks", reader->inner);
    }
    return IMPORT_REFUSE(reader->error, 0, "%s%s", path, text);
}

static enum torch_field find_field(const struct plain_text *key, enum torch_place place)
{
    for (unsigned i = 0; i < FIELD_COUNT; i++) {
        if ((fields[i].places >> place & 1) != 0 && strlen(fields[i].name) == key->length &&
            memcmp(fields[i].name, key->at, key->length) == 0) {
            return (enum torch_field)i;
        }
    }
    return FIELD_COUNT;
}

static void lay_out(struct torch_reader *reader, struct dict_layout *layout,
                    struct plain_value dict)
{
    layout->count = plain_count(reader->tree, dict);
    layout->shape = reader->tree->boxes[dict.payload].shape;
    if (layout->count > layout->room) {
        layout->fields = array_resized(layout->fields, layout->count);
        layout->room = layout->count;
    }
    for (size_t i = 0; i < layout->count; i++) {
        layout->fields[i] = (uint8_t)find_field(plain_key_at(reader->tree, dict, i), reader->place);
    }
}

/* Spreads the values of a dict over the record. */
static void spread_dict(struct torch_reader *reader, struct plain_value dict)
{
    struct torch_snapshot *snapshot = reader->snapshot;
    struct dict_layout *layout = &reader->layouts[reader->place];
    memset(reader->record, 0, sizeof reader->record);
    if (plain_count(reader->tree, dict) == 0) {
        return;
    }
    if (layout->count == 0 || layout->shape != reader->tree->boxes[dict.payload].shape) {
        lay_out(reader, layout, dict);
    }
    for (size_t i = 0; i < layout->count; i++) {
        if (layout->fields[i] != FIELD_COUNT) {
            reader->record[layout->fields[i]] = plain_at(reader->tree, dict, i);
        } else if (snapshot->unknown_keys++ == 0) {
            const struct plain_text *key = plain_key_at(reader->tree, dict, i);
            snprintf(snapshot->unknown_key, sizeof snapshot->unknown_key, "%.*s",
                     key->length < SETUP_NAME_BYTES ? (int)key->length : SETUP_NAME_BYTES, key->at);
        }
    }
}

/* Every dict that is visited passes here; it counts with its keys, all of which are looked at. */
static enum import_result enter_place(struct torch_reader *reader, struct plain_value value,
                                      enum torch_place place)
{
    reader->place = place;
    if (value.kind != PLAIN_DICT) {
        return fail_at_place(reader, "it is not a dict");
    }
    reader->visit_count += 1 + plain_count(reader->tree, value);
    if (reader->visit_count > reader->visit_count_max) {
        return fail_at_place(
            reader,
            "values are shared so often that there are more of them up to here than bytes in the file");
    }
    spread_dict(reader, value);
    return IMPORT_OK;
}

/* A whole number of 0..max; *number is untouched where the key is not there and need not be. */
static enum import_result read_number(struct torch_reader *reader, enum torch_field field,
                                      bool is_needed, uint64_t max, uint64_t *number)
{
    const struct plain_value value = reader->record[field];
    const char *name = fields[field].name;
    if (value.kind == PLAIN_NOTHING) {
        return is_needed ? fail_at_place(reader, "'%s' is missing", name) : IMPORT_OK;
    }
    if (!plain_is_number(value)) {
        return fail_at_place(reader, "'%s' is not a whole number", name);
    }
    const uint64_t read = plain_number(reader->tree, value);
    if (plain_is_negative(value)) {
        return fail_at_place(reader, "'%s' is %" PRId64 "; accepted: 0 to %" PRIu64, name,
                             (int64_t)read, max);
    }
    if (read > max) {
        return fail_at_place(reader, "'%s' is %" PRIu64 "; accepted: 0 to %" PRIu64, name, read,
                             max);
    }
    *number = read;
    return IMPORT_OK;
}

/* A word, and what it means. */
struct torch_word {
    const char *text;
    int meaning;
};

/* The meaning of the record's text among words[count]; -1: of none of them.  *name: the text. */
static enum import_result read_word(struct torch_reader *reader, enum torch_field field,
                                    const struct torch_word *words, size_t count,
                                    const struct plain_text **name, int *meaning)
{
    const struct plain_value value = reader->record[field];
    *name = plain_text(reader->tree, value);
    if (*name == NULL) {
        return fail_at_place(reader, "'%s' is missing or not a text", fields[field].name);
    }
    size_t i = 0;
    while (i < count && !plain_is_text(reader->tree, value, words[i].text)) {
        i++;
    }
    *meaning = i < count ? words[i].meaning : -1;
    return IMPORT_OK;
}

/* --- segments and blocks --- */

struct segment_sums {
    uint64_t total, allocated, active, requested;
};

static enum import_result read_state(struct torch_reader *reader, enum torch_state *state)
{
    static const struct torch_word states[] = {{"inactive", TORCH_INACTIVE},
                                               {"active_allocated", TORCH_ALLOCATED},
                                               {"active_awaiting_free", TORCH_AWAITING_FREE},
                                               {"active_pending_free", TORCH_AWAITING_FREE}};
    const struct plain_text *name = NULL;
    int meaning = -1;
    IMPORT_TRY(
        read_word(reader, FIELD_STATE, states, sizeof states / sizeof states[0], &name, &meaning));
    if (meaning < 0) {
        return fail_at_place(reader, "the state '%.*s' is unknown",
                             name->length < 40 ? (int)name->length : 40, name->at);
    }
    *state = (enum torch_state)meaning;
    return IMPORT_OK;
}

/* Torch 1.13 keeps what a block was used for, the last use first. */
static struct plain_value get_frames(const struct torch_reader *reader)
{
    const struct plain_value history = reader->record[FIELD_HISTORY];
    if (reader->record[FIELD_FRAMES].kind != PLAIN_NOTHING || history.kind != PLAIN_LIST ||
        plain_count(reader->tree, history) == 0) {
        return reader->record[FIELD_FRAMES];
    }
    return plain_get(reader->tree, plain_at(reader->tree, history, 0), "frames");
}

/* at: where it must begin. */
static enum import_result read_block(struct torch_reader *reader, struct plain_value object,
                                     uint64_t at, struct torch_block *block)
{
    IMPORT_TRY(enter_place(reader, object, PLACE_BLOCK));
    block->address = at;
    IMPORT_TRY(read_number(reader, FIELD_ADDRESS, false, TORCH_ADDRESS_MAX, &block->address));
    if (block->address != at) {
        return fail_at_place(reader,
                             "it begins at %" PRIu64 ", not at %" PRIu64
                             ", where the block before it ends or the segment begins",
                             block->address, at);
    }
    IMPORT_TRY(read_number(reader, FIELD_SIZE, true, IMPORT_CAPACITY_MAX, &block->size_bytes));
    if (block->size_bytes == 0) {
        return fail_at_place(reader, "the block has 0 bytes");
    }
    IMPORT_TRY(read_state(reader, &block->state));
    block->requested_bytes = block->size_bytes;
    IMPORT_TRY(
        read_number(reader, FIELD_REQUESTED_SIZE, false, UINT64_MAX, &block->requested_bytes));
    /* If the block is not active, this is what its last use had asked for. */
    if (block->state != TORCH_INACTIVE &&
        (block->requested_bytes == 0 || block->requested_bytes > block->size_bytes)) {
        return fail_at_place(reader,
                             "%" PRIu64 " bytes were requested in a block of %" PRIu64 " bytes",
                             block->requested_bytes, block->size_bytes);
    }
    return IMPORT_OK;
}

/* Who asked for so many bytes. */
static void name_user(struct torch_reader *reader, struct plain_value frames, uint64_t size_bytes,
                      uint32_t *name, uint32_t *stack)
{
    struct torch_snapshot *snapshot = reader->snapshot;
    *name = torch_name_of(&snapshot->names, reader->tree, frames);
    *stack = torch_stack_of(&snapshot->stacks, reader->tree, frames);
    torch_name_count(&snapshot->names, *name, size_bytes);
}

static void add_block(struct torch_reader *reader, struct torch_block *block,
                      struct segment_sums *sums)
{
    struct torch_snapshot *snapshot = reader->snapshot;
    sums->total += block->size_bytes;
    if (block->state != TORCH_INACTIVE) {
        name_user(reader, get_frames(reader), block->size_bytes, &block->name, &block->stack);
        sums->active += block->size_bytes;
        sums->requested += block->requested_bytes;
        sums->allocated += block->state == TORCH_ALLOCATED ? block->size_bytes : 0;
    }
    ARRAY_ADD(snapshot->blocks, snapshot->block_count, snapshot->block_room) = *block;
}

/* segment: its record is read again, after those of its blocks. */
static enum import_result check_sums(struct torch_reader *reader, struct plain_value segment,
                                     const struct segment_sums *sums)
{
    const struct {
        enum torch_field field;
        uint64_t sum;
    } rows[] = {{FIELD_TOTAL_SIZE, sums->total},
                {FIELD_ALLOCATED_SIZE, sums->allocated},
                {FIELD_ACTIVE_SIZE, sums->active},
                {FIELD_REQUESTED_SIZE, sums->requested}};
    const uint64_t unknown_keys = reader->snapshot->unknown_keys;
    reader->place = PLACE_SEGMENT;
    spread_dict(reader, segment);
    reader->snapshot->unknown_keys = unknown_keys;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t said = rows[i].sum;
        IMPORT_TRY(read_number(reader, rows[i].field, false, UINT64_MAX, &said));
        if (said != rows[i].sum) {
            return fail_at_place(reader, "'%s' is %" PRIu64 ", but its blocks have %" PRIu64,
                                 fields[rows[i].field].name, said, rows[i].sum);
        }
    }
    return IMPORT_OK;
}

/* segment: a block with what all of them share, its address that of the first. */
static enum import_result read_blocks(struct torch_reader *reader, struct plain_value blocks,
                                      const struct torch_block *segment, struct segment_sums *sums)
{
    for (size_t i = 0; i < plain_count(reader->tree, blocks); i++) {
        struct torch_block block = *segment;
        uint64_t *segment_bytes = &reader->snapshot->segment_bytes[block.host];
        const struct plain_value object = plain_at(reader->tree, blocks, i);
        reader->inner = i;
        block.index = (uint32_t)i;
        block.begins_segment = i == 0;
        IMPORT_TRY(read_block(reader, object, segment->address + sums->total, &block));
        add_block(reader, &block, sums);
        *segment_bytes += block.size_bytes;
        if (*segment_bytes > IMPORT_CAPACITY_MAX) {
            return fail_at_place(
                reader, "with this block, the segments of device %u have more than 2^50 bytes",
                block.host);
        }
    }
    return IMPORT_OK;
}

/* Only what decides which requests its free blocks serve. */
static void read_pool(const struct torch_reader *reader, struct torch_block *segment)
{
    const struct plain_value type = reader->record[FIELD_SEGMENT_TYPE];
    const struct plain_value id = reader->record[FIELD_SEGMENT_POOL_ID];
    segment->stream = plain_number(reader->tree, reader->record[FIELD_STREAM]);
    segment->pool = plain_is_text(reader->tree, type, "small")   ? TORCH_POOL_SMALL
                    : plain_is_text(reader->tree, type, "large") ? TORCH_POOL_LARGE
                                                                 : TORCH_POOL_UNKNOWN;
    for (size_t i = 0; id.kind == PLAIN_LIST && plain_count(reader->tree, id) == 2 && i < 2; i++) {
        segment->is_private |= plain_number(reader->tree, plain_at(reader->tree, id, i)) != 0;
    }
}

static enum import_result read_segment(struct torch_reader *reader, struct plain_value segment)
{
    struct torch_block read = {
        .segment = (uint32_t)reader->outer, .name = TORCH_NO_NAME, .stack = STACKS_NONE};
    struct segment_sums sums = {0};
    uint64_t device = 0;
    IMPORT_TRY(enter_place(reader, segment, PLACE_SEGMENT));
    IMPORT_TRY(read_number(reader, FIELD_DEVICE, false, OP_HOST_COUNT_MAX - 1, &device));
    IMPORT_TRY(read_number(reader, FIELD_ADDRESS, true, TORCH_ADDRESS_MAX, &read.address));
    read.host = (uint8_t)device;
    read_pool(reader, &read);
    const struct plain_value blocks = reader->record[FIELD_BLOCKS];
    if (blocks.kind != PLAIN_LIST || plain_count(reader->tree, blocks) == 0) {
        return fail_at_place(reader, "'blocks' is not a list with blocks");
    }
    IMPORT_TRY(read_blocks(reader, blocks, &read, &sums));
    return check_sums(reader, segment, &sums);
}

static enum import_result read_segments(struct torch_reader *reader, struct plain_value segments)
{
    if (segments.kind != PLAIN_LIST) {
        return fail_at_place(reader, "'segments' is missing or not a list");
    }
    const size_t count = plain_count(reader->tree, segments);
    for (size_t i = 0; i < count; i++) {
        reader->outer = i;
        IMPORT_TRY(read_segment(reader, plain_at(reader->tree, segments, i)));
    }
    reader->snapshot->segment_count = count;
    return IMPORT_OK;
}

/* --- events --- */

static enum import_result read_action(struct torch_reader *reader, struct torch_event *event)
{
    static const struct torch_word actions[] = {{"alloc", TORCH_ALLOC},
                                                {"free_requested", TORCH_FREE_REQUESTED},
                                                {"free_completed", TORCH_FREE_COMPLETED},
                                                {"oom", TORCH_OOM},
                                                {"segment_alloc", TORCH_SEGMENT_ALLOC},
                                                {"segment_map", TORCH_SEGMENT_ALLOC},
                                                {"segment_free", TORCH_SEGMENT_FREE},
                                                {"segment_unmap", TORCH_SEGMENT_FREE},
                                                {"snapshot", TORCH_OTHER},
                                                {"user_defined", TORCH_OTHER}};
    struct torch_snapshot *snapshot = reader->snapshot;
    const struct plain_text *name = NULL;
    int meaning = -1;
    IMPORT_TRY(read_word(reader, FIELD_ACTION, actions, sizeof actions / sizeof actions[0], &name,
                         &meaning));
    event->action = (uint8_t)(meaning < 0 ? TORCH_OTHER : meaning);
    if (meaning < 0 && snapshot->unknown_actions++ == 0) {
        snprintf(snapshot->unknown_action, sizeof snapshot->unknown_action, "%.*s",
                 name->length < SETUP_NAME_BYTES ? (int)name->length : SETUP_NAME_BYTES, name->at);
    }
    return IMPORT_OK;
}

static enum import_result read_times(struct torch_reader *reader, struct torch_event *event)
{
    const struct plain_value stream = reader->record[FIELD_STREAM];
    const struct plain_value time = reader->record[FIELD_TIME_US];
    if (stream.kind != PLAIN_NOTHING && !plain_is_number(stream)) {
        return fail_at_place(reader, "'stream' is not a whole number");
    }
    if (time.kind != PLAIN_NOTHING && !plain_is_number(time)) {
        return fail_at_place(reader, "'time_us' is not a whole number");
    }
    event->stream = plain_number(reader->tree, stream); /* a pointer, which may have a sign */
    event->time_us = time.kind == PLAIN_NOTHING ? TORCH_NO_TIME
                                                : (int64_t)plain_number(reader->tree, time);
    return IMPORT_OK;
}

/* Reads the size and the address of an event.  A failed request may have any size: a negative count
 * of elements does that.  Free bytes above what any device has are nonsense. */
static enum import_result read_place(struct torch_reader *reader, struct torch_event *event)
{
    const bool is_oom = event->action == TORCH_OOM;
    IMPORT_TRY(read_number(reader, FIELD_SIZE, true, is_oom ? UINT64_MAX : IMPORT_CAPACITY_MAX,
                           &event->size_bytes));
    if (event->size_bytes == 0) {
        return fail_at_place(reader, "the event has 0 bytes");
    }
    if (!is_oom) {
        return read_number(reader, FIELD_ADDR, true, TORCH_ADDRESS_MAX, &event->address);
    }
    event->free_bytes = UINT64_MAX;
    IMPORT_TRY(read_number(reader, FIELD_DEVICE_FREE, false, UINT64_MAX, &event->free_bytes));
    event->free_bytes = event->free_bytes > IMPORT_CAPACITY_MAX ? UINT64_MAX : event->free_bytes;
    return IMPORT_OK;
}

static enum import_result read_trace(struct torch_reader *reader, struct plain_value events)
{
    if (events.kind != PLAIN_LIST) {
        return fail_at_place(reader, "it is not a list");
    }
    struct torch_snapshot *snapshot = reader->snapshot;
    const size_t count = plain_count(reader->tree, events);
    for (size_t i = 0; i < count; i++) {
        struct torch_event event = {.host = (uint8_t)reader->outer,
                                    .index = (uint32_t)i,
                                    .life = TORCH_NO_EVENT,
                                    .name = TORCH_NO_NAME,
                                    .stack = STACKS_NONE};
        reader->inner = i;
        IMPORT_TRY(enter_place(reader, plain_at(reader->tree, events, i), PLACE_EVENT));
        IMPORT_TRY(read_action(reader, &event));
        if (event.action == TORCH_OTHER) {
            continue;
        }
        IMPORT_TRY(read_place(reader, &event));
        IMPORT_TRY(read_times(reader, &event));
        if (event.action == TORCH_ALLOC || event.action == TORCH_OOM) {
            name_user(reader, reader->record[FIELD_FRAMES], event.size_bytes, &event.name,
                      &event.stack);
        }
        ARRAY_ADD(snapshot->events, snapshot->event_count, snapshot->event_room) = event;
    }
    return IMPORT_OK;
}

static enum import_result read_traces(struct torch_reader *reader, struct plain_value traces)
{
    if (traces.kind != PLAIN_NOTHING && traces.kind != PLAIN_LIST) {
        return fail_at_place(reader, "'device_traces' is not a list");
    }
    for (size_t i = 0; i < plain_count(reader->tree, traces); i++) {
        reader->place = PLACE_TRACE;
        reader->outer = i;
        if (i == OP_HOST_COUNT_MAX) {
            return fail_at_place(reader, "more than %d devices", OP_HOST_COUNT_MAX);
        }
        IMPORT_TRY(read_trace(reader, plain_at(reader->tree, traces, i)));
    }
    return IMPORT_OK;
}

static void read_settings(struct torch_reader *reader, struct plain_value settings)
{
    static const char name[] = "large_segment_size_mb:"; /* which no key of its own has */
    const struct plain_value split = plain_get(reader->tree, settings, "max_split_size");
    const struct plain_text *text = plain_text(
        reader->tree, plain_get(reader->tree, settings, "PYTORCH_CUDA_ALLOC_CONF"));
    const char *at = text == NULL ? NULL : memmem(text->at, text->length, name, sizeof name - 1);
    uint64_t mib = 0;
    if (plain_is_number(split) && !plain_is_negative(split)) {
        reader->snapshot->max_split_bytes = plain_number(reader->tree, split);
    }
    for (at = at == NULL ? NULL : at + sizeof name - 1;
         at != NULL && at < text->at + text->length && *at >= '0' && *at <= '9' && mib < 1 << 20;
         at++) {
        mib = 10 * mib + (uint64_t)(*at - '0');
    }
    reader->snapshot->large_segment_bytes = mib > 0 ? mib << 20 : LARGE_SEGMENT_BYTES;
}

static enum import_result read_root(struct torch_reader *reader, struct plain_value root)
{
    read_settings(reader, plain_get(reader->tree, root, "allocator_settings"));
    if (root.kind == PLAIN_LIST) { /* torch.cuda.memory_snapshot gives the segments alone */
        return read_segments(reader, root);
    }
    if (root.kind != PLAIN_DICT) {
        return fail_at_place(reader,
                             "the file is neither a dict with 'segments' nor a list of segments");
    }
    spread_dict(reader, root);
    const struct plain_value traces = reader->record[FIELD_DEVICE_TRACES];
    const enum import_result result = read_segments(reader, reader->record[FIELD_SEGMENTS]);
    reader->place = PLACE_ROOT;
    return result == IMPORT_OK ? read_traces(reader, traces) : result;
}

/* A total order: places in the file break ties. */
static int compare_blocks(const void *a, const void *b)
{
    const struct torch_block *x = a;
    const struct torch_block *y = b;
    return compare_then(compare_places(x->host, x->address, y->host, y->address),
                        compare_places(x->segment, x->index, y->segment, y->index));
}

/* By host and address; two that overlap are refused. */
static enum import_result sort_blocks(struct torch_snapshot *snapshot, struct import_error *error)
{
    if (snapshot->block_count > 0) {
        qsort(snapshot->blocks, snapshot->block_count, sizeof *snapshot->blocks, compare_blocks);
    }
    for (size_t i = 1; i < snapshot->block_count; i++) {
        const struct torch_block *before = &snapshot->blocks[i - 1];
        const struct torch_block *block = &snapshot->blocks[i];
        if (before->host == block->host && block->address - before->address < before->size_bytes) {
            return TORCH_FAIL_BLOCK(error, block,
                                    "it begins at %" PRIu64 ", inside segments[%" PRIu32
                                    "].blocks[%" PRIu32 "]",
                                    block->address, before->segment, before->index);
        }
    }
    return IMPORT_OK;
}

enum import_result torch_read(const struct plain_tree *tree, struct plain_value root,
                              size_t visit_count_max, struct torch_snapshot *snapshot,
                              struct import_error *error)
{
    struct torch_reader reader = {
        .tree = tree, .snapshot = snapshot, .visit_count_max = visit_count_max, .error = error};
    const enum import_result result = read_root(&reader, root);
    for (unsigned i = 0; i < PLACE_COUNT; i++) {
        free(reader.layouts[i].fields);
    }
    return result == IMPORT_OK ? sort_blocks(snapshot, error) : result;
}
