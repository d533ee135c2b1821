#include "targets/plants/private/plant.h"

/* Defects that show where several clients are refused and react to it. */

enum { ABORTED_COUNT = 3, TAG_BIT_COUNT = 64 };

/* --- who waits --- */

/* Everybody who was refused waits in one place for whoever came last: of the others it is forgotten
 * that they wait, but not that they may not overtake (a wakeup of the newest waiter alone).  They
 * are refused from then on, whatever is free.  A request's tag says whose it is. */
static enum target_result alloc_for_last(struct plant *plant, const struct target_request *request,
                                         struct target_block *block)
{
    const uint64_t bit = UINT64_C(1) << request->tag % TAG_BIT_COUNT;
    const bool is_waiting = (plant->amount & bit) != 0;
    if (plant_is_valid_size(request) && is_waiting && plant->handle != bit) {
        return plant_refuse(plant, request);
    }
    const enum target_result result = plant_inner_alloc(plant, request, block);
    if (result == TARGET_NO_MEMORY) {
        plant->amount |= bit;
        plant->handle = bit;
    } else if (result == TARGET_OK && is_waiting) {
        plant->amount &= ~bit;
        plant->handle = 0;
    }
    return result;
}

/* --- who is aborted --- */

/* True if the request fits in the largest hole, but no longer without the bytes that were lost. */
static bool is_lost(struct plant *plant, const struct target_request *request)
{
    const uint64_t hole = plant_inner_stats(plant).largest_free_block_bytes;
    const uint64_t usable = hole > plant->amount ? hole - plant->amount : 0;
    return plant_is_valid_size(request) && request->align_bytes <= plant->contract.granule_bytes &&
           request->size_bytes <= hole && request->size_bytes > usable;
}

/* After a request that waited for queued frees or evicted, the list of what is being reclaimed is
 * still open. */
static enum target_result alloc_reclaiming(struct plant *plant,
                                           const struct target_request *request,
                                           struct target_block *block)
{
    if (is_lost(plant, request)) {
        return plant_refuse(plant, request);
    }
    const enum target_result result = plant_inner_alloc(plant, request, block);
    plant->latched = plant->call.wait_count + plant->call.unload_count > 0;
    plant->pop_count = 0;
    return result;
}

/* Frees in a row are an abort of their owner.  From the third on they go to that list, which nobody
 * reads any more: the bytes are counted as free, and no search finds them. */
static enum target_result free_into_list(struct plant *plant, uint64_t handle, uint64_t event)
{
    struct target_block block;
    const bool is_known = plant_inner_locate(plant, handle, &block);
    const enum target_result result = plant_inner_free(plant, handle, event);
    if (result == TARGET_OK && is_known && plant->latched && ++plant->pop_count >= ABORTED_COUNT) {
        plant->amount += block.size_bytes;
    }
    return result;
}

#define PLANT_IN_clients PLANT_HERE
#include "targets/plants/private/define.h"
