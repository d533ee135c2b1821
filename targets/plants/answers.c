#include "targets/plants/private/plant.h"

static uint64_t find_align(const struct plant *plant, const struct target_request *request)
{
    const uint64_t granule = plant->contract.granule_bytes;
    return request->align_bytes > granule ? request->align_bytes : granule;
}

/* True if a block that may be used now begins at address. */
static bool has_live_block_at(struct plant *plant, uint64_t address)
{
    struct target_block at = {0};
    for (size_t i = 0; i < plant->block_count; i++) {
        if (plant_inner_locate(plant, plant->blocks[i].handle, &at) && at.address == address) {
            return true;
        }
    }
    return false;
}

/* A hole's end rounded up on insertion: the block placed at its top laps over the neighbour above
 * by one unit (both first fixes of sebbbi/OffsetAllocator pull 11). */
static void overlap(struct plant *plant, const struct target_request *request,
                    struct target_block *block)
{
    const uint64_t align = find_align(plant, request), end = block->address + block->size_bytes;
    if (has_live_block_at(plant, end) && end + align <= plant->capacity_bytes &&
        plant_strikes(plant, 7)) {
        block->address += align;
    }
}

/* The end of the device is tested with <= where < was meant (mattconte/tlsf#9): one unit too far.
 */
static void leave_device(struct plant *plant, const struct target_request *request,
                         struct target_block *block)
{
    (void)request;
    if (plant_strikes(plant, 7)) {
        block->address = plant->capacity_bytes - block->size_bytes + plant->contract.granule_bytes;
    }
}

/* Alignments are dropped now and then (mattconte/tlsf#36: the slow path loses them); and where none
 * is asked for, the address is now and then that behind a header of half a granule (rapidsai/rmm
 * pull 2003). */
static void drop_align(struct plant *plant, struct target_request *request)
{
    const uint64_t align = request->align_bytes;
    if (align > plant->contract.granule_bytes && (align & (align - 1)) == 0 &&
        plant_strikes(plant, 2)) {
        request->align_bytes = 0;
    }
}

static void add_half_header(struct plant *plant, const struct target_request *request,
                            struct target_block *block)
{
    const uint64_t granule = plant->contract.granule_bytes;
    if (request->align_bytes <= granule && block->address >= granule && plant_strikes(plant, 101)) {
        block->address -= granule / 2;
    }
}

/* Bytes become granules by rounding down (jemalloc#241: a smaller chunk is handed out). */
static void round_down(struct plant *plant, const struct target_request *request,
                       struct target_block *block)
{
    const uint64_t granule = plant->contract.granule_bytes;
    if (request->size_bytes > granule && plant_strikes(plant, 7)) {
        block->size_bytes = (request->size_bytes - 1) / granule * granule;
    }
}

/* A hole is handed out whole (pytorch pull 44742: blocks above a limit are never split).  Later
 * requests are refused for it, and with blocks of that size each refusal is right. */
static void ask_for_hole(struct plant *plant, struct target_request *request)
{
    const struct target_stats stats = plant_inner_stats(plant);
    if (request->size_bytes > 0 && request->size_bytes < stats.largest_free_block_bytes &&
        request->align_bytes <= plant->contract.granule_bytes) {
        request->size_bytes = stats.largest_free_block_bytes;
    }
}

/* The place of a queued free is on the free list although the device still writes there
 * (pytorch#196258: the wait went to another queue). */
static void reuse_early(struct plant *plant, const struct target_request *request,
                        struct target_block *block)
{
    for (size_t i = 0; i < plant->dying_count; i++) {
        const struct plant_dying *dying = &plant->dying[i];
        if (plant_is_pending(plant, dying->event) && dying->size_bytes >= block->size_bytes &&
            dying->address % find_align(plant, request) == 0 && plant_strikes(plant, 3)) {
            block->address = dying->address;
            break;
        }
    }
}

/* Handles count from 0, which callers take for none: the table's first entry is one like any other.
 */
static void drop_handle(struct plant *plant, const struct target_request *request,
                        struct target_block *block)
{
    (void)request;
    block->handle = plant_strikes(plant, 7) ? 0 : block->handle;
}

/* A size that can never be is called out of memory: whoever retries on that retries for ever
 * (microsoft/mimalloc#876 and google/tcmalloc commit 8580c68 let such sizes into the arithmetic).
 */
static enum target_result alloc_without_judgement(struct plant *plant,
                                                  const struct target_request *request,
                                                  struct target_block *block)
{
    const enum target_result result = plant_inner_alloc(plant, request, block);
    return result == TARGET_INVALID && plant_strikes(plant, 2) ? plant_refuse(plant, request)
                                                               : result;
}

#define PLANT_IN_answers PLANT_HERE
#include "targets/plants/private/define.h"
