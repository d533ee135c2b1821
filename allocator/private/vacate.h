/* Makes room in one window of neighbouring blocks: some go to holes elsewhere, the others close up.
 */
#ifndef ALLOCATOR_PRIVATE_VACATE_H
#define ALLOCATOR_PRIVATE_VACATE_H

#include "allocator/private/call.h"

enum hbm_vacate_result {
    HBM_VACATE_DONE,    /* a hole that suits the demand is there */
    HBM_VACATE_NONE,    /* nothing moved: no window was found, which proves nothing */
    HBM_VACATE_REFUSED, /* a service refused; some blocks may have moved */
};

/* Moves blocks so that the call's block has a hole, at a cost that follows what moves.  A demand
 * for more stack, and a heap with stranded blocks, are left to a plan of all blocks.  Needs no host
 * memory but for records of holes. */
enum hbm_vacate_result hbm_vacate(struct hbm_call *call);

#endif
