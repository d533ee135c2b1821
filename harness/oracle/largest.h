/* The largest request that an out-of-memory leaves room for: how much the client could have had
 * instead, with the same class, alignment and mitigations. */
#ifndef HARNESS_ORACLE_LARGEST_H
#define HARNESS_ORACLE_LARGEST_H

#include "harness/oracle/oracle.h"

/* Enough for most states, and 50 ms at most: what a campaign spends on a verdict that it reports.
 */
#define ORACLE_LARGEST_NODES UINT64_C(200000)

struct oracle_largest {
    uint64_t bytes; /* whole granules, and of a program its stack as well; 0 = not one granule */
    uint64_t nodes; /* that the searches took */
    bool is_exact;  /* false: the budget ended, and more may fit */
};

/* Finds it by halving: what fits does so in every smaller size.  A program keeps its stack while
 * its image varies; a request for a stack alone varies the stack.  known is the verdict on *oom:
 * the result never contradicts it.  nodes_max bounds all searches together; 0 =
 * ORACLE_NODES_DEFAULT.  Some 30 judgements, so this is for verdicts that somebody reads.  *oom is
 * unchanged. */
struct oracle_largest oracle_find_largest(struct oracle *oracle, const struct oom *oom,
                                          enum verdict_kind known, uint64_t nodes_max);
/* The largest stack, in bytes, that the same program would have got with its whole image: of a
 * request for a program with a stack, in the same way. */
struct oracle_largest oracle_find_largest_stack(struct oracle *oracle, const struct oom *oom,
                                                enum verdict_kind known, uint64_t nodes_max);

#endif
