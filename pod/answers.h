/* Compares ranks' answers to requests that all of a group make (spmd=): notes where they differ. */
#ifndef POD_ANSWERS_H
#define POD_ANSWERS_H

#include "harness/op/setup.h"
#include "pod/frame.h"

#include <stddef.h>
#include <stdint.h>

/* The n-th request of each member is one.  Two ranks that asked for the same must get the same
 * answer if sums alone decide it, and decide it alike: the rule spmd (docs/promise.md). */
struct answer_difference {
    uint16_t group;
    struct answer_place {
        uint32_t rank, op, step;
        uint8_t result; /* enum target_result */
    } first, other;     /* the lower rank is first */
    uint64_t count;     /* of the same two ranks and this group; the first is above */
};

struct answers;
/* setup outlives it. */
struct answers *answers_create(const struct setup *setup);
void answers_destroy(struct answers *answers);

/* A FRAME_ANSWER of the rank, which is at that step.  coming: the ranks that may still answer, a
 * bit each; what waits for nobody else is dropped.  O(answers that others still owe). */
void answers_take(struct answers *answers, uint32_t rank, uint32_t step, const struct frame *frame,
                  uint64_t coming);

size_t answers_difference_count(const struct answers *answers);
const struct answer_difference *answers_difference_at(const struct answers *answers, size_t index);

#endif
