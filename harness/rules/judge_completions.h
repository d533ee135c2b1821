/* Takes completed events into the models of the hosts whose time they are of. */
#ifndef HARNESS_RULES_JUDGE_COMPLETIONS_H
#define HARNESS_RULES_JUDGE_COMPLETIONS_H

#include "harness/rules/judge.h"

/* The first completed_count of the host's timeline; those that the models know already stay as they
 * are. */
void judge_absorb_until(struct judge *judge, const struct host *host, uint64_t completed_count);
/* All of it, also those that completed outside of a call. */
void judge_absorb(struct judge *judge, const struct host *host);
/* All of all hosts. */
void judge_absorb_all(struct judge *judge);
/* How many the models know. */
uint64_t judge_absorbed_count(const struct judge *judge, const struct host *host);

#endif
