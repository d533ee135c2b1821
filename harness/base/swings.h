/* Finds where a curve falls back to: each lowest place between two rises ends a cycle.  The steps
 * of a job show like that without a mark: each takes memory and returns it. */
#ifndef HARNESS_BASE_SWINGS_H
#define HARNESS_BASE_SWINGS_H

#include <stddef.h>
#include <stdint.h>

/* A cycle is a rise and a fall by at least half of the largest fall of the curve.  A step has such
 * rises and falls within itself, too, one for each layer or tensor, but smaller ones.  So where
 * the large ones are few, cycles may be SWINGS_LEVEL_FACTOR times smaller, and then
 * SWINGS_PER_STEP of them count for one step; so on for each level. */
enum { SWINGS_LEVEL_COUNT = 4, SWINGS_LEVEL_FACTOR = 4, SWINGS_PER_STEP = 8 };

struct swings {
    uint32_t *ends; /* count of them, ascending: the place of the least value after a fall */
    size_t count;
    unsigned level;       /* that gives the most steps; the lowest of equal ones */
    uint64_t swing_bytes; /* by which a cycle rises and falls, at least */
    /* So many steps in a row left behind less than half of what a cycle swings, each: the job was
     * past its first filling, and its steps repeat.  The layers of one step, or what is made at the
     * beginning, leave more. */
    uint64_t settled_count;
    size_t settled_first; /* the first cycle of them; at least 1 where there are any */
};

/* bytes[count], below 2^63, may be NULL if count is 0.  The caller ends it with swings_deinit().
 * O(count). */
void swings_init(struct swings *swings, const int64_t *bytes, size_t count);
void swings_deinit(struct swings *swings);

/* Returns how many steps so many cycles are: a cautious count, never more than the cycles. */
uint64_t swings_count_steps(const struct swings *swings, size_t cycle_count);

#endif
