/* Memory snapshots of PyTorch's CUDA allocator, as torch.cuda.memory._dump_snapshot pickles them,
 * and the same as JSON: a trace of events, and the state of every block at the end. */
#include "formats/common/cursor.h"
#include "formats/torch/private/plain.h"
#include "formats/torch/private/torch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Sets import->settings, where the snapshot has them (PyTorch since 2024). */
static void read_settings(const struct plain_tree *tree, struct plain_value root,
                          uint64_t split_bytes, struct import *import)
{
    const struct plain_value settings = plain_get(tree, root, "allocator_settings");
    const struct plain_value share = plain_get(tree, settings, "garbage_collection_threshold");
    const struct plain_value counts = plain_get(tree, settings, "roundup_power2_divisions");
    char text[IMPORT_SETTINGS_BYTES] = "";
    size_t used = 0;
    uint64_t divisions = 0; /* the most of any size; 0 and 1 are none */
    double threshold = 0;
    if (settings.kind != PLAIN_DICT) {
        return;
    }
    if (share.kind == PLAIN_REAL) {
        memcpy(&threshold, &tree->wides[share.payload], sizeof threshold);
    }
    for (size_t i = 0; counts.kind == PLAIN_DICT && i < plain_count(tree, counts); i++) {
        const struct plain_value count = plain_at(tree, counts, i);
        if (!plain_is_negative(count) && plain_number(tree, count) > divisions) {
            divisions = plain_number(tree, count);
        }
    }
    if (plain_get(tree, settings, "expandable_segments").kind == PLAIN_TRUE) {
        used += (size_t)snprintf(text, sizeof text, ",expandable_segments:True");
    }
    if (split_bytes > 0) {
        used += (size_t)snprintf(text + used, sizeof text - used, ",max_split_size_mb:%" PRIu64,
                                 split_bytes >> 20);
    }
    if (threshold > 0) {
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 ",garbage_collection_threshold:%g", threshold);
    }
    if (divisions > 1) {
        snprintf(text + used, sizeof text - used, ",roundup_power2_divisions:%" PRIu64, divisions);
    }
    snprintf(import->settings, sizeof import->settings, "%s",
             text[0] == '\0' ? "default" : text + 1);
}

/* True if any event allocates or frees. */
static bool has_trace(const struct torch_snapshot *snapshot)
{
    size_t i = 0;
    while (i < snapshot->event_count && snapshot->events[i].action > TORCH_FREE_COMPLETED) {
        i++;
    }
    return i < snapshot->event_count;
}

static enum import_result build_ops(struct torch_snapshot *snapshot, enum torch_form form,
                                    const struct import_input *input, struct import *import,
                                    struct import_error *error)
{
    snprintf(import->setup.system, sizeof import->setup.system, "pytorch");
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
    IMPORT_TRY(torch_lives(snapshot, error));
    const bool is_state = form == TORCH_FORM_STATE || !has_trace(snapshot) ||
                          (form == TORCH_FORM_ANY && torch_fails_by_place(snapshot));
    return is_state ? torch_build_heap(snapshot, input, import, error)
                    : torch_build_trace(snapshot, input, import, error);
}

enum import_result torch_import(const struct import_input *input, enum torch_form form,
                                struct import *import, struct import_error *error)
{
    struct torch_snapshot snapshot = {0};
    struct plain_tree tree = {0};
    struct plain_value root = plain_make(PLAIN_NOTHING);
    json_t *json = NULL;
    const bool is_pickle = (unsigned char)input->text[0] ==
                           PICKLE_FIRST_BYTE; /* no JSON begins so */
    enum import_result result = is_pickle
                                    ? pickle_read(input->text, input->length, &tree, &root, error)
                                    : torch_read_json(input->text, input->length, &json, &tree,
                                                      &root, error);
    if (input->with_stacks && import->stacks == NULL) {
        import->stacks = stacks_create();
    }
    snapshot.stacks.stacks = import->stacks;
    if (result == IMPORT_OK) {
        result = torch_read(&tree, root, input->length, &snapshot, error);
        read_settings(&tree, root, snapshot.max_split_bytes, import);
    }
    plain_deinit(&tree); /* by far the most of the memory */
    json_decref(json);
    if (result == IMPORT_OK) {
        result = build_ops(&snapshot, form, input, import, error);
    }
    name_table_deinit(&snapshot.names.table);
    free(snapshot.names.known.known);
    free(snapshot.stacks.known.known);
    free(snapshot.blocks);
    free(snapshot.events);
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
