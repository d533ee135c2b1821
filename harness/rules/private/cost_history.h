/* The cost of a host's ops so far, by how many blocks and holes the heap had: sums alone, so that
 * the same ops give the same answer everywhere. */
#ifndef HARNESS_RULES_PRIVATE_COST_HISTORY_H
#define HARNESS_RULES_PRIVATE_COST_HISTORY_H

#include "harness/rules/cost_class.h"
#include "harness/rules/judge.h"

enum cost_axis { COST_BLOCKS = 0, COST_HOLES, COST_AXIS_COUNT };

/* An open value; all zero but for run is a start. */
struct cost_history {
    struct cost_class classes[COST_AXIS_COUNT][COST_CLASS_COUNT];
    uint8_t classes_now[COST_AXIS_COUNT]; /* of the last op */
    uint64_t hole_count;                  /* when it was last looked at */
    uint64_t look_due;                    /* op_count at which it is looked at again */
    uint64_t op_count;
    uint64_t beyond_count;              /* ops beyond a bound of contract.latency */
    bool is_beyond;                     /* the last op was */
    bool has_grown[COST_MEASURE_COUNT]; /* was found: no more is looked for */
    uint32_t run;                       /* judge.run */
};

/* One op, and how the heap is after it. */
struct cost_sample {
    struct op_cost cost;
    uint64_t block_count;
    bool is_beyond; /* a bound of contract.latency */
};
void cost_history_add(struct cost_history *costs, const struct cost_sample *sample);

/* Holes are counted O(blocks), so only as often as that costs O(1) an op: after 64 ops, or as many
 * as an eighth of the blocks.  Whether it is time, and how many there are. */
bool cost_history_wants_holes(const struct cost_history *costs);
void cost_history_see_holes(struct cost_history *costs, uint64_t hole_count, uint64_t block_count);

/* A cost that grew faster than the contract declares: the mean in the class `to`, against that in
 * `from`. */
struct cost_growth {
    enum cost_measure measure;
    enum cost_axis axis;
    uint32_t from, to;
};
/* Finds a growth in the class of the last op; false: nothing grew.  It finds each measure once: if
 * blocks and holes grow together, both would tell of the same. */
bool cost_history_find_growth(struct cost_history *costs, const struct target_cost *declared,
                              struct cost_growth *found);
/* Returns how a measure may grow. */
enum target_growth cost_declared(const struct target_cost *declared, enum cost_measure measure);

/* Returns how many ops may be beyond the bounds of contract.latency so far. */
uint64_t cost_history_beyond_max(const struct cost_history *costs,
                                 const struct target_latency *latency);

#endif
