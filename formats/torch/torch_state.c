/* The final heap of a PyTorch snapshot alone.  Where the whole snapshot would be events, it is
 * asked for by name only. */
#include "formats/torch/private/torch.h"

static unsigned recognise_never(const char *text, size_t length)
{
    (void)text;
    (void)length;
    return 0;
}

static enum import_result import_state(const struct import_input *input, struct import *import,
                                       struct import_error *error)
{
    return torch_import(input, TORCH_FORM_STATE, import, error);
}

const struct format format_torch_state = {
    .name = "torch_state",
    .summary =
        "only the final heap of a torch_snapshot file; never recognised, so name it with --format",
    .recognise = recognise_never,
    .import = import_state,
};
