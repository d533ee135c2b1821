/* What blocks hold: the bytes that mark a block as itself, and whether they are still there. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_CONTENTS_H
#define HARNESS_RULES_PRIVATE_JUDGE_CONTENTS_H

#include "harness/rules/judge.h"

/* The block's bytes are its own from now on; and whether they still are. */
void judge_stamp(const struct host *host, uint32_t slot);
bool judge_has_contents(const struct host *host, uint32_t slot);
/* Every block's bytes are its own, and nothing else is known of the memory. */
void judge_stamp_all(const struct host *host);
/* What became free loses its contents; the second also tells a target that does not queue frees. */
void judge_clear_gone(struct host *host);
void judge_free_deferred(struct host *host);

/* The block is nowhere, or without its contents: breaks the rule that says so.  Returns false. */
bool judge_lost(struct judge *judge, const struct host *host, uint32_t slot);
/* Every block's contents, after moves.  False: a rule is broken. */
bool judge_contents(struct judge *judge, const struct host *host);

/* What is written into blocks without an address and read back (stamps.h): the block that the call
 * names was read before it, each live one is read at a report. */
bool judge_stamps(struct judge *judge, const struct host *host, const struct call *call);

#endif
