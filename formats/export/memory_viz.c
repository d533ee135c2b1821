/* The snapshot of PyTorch as the pickle that its memory viewer loads, every version of it. */
#include "formats/export/private/document.h"

static bool begin_memory_viz(struct export *export)
{
    return torch_document_begin(export, true);
}

const struct exporter exporter_memory_viz = {
    .name = "memory_viz",
    .suffix = ".pickle",
    .summary = "a memory snapshot of PyTorch as a pickle, for its memory viewer",
    .state_bytes = sizeof(struct torch_export),
    .begin = begin_memory_viz,
    .event = torch_document_event,
    .end = torch_document_end,
};
