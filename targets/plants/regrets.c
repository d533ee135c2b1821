#include "targets/plants/private/plant.h"

#include <assert.h>
#include <string.h>

/* --- evictions --- */

/* The documented order is declared; programs go first all the same. */
static void declare_documented_order(struct plant *plant, struct target_contract *contract)
{
    static const enum mitigation documented[] = {MITIGATION_DRAIN, MITIGATION_DEFRAGMENT,
                                                 MITIGATION_EVICT};
    (void)plant;
    static_assert(sizeof documented == sizeof contract->order, "each mitigation once");
    memcpy(contract->order, documented, sizeof documented);
}

/* Evicts all other programs when one program had to go. */
static enum target_result alloc_evicting_all(struct plant *plant,
                                             const struct target_request *request,
                                             struct target_block *block)
{
    const enum target_result result = plant_inner_alloc(plant, request, block);
    for (size_t i = 0;
         result == TARGET_OK && plant->call.unload_count > 0 && i < plant->block_count; i++) {
        if (plant->blocks[i].is_program) {
            (void)plant_evict(plant, &plant->blocks[i]);
        }
    }
    return result;
}

/* --- moves --- */

/* Before each request that a hole fits, all blocks are moved together. */
static enum target_result alloc_after_moving(struct plant *plant,
                                             const struct target_request *request,
                                             struct target_block *block)
{
    struct target_stats stats;
    plant_inner_stats(plant, &stats);
    if (request->size_bytes > 0 && stats.largest_free_block_bytes >= request->size_bytes) {
        (void)plant_inner_defragment(plant);
    }
    return plant_inner_alloc(plant, request, block);
}

/* Moves all blocks together first when some had to move for a request. */
static enum target_result alloc_moving_all(struct plant *plant,
                                           const struct target_request *request,
                                           struct target_block *block)
{
    struct target_stats stats;
    plant_inner_stats(plant, &stats);
    if (stats.largest_free_block_bytes < request->size_bytes &&
        plant_free_bytes(&stats) >= request->size_bytes) {
        (void)plant_inner_defragment(plant);
    }
    return plant_inner_alloc(plant, request, block);
}

#define PLANT_IN_regrets PLANT_HERE
#include "targets/plants/private/define.h"
