#include "targets/plants/private/plant.h"

/* Defects behind a table that is full: a short run, or one with few blocks, never fills it.  What
 * an index, a count or a ring of so many entries does when one more comes is left out of most tests
 * because it takes so many calls to get there.  Most show only in what is counted: no block is in a
 * wrong place, so that nothing else breaks. */

enum {
    RING_COUNT = 1024,
    TABLE_COUNT = 4096,
    GENERATION_COUNT = 256,
    INDEX_COUNT = 65536,
    HOLD_COUNT_MAX = 255
};

/* --- what is counted --- */

static uint64_t find_size_bytes(struct plant *plant, uint64_t handle)
{
    struct target_block at = {0};
    return plant_inner_locate(plant, handle, &at) ? at.size_bytes : 0;
}

static void subtract(struct target_stats *stats, uint64_t bytes)
{
    stats->bytes_in_use -= bytes < stats->bytes_in_use ? bytes : stats->bytes_in_use;
}

static void stats_without_amount(struct plant *plant, struct target_stats *stats)
{
    subtract(stats, plant->amount);
}

/* --- queued frees --- */

/* Queued frees are a ring.  The first one more than it has room for is written over another one,
 * so that the bytes of one are not subtracted when its event (`handle`) is done. */
static enum target_result free_wrapping(struct plant *plant, uint64_t handle, uint64_t event)
{
    const bool is_lost = plant->handle == 0 && plant_is_pending(plant, event) &&
                         plant->dying_count > RING_COUNT;
    const uint64_t size_bytes = is_lost ? find_size_bytes(plant, handle) : 0;
    const enum target_result result = plant_inner_free(plant, handle, event);
    if (is_lost && result == TARGET_OK) {
        plant->handle = event;
        plant->amount = size_bytes;
    }
    return result;
}

static void stats_with_lost(struct plant *plant, struct target_stats *stats)
{
    if (plant->handle != 0 && !plant_is_pending(plant, plant->handle)) {
        plant_stats_with_amount(plant, stats);
    }
}

/* A queued free whose event is done: before the wait all were pending. */
static const struct plant_dying *find_done(const struct plant *plant, uint64_t awaited)
{
    for (size_t i = 0; i < plant->dying_count; i++) {
        const uint64_t event = plant->dying[i].event;
        if (event != awaited && !plant_is_pending(plant, event)) {
            return &plant->dying[i];
        }
    }
    return NULL;
}

/* Counts an event that completes between two polls, while another is awaited, twice: by the wait
 * and by the poll behind it. */
static enum device_result wait_counting_twice(struct plant *plant, uint64_t event)
{
    plant_forget_dead(plant);
    const enum device_result result = plant->device.event_wait(plant->device.context, event);
    const struct plant_dying *done = result == DEVICE_OK ? find_done(plant, event) : NULL;
    plant->amount += done != NULL ? done->size_bytes : 0;
    return result;
}

/* --- handles --- */

/* The table of handles grows, and its last entry is not copied into the new one: nobody knows how
 * large that block was when it is freed. */
static void grow_table(struct plant *plant, const struct target_request *request,
                       struct target_block *block)
{
    (void)request, (void)block;
    if (!plant->latched && plant->block_count == TABLE_COUNT) {
        plant->latched = true;
        plant->handle = plant->blocks[TABLE_COUNT - 1].handle;
    }
}

static enum target_result free_uncounted(struct plant *plant, uint64_t handle, uint64_t event)
{
    const bool is_lost = handle == plant->handle;
    const uint64_t size_bytes = is_lost ? find_size_bytes(plant, handle) : 0;
    const enum target_result result = plant_inner_free(plant, handle, event);
    if (is_lost && result == TARGET_OK) {
        plant->handle = 0;
        plant->amount = size_bytes;
    }
    return result;
}

/* A handle is a place in a table and a generation of 8 bits.  A place is free again with the free
 * of its block, also when somebody still holds that; the last one that became free is taken first.
 * One such block is watched: `handle` is its stale name, `hold_count` says how often it is held,
 * `address` is the handle of the block that has its place now (0: none has), `pop_count` how many
 * places are taken before that one is, `case_count` the generation, counted from the stale one. */
static enum target_result free_recycling(struct plant *plant, uint64_t handle, uint64_t event)
{
    const struct plant_block *block = plant_find(plant, handle);
    const uint32_t hold_count = block != NULL ? block->hold_count : 0;
    const enum target_result result = plant_inner_free(plant, handle, event);
    if (result != TARGET_OK) {
        return result;
    }
    if (plant->handle == 0 && hold_count > 0) {
        plant->handle = handle;
        plant->hold_count = hold_count;
        plant->address = plant->pop_count = plant->case_count = 0;
    } else if (plant->handle != 0 && plant->address == handle) {
        plant->address = plant->pop_count = 0;
    } else if (plant->handle != 0 && plant->address == 0) {
        plant->pop_count++;
    }
    return result;
}

static void recycle(struct plant *plant, const struct target_request *request,
                    struct target_block *block)
{
    (void)request;
    if (plant->handle == 0 || plant->address != 0) {
        return;
    }
    if (plant->pop_count > 0) {
        plant->pop_count--;
    } else {
        plant->address = block->handle;
        plant->case_count++;
    }
}

static enum target_result hold_counted(struct plant *plant, uint64_t handle)
{
    const enum target_result result = plant_inner_hold(plant, handle);
    struct plant_block *block = plant_find(plant, handle);
    if (result == TARGET_OK && block != NULL) {
        block->hold_count++;
    }
    return result;
}

/* A block that the client can name is held once less. */
static void count_release(struct plant_block *block)
{
    block->hold_count -= block->hold_count > 0;
}

/* A stale handle reaches the block that has its place in the same generation: that one is counted
 * as gone. */
static enum target_result release_by_place(struct plant *plant, uint64_t handle)
{
    struct plant_block *block = plant_find(plant, handle);
    const enum target_result result = plant_inner_release(plant, handle);
    if (result != TARGET_OK) {
        return result;
    }
    if (block != NULL) {
        count_release(block);
    } else if (handle == plant->handle) {
        const bool is_mistaken = plant->address != 0 && plant->case_count % GENERATION_COUNT == 0;
        plant->amount += is_mistaken ? find_size_bytes(plant, plant->address) : 0;
        plant->handle = --plant->hold_count == 0 ? 0 : handle;
    }
    return result;
}

/* --- indices and counts --- */

/* The index of a block has 16 bits: what belongs to one of the first is taken for what belongs to
 * the new one. */
static void take_alias(struct plant *plant, const struct target_request *request,
                       struct target_block *block)
{
    struct target_block other = {0};
    if (plant->block_count >= INDEX_COUNT &&
        plant_inner_locate(plant, plant->blocks[plant->block_count % INDEX_COUNT].handle, &other) &&
        other.address % (request->align_bytes == 0 ? 1 : request->align_bytes) == 0 &&
        other.address + block->size_bytes <= plant->capacity_bytes) {
        block->address = other.address;
    }
}

/* Holds are counted in 8 bits, up to the most that these can say.  `handle` is a block that was
 * held more often, `case_count` how many of its holds were not counted; once it is freed (latched),
 * `hold_count` is how often it is held. */
static enum target_result hold_saturating(struct plant *plant, uint64_t handle)
{
    const enum target_result result = hold_counted(plant, handle);
    const struct plant_block *block = plant_find(plant, handle);
    if (result == TARGET_OK && block != NULL && block->hold_count > HOLD_COUNT_MAX &&
        (plant->handle == 0 || plant->handle == handle)) {
        plant->handle = handle;
        plant->case_count++;
    }
    return result;
}

static enum target_result free_saturated(struct plant *plant, uint64_t handle, uint64_t event)
{
    const struct plant_block *block = plant_find(plant, handle);
    const uint32_t hold_count = block != NULL ? block->hold_count : 0;
    const uint64_t size_bytes = find_size_bytes(plant, handle);
    const enum target_result result = plant_inner_free(plant, handle, event);
    if (result == TARGET_OK && handle == plant->handle) {
        plant->latched = true;
        plant->hold_count = hold_count;
        plant->amount = size_bytes;
    }
    return result;
}

static enum target_result release_saturated(struct plant *plant, uint64_t handle)
{
    struct plant_block *block = plant_find(plant, handle);
    const enum target_result result = plant_inner_release(plant, handle);
    if (result != TARGET_OK) {
        return result;
    }
    if (block != NULL) {
        count_release(block);
    }
    const bool is_over = handle == plant->handle &&
                         (block != NULL ? block->hold_count == 0 : --plant->hold_count == 0);
    if (is_over) {
        plant->handle = plant->case_count = 0;
        plant->latched = false;
    }
    return result;
}

/* Counts a freed block as gone with the last hold that was counted. */
static void stats_without_held(struct plant *plant, struct target_stats *stats)
{
    if (plant->latched && plant->hold_count <= plant->case_count) {
        subtract(stats, plant->amount);
    }
}

#define PLANT_IN_deep PLANT_HERE
#include "targets/plants/private/define.h"
