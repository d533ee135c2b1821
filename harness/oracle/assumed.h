/* A verdict that is not in what a message says: the list that rebuilds it assumes more, and without
 * what it assumes the refusal would be premature.  Such a verdict is unknown, and here is what it
 * depends on. */
#ifndef HARNESS_ORACLE_ASSUMED_H
#define HARNESS_ORACLE_ASSUMED_H

#include "harness/oracle/oracle.h"

/* Memory that a proof keeps until the next one. */
struct assumed;
struct assumed *assumed_create(void);
void assumed_destroy(struct assumed *assumed);

/* The oracle judged the OOM justified, after oom_assume().  If the other heap that the message
 * allows has another verdict, *verdict becomes unknown, with premature_unless and reason.  Costs
 * a judgement. */
void assumed_judge(struct assumed *assumed, struct oracle *oracle, const struct oom *oom,
                   struct verdict *verdict);

/* Proves such a verdict as oracle_prove() does its own: with the proofs of both heaps, which are
 * valid until assumed or the oracle is used again.  Of any other OOM what oracle_prove() gives. */
const struct proof *assumed_prove(struct assumed *assumed, struct oracle *oracle,
                                  const struct oom *oom, uint64_t nodes_max,
                                  struct verdict *verdict);

/* The least that must have been pinned, and where, in every heap that oom->reported allows, or the
 * refusal was premature.  bytes is 0 where nothing of the kind is proved. */
struct premature_unless assumed_condition(const struct oom *oom);

#endif
