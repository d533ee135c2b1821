/* The judgement on an out-of-memory: does a placement exist in a state that the mitigations of this
 * request's class can reach?  docs/promise.md says what is promised. */
#ifndef HARNESS_ORACLE_ORACLE_H
#define HARNESS_ORACLE_ORACLE_H

#include "harness/oracle/oom.h"
#include "harness/oracle/proof.h"

/* 4 million steps: a second, or two where there are hundreds of spans; on any machine the same
 * verdict. */
#define ORACLE_NODES_DEFAULT UINT64_C(4000000)
/* Questions that stay open are rare: all those of a run share so many more steps, the first come
 * first.  About 15 seconds. */
#define ORACLE_NODES_SPARE (16 * ORACLE_NODES_DEFAULT)

/* Memory that the oracle keeps from one judgement to the next. */
struct oracle;
struct oracle *oracle_create(void);
void oracle_destroy(struct oracle *oracle);
/* A new run begins.  Each of its questions has nodes_each, and all that stay open share
 * nodes_spare. oracle_create gives ORACLE_NODES_DEFAULT and ORACLE_NODES_SPARE; tests less. */
void oracle_reset(struct oracle *oracle, uint64_t nodes_each, uint64_t nodes_spare);

/* Sets whether oracle_judge() leaves the reason of a justified verdict empty, for a caller that
 * reads none: to print it takes a third of the time.  It is printed until this is called. */
void oracle_set_terse(struct oracle *oracle, bool is_terse);

/* Judges an OOM.  nodes_max: the budget; 0 = nodes_each, and if that does not suffice, what is left
 * of nodes_spare.  Sets kind (justified, premature, unknown), rule, nodes,
 * nodes_max and reason of *verdict, and oom_class of an unknown one, nothing else.  It decides in
 * the state with every completable queued free done and every evictable idle program gone: whatever
 * else the mitigations reach has no more room and no more freedom to move, so a placement exists in
 * some reachable state if and only if one exists there. */
void oracle_judge(struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
                  struct verdict *verdict);

/* The request, a stack and no block, was granted: judges it like oracle_judge(), as if it had been
 * refused in this state.  VERDICT_NONE, at once, where no layout is needed to see that it fits. */
void oracle_judge_stack(struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
                        struct verdict *verdict);

/* Judges it again and keeps why.  nodes_max: that of the verdict, so that it is the same again; 0 =
 * nodes_each, and nothing spare.  The proof is valid until the oracle is used
 * again.  A plan costs more than the judgement: it looks for few programs to evict and few bytes to
 * move. */
const struct proof *oracle_prove(struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
                                 struct verdict *verdict);

#endif
