/* These defects are in calls that fail: they leave something behind, or act before they check. */
#include "targets/plants/private/plant.h"

#include "targets/targets.h"

#include <stdio.h>

static uint64_t max_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* --- blocks --- */

/* A request tries to get its room from the block below the hole, whose new size stays in the table
 * when that was not enough. */
static void keep_new_size(struct plant *plant, enum target_result result)
{
    if (result == TARGET_NO_MEMORY && plant->block_count > 0 && plant_strikes(plant, 5)) {
        plant->latched = true;
        plant->handle = plant->blocks[0].handle;
    }
}

static void show_new_size(struct plant *plant, struct target_block *block)
{
    if (plant->latched && block->handle == plant->handle) {
        block->size_bytes += plant->contract.granule_bytes;
    }
}

/* An evicted program is entered into the table again before there is room for it, and stays there.
 */
static void keep_image(struct plant *plant, enum target_result result)
{
    struct target_block at = {0};
    for (size_t i = 0; result == TARGET_NO_MEMORY && i < plant->block_count; i++) {
        const struct plant_block *block = &plant->blocks[i];
        if (block->is_program && !plant_inner_locate(plant, block->handle, &at)) {
            plant->latched = true;
            plant->handle = block->handle;
            return;
        }
    }
}

static enum target_result locate_image(struct plant *plant, uint64_t handle,
                                       struct target_block *block)
{
    const bool is_there = plant_inner_locate(plant, handle, block);
    if (!is_there && plant->latched && handle == plant->handle) {
        *block = (struct target_block){handle, 0, plant->contract.granule_bytes};
        return TARGET_OK;
    }
    return is_there ? TARGET_OK : TARGET_INVALID;
}

/* --- the report --- */

/* The row of a request is written when it comes, and struck out by the next call. */
static enum target_result alloc_with_row(struct plant *plant, const struct target_request *request,
                                         struct target_block *block)
{
    const uint64_t granule = plant->contract.granule_bytes;
    const enum target_result result = plant_inner_alloc(plant, request, block);
    plant->latched = result == TARGET_NO_MEMORY;
    plant->row = (struct target_row){TARGET_ADDRESS_NONE,
                                     (request->size_bytes + granule - 1) / granule * granule,
                                     request->kind, request->tag};
    return result;
}

/* Rows on their way, the largest first. */
struct passing {
    void (*row)(void *context, const struct target_row *row);
    void *context;
    const struct target_row *more; /* NULL once it has passed */
};

static void pass_row(void *context, const struct target_row *row)
{
    struct passing *passing = context;
    if (passing->more != NULL && row->size_bytes < passing->more->size_bytes) {
        passing->row(passing->context, passing->more);
        passing->more = NULL;
    }
    passing->row(passing->context, row);
}

static void report_with_row(struct plant *plant,
                            void (*row)(void *context, const struct target_row *row), void *context)
{
    const bool has_more = plant->call.has_failed && plant->latched;
    struct passing passing = {row, context, has_more ? &plant->row : NULL};
    target_hbm.report(plant->inner, pass_row, &passing);
    if (passing.more != NULL) {
        row(context, passing.more);
    }
}

/* --- mitigations that are not needed --- */

/* The heap is tidied up before the request is looked at, which can never be right. */
static void tidy_for_invalid(struct plant *plant, struct target_request *request)
{
    if (!plant_is_valid_size(request)) {
        (void)plant_inner_defragment(plant);
    }
}

/* A free takes a note; where there is no memory for it, the way out moves blocks together. */
static enum target_result free_tidying(struct plant *plant, uint64_t handle, uint64_t event)
{
    const size_t bytes = 64;
    void *note = plant->device.host_alloc(plant->device.context, bytes);
    if (note == NULL) {
        (void)plant_inner_defragment(plant);
        (void)snprintf(plant->message, PLANT_MESSAGE_BYTES, "no host memory to note a free in");
        return TARGET_FAILED;
    }
    plant->device.host_free(plant->device.context, note, bytes);
    return plant_inner_free(plant, handle, event);
}

/* --- transfers --- */

/* A block is taken out to host memory to make room; where that was not enough it stays where it
 * was, and nobody drops the copy. */
static void keep_stage(struct plant *plant, enum target_result result)
{
    struct target_block at = {0};
    uint64_t stage = 0;
    if (result == TARGET_NO_MEMORY && plant->block_count > 0 &&
        plant_inner_locate(plant, plant->blocks[0].handle, &at) && plant_strikes(plant, 5)) {
        (void)plant->device.stage_out(plant->device.context, at.address, at.size_bytes, &stage);
    }
}

/* --- counters --- */

/* The peak is that of before the queued frees were taken in that made room, but only once a call
 * has failed. */
static void note_peak(struct plant *plant, const struct target_request *request,
                      struct target_block *block)
{
    (void)request;
    plant->amount = max_of(plant->amount, plant->address + block->size_bytes);
}

static void count_peak(struct plant *plant, enum target_result result)
{
    (void)result;
    plant->latched = true;
}

static void stats_at_peak(struct plant *plant, struct target_stats *stats)
{
    plant->address = stats->bytes_in_use;
    if (plant->latched) {
        stats->peak_bytes_in_use = max_of(stats->peak_bytes_in_use, plant->amount);
    }
}

/* A request that can never be right takes its granule out of the largest hole until somebody looks,
 * unless the heap is empty. */
static void note_invalid(struct plant *plant, enum target_result result)
{
    plant->latched = result == TARGET_INVALID;
}

static void stats_without_granule(struct plant *plant, struct target_stats *stats)
{
    const uint64_t granule = plant->contract.granule_bytes;
    if (plant->call.has_failed && plant->latched && stats->num_allocs > 0 &&
        stats->largest_free_block_bytes >= granule) {
        stats->largest_free_block_bytes -= granule;
    }
    plant->latched = false;
}

#define PLANT_IN_failures PLANT_HERE
#include "targets/plants/private/define.h"
