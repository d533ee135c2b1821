#include "targets/plants/private/plant.h"

#include "targets/targets.h"

/* A pair of allocators with size classes, eight for each doubling: in the first, classes are all
 * that is wrong; the second also loses memory, and nothing but its refusals shows that. */

enum { CLASSES_PER_DOUBLING = 8, FREES_PER_LOSS = 50 };

/* Returns the step from one class to the next, around this many granules. */
static uint64_t find_class_step(uint64_t granules)
{
    uint64_t step = 1;
    while (granules / step >= 2 * CLASSES_PER_DOUBLING) {
        step *= 2;
    }
    return step;
}

/* The largest class that is not larger, in granules. */
static uint64_t find_class_below(uint64_t granules)
{
    const uint64_t step = find_class_step(granules);
    return granules / step * step;
}

/* The smallest class that is not smaller, in granules. */
static uint64_t find_class_above(uint64_t granules)
{
    const uint64_t step = find_class_step(granules);
    return (granules + step - 1) / step * step;
}

/* True if the request fits at once, wherever it is put. */
static bool fits_at_once(const struct plant *plant, const struct target_request *request,
                         const struct target_stats *stats)
{
    return plant_is_valid_size(request) && request->size_bytes <= stats->largest_free_block_bytes &&
           request->align_bytes <= plant->contract.granule_bytes;
}

/* The largest hole, without what was lost. */
static uint64_t find_usable_bytes(const struct plant *plant, const struct target_stats *stats)
{
    const uint64_t hole = stats->largest_free_block_bytes;
    return hole > plant->amount ? hole - plant->amount : 0;
}

/* A hole is filed under its class, the search begins at the class of the request: of two that are
 * nearly equal the one does not see the other (sebbbi/OffsetAllocator pull 11).  What was lost is
 * no part of the largest hole. */
static bool misses_class(struct plant *plant, const struct target_request *request)
{
    const struct target_stats stats = plant_inner_stats(plant);
    const uint64_t granule = plant->contract.granule_bytes;
    const uint64_t usable = find_usable_bytes(plant, &stats) / granule;
    return fits_at_once(plant, request, &stats) &&
           find_class_below(usable) <
               find_class_above((request->size_bytes + granule - 1) / granule);
}

/* The node of a freed block is now and then not put back into its bin: the bytes are counted as
 * free, and no search finds them. */
static enum target_result free_losing(struct plant *plant, uint64_t handle, uint64_t event)
{
    struct target_block block;
    const bool is_known = plant_inner_locate(plant, handle, &block);
    const enum target_result result = plant_inner_free(plant, handle, event);
    if (result == TARGET_OK && is_known && plant_strikes(plant, FREES_PER_LOSS)) {
        plant->amount += block.size_bytes;
    }
    return result;
}

/* --- on one host only --- */

/* A job of several hosts whose second one is served by a build that loses blocks: its memory alone
 * runs out (marin-community/marin#8508: one rank of 704). */
static bool is_second_host(const struct plant *plant)
{
    return plant->coordinate[0] == 1;
}

static enum target_result free_losing_on_one_host(struct plant *plant, uint64_t handle,
                                                  uint64_t event)
{
    return is_second_host(plant) ? free_losing(plant, handle, event)
                                 : plant_inner_free(plant, handle, event);
}

static bool misses_lost(struct plant *plant, const struct target_request *request)
{
    const struct target_stats stats = plant_inner_stats(plant);
    return fits_at_once(plant, request, &stats) &&
           find_usable_bytes(plant, &stats) < request->size_bytes;
}

/* --- what an owner may accept --- */

/* A block is as large as its class, and the contract says nothing of classes: what the owner of
 * rmm's pool or of a caching allocator accepts, because it is the price of speed. */
static void ask_for_class(struct plant *plant, struct target_request *request)
{
    const struct target_stats stats = plant_inner_stats(plant);
    const uint64_t granule = plant->contract.granule_bytes;
    if (fits_at_once(plant, request, &stats)) {
        const uint64_t wanted = (request->size_bytes + granule - 1) / granule;
        const uint64_t class_bytes = find_class_above(wanted) * granule;
        request->size_bytes = class_bytes > stats.largest_free_block_bytes ? request->size_bytes
                                                                           : class_bytes;
    }
}

/* The last granule is kept for a day that never comes: a request that fits at once may not fill the
 * device (the watermarks of the kernel's page allocator). */
static bool keeps_reserve(struct plant *plant, const struct target_request *request)
{
    const struct target_stats stats = plant_inner_stats(plant);
    return fits_at_once(plant, request, &stats) &&
           plant_free_bytes(&stats) - request->size_bytes < plant->contract.granule_bytes;
}

#define PLANT_IN_classes PLANT_HERE
#include "targets/plants/private/define.h"
