/* Puts moves into an order that can be carried out one after the other. */
#ifndef HARNESS_ORACLE_PRIVATE_PLAN_MOVES_H
#define HARNESS_ORACLE_PRIVATE_PLAN_MOVES_H

#include "harness/device/span_map.h"
#include "harness/oracle/proof.h"
#include "harness/oracle/reach.h"

/* Zero is a valid start. */
struct move_order {
    struct proof_move *moves; /* move_count of them */
    size_t move_count, move_capacity;
    uint64_t staged_count;
    struct span_map occupied;            /* by range index, while ordering */
    uint32_t *blocker;                   /* by range: the range it waits for */
    uint32_t *waiter_head, *waiter_next; /* by range: those that wait for it */
    uint32_t *ready;   /* ready_count ranges whose destination may have become free */
    uint8_t *progress; /* by range: enum in plan_moves.c */
    size_t ready_count, capacity;
    bool is_used;
};
void move_order_deinit(struct move_order *order);

/* to: by range of the reach, where it goes; all destinations are disjoint.  Where blocks wait for
 * each other in a circle one of them goes through host memory.  O(moves log ranges). */
void move_order_find(struct move_order *order, const struct reach *reach, const uint64_t *to);

#endif
