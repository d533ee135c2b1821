#include "harness/rules/private/cost_history.h"

#include "harness/base/check.h"

enum { LOOK_OPS_MIN = 64, LOOK_BLOCKS_PER_OP = 8 };
/* The first 1000 ops may have all that 1000 ops may. */
enum { LATENCY_OPS = 1000 };

/* --- adding --- */

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

void cost_history_add(struct cost_history *costs, const struct cost_sample *sample)
{
    costs->classes_now[COST_BLOCKS] = cost_class_of(sample->block_count);
    costs->classes_now[COST_HOLES] = cost_class_of(costs->hole_count);
    for (unsigned axis = 0; axis < COST_AXIS_COUNT; axis++) {
        cost_class_add(&costs->classes[axis][costs->classes_now[axis]], &sample->cost);
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

bool cost_history_find_growth(struct cost_history *costs, const struct target_cost *declared,
                              struct cost_growth *found)
{
    for (unsigned measure = 0; measure < COST_MEASURE_COUNT; measure++) {
        for (unsigned axis = 0; axis < COST_AXIS_COUNT; axis++) {
            struct cost_growth at = {.measure = (enum cost_measure)measure,
                                     .axis = (enum cost_axis)axis,
                                     .to = costs->classes_now[axis]};
            if (!costs->has_grown[measure] &&
                cost_classes_exceed(costs->classes[axis], at.measure,
                                    cost_declared(declared, at.measure), at.to, &at.from)) {
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
