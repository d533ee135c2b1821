/* A snapshot file becomes a run, whichever of both forms the text has and whatever is asked of it.
 */
#include "formats/torch/private/pickle.h"
#include "formats/torch/private/torch.h"

#include <inttypes.h>
#include <string.h>

static enum import_result read_json(const char *text, size_t length, json_t **root,
                                    struct import_error *error)
{
    json_error_t found;
    *root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &found);
    if (*root != NULL) {
        return IMPORT_OK;
    }
    if (found.text[0] == '\0' || json_error_code(&found) == json_error_out_of_memory) {
        return import_fail(error, IMPORT_UNREADABLE, 0, 0, "no host memory for its JSON");
    }
    /* Cut inside of "false", or of an escape, what is wrong ends with the text. */
    const bool is_cut = json_error_code(&found) == json_error_premature_end_of_input ||
                        (json_error_code(&found) == json_error_invalid_syntax &&
                         (size_t)found.position == length);
    return import_fail(error, is_cut ? IMPORT_INCOMPLETE : IMPORT_INVALID,
                       found.line < 1 ? 0 : (size_t)found.line, 0, "JSON, column %d: %s%s",
                       found.column, found.text, is_cut ? " (a cut file?)" : "");
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

static enum import_result build_ops(struct torch_snapshot *snapshot, bool is_state,
                                    const struct import_input *input, struct import *import,
                                    struct import_error *error)
{
    note_unknown(snapshot, import);
    const enum import_result result = torch_lives(snapshot, error);
    if (result != IMPORT_OK) {
        return result;
    }
    return is_state || !torch_has_trace(snapshot)
               ? torch_build_heap(snapshot, input, import, error)
               : torch_build_trace(snapshot, input, import, error);
}

enum import_result torch_import(const struct import_input *input, bool is_state,
                                struct import *import, struct import_error *error)
{
    struct torch_snapshot snapshot;
    json_t *root = NULL;
    const bool is_pickle = (unsigned char)input->text[0] ==
                           PICKLE_FIRST_BYTE; /* no JSON begins so */
    enum import_result result = is_pickle ? pickle_read(input->text, input->length, &root, error)
                                          : read_json(input->text, input->length, &root, error);
    if (result != IMPORT_OK) {
        return result;
    }
    torch_snapshot_init(&snapshot);
    result = torch_read(root, input->length, &snapshot, error);
    json_decref(root); /* by far the most of the memory */
    if (result == IMPORT_OK) {
        result = build_ops(&snapshot, is_state, input, import, error);
    }
    torch_snapshot_deinit(&snapshot);
    return result;
}
