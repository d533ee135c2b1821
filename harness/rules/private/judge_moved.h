/* What the device calls of one op did to the model, and whether they might: completions, evictions,
 * moves and contents.  Only judge.c, its parts and those of judge_overlap.c include it. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_MOVED_H
#define HARNESS_RULES_PRIVATE_JUDGE_MOVED_H

#include "harness/rules/judge.h"

/* Each bool sets the first broken rule in *judge->verdict and returns false, or returns true. */

/* Replays the log of the call in its order; *moved is set when blocks were moved. */
bool judge_device_calls(struct judge *judge, struct host *host, const struct call *call,
                        bool *moved);
/* Asks where all blocks are now and checks each change of place. */
bool judge_places(struct judge *judge, struct host *host, const struct call *call, bool moved);
/* Every block's contents, after moves. */
bool judge_contents(struct judge *judge, const struct host *host);

/* Nothing was moved since the last op, and the block is where it was, with its contents. */
bool judge_touched(struct judge *judge, const struct host *host, const struct call *call);
/* The block's bytes are its own from now on; and whether they still are. */
void judge_stamp(const struct host *host, uint32_t slot);
bool judge_has_contents(const struct host *host, uint32_t slot);
/* What became free loses its contents; the second also tells a target that does not queue frees. */
void judge_clear_gone(struct host *host);
void judge_free_deferred(struct host *host);

#endif
