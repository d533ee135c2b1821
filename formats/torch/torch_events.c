/* The events of a PyTorch snapshot alone, also where the last of them is a failure that only the
 * final heap explains: asked for by name only. */
#include "formats/torch/private/torch.h"

static unsigned recognise_never(const char *text, size_t length)
{
    (void)text;
    (void)length;
    return 0;
}

static enum import_result import_events(const struct import_input *input, struct import *import,
                                        struct import_error *error)
{
    return torch_import(input, TORCH_FORM_EVENTS, import, error);
}

const struct format format_torch_events = {
    .name = "torch_events",
    .summary =
        "only the events of a torch_snapshot file; never recognised, so name it with --format",
    .recognise = recognise_never,
    .import = import_events,
};
