/* Shows where a run is: which call of the target is under way.  It lies in memory that outlives the
 * process, so that a parent knows it when the target takes the process with it.  One thread and one
 * run at a time. */
#ifndef HARNESS_CALL_PROGRESS_H
#define HARNESS_CALL_PROGRESS_H

#include "harness/op/op.h"

#include <stddef.h>

enum progress_phase {
    PROGRESS_NONE = 0, /* no run yet */
    PROGRESS_OPEN,
    PROGRESS_OP,
    PROGRESS_END, /* an op of the cleaning up after the last one */
    PROGRESS_CLOSE
};

/* volatile: it is read by a signal handler, and by another process. */
struct call_progress {
    volatile uint64_t call_count; /* calls that began */
    volatile uint32_t phase;      /* enum progress_phase: of the call under way, or the last one */
    volatile uint32_t op;         /* its number */
    volatile uint32_t kind;       /* enum op_kind; only in PROGRESS_OP and PROGRESS_END */
    volatile uint32_t is_in_call; /* the target has not answered yet */
};

/* The watcher of this process: the next three set and read it. */
struct progress_watcher {
    struct call_progress *watched;
    void (*returned_in_copy)(void);
};
extern struct progress_watcher progress_watcher;

/* From here on the runs of this process note where they are; NULL: nobody asks. */
void progress_watch(struct call_progress *progress);
static inline void progress_begin(enum progress_phase phase, enum op_kind kind, uint32_t op)
{
    struct call_progress *watched = progress_watcher.watched;
    if (watched != NULL) {
        watched->phase = phase;
        watched->op = op;
        watched->kind = kind;
        watched->call_count = watched->call_count + 1;
        watched->is_in_call = 1;
    }
}
static inline void progress_end(void)
{
    if (progress_watcher.watched != NULL) {
        progress_watcher.watched->is_in_call = 0;
    } else if (progress_watcher.returned_in_copy != NULL) {
        progress_watcher.returned_in_copy();
    }
}
/* This process is a copy that the target made with fork: it notes nothing, and returned is called
 * when the target's call returns in it, too. */
void progress_copied(void (*returned)(void));

/* "alloc", "open", "close"; "" when nothing was called. */
const char *progress_name(const struct call_progress *progress);

#endif
