/* The op list of a finding: a file that replays, with comments that say what it shows. */
#ifndef CAMPAIGN_BASE_REPRO_H
#define CAMPAIGN_BASE_REPRO_H

#include "campaign/base/message.h"
#include "harness/base/writing.h"
#include "harness/op/op.h"
#include "harness/op/setup.h"

/* Each text is one comment; NULL or "" = none.  Text that comes from a target is made visible. */
struct repro {
    const struct setup *setup;
    const struct op_list *ops;
    const char *headline; /* what the list breaks, and where that was found */
    const char *signature, *reason, *message;
    const char *shrunk_from;                  /* how many ops, in words */
    const char *first_reason, *first_message; /* of the list before it was shrunk */
    const char *not_shrunk, *not_to_the_end;  /* why the list is as it was found; why more may go */
    const char *before, *unrepeated; /* what must run before it; why it may not show it again */
    const char *replay;              /* the command line that repeats it */
    bool is_unforced;                /* the caller forces it to the disk, or nobody needs to */
};

/* Appends one comment line, the name and the value; nothing when value is NULL or "". */
void comment_append(struct writing *comments, const char *name, const char *value);

/* Appends all comments of the repro, and, for a list with lanes, how many lanes and switches. */
void repro_append_comments(const struct repro *repro, struct writing *comments);

/* Writes the file, whole or not at all, and makes the directories above it.  EXIT_KEPT; or
 * EXIT_HARNESS after one message. */
enum exit_code repro_write(const char *path, const struct repro *repro);

#endif
