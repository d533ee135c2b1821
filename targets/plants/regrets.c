#include "targets/plants/private/plant.h"

#include <assert.h>
#include <string.h>

/* --- evictions --- */

/* The documented order is declared; programs go first all the same. */
static void declare_documented_order(struct plant *plant)
{
    static const enum mitigation documented[] = {MITIGATION_DRAIN, MITIGATION_DEFRAGMENT,
                                                 MITIGATION_EVICT};
    static_assert(sizeof documented == sizeof plant->contract.order, "each mitigation once");
    memcpy(plant->contract.order, documented, sizeof documented);
}

/* Evicts all other programs when one program had to go. */
static void evict_all(struct plant *plant, const struct target_request *request,
                      struct target_block *block)
{
    (void)request, (void)block;
    for (size_t i = 0; plant->call.unload_count > 0 && i < plant->block_count; i++) {
        if (plant->blocks[i].is_program) {
            (void)plant_evict(plant, &plant->blocks[i]);
        }
    }
}

/* --- moves --- */

/* Before each request that a hole fits, all blocks are moved together. */
static void move_first(struct plant *plant, struct target_request *request)
{
    const struct target_stats stats = plant_inner_stats(plant);
    if (request->size_bytes > 0 && stats.largest_free_block_bytes >= request->size_bytes) {
        (void)plant_inner_defragment(plant);
    }
}

/* Moves all blocks together first when some had to move for a request. */
static void move_all(struct plant *plant, struct target_request *request)
{
    const struct target_stats stats = plant_inner_stats(plant);
    if (stats.largest_free_block_bytes < request->size_bytes &&
        plant_free_bytes(&stats) >= request->size_bytes) {
        (void)plant_inner_defragment(plant);
    }
}

#define PLANT_IN_regrets PLANT_HERE
#include "targets/plants/private/define.h"
