/* The judgement on requests: an out-of-memory, and a stack that was granted. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_OOM_H
#define HARNESS_RULES_PRIVATE_JUDGE_OOM_H

#include "harness/rules/judge.h"

/* Judges the out-of-memory and its error text into *judge->verdict, with room for what is in host
 * memory; while a block is there and a call was refused in the op, and where others of the process
 * take from the device, the verdict stays NONE.  False: a
 * promise is broken and the run ends, or our judges disagree. */
bool judge_no_memory(struct judge *judge, struct host *host, const struct call *call);
/* A load returned OK, and its image is in the model: *proof is the oracle's verdict on the state
 * after it, as if the stack alone had been refused there.  NONE: it can be reserved for certain.
 * DISPUTED: our judges disagree, and *judge->verdict says so.  judge->oom is that state. */
void judge_loaded_stack(struct judge *judge, const struct host *host, const struct call *call,
                        uint64_t stack_bytes, struct verdict *proof);

#endif
