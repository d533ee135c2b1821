/* The judgement on an out-of-memory: does a placement exist in a state that the mitigations of this
 * request's class can reach?  docs/promise.md says what is promised. */
#ifndef HARNESS_ORACLE_ORACLE_H
#define HARNESS_ORACLE_ORACLE_H

#include "harness/oracle/oom.h"
#include "harness/oracle/proof.h"

/* 4 million steps: a second, or two where there are hundreds of spans; on any machine the same
 * verdict. */
#define ORACLE_NODES_DEFAULT UINT64_C(4000000)

/* Memory that the oracle keeps from one judgement to the next. */
struct oracle;
struct oracle *oracle_create(void);
void oracle_destroy(struct oracle *oracle);

/* Judges an OOM.  nodes_max: the budget; 0 = ORACLE_NODES_DEFAULT.  Sets kind (justified,
 * premature, unknown), rule, nodes and reason of *verdict, nothing else.  It decides in the state
 * with every completable queued free done and every evictable idle program gone: whatever else the
 * mitigations reach has no more room and no more freedom to move, so a placement exists in some
 * reachable state if and only if one exists there. */
void oracle_judge(struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
                  struct verdict *verdict);

/* Judges it again (the same verdict) and keeps why.  The proof is valid until the oracle is used
 * again.  A plan costs more than the judgement: it looks for few programs to evict and few bytes to
 * move. */
const struct proof *oracle_prove(struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
                                 struct verdict *verdict);

#endif
