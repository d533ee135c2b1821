#include "targets/plants/private/plant.h"

#include <string.h>

/* --- counters that promise less --- */

static void declare_late(struct plant *plant)
{
    memset(plant->contract.counting, TARGET_COUNT_LATE, sizeof plant->contract.counting);
}

static void declare_at_most(struct plant *plant)
{
    memset(plant->contract.counting, TARGET_COUNT_AT_MOST, sizeof plant->contract.counting);
}

/* Two threads publish the counters, and the slower one overwrites what the faster one wrote: for a
 * moment the counter is what it was before. */
static void stats_going_back(struct plant *plant, struct target_stats *stats)
{
    const uint64_t last = plant->address;
    if (stats->bytes_in_use == last) {
        return;
    }
    const uint64_t before = plant->amount;
    plant->amount = last;
    plant->address = stats->bytes_in_use;
    if (plant_strikes(plant, 11)) {
        stats->bytes_in_use = before;
    }
}

enum { LOOKS_AWAKE = 100, LOOKS_ASLEEP = 100 };

/* The thread whose share is missing sleeps, and nobody publishes it. */
static void stats_asleep(struct plant *plant, struct target_stats *stats)
{
    if (plant->case_count++ % (LOOKS_AWAKE + LOOKS_ASLEEP) < LOOKS_AWAKE) {
        plant->amount = stats->bytes_in_use;
    }
    stats->bytes_in_use = plant->amount;
}

/* Takes freed memory off at once, and again when the cache of its thread is flushed. */
static void stats_below(struct plant *plant, struct target_stats *stats)
{
    if (stats->num_allocs > 0 && plant_strikes(plant, 11)) {
        stats->bytes_in_use -= plant->contract.granule_bytes;
    }
}

/* --- the order of the mitigations --- */

static void declare_binding_order(struct plant *plant)
{
    plant->contract.order[0] = MITIGATION_DRAIN;
    plant->contract.order[1] = MITIGATION_DEFRAGMENT;
    plant->contract.order[2] = MITIGATION_EVICT;
    plant->contract.order_binds = true;
}

static void declare_until_fits(struct plant *plant)
{
    plant->contract.evicts_until_fits = true;
}

/* The loop over the programs looks for the hole after it took the next one. */
static void evict_another(struct plant *plant, const struct target_request *request,
                          struct target_block *block)
{
    bool is_done = plant->call.unload_count == 0;
    (void)request, (void)block;
    for (size_t i = 0; i < plant->block_count && !is_done; i++) {
        is_done = plant->blocks[i].is_program && plant_evict(plant, &plant->blocks[i]);
    }
}

/* --- waits that nobody needs --- */

/* The reclaim of what was freed runs before the search, not when the search has failed: where a
 * partner is late, the request is, too. */
static void drain_all(struct plant *plant, struct target_request *request)
{
    const bool is_valid = plant_is_valid_size(request);
    for (size_t i = 0; is_valid && plant->contract.drains && i < plant->dying_count; i++) {
        (void)plant->device.event_wait(plant->device.context, plant->dying[i].event);
    }
}

/* --- owners --- */

/* Counts held bytes as used a second time: they were used before, and are not taken off there. */
static void stats_with_held_twice(struct plant *plant, struct target_stats *stats)
{
    (void)plant;
    stats->used_bytes += stats->held_bytes - stats->bytes_reserved;
}

/* Programs are blocks like any other. */
static void stats_without_evictable(struct plant *plant, struct target_stats *stats)
{
    (void)plant;
    stats->used_bytes += stats->evictable_bytes;
    stats->evictable_bytes = 0;
}

#define PLANT_IN_promises PLANT_HERE
#include "targets/plants/private/define.h"
