#include "harness/rules/private/cost_history.h"

#include "harness/base/check.h"

/* Of fewer a mean says little, and constant costs outweigh what grows. */
enum { CLASS_FIRST = 3, CLASSES_APART_MIN = 3, CLASS_OPS_MIN = 8 };
/* Twice is chance, and a tree is twice as deep as the best one. */
enum { GROWTH_FACTOR = 4 };
enum { LOOK_OPS_MIN = 64, LOOK_BLOCKS_PER_OP = 8 };
/* The first 1000 ops may have all that 1000 ops may. */
enum { LATENCY_OPS = 1000 };

/* --- adding --- */

static uint8_t class_of(uint64_t count)
{
    const int log2 = 63 - __builtin_clzll(count + 1);
    return (uint8_t)(log2 < COST_CLASS_COUNT ? log2 : COST_CLASS_COUNT - 1);
}

bool cost_history_wants_holes(const struct cost_history *costs)
{
    return costs->op_count >= costs->look_due;
}

void cost_history_see_holes(struct cost_history *costs, uint64_t hole_count, uint64_t block_count)
{
    const uint64_t spread = block_count / LOOK_BLOCKS_PER_OP;
    costs->hole_count = hole_count;
    costs->look_due = costs->op_count + (spread > LOOK_OPS_MIN ? spread : LOOK_OPS_MIN);
}

static void add_to_class(struct cost_class *class, const struct cost_sample *sample)
{
    const struct judge_cost *cost = &sample->cost;
    class->op_count++;
    class->spent[COST_CALLS] += cost->calls;
    class->spent[COST_MOVED_BYTES] += cost->moved_bytes;
    class->spent[COST_ACCESSES] += cost->accesses;
    class->units[COST_CALLS] += 1 + cost->effects;
    class->units[COST_MOVED_BYTES] += sample->asked_bytes;
    class->units[COST_ACCESSES] += 1 + cost->effects;
}

void cost_history_add(struct cost_history *costs, const struct cost_sample *sample)
{
    costs->classes_now[COST_BLOCKS] = class_of(sample->block_count);
    costs->classes_now[COST_HOLES] = class_of(costs->hole_count);
    for (unsigned axis = 0; axis < COST_AXIS_COUNT; axis++) {
        add_to_class(&costs->classes[axis][costs->classes_now[axis]], sample);
    }
    costs->op_count++;
    costs->is_beyond = sample->is_beyond;
    costs->beyond_count += sample->is_beyond;
    CHECK_COSTLY(costs->beyond_count <= costs->op_count);
}

/* --- growth --- */

enum target_growth cost_declared(const struct target_cost *declared, enum cost_measure measure)
{
    return measure == COST_CALLS         ? declared->calls
           : measure == COST_MOVED_BYTES ? declared->moved_bytes
                                         : declared->accesses;
}

/* What any op may spend, however few blocks there are: it is no growth. */
static uint64_t floor_of(enum cost_measure measure)
{
    static const uint64_t floors[COST_MEASURE_COUNT] = {
        [COST_CALLS] = 1, [COST_MOVED_BYTES] = 1, [COST_ACCESSES] = 64};
    return floors[measure];
}

/* What is spread over as many ops as there are blocks, as the growth of a table, is no cost of one:
 * so many ops are enough to spread it over. */
static bool has_enough_ops(const struct cost_class *class, uint32_t index)
{
    const uint64_t half = (UINT64_C(1) << index) / 2;
    return class->op_count >= CLASS_OPS_MIN && class->op_count >= half;
}

typedef unsigned __int128 wide;

/* *product *= factor; false: it is too large, and nobody can say. */
static bool multiply(wide *product, wide factor)
{
    return !__builtin_mul_overflow(*product, factor, product);
}

/* Whether mean(to) > GROWTH_FACTOR * growth * max(mean(from), floor), without a division. */
static bool grows_faster(const struct cost_class *classes, const struct cost_growth *at,
                         enum target_growth declared)
{
    const struct cost_class *from = &classes[at->from];
    const struct cost_class *to = &classes[at->to];
    const uint64_t from_units = from->units[at->measure];
    const bool is_log = declared == TARGET_GROWTH_LOGARITHMIC;
    wide least = from_units;
    wide left = to->spent[at->measure];
    wide right = GROWTH_FACTOR;
    if (from_units == 0 || to->units[at->measure] == 0 ||
        !multiply(&least, floor_of(at->measure))) {
        return false;
    }
    const wide from_spent = from->spent[at->measure] > least ? from->spent[at->measure] : least;
    const wide growth = declared == TARGET_GROWTH_LINEAR ? (wide)1 << (at->to - at->from)
                        : is_log                         ? at->to + 1
                                                         : 1;
    return multiply(&left, from_units) && multiply(&left, is_log ? at->from + 1 : 1) &&
           multiply(&right, growth) && multiply(&right, from_spent) &&
           multiply(&right, to->units[at->measure]) && left > right;
}

static bool find_from(const struct cost_history *costs, const struct target_cost *declared,
                      struct cost_growth *at)
{
    const struct cost_class *classes = costs->classes[at->axis];
    const enum target_growth growth = cost_declared(declared, at->measure);
    at->to = costs->classes_now[at->axis];
    if (growth == TARGET_GROWTH_UNDECLARED || !has_enough_ops(&classes[at->to], at->to)) {
        return false;
    }
    for (at->from = CLASS_FIRST; at->from + CLASSES_APART_MIN <= at->to; at->from++) {
        if (has_enough_ops(&classes[at->from], at->from) && grows_faster(classes, at, growth)) {
            return true;
        }
    }
    return false;
}

bool cost_history_find_growth(struct cost_history *costs, const struct target_cost *declared,
                              struct cost_growth *found)
{
    for (unsigned measure = 0; measure < COST_MEASURE_COUNT; measure++) {
        for (unsigned axis = 0; axis < COST_AXIS_COUNT; axis++) {
            struct cost_growth at = {.measure = (enum cost_measure)measure,
                                     .axis = (enum cost_axis)axis};
            if (!costs->has_grown[measure] && find_from(costs, declared, &at)) {
                costs->has_grown[measure] = true;
                *found = at;
                return true;
            }
        }
    }
    return false;
}

/* --- single ops --- */

uint64_t cost_history_beyond_max(const struct cost_history *costs,
                                 const struct target_latency *latency)
{
    CHECK_COSTLY(latency->per_mille <= LATENCY_OPS);
    const uint64_t count = costs->op_count > LATENCY_OPS ? costs->op_count : LATENCY_OPS;
    return count * (LATENCY_OPS - latency->per_mille) / LATENCY_OPS;
}
