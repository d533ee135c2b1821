/* The snapshot of PyTorch as JSON: for scripts, and for people who read it. */
#include "formats/export/private/document.h"

static bool begin_torch_snapshot(struct export *export)
{
    return torch_document_begin(export, false);
}

const struct exporter exporter_torch_snapshot = {
    .name = "torch_snapshot",
    .suffix = ".json",
    .summary = "a memory snapshot of PyTorch as JSON",
    .state_bytes = sizeof(struct torch_export),
    .begin = begin_torch_snapshot,
    .event = torch_document_event,
    .end = torch_document_end,
};
