/* PyTorch's export_memory_timeline(): rows [time, action, bytes, category] (.raw.json.gz), or
 * [times, sizes] with a sum for each category (.json).  No block has an address there, so that a
 * free is of some block of its size and category. */
#include "formats/common/cursor.h"
#include "formats/common/import.h"
#include "formats/common/slots.h"
#include "formats/common/trace.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/hash.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CATEGORY_COUNT = 8, SIZES_COUNT = CATEGORY_COUNT + 1, NO_BLOCK = 0 };
enum action { ACTION_PREEXISTING = 1, ACTION_CREATE, ACTION_INCREMENT_VERSION, ACTION_DESTROY };

static const char *const category_names[CATEGORY_COUNT] = {
    "parameters",  "optimizer state", "inputs",          "temporaries",
    "activations", "gradients",       "autograd detail", "unknown category"};

/* Live blocks of one size and category, the newest on top. */
struct block_stack {
    uint64_t size_bytes;
    uint32_t category;
    uint32_t top; /* number of a block; NO_BLOCK: none */
};

/* A number is the address of the trace. */
struct timeline_block {
    uint64_t size_bytes;
    uint32_t below; /* in its stack */
};

struct torch_timeline {
    struct event_trace *trace;
    struct import *import;
    struct block_stack *stacks; /* stack_count of them */
    size_t stack_count, stack_room;
    struct slots slots;            /* of stacks */
    struct timeline_block *blocks; /* from 1 */
    size_t block_count, block_room;
    uint64_t live[CATEGORY_COUNT], live_all;
    uint64_t peak[CATEGORY_COUNT], peak_all;
    int64_t peak_time;
    uint64_t lost_count;  /* rows that free or rename what is not there */
    uint64_t split_count; /* of sums: blocks of which a part is freed */
};

/* --- blocks by size and category --- */

static uint64_t hash_stack(const void *thing, uint64_t seed)
{
    const struct block_stack *stack = thing;
    const uint64_t key[2] = {stack->size_bytes, stack->category};
    return hash_bytes(HASH_START + seed, key, sizeof key);
}

static bool is_same_stack(const void *a, const void *b)
{
    const struct block_stack *x = a;
    const struct block_stack *y = b;
    return x->size_bytes == y->size_bytes && x->category == y->category;
}

static struct block_stack *stack_of(struct torch_timeline *timeline, uint64_t size_bytes,
                                    uint32_t category)
{
    const struct block_stack key = {.size_bytes = size_bytes, .category = category};
    static const struct slots_kind kind = {sizeof key, hash_stack, is_same_stack};
    uint32_t *slot = slots_find(&timeline->slots, &kind, timeline->stacks, 0, timeline->stack_count,
                                &key);
    if (*slot == 0) {
        ARRAY_ADD(timeline->stacks, timeline->stack_count, timeline->stack_room) = key;
        *slot = (uint32_t)timeline->stack_count;
    }
    return &timeline->stacks[*slot - 1];
}

static void push(struct torch_timeline *timeline, uint32_t number, uint32_t category)
{
    struct timeline_block *block = &timeline->blocks[number];
    struct block_stack *stack = stack_of(timeline, block->size_bytes, category);
    block->below = stack->top;
    stack->top = number;
}

static uint32_t pop(struct torch_timeline *timeline, uint64_t size_bytes, uint32_t category)
{
    struct block_stack *stack = stack_of(timeline, size_bytes, category);
    const uint32_t number = stack->top;
    if (number != NO_BLOCK) {
        stack->top = timeline->blocks[number].below;
    }
    return number;
}

static uint32_t add_block(struct torch_timeline *timeline, uint64_t size_bytes)
{
    if (timeline->block_count == 0) {
        ARRAY_ADD(timeline->blocks, timeline->block_count,
                  timeline->block_room) = (struct timeline_block){0}; /* NO_BLOCK */
    }
    ARRAY_ADD(timeline->blocks, timeline->block_count,
              timeline->block_room) = (struct timeline_block){.size_bytes = size_bytes};
    return (uint32_t)timeline->block_count - 1;
}

/* --- rows --- */

static void count(struct torch_timeline *timeline, uint32_t category, int64_t bytes)
{
    timeline->live[category] += (uint64_t)bytes;
    timeline->live_all += (uint64_t)bytes;
}

/* At the end of all rows of one time. */
static void take_peak(struct torch_timeline *timeline, int64_t time)
{
    if (timeline->live_all > timeline->peak_all) {
        timeline->peak_all = timeline->live_all;
        timeline->peak_time = time;
        memcpy(timeline->peak, timeline->live, sizeof timeline->peak);
    }
}

static enum import_result make(struct torch_timeline *timeline, uint64_t size_bytes,
                               uint32_t category)
{
    const char *name = category_names[category];
    const uint32_t number = add_block(timeline, size_bytes);
    const struct trace_event event = {.address = number,
                                      .size_bytes = size_bytes,
                                      .tag = trace_tag(timeline->trace, name, strlen(name))};
    push(timeline, number, category);
    count(timeline, category, (int64_t)size_bytes);
    return trace_alloc(timeline->trace, &event);
}

static enum import_result release(struct torch_timeline *timeline, uint32_t number,
                                  uint32_t category)
{
    const uint64_t size_bytes = timeline->blocks[number].size_bytes;
    const struct trace_event event = {.address = number, .size_bytes = size_bytes};
    count(timeline, category, -(int64_t)size_bytes);
    return trace_free(timeline->trace, &event);
}

/* A new version comes as two rows: the old category loses the block, and then the new one has it.
 */
static void rename_block(struct torch_timeline *timeline, int64_t bytes, uint32_t category,
                         uint32_t *renamed)
{
    if (bytes < 0) {
        *renamed = pop(timeline, (uint64_t)-bytes, category);
        timeline->lost_count += *renamed == NO_BLOCK;
        count(timeline, category, *renamed == NO_BLOCK ? 0 : bytes);
        return;
    }
    if (*renamed != NO_BLOCK && timeline->blocks[*renamed].size_bytes == (uint64_t)bytes) {
        push(timeline, *renamed, category);
        count(timeline, category, bytes);
    } else {
        timeline->lost_count++;
    }
    *renamed = NO_BLOCK;
}

static enum import_result take_row(struct torch_timeline *timeline, enum action action,
                                   int64_t bytes, uint32_t category, uint32_t *renamed)
{
    if (action == ACTION_INCREMENT_VERSION) {
        rename_block(timeline, bytes, category, renamed);
        return IMPORT_OK;
    }
    if (action != ACTION_DESTROY) {
        return make(timeline, (uint64_t)bytes, category);
    }
    const uint32_t number = pop(timeline, (uint64_t)-bytes, category);
    if (number == NO_BLOCK) {
        timeline->lost_count++;
        return IMPORT_OK;
    }
    return release(timeline, number, category);
}

static bool read_integer(const json_t *list, size_t i, int64_t *number)
{
    const json_t *value = json_array_get(list, i);
    *number = json_integer_value(value);
    return json_is_integer(value);
}

static enum import_result read_rows(struct torch_timeline *timeline, const json_t *rows,
                                    struct import_error *error)
{
    const int64_t most = (int64_t)IMPORT_CAPACITY_MAX;
    uint32_t renamed = NO_BLOCK;
    int64_t last_time = INT64_MIN;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        int64_t time = 0, action = 0, bytes = 0, category = 0;
        if (json_array_size(row) != 4 || !read_integer(row, 0, &time) ||
            !read_integer(row, 1, &action) || !read_integer(row, 2, &bytes) ||
            !read_integer(row, 3, &category) || action < ACTION_PREEXISTING ||
            action > ACTION_DESTROY || category < 0 || category >= CATEGORY_COUNT || bytes > most ||
            bytes < -most || (action < ACTION_INCREMENT_VERSION && bytes < 0) ||
            (action == ACTION_DESTROY && bytes > 0)) {
            return IMPORT_REFUSE(
                error, 0,
                "row %zu is not [time, action 1 to 4, bytes, category 0 to 7], with bytes below 0 when something is freed",
                i + 1);
        }
        if (time != last_time) {
            take_peak(timeline, last_time);
            last_time = time;
        }
        IMPORT_TRY(bytes == 0 ? IMPORT_OK
                              : take_row(timeline, (enum action)action, bytes, (uint32_t)category,
                                         &renamed));
    }
    take_peak(timeline, last_time);
    return IMPORT_OK;
}

/* --- sums --- */

static enum import_result make_on_top(struct torch_timeline *timeline, uint32_t *tops,
                                      uint32_t category, uint64_t size_bytes)
{
    IMPORT_TRY(make(timeline, size_bytes, category));
    const uint32_t number = (uint32_t)timeline->block_count - 1;
    timeline->blocks[number].below = tops[category];
    tops[category] = number;
    return IMPORT_OK;
}

/* The newest blocks of the category go; of the last one, what is left over is made again. */
static enum import_result shrink(struct torch_timeline *timeline, uint32_t *tops, uint32_t category,
                                 uint64_t bytes)
{
    while (bytes > 0) {
        const uint32_t number = tops[category];
        CHECK(number != NO_BLOCK);
        const uint64_t size_bytes = timeline->blocks[number].size_bytes;
        tops[category] = timeline->blocks[number].below;
        IMPORT_TRY(release(timeline, number, category));
        if (size_bytes > bytes) {
            IMPORT_TRY(make_on_top(timeline, tops, category, size_bytes - bytes));
            timeline->split_count++;
        }
        bytes -= size_bytes < bytes ? size_bytes : bytes;
    }
    return IMPORT_OK;
}

static enum import_result take_sums(struct torch_timeline *timeline, const json_t *sums,
                                    uint32_t *tops, size_t i, struct import_error *error)
{
    for (uint32_t category = 0; category < CATEGORY_COUNT; category++) {
        int64_t bytes = 0;
        if (json_array_size(sums) != SIZES_COUNT || !read_integer(sums, category + 1, &bytes) ||
            bytes < 0 || bytes > (int64_t)(IMPORT_CAPACITY_MAX / CATEGORY_COUNT)) {
            return IMPORT_REFUSE(error, 0, "the sums of time %zu are not 9 numbers of 0 or more",
                                 i + 1);
        }
        const uint64_t wanted = (uint64_t)bytes;
        const uint64_t live = timeline->live[category];
        if (wanted < live) {
            IMPORT_TRY(shrink(timeline, tops, category, live - wanted));
        } else if (wanted > live) {
            IMPORT_TRY(make_on_top(timeline, tops, category, wanted - live));
        }
    }
    return IMPORT_OK;
}

static enum import_result read_sums(struct torch_timeline *timeline, const json_t *times,
                                    const json_t *sizes, struct import_error *error)
{
    uint32_t tops[CATEGORY_COUNT] = {NO_BLOCK};
    if (json_array_size(times) != json_array_size(sizes)) {
        return IMPORT_REFUSE(error, 0, "there are %zu times and %zu lists of sums",
                             json_array_size(times), json_array_size(sizes));
    }
    for (size_t i = 0; i < json_array_size(times); i++) {
        const json_t *time = json_array_get(times, i);
        const double number = json_number_value(time);
        if (!json_is_number(time) || !(number > -9e18 && number < 9e18)) {
            return IMPORT_REFUSE(error, 0, "time %zu is not a number", i + 1);
        }
        IMPORT_TRY(take_sums(timeline, json_array_get(sizes, i), tops, i, error));
        take_peak(timeline, (int64_t)number);
    }
    return IMPORT_OK;
}

/* --- what is told --- */

static void tell_peak(const struct torch_timeline *timeline, bool is_rows)
{
    char line[400];
    char size[SIZE_TEXT_BYTES];
    size_t used = 0;
    line[0] = '\0';
    for (unsigned i = 0; i < CATEGORY_COUNT && used < sizeof line; i++) {
        if (timeline->peak[i] > 0) {
            size_print_field(timeline->peak[i], size);
            used += (size_t)snprintf(line + used, sizeof line - used, "%s%s %s",
                                     used == 0 ? "" : ", ", category_names[i], size);
        }
    }
    size_print_field(timeline->peak_all, size);
    import_tell(timeline->import, "the most was live at %" PRId64 " %s: %s (%s)",
                timeline->peak_time, is_rows ? "ns" : "us", size, line);
}

static void add_notes(const struct torch_timeline *timeline, bool is_rows)
{
    tell_peak(timeline, is_rows);
    import_assume(
        timeline->import,
        is_rows
            ? "rows have no addresses: a free is of the newest live block of its size and category"
            : "only sums are known: what a category gains is one block, and what it loses comes from its newest blocks");
    if (timeline->lost_count > 0) {
        import_tell(timeline->import,
                    "a check fails: %" PRIu64 " rows free or rename what is not there; left out",
                    timeline->lost_count);
    }
    if (timeline->split_count > 0) {
        import_note(timeline->import, "blocks of which a part was freed, made again: %" PRIu64,
                    timeline->split_count);
    }
}

/* --- the format --- */

static enum import_result import_list(const json_t *root, const struct import_input *input,
                                      struct import *import, struct import_error *error)
{
    const json_t *first = json_array_get(root, 0);
    const json_t *second = json_array_get(root, 1);
    const bool is_sums = json_array_size(root) == 2 &&
                         (json_is_array(json_array_get(second, 0)) || json_array_size(first) == 0);
    struct torch_timeline timeline = {
        .import = import,
        .trace = trace_begin(input, import, error),
        .slots = {.seed = hash_seed_draw()}}; /* a file must not choose which sizes meet */
    snprintf(import->setup.system, sizeof import->setup.system, "pytorch");
    enum import_result result = is_sums ? read_sums(&timeline, first, second, error)
                                        : read_rows(&timeline, root, error);
    if (result == IMPORT_OK) {
        add_notes(&timeline, !is_sums);
        result = trace_end(timeline.trace, NULL);
    } else {
        trace_abandon(timeline.trace);
    }
    free(timeline.slots.slots);
    free(timeline.stacks);
    free(timeline.blocks);
    return result;
}

static bool is_picture(const char *text, size_t length)
{
    return length > 0 && text[0] != '[' && text_has(text, length, "Max memory allocated:") &&
           text_has(text, length, "base64");
}

static enum import_result import_torch_timeline(const struct import_input *input,
                                                struct import *import, struct import_error *error)
{
    json_error_t found;
    if (is_picture(input->text, input->length)) {
        return IMPORT_LACKS(
            error,
            "the timeline as HTML is a picture: only its title has numbers; export_memory_timeline() to a name that ends in .raw.json.gz or .json");
    }
    json_t *root = json_loadb(input->text, input->length, 0, &found);
    if (root == NULL) {
        const bool is_cut = json_error_code(&found) == json_error_premature_end_of_input;
        return import_fail(error, is_cut ? IMPORT_INCOMPLETE : IMPORT_INVALID,
                           found.line < 1 ? 0 : (size_t)found.line, 0, "JSON, column %d: %s%s",
                           found.column, found.text, is_cut ? " (a cut file?)" : "");
    }
    const enum import_result result =
        json_is_array(root)
            ? import_list(root, input, import, error)
            : IMPORT_REFUSE(error, 0, "a timeline is a list of rows, or of times and sums");
    json_decref(root);
    return result;
}

/* "[[", and numbers in both lists. */
static unsigned recognise_torch_timeline(const char *text, size_t length)
{
    char begin[3] = "";
    size_t count = 0;
    for (size_t i = 0; i < length && count < sizeof begin; i++) {
        if (text[i] == '\0' || strchr(" \t\r\n", text[i]) == NULL) {
            begin[count++] = text[i];
        }
    }
    const bool is_list = begin[0] == '[' && begin[1] == '[' &&
                         (begin[2] == '-' || (begin[2] >= '0' && begin[2] <= '9'));
    return is_list || is_picture(text, length) ? 60 : 0;
}

const struct format format_torch_timeline = {
    .name = "torch_timeline",
    .summary = "memory timelines of PyTorch's profiler (export_memory_timeline)",
    .recognise = recognise_torch_timeline,
    .import = import_torch_timeline,
};
