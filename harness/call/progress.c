#include "harness/call/progress.h"

struct progress_watcher progress_watcher;

void progress_watch(struct call_progress *progress)
{
    progress_watcher = (struct progress_watcher){.watched = progress};
}

void progress_copied(void (*returned)(void))
{
    progress_watcher = (struct progress_watcher){.returned_in_copy = returned};
}

const char *progress_name(const struct call_progress *progress)
{
    switch ((enum progress_phase)progress->phase) {
    case PROGRESS_OPEN:
        return "open";
    case PROGRESS_CLOSE:
        return "close";
    case PROGRESS_OP:
    case PROGRESS_END:
        return progress->kind < OP_KIND_COUNT ? op_kind_info((enum op_kind)progress->kind)->name
                                              : "";
    default:
        return "";
    }
}
