/* PyTorch's memory snapshot, as torch.cuda.memory._dump_snapshot has it, for the memory viewer of
 * PyTorch: one segment a host, which is all of its device, with blocks that tile it, and the events
 * that led there.  The functions are those of an exporter. */
#ifndef FORMATS_EXPORT_PRIVATE_TORCH_DOCUMENT_H
#define FORMATS_EXPORT_PRIVATE_TORCH_DOCUMENT_H

#include "formats/export/export.h"

bool torch_document_begin(struct export *export, bool is_pickle);
void torch_document_event(struct export *export, const struct export_event *event);
bool torch_document_end(struct export *export, const struct export_final *final);

#endif
