/* Sums the cost of ops by how many blocks, or holes, the heap had.  Sums alone give the same answer
 * for the same ops everywhere.  Compares how the means grow from one class to the next. */
#ifndef HARNESS_RULES_COST_CLASS_H
#define HARNESS_RULES_COST_CLASS_H

#include "harness/target.h"

#include <stdbool.h>
#include <stdint.h>

enum cost_measure { COST_CALLS = 0, COST_MOVED_BYTES, COST_ACCESSES, COST_MEASURE_COUNT };

/* The cost of one op. */
struct op_cost {
    uint64_t calls;   /* of the device, looks among them */
    uint64_t effects; /* of them: moves, evictions, waits in which something completed */
    uint64_t moved_bytes;
    uint64_t accesses;    /* to memory, of code compiled for races; 0 where nobody asks for them */
    uint64_t asked_bytes; /* of a request that was granted; else 0 */
};

/* Class i: from 2^i - 1 to 2^(i+1) - 2 of them. */
enum { COST_CLASS_COUNT = 32 };
struct cost_class {
    uint64_t op_count;
    uint64_t effects;     /* of their device calls: moves, evictions, waits that ended */
    uint64_t asked_bytes; /* of the requests that were granted */
    uint64_t spent[COST_MEASURE_COUNT];
};
static inline uint8_t cost_class_of(uint64_t count)
{
    const int log2 = 63 - __builtin_clzll(count + 1);
    return (uint8_t)(log2 < COST_CLASS_COUNT ? log2 : COST_CLASS_COUNT - 1);
}
static inline void cost_class_add(struct cost_class *class, const struct op_cost *cost)
{
    class->op_count++;
    class->effects += cost->effects;
    class->asked_bytes += cost->asked_bytes;
    class->spent[COST_CALLS] += cost->calls;
    class->spent[COST_MOVED_BYTES] += cost->moved_bytes;
    class->spent[COST_ACCESSES] += cost->accesses;
}
/* For each of which the measure may be spent: ops and effects, or bytes that were asked for. */
uint64_t cost_class_units(const struct cost_class *class, enum cost_measure measure);

/* True if the mean in the class `to` is more than growth allows, against that in *from, the first
 * such class.  False if too few ops are counted. */
bool cost_classes_exceed(const struct cost_class classes[COST_CLASS_COUNT],
                         enum cost_measure measure, enum target_growth growth, uint32_t to,
                         uint32_t *from);

/* The slowest growth that all classes keep to. */
enum cost_fit {
    COST_FIT_UNSEEN = 0, /* too few classes had enough ops */
    COST_FIT_CONSTANT,
    COST_FIT_LOGARITHMIC,
    COST_FIT_LINEAR,
    COST_FIT_FASTER, /* than linear */
    COST_FIT_COUNT
};
enum cost_fit cost_classes_fit(const struct cost_class classes[COST_CLASS_COUNT],
                               enum cost_measure measure);
const char *cost_fit_name(enum cost_fit fit); /* "unseen", "constant", ... */

/* --- the cost of a host's ops so far, by how many blocks and holes the heap had --- */

enum cost_axis { COST_BLOCKS = 0, COST_HOLES, COST_AXIS_COUNT };

/* An open value; zero is a start. */
struct cost_history {
    struct cost_class classes[COST_AXIS_COUNT][COST_CLASS_COUNT];
    uint8_t classes_now[COST_AXIS_COUNT]; /* of the last op */
    uint64_t hole_count;                  /* when it was last looked at */
    uint64_t look_due;                    /* op_count at which it is looked at again */
    uint64_t op_count;
    uint64_t beyond_count;              /* ops beyond a bound of contract.latency */
    bool is_beyond;                     /* the last op was */
    bool has_grown[COST_MEASURE_COUNT]; /* was found: no more is looked for */
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
