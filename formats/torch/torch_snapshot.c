/* Memory snapshots of PyTorch's CUDA allocator, as torch.cuda.memory._dump_snapshot pickles them,
 * and the same as JSON: a trace of events, and the state of every block at the end. */
#include "formats/common/cursor.h"
#include "formats/torch/private/plain.h"
#include "formats/torch/private/torch.h"
#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/search.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Appends ",key:value"; the first comma goes at the end. */
static void add_setting(char *text, const char *key, const char *value)
{
    const size_t used = strlen(text);
    snprintf(text + used, IMPORT_SETTINGS_BYTES - used, ",%s:%s", key, value);
}

static void add_number(char *text, const char *key, uint64_t number)
{
    char value[24];
    snprintf(value, sizeof value, "%" PRIu64, number);
    add_setting(text, key, value);
}

/* 0 of what is no number, or not above 0. */
static uint64_t find_positive(const struct plain_tree *tree, struct plain_value value)
{
    return plain_is_negative(value) ? 0 : plain_number(tree, value);
}

static double find_share(const struct plain_tree *tree, struct plain_value value)
{
    double share = 0;
    if (value.kind == PLAIN_REAL) {
        memcpy(&share, &tree->wides[value.payload], sizeof share);
    }
    return share;
}

/* The most divisions of any size; 0 and 1 are none. */
static uint64_t find_divisions(const struct plain_tree *tree, struct plain_value divisions)
{
    uint64_t most = 0;
    for (size_t i = 0; divisions.kind == PLAIN_DICT && i < plain_count(tree, divisions); i++) {
        const uint64_t count = find_positive(tree, plain_at(tree, divisions, i));
        most = count > most ? count : most;
    }
    return most;
}

/* Sets import->settings, where the snapshot has them (PyTorch since 2024). */
static void read_settings(const struct plain_tree *tree, struct plain_value root,
                          struct import *import)
{
    const struct plain_value settings = plain_get(tree, root, "allocator_settings");
    char text[IMPORT_SETTINGS_BYTES] = "";
    if (settings.kind != PLAIN_DICT) {
        return;
    }
    const uint64_t split_bytes = find_positive(tree, plain_get(tree, settings, "max_split_size"));
    const double threshold = find_share(tree,
                                        plain_get(tree, settings, "garbage_collection_threshold"));
    const uint64_t divisions = find_divisions(
        tree, plain_get(tree, settings, "roundup_power2_divisions"));
    if (plain_get(tree, settings, "expandable_segments").kind == PLAIN_TRUE) {
        add_setting(text, "expandable_segments", "True");
    }
    if (split_bytes > 0) {
        add_number(text, "max_split_size_mb", split_bytes >> 20);
    }
    if (threshold > 0) {
        char value[24];
        snprintf(value, sizeof value, "%g", threshold);
        add_setting(text, "garbage_collection_threshold", value);
    }
    if (divisions > 1) {
        add_number(text, "roundup_power2_divisions", divisions);
    }
    snprintf(import->settings, sizeof import->settings, "%s",
             text[0] == '\0' ? "default" : text + 1);
}

static void note_unknown(const struct torch_snapshot *snapshot, struct import *import)
{
    if (snapshot->unknown_keys > 0) {
        import_note(import,
                    "%" PRIu64 " values of unknown keys are not used; the first key is '%s'",
                    snapshot->unknown_keys, snapshot->unknown_key);
    }
    if (snapshot->unknown_actions > 0) {
        import_note(import,
                    "%" PRIu64 " events of unknown actions are left out; the first action is '%s'",
                    snapshot->unknown_actions, snapshot->unknown_action);
    }
}

static enum import_result build_ops(struct torch_snapshot *snapshot, enum torch_form form,
                                    const struct import_input *input, struct import *import,
                                    struct import_error *error)
{
    snprintf(import->setup.system, sizeof import->setup.system, "pytorch");
    note_unknown(snapshot, import);
    IMPORT_TRY(torch_lives(snapshot, error));
    const bool is_state = form == TORCH_FORM_STATE || !torch_has_trace(snapshot) ||
                          (form == TORCH_FORM_ANY && torch_fails_by_place(snapshot));
    return is_state ? torch_build_heap(snapshot, input, import, error)
                    : torch_build_trace(snapshot, input, import, error);
}

enum import_result torch_import(const struct import_input *input, enum torch_form form,
                                struct import *import, struct import_error *error)
{
    struct torch_snapshot snapshot;
    struct plain_tree tree = {0};
    struct plain_value root = plain_make(PLAIN_NOTHING);
    json_t *json = NULL;
    const bool is_pickle = (unsigned char)input->text[0] ==
                           PICKLE_FIRST_BYTE; /* no JSON begins so */
    enum import_result result = is_pickle
                                    ? pickle_read(input->text, input->length, &tree, &root, error)
                                    : torch_read_json(input->text, input->length, &json, &tree,
                                                      &root, error);
    torch_snapshot_init(&snapshot);
    if (input->with_stacks && import->stacks == NULL) {
        import->stacks = stacks_create();
    }
    snapshot.stacks.stacks = import->stacks;
    if (result == IMPORT_OK) {
        result = torch_read(&tree, root, input->length, &snapshot, error);
        read_settings(&tree, root, import);
    }
    plain_deinit(&tree); /* by far the most of the memory */
    json_decref(json);
    if (result == IMPORT_OK) {
        result = build_ops(&snapshot, form, input, import, error);
    }
    torch_snapshot_deinit(&snapshot);
    return result;
}

enum {
    SURE = 95,
    LIKELY = 60, /* a pickle of something else: to be refused by what is wrong with it */
    PICKLE_LOOKED_AT = 1 << 16
};

static bool is_json(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length &&
           (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n')) {
        at++;
    }
    if (at == length || (text[at] != '{' && text[at] != '[')) {
        return false;
    }
    const bool has_blocks = text_has(text, length, "\"blocks\"") &&
                            text_has(text, length, "\"total_size\"");
    return text[at] == '[' ? has_blocks
                           : text_has(text, length, "\"segments\"") &&
                                 (has_blocks || text_has(text, length, "\"device_traces\""));
}

static unsigned recognise_snapshot(const char *text, size_t length)
{
    if (pickle_recognise(text, length)) {
        const size_t looked_at = length < PICKLE_LOOKED_AT ? length : PICKLE_LOOKED_AT;
        return text_has(text, looked_at, "segments") || text_has(text, looked_at, "total_size")
                   ? SURE
                   : LIKELY;
    }
    return is_json(text, length) ? SURE : 0;
}

static enum import_result import_snapshot(const struct import_input *input, struct import *import,
                                          struct import_error *error)
{
    return torch_import(input, TORCH_FORM_ANY, import, error);
}

const struct format format_torch_snapshot = {
    .name = "torch_snapshot",
    .summary =
        "memory snapshots of PyTorch (CUDA), pickle or JSON: the events, or the final heap where there are none",
    .recognise = recognise_snapshot,
    .import = import_snapshot,
};

/* --- blocks --- */

void torch_snapshot_init(struct torch_snapshot *snapshot)
{
    memset(snapshot, 0, sizeof *snapshot);
}

void torch_snapshot_deinit(struct torch_snapshot *snapshot)
{
    torch_names_deinit(&snapshot->names);
    free(snapshot->stacks.known.known);
    free(snapshot->blocks);
    free(snapshot->events);
}

uint64_t torch_rounded(const struct torch_snapshot *snapshot, uint64_t size_bytes)
{
    return (size_bytes + snapshot->granule_bytes - 1) / snapshot->granule_bytes *
           snapshot->granule_bytes;
}

enum import_result torch_fail_event(struct import_error *error, const struct torch_event *event,
                                    const char *reason, ...)
{
    char text[IMPORT_REASON_BYTES / 2];
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(text, sizeof text, reason, arguments);
    va_end(arguments);
    return IMPORT_REFUSE(error, 0, "device_traces[%u][%" PRIu32 "]: %s", event->host, event->index,
                         text);
}

enum import_result torch_fail_block(struct import_error *error, const struct torch_block *block,
                                    const char *reason, ...)
{
    char text[IMPORT_REASON_BYTES / 2];
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(text, sizeof text, reason, arguments);
    va_end(arguments);
    return IMPORT_REFUSE(error, 0, "segments[%" PRIu32 "].blocks[%" PRIu32 "]: %s", block->segment,
                         block->index, text);
}

/* A total order: places in the file break ties. */
static int compare_blocks(const void *a, const void *b)
{
    const struct torch_block *x = a;
    const struct torch_block *y = b;
    const int order = compare_places(x->host, x->address, y->host, y->address);
    return order != 0 ? order : compare_places(x->segment, x->index, y->segment, y->index);
}

enum import_result torch_sort_blocks(struct torch_snapshot *snapshot, struct import_error *error)
{
    if (snapshot->block_count > 0) {
        qsort(snapshot->blocks, snapshot->block_count, sizeof *snapshot->blocks, compare_blocks);
    }
    for (size_t i = 1; i < snapshot->block_count; i++) {
        const struct torch_block *before = &snapshot->blocks[i - 1];
        const struct torch_block *block = &snapshot->blocks[i];
        if (before->host == block->host && block->address - before->address < before->size_bytes) {
            return torch_fail_block(error, block,
                                    "it begins at %" PRIu64 ", inside segments[%" PRIu32
                                    "].blocks[%" PRIu32 "]",
                                    block->address, before->segment, before->index);
        }
    }
    return IMPORT_OK;
}

struct torch_block *torch_find_block(const struct torch_snapshot *snapshot, uint8_t host,
                                     uint64_t address)
{
    struct torch_block *blocks = snapshot->blocks;
    size_t i;
    SEARCH_FIRST(i, 0, snapshot->block_count,
                 compare_places(blocks[i].host, blocks[i].address, host, address) >= 0);
    return i < snapshot->block_count && blocks[i].host == host && blocks[i].address == address
               ? &blocks[i]
               : NULL;
}

bool torch_has_trace(const struct torch_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->event_count; i++) {
        if (snapshot->events[i].action <= TORCH_FREE_COMPLETED) {
            return true;
        }
    }
    return false;
}
