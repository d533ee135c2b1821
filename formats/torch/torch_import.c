/* A snapshot file becomes a run, whichever of both forms the text has and whatever is asked of it.
 */
#include "formats/torch/private/pickle.h"
#include "formats/torch/private/torch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
        torch_read_settings(&tree, root, import);
    }
    plain_deinit(&tree); /* by far the most of the memory */
    json_decref(json);
    if (result == IMPORT_OK) {
        result = build_ops(&snapshot, form, input, import, error);
    }
    torch_snapshot_deinit(&snapshot);
    return result;
}
