#include "targets/plants/private/plant.h"

#include <stdlib.h>

/* --- draining --- */

/* A request does not wait for queued frees at all: it only takes what is done by now. */
static enum device_result wait_never(struct plant *plant, uint64_t event)
{
    (void)plant, (void)event;
    return DEVICE_LOST;
}

/* Queued frees are one FIFO of which a request awaits the head and nothing behind it
 * (pytorch#71616: what is done already sits behind what is not). */
static enum device_result wait_for_head(struct plant *plant, uint64_t event)
{
    const bool is_head = plant->call.wait_count + plant->call.lost_count == 0;
    return is_head ? plant->device.event_wait(plant->device.context, event) : DEVICE_LOST;
}

/* After the wait the search is not made again (pytorch#189504): the very next request would get the
 * memory. */
static enum device_result wait_in_vain(struct plant *plant, uint64_t event)
{
    const enum device_result result = plant->device.event_wait(plant->device.context, event);
    if (result != DEVICE_OK || !plant->call.is_alloc) {
        return result;
    }
    plant->call.wait_count++;
    return DEVICE_LOST;
}

static enum target_result alloc_without_retry(struct plant *plant,
                                              const struct target_request *request,
                                              struct target_block *block)
{
    const enum target_result result = plant_inner_alloc(plant, request, block);
    return result == TARGET_NO_MEMORY && plant->call.wait_count > 0 ? plant_refuse(plant, request)
                                                                    : result;
}

/* Does the same after moving: the hole is there now, and nobody looks. */
static bool moves_in_vain(struct plant *plant, const struct target_request *request)
{
    const struct target_stats before = plant_inner_stats(plant);
    if (!plant_is_valid_size(request) || plant->contract.defrag == DEFRAG_NONE ||
        before.largest_free_block_bytes >= request->size_bytes ||
        plant_free_bytes(&before) < request->size_bytes) {
        return false;
    }
    (void)plant_inner_defragment(plant);
    const struct target_stats after = plant_inner_stats(plant);
    return plant->call.copy_count > 0 && after.largest_free_block_bytes >= request->size_bytes;
}

/* --- asked again --- */

/* The contract has a class for each doubling, so that it excuses what does not fit there. */
static void declare_doublings(struct plant *plant)
{
    plant->contract.rounding = (struct target_rounding){.kind = ROUNDING_CLASSES, .steps = 1};
}

/* The first search is for the whole class; where that fails it notes that the cache is to be
 * emptied.  The very next request for as much gets a block of its own size.  So does a request that
 * is repeated by the caller that catches the error (NVIDIA/cudf-spark#6768). */
static enum target_result alloc_when_asked_again(struct plant *plant,
                                                 const struct target_request *request,
                                                 struct target_block *block)
{
    const bool is_asked_again = plant->amount != 0 && plant->amount == request->size_bytes;
    plant->amount = 0;
    if (!plant_is_valid_size(request) || is_asked_again) {
        return plant_inner_alloc(plant, request, block);
    }
    struct target_request whole = *request;
    while ((whole.size_bytes & (whole.size_bytes - 1)) != 0) {
        whole.size_bytes += whole.size_bytes & -whole.size_bytes;
    }
    const enum target_result result = plant_inner_alloc(plant, &whole, block);
    if (result != TARGET_NO_MEMORY) {
        return result;
    }
    plant->amount = request->size_bytes;
    return plant_refuse(plant, request);
}

/* --- defragmenting and evicting --- */

/* Returns the defect's answer, no memory, where the defect refused what the device would have
 * done. */
static enum target_result alloc_or_refuse(struct plant *plant, const struct target_request *request,
                                          struct target_block *block)
{
    const enum target_result result = plant_inner_alloc(plant, request, block);
    plant->latched = plant->latched || plant->call.copy_count > 0;
    return result == TARGET_FAILED && plant->call.refused_count > 0 ? plant_refuse(plant, request)
                                                                    : result;
}

/* "Already mitigated" is a latch for life (openxla/xla commit 16343ee: backpedal once per
 * allocator). */
static enum device_result copy_once(struct plant *plant, uint64_t from, uint64_t to, uint64_t bytes)
{
    if (plant->latched && plant->call.is_alloc) {
        plant->call.refused_count++;
        return DEVICE_REFUSED;
    }
    return plant->device.copy(plant->device.context, from, to, bytes);
}

/* One program goes, and if that was not enough the request is refused (the walk over victims ends
 * early: ROCm legacy-rocm-build#6215). */
static enum device_result unload_once(struct plant *plant, uint64_t program)
{
    if (plant->call.unload_count > 0 && plant->call.is_alloc) {
        plant->call.refused_count++;
        return DEVICE_REFUSED;
    }
    return plant->device.unload(plant->device.context, program);
}

/* --- size classes --- */

static uint64_t round_to_power_of_two(uint64_t size)
{
    uint64_t power = 1;
    while (power < size) {
        power <<= 1;
    }
    return power;
}

/* The request is rounded to a power of two before the fit test (the xe driver's contiguous
 * requests). */
static bool misses_rounded(struct plant *plant, const struct target_request *request)
{
    const struct target_stats stats = plant_inner_stats(plant);
    return plant_is_valid_size(request) && request->size_bytes <= plant_free_bytes(&stats) &&
           round_to_power_of_two(request->size_bytes) > plant_free_bytes(&stats);
}

/* A hole is filed under its size rounded down, the search begins at the request rounded up: a hole
 * of nearly the right size is not seen (sebbbi/OffsetAllocator pull 11, eight bins per power of
 * two). */
static bool misses_bin(struct plant *plant, const struct target_request *request)
{
    const struct target_stats stats = plant_inner_stats(plant);
    const uint64_t size = request->size_bytes;
    return plant_is_valid_size(request) && stats.largest_free_block_bytes >= size &&
           plant_free_bytes(&stats) < size + size / 8;
}

/* --- the last hole --- */

/* The largest hole but one; 0 when there are fewer than two. */
static uint64_t find_second_hole_bytes(struct plant *plant)
{
    size_t count = 0;
    struct plant_hole *holes = plant_list_holes(plant, &count);
    uint64_t largest = 0;
    uint64_t second = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t bytes = holes[i].end - holes[i].start;
        second = bytes > largest ? largest : bytes > second ? bytes : second;
        largest = bytes > largest ? bytes : largest;
    }
    free(holes);
    return second;
}

/* The search stops one short of the largest bin (jemalloc commit a4e83e8): the last hole is never
 * looked at. */
static bool misses_last_hole(struct plant *plant, const struct target_request *request)
{
    const struct target_stats stats = plant_inner_stats(plant);
    if (!plant_is_valid_size(request) || stats.largest_free_block_bytes < request->size_bytes ||
        !plant_strikes(plant, 5)) {
        return false;
    }
    const uint64_t second = find_second_hole_bytes(plant);
    return second > 0 && second < request->size_bytes;
}

#define PLANT_IN_refusals PLANT_HERE
#include "targets/plants/private/define.h"
