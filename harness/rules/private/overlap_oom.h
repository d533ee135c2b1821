/* Out-of-memories of calls that overlap: each is held against every instant between its call and
 * its return, and one at which nothing fitted excuses it. */
#ifndef HARNESS_RULES_PRIVATE_OVERLAP_OOM_H
#define HARNESS_RULES_PRIVATE_OVERLAP_OOM_H

#include "harness/rules/private/overlap_pass.h"

/* Something changed: every out-of-memory under way that is not excused yet is held against what is
 * now.  Each costs one search, or two where calls under way may have had effects that leave less
 * room. */
void overlap_oom_ask(struct pass *pass);
/* The call returns: if it is an out-of-memory, the verdict on the instant that decided is the
 * judge's, and so is the state then.  False: a promise is broken. */
bool overlap_oom_finish(struct pass *pass, uint32_t number);

#endif
