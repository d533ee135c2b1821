#include "targets/plants/private/plant.h"

/* --- costs that grow with the blocks --- */

/* A growth up to here is enough to be found, and tens of thousands of blocks do not take hours. */
enum { GROWING_COUNT_MAX = 160 };

static void declare_calls(struct plant *plant)
{
    plant->contract.cost.calls = TARGET_GROWTH_LOGARITHMIC;
}

/* Reads the clock anew for the age of each block, to find what was used longest ago. */
static void read_ages(struct plant *plant, struct target_request *request)
{
    (void)request;
    for (size_t i = 0; i < plant->block_count && i < GROWING_COUNT_MAX; i++) {
        (void)plant->device.clock_ns(plant->device.context);
    }
}

static void declare_moves(struct plant *plant)
{
    plant->contract.cost.moved_bytes = TARGET_GROWTH_CONSTANT;
}

/* After each free the blocks above move down: an array without holes. */
static enum target_result free_closing_up(struct plant *plant, uint64_t handle, uint64_t event)
{
    const enum target_result result = plant_inner_free(plant, handle, event);
    if (plant->block_count < GROWING_COUNT_MAX) {
        (void)plant_inner_defragment(plant);
    }
    return result;
}

enum { WALK_COUNT_MAX = 1024 };

/* The first look is at nothing, and shows that accesses are counted. */
static void declare_accesses(struct plant *plant)
{
    plant->contract.cost.accesses = TARGET_GROWTH_CONSTANT;
    (void)walk_find_latest(plant, 0);
}

/* It looks for the block that was used last before it looks for a place, and before a block goes.
 */
static void walk(struct plant *plant, struct target_request *request)
{
    (void)request;
    (void)walk_find_latest(plant, WALK_COUNT_MAX);
}

static enum target_result free_after_walk(struct plant *plant, uint64_t handle, uint64_t event)
{
    (void)walk_find_latest(plant, WALK_COUNT_MAX);
    return plant_inner_free(plant, handle, event);
}

/* --- single calls that take long --- */

enum { SPIN_PERIOD = 16, SPIN_LOOKS = 100, SPIN_LOOKS_DECLARED = 64, SPIN_PER_MILLE = 990 };

/* Declares libhbm's own needs: no more than a few looks at each event, and moves. */
static void declare_few_calls(struct plant *plant)
{
    plant->contract.latency = (struct target_latency){.per_mille = SPIN_PER_MILLE,
                                                      .calls_max = SPIN_LOOKS_DECLARED};
}

/* A lock is taken with a timeout, for which the clock is read until somebody lets go of it. */
static void spin(struct plant *plant, struct target_request *request)
{
    (void)request;
    const bool spins = plant_strikes(plant, SPIN_PERIOD);
    for (unsigned i = 0; spins && i < SPIN_LOOKS; i++) {
        (void)plant->device.clock_ns(plant->device.context);
    }
}

enum { MOVED_SHARE = 16 };

static void declare_few_moves(struct plant *plant)
{
    plant->contract.latency = (struct target_latency){
        .per_mille = 1000, .moved_bytes_max = plant->capacity_bytes / MOVED_SHARE};
}

#define PLANT_IN_costs PLANT_HERE
#include "targets/plants/private/define.h"
