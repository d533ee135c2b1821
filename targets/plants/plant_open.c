#include "targets/plants/private/plant.h"

#include "harness/base/size.h"
#include "targets/targets.h"

#include <inttypes.h>
#include <stdio.h>

enum { RESUME_COUNT_MAX = 64 };

bool plant_strikes(struct plant *plant, uint64_t period)
{
    return ++plant->case_count % period == 0;
}

/* --- for defects --- */

enum target_result plant_inner_alloc(struct plant *plant, const struct target_request *request,
                                     struct target_block *block)
{
    return plant->target->alloc(plant->inner, request, block);
}

enum target_result plant_inner_free(struct plant *plant, uint64_t handle, uint64_t event)
{
    return plant->target->free(plant->inner, handle, event);
}

enum target_result plant_inner_use(struct plant *plant, uint64_t handle, uint64_t event)
{
    return plant->target->use(plant->inner, handle, event);
}

enum target_result plant_inner_hold(struct plant *plant, uint64_t handle)
{
    return plant->target->hold(plant->inner, handle);
}

enum target_result plant_inner_release(struct plant *plant, uint64_t handle)
{
    return plant->target->release(plant->inner, handle);
}

enum target_result plant_inner_wake(struct plant *plant)
{
    return plant->target->wake(plant->inner);
}

bool plant_inner_locate(struct plant *plant, uint64_t handle, struct target_block *block)
{
    const uint64_t inner = plant_find_inner_handle(plant, handle);
    if (inner == 0 || plant->target->locate(plant->inner, inner, block) != TARGET_OK) {
        return false;
    }
    block->handle = handle;
    return true;
}

enum target_result plant_inner_defragment(struct plant *plant)
{
    return plant->target->defragment(plant->inner);
}

enum device_result plant_device_unload(struct plant *plant, uint64_t program)
{
    enum device_result result = DEVICE_PARTIAL;
    for (unsigned i = 0; result == DEVICE_PARTIAL && i < RESUME_COUNT_MAX; i++) {
        result = plant->device.unload(plant->device.context, program);
    }
    return result;
}

bool plant_evict(struct plant *plant, struct plant_block *program)
{
    struct target_block image;
    if (program->overlaps || plant_is_pending(plant, program->event) ||
        !plant_inner_locate(plant, program->handle, &image) ||
        plant_device_unload(plant, program->program.id) != DEVICE_OK) {
        return false;
    }
    (void)plant->target->unload(plant->inner, program->inner);
    program->inner = 0;
    return true;
}

struct target_stats plant_inner_stats(struct plant *plant)
{
    struct target_stats stats;
    target_hbm.stats(plant->hbm, &stats);
    return stats;
}

void plant_stats_with_amount(struct plant *plant, struct target_stats *stats)
{
    stats->bytes_in_use += plant->amount;
}

struct page {
    struct page *next;
};

void plant_keep_page(struct plant *plant, size_t bytes)
{
    struct page *page = plant->device.host_alloc(plant->device.context, bytes);
    if (page != NULL) {
        page->next = plant->pages;
        plant->pages = page;
    }
}

void plant_give_pages(struct plant *plant, size_t bytes)
{
    for (struct page *page = plant->pages; page != NULL;) {
        struct page *next = page->next;
        plant->device.host_free(plant->device.context, page, bytes);
        page = next;
    }
}

enum target_result plant_refuse(struct plant *plant, const struct target_request *request)
{
    char requested_text[SIZE_TEXT_BYTES];
    char free_text[SIZE_TEXT_BYTES];
    char largest_text[SIZE_TEXT_BYTES];
    plant->call.is_alloc = false; /* nothing is hidden from here on */
    const struct target_stats stats = plant_inner_stats(plant);
    const uint64_t free_bytes = plant_free_bytes(&stats);
    size_print_field(request->size_bytes, requested_text);
    size_print_field(free_bytes, free_text);
    size_print_field(stats.largest_free_block_bytes, largest_text);
    const bool has_fragmentation = plant->contract.defrag == DEFRAG_NONE &&
                                   free_bytes >= request->size_bytes;
    (void)snprintf(
        plant->message, PLANT_MESSAGE_BYTES,
        "RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate %s. That was not "
        "possible. There are %s free.%s%s%s; (%" PRIu32 "x%" PRIu32 "x%" PRIu32 "_HBM%" PRIu32 ")",
        requested_text, free_text,
        has_fragmentation
            ? " Due to fragmentation, the largest contiguous region of free memory is "
            : "",
        has_fragmentation ? largest_text : "", has_fragmentation ? "." : "", plant->coordinate[0],
        plant->coordinate[1], plant->coordinate[2], plant->coordinate[3]);
    return TARGET_NO_MEMORY;
}
