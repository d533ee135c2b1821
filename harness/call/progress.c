#include "harness/call/progress.h"

#include <stddef.h>

static struct call_progress *watched;
static void (*returned_in_copy)(void);

void progress_watch(struct call_progress *progress)
{
    watched = progress;
    returned_in_copy = NULL;
}

void progress_copied(void (*returned)(void))
{
    watched = NULL;
    returned_in_copy = returned;
}

void progress_begin(enum progress_phase phase, enum op_kind kind, uint32_t op)
{
    if (watched == NULL) {
        return;
    }
    watched->phase = phase;
    watched->op = op;
    watched->kind = kind;
    watched->call_count = watched->call_count + 1;
    watched->is_in_call = 1;
}

void progress_end(void)
{
    if (watched != NULL) {
        watched->is_in_call = 0;
    } else if (returned_in_copy != NULL) {
        returned_in_copy();
    }
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
