/* The op list of a finding: a file that replays, with comments that say what it shows. */
#ifndef CAMPAIGN_BASE_REPRO_H
#define CAMPAIGN_BASE_REPRO_H

#include "campaign/base/message.h"
#include "checker/certificate_check.h"
#include "harness/base/writing.h"
#include "harness/op/op.h"
#include "harness/op/setup.h"
#include "harness/run/run.h"

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

/* Certificates of a run's out-of-memories: given to the independent checker, and written
 * to files that are there whole or not at all. */

/* 512: for a certificate the OOM is judged anew, printed and read back, which costs far more than
 * most verdicts; so it stays a few hundredths of a run, and a run of a minute still checks
 * thousands. */
enum { CERTIFICATE_CHECK_PERIOD = 512 };

/* True if the certificate of this OOM must be checked: every CERTIFICATE_CHECK_PERIOD-th, and
 * each that is premature or unknown.  The caller numbers the OOMs, from 0 or from any other
 * start. */
bool certificate_is_due(uint64_t number, enum verdict_kind kind);

/* True if the independent checker accepts the `length` bytes at text.  reason becomes one line that
 * says what the checker found. */
bool certificate_is_accepted(const char *text, size_t length,
                             char reason[CERTIFICATE_REASON_BYTES]);

/* Makes a verdict whose certificate the checker does not accept, for that reason, a disputed one.
 */
void certificate_dispute(const char *reason, struct verdict *verdict);

/* Writes a file, by way of partial (partial_create) in the same directory, which is gone
 * afterwards.  False: errno says why, and there is no such file, or the one from before.  The bytes
 * are not forced to the disk: the list of ops gives them again. */
bool certificate_write(const char *path, const char *partial, const void *bytes, size_t length);

#endif
