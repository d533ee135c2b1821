/* The blocks that the client can name, and those that it freed and the device still works on. */
#include "targets/plants/private/plant.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/hash.h"
#include "targets/targets.h"

#include <stdlib.h>
#include <string.h>

/* --- blocks by their handle --- */

/* Finds each of a hundred thousand blocks in one step: a chain for each hash, linked by index, the
 * youngest first. */
static uint32_t *find_chain(const struct plant *plant, uint64_t handle)
{
    return &plant->chains[hash_word(HASH_START, handle) & (plant->block_capacity - 1)];
}

static void link_block(struct plant *plant, uint32_t index)
{
    uint32_t *chain = find_chain(plant, plant->blocks[index].handle);
    plant->blocks[index].next = *chain;
    *chain = index;
}

/* The link that leads to the block. */
static uint32_t *find_link(struct plant *plant, uint32_t index)
{
    uint32_t *link = find_chain(plant, plant->blocks[index].handle);
    while (*link != index) {
        CHECK(*link != PLANT_BLOCK_NONE);
        link = &plant->blocks[*link].next;
    }
    return link;
}

/* The wrapper's own memory is plain heap, so that the device counts only what libhbm takes. */
static void grow_blocks(struct plant *plant)
{
    const size_t before = plant->block_capacity;
    plant->blocks = array_grown(plant->blocks, plant->block_count, &plant->block_capacity,
                                sizeof *plant->blocks);
    if (plant->block_capacity == before) {
        return;
    }
    CHECK((plant->block_capacity & (plant->block_capacity - 1)) == 0);
    const size_t chain_bytes = plant->block_capacity * sizeof *plant->chains;
    plant->chains = array_resized(plant->chains, chain_bytes);
    memset(plant->chains, 0xFF, chain_bytes);
    for (uint32_t i = 0; i < plant->block_count; i++) {
        link_block(plant, i);
    }
}

struct plant_block *plant_find(struct plant *plant, uint64_t handle)
{
    uint32_t index = plant->block_count == 0 ? PLANT_BLOCK_NONE : *find_chain(plant, handle);
    while (index != PLANT_BLOCK_NONE && plant->blocks[index].handle != handle) {
        index = plant->blocks[index].next;
    }
    return index == PLANT_BLOCK_NONE ? NULL : &plant->blocks[index];
}

uint64_t plant_find_inner_handle(struct plant *plant, uint64_t handle)
{
    const struct plant_block *block = plant_find(plant, handle);
    return block != NULL && block->is_program ? block->inner : handle;
}

void plant_add_block(struct plant *plant, const struct plant_block *block)
{
    CHECK(plant->block_count < PLANT_BLOCK_NONE);
    grow_blocks(plant);
    plant->blocks[plant->block_count] = *block;
    link_block(plant, (uint32_t)plant->block_count++);
}

void plant_remove_block(struct plant *plant, uint64_t handle)
{
    struct plant_block *block = plant_find(plant, handle);
    if (block == NULL) {
        return;
    }
    const uint32_t index = (uint32_t)(block - plant->blocks);
    const uint32_t last = (uint32_t)--plant->block_count;
    *find_link(plant, index) = block->next;
    if (index != last) { /* takes the free place, also in its chain */
        *find_link(plant, last) = index;
        *block = plant->blocks[last];
    }
}

void plant_rename_block(struct plant *plant, struct plant_block *block, uint64_t handle)
{
    const uint32_t index = (uint32_t)(block - plant->blocks);
    *find_link(plant, index) = block->next;
    block->handle = handle;
    link_block(plant, index);
}

/* --- dying blocks --- */

bool plant_is_pending(const struct plant *plant, uint64_t event)
{
    return event != 0 && !plant->device.event_done(plant->device.context, event);
}

void plant_forget_dead(struct plant *plant)
{
    const uint64_t completed = plant->device.completed_count(plant->device.context);
    size_t count_left = 0;
    if (completed == plant->dying_completed_count) {
        return;
    }
    for (size_t i = 0; i < plant->dying_count; i++) {
        if (plant_is_pending(plant, plant->dying[i].event)) {
            plant->dying[count_left++] = plant->dying[i];
        }
    }
    plant->dying_count = count_left;
    plant->dying_completed_count = completed;
}

void plant_add_dying(struct plant *plant, const struct plant_dying *dying)
{
    plant_forget_dead(plant);
    if (plant_is_pending(plant, dying->event)) {
        plant->dying = array_grown(plant->dying, plant->dying_count, &plant->dying_capacity,
                                   sizeof *plant->dying);
        plant->dying[plant->dying_count++] = *dying;
    }
}

bool plant_is_dying_in(struct plant *plant, uint64_t address, uint64_t bytes)
{
    for (size_t i = 0; i < plant->dying_count; i++) {
        const struct plant_dying *dying = &plant->dying[i];
        if (plant_is_pending(plant, dying->event) && dying->address < address + bytes &&
            address < dying->address + dying->size_bytes) {
            return true;
        }
    }
    return false;
}

/* The blocks, as the report lists them. */
struct rows {
    struct plant_hole *blocks; /* count of them */
    size_t count, capacity;
};

static void add_row(void *context, const struct target_row *row)
{
    struct rows *rows = context;
    if (row->address == TARGET_ADDRESS_NONE) {
        return;
    }
    CHECK(rows->count < rows->capacity);
    rows->blocks[rows->count++] = (struct plant_hole){row->address, row->address + row->size_bytes};
}

static int compare_starts(const void *a, const void *b)
{
    const struct plant_hole *left = a;
    const struct plant_hole *right = b;
    return left->start < right->start ? -1 : left->start > right->start;
}

struct plant_hole *plant_list_holes(struct plant *plant, size_t *count)
{
    const struct target_stats stats = plant_inner_stats(plant);
    struct rows rows = {.capacity = stats.num_allocs};
    rows.blocks = malloc((rows.capacity + 1) * sizeof *rows.blocks);
    CHECK(rows.blocks != NULL);
    target_hbm.report(plant->hbm, add_row, &rows);
    qsort(rows.blocks, rows.count, sizeof *rows.blocks, compare_starts);
    uint64_t end = stats.bytes_reserved;
    *count = 0;
    for (size_t i = 0; i <= rows.count; i++) { /* a hole takes the place of a block that is read */
        const bool is_last = i == rows.count;
        const uint64_t start = is_last ? plant->capacity_bytes : rows.blocks[i].start;
        const uint64_t next_end = is_last ? start : rows.blocks[i].end;
        if (start > end) {
            rows.blocks[(*count)++] = (struct plant_hole){end, start};
        }
        end = next_end > end ? next_end : end;
    }
    return rows.blocks;
}

bool plant_hole_fits(const struct plant *plant, const struct plant_hole *hole,
                     const struct target_request *request)
{
    const uint64_t granule = plant->contract.granule_bytes;
    const uint64_t align = request->align_bytes > granule ? request->align_bytes : granule;
    const uint64_t start = (hole->start + (align - 1)) & ~(align - 1);
    return start >= hole->start && start < hole->end && hole->end - start >= request->size_bytes;
}
