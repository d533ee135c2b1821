/* A target that is held to more than it declares: what it does not promise may be kept all the
 * same, and only a judge that expects it can tell. */
#ifndef INFER_CLAIM_H
#define INFER_CLAIM_H

#include "harness/target.h"

#include <stdbool.h>

enum claim {
    CLAIM_NONE = 0,
    CLAIM_QUEUED_FREES, /* queues_frees */
    CLAIM_MESSAGES,     /* documented_messages */
    CLAIM_RESUMES,      /* resumes */
    CLAIM_STREAMS,      /* stream_ordered */
    CLAIM_RECORDS,      /* records */
    CLAIM_ACCESSES      /* cost.accesses: linear, so that they are counted */
};

/* Whether the contract makes the claim by itself. */
bool claim_is_declared(enum claim claim, const struct target_contract *contract);

/* Makes *claiming the same target with a contract that makes the claim, too.  One such target can
 * be used at a time, in one thread: open has no other way to know the claim. */
void claim_make(enum claim claim, const struct target *target, struct target *claiming);

#endif
