/* The parts of fixed_places.c: each makes plans, and the best one is kept. */
#ifndef MEASURE_PRIVATE_PLACING_H
#define MEASURE_PRIVATE_PLACING_H

#include "measure/needs.h"

/* The best plan so far.  work: what is left to spend. */
struct life_placing {
    const struct life *lives; /* count of them */
    size_t count;
    uint64_t at_least_bytes, work;
    uint64_t best_bytes; /* UINT64_MAX: none yet */
    uint64_t *best;      /* starts, by life */
    uint64_t *starts;    /* of the plan that is being made */
};

/* Keeps the plan in starts where it is smaller, bytes long, than the best one. */
void placing_offer(struct life_placing *placing, uint64_t bytes);
/* True if no plan can be smaller, or nothing is left to spend. */
bool placing_is_over(const struct life_placing *placing);
/* The lowest start at or above from, for that life. */
uint64_t placing_start(const struct life *life, uint64_t from);
/* Spends it; false when less than that was left. */
bool placing_spend(struct life_placing *placing, uint64_t work);

/* Makes plans as an allocator would, op by op, in time or against it. */
void placing_sweep(struct life_placing *placing);
/* Makes plans by placing one life after the other, in any order, between those that are placed. */
void placing_orders(struct life_placing *placing);

#endif
