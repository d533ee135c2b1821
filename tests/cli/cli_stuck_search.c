/* The packing question with a search that gives up almost at once, and says that it used up its
 * budget: a program linked with it leaves out-of-memories unknown that any other decides. */
#define repack_decide repack_decide_fully
#include "harness/oracle/repack.c"
#undef repack_decide

/* The bounds are asked, and little more. */
enum { STUCK_NODES_MAX = 1 };

void repack_decide(struct repack *repack, const struct reach *reach, uint64_t nodes_max,
                   bool wants_proof, struct packing_answer *answer)
{
    repack_decide_fully(repack, reach, nodes_max < STUCK_NODES_MAX ? nodes_max : STUCK_NODES_MAX,
                        wants_proof, answer);
    if (answer->result == PACKING_UNKNOWN) {
        answer->effort[PACKING_EFFORT_SEARCH] += nodes_max - answer->nodes;
        answer->nodes = nodes_max;
    }
}
