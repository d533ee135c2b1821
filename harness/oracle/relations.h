/* Relations between out-of-memories: states that must have the verdict of another one, whatever it
 * is.  A judge that breaks one is wrong in one of the two, and nobody else is needed to see it. */
#ifndef HARNESS_ORACLE_RELATIONS_H
#define HARNESS_ORACLE_RELATIONS_H

#include "harness/oracle/oom.h"
#include "harness/oracle/reach.h"
#include "harness/oracle/verdict.h"

enum relation {
    RELATION_NONE = 0,
    RELATION_RENAMED,  /* the numbers of the ops that made the blocks are others; blocks in host
                          memory come in the reverse order */
    RELATION_DOUBLED,  /* twice the capacity, the granule, and every size, address and alignment */
    RELATION_PERMUTED, /* the spans between unmovable blocks are in the reverse order, each with
                          what lies in it, and so are the unmovable blocks.  Where alignments above
                          the granule play a part, only if each span moves by a multiple of the
                          largest of them */
    RELATION_RESIZED,  /* a larger request where this one is justified, a smaller one where it is
                          premature; image and stack alike */
    RELATION_COUNT
};
const char *relation_words(enum relation relation); /* "when its blocks are renamed", … */

/* Whom to ask: the verdict on *oom, justified, premature or unknown, within nodes_max. */
struct relation_judge {
    void *context;
    enum verdict_kind (*judge)(void *context, const struct oom *oom, uint64_t nodes_max);
};

/* Room for related states; zero is a valid start, and it stays from one question to the next. */
struct relations {
    struct oom other;
    struct reach reach;
};
void relations_deinit(struct relations *relations);

/* More blocks than that are not asked about. */
enum { RELATIONS_BLOCKS_MAX = 4096 };

/* Makes the related state.  NULL: there is none (nothing to exchange, a request that gets no
 * smaller, numbers too large to double).  kind: the verdict on *oom, justified or premature.  The
 * result is valid until the next call.  O(blocks). */
const struct oom *relations_make(struct relations *relations, const struct oom *oom,
                                 enum verdict_kind kind, enum relation relation);

/* Asks about each related state.  *verdict: that on *oom.  An unknown one contradicts nothing, and
 * nothing is asked then.  The budget of each question is twice the nodes that the verdict took,
 * at least 2^18, and no more than it had.  *asked_count: how many were asked.  The result is the
 * first relation that does not hold, and *answer the verdict there; RELATION_NONE: all hold. */
enum relation relations_find_broken(struct relations *relations, const struct oom *oom,
                                    const struct verdict *verdict,
                                    const struct relation_judge *judge, uint32_t *asked_count,
                                    enum verdict_kind *answer);

#endif
