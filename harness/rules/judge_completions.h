/* Takes completed events into the models of all hosts. */
#ifndef HARNESS_RULES_JUDGE_COMPLETIONS_H
#define HARNESS_RULES_JUDGE_COMPLETIONS_H

#include "harness/rules/judge.h"

/* The first completed_count of the run; those that the models know already stay as they are. */
void judge_absorb_until(struct judge *judge, uint64_t completed_count);
/* All, also those that completed outside of a call (other hosts' included). */
void judge_absorb_all(struct judge *judge);

#endif
