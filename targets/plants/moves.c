#include "targets/plants/private/plant.h"

/* --- contents --- */

/* The last unit of a move is left behind (ROCm legacy-rocm-build#6603: a live page reads as zeros
 * after a retry). */
static enum device_result copy_torn(struct plant *plant, uint64_t from, uint64_t to, uint64_t bytes)
{
    const uint64_t granule = plant->contract.granule_bytes;
    /* A copy that was done in part goes on as it began: amount is what it leaves behind. */
    if (!plant->latched) {
        plant->amount = bytes > granule && plant_strikes(plant, 5) ? granule : 0;
    }
    const enum device_result result = plant->device.copy(plant->device.context, from, to,
                                                         bytes - plant->amount);
    plant->latched = result == DEVICE_PARTIAL;
    return result;
}

/* --- held blocks --- */

/* A pin is one bit that a second user's unpin clears (google/tcmalloc commit 9c82c5e).  Here two of
 * three holds and uses are not passed on, until the block is freed: it then waits as it should, so
 * that moving is the only thing that goes wrong. */
static enum target_result hold_forgotten(struct plant *plant, uint64_t handle)
{
    struct plant_block *block = plant_find(plant, handle);
    if (block != NULL && !plant_strikes(plant, 3)) {
        block->forgotten_hold_count++;
        return TARGET_OK;
    }
    return plant_inner_hold(plant, handle);
}

static enum target_result release_forgotten(struct plant *plant, uint64_t handle)
{
    struct plant_block *block = plant_find(plant, handle);
    if (block != NULL && block->forgotten_hold_count > 0) {
        block->forgotten_hold_count--;
        return TARGET_OK;
    }
    return plant_inner_release(plant, handle);
}

static enum target_result use_forgotten(struct plant *plant, uint64_t handle, uint64_t event)
{
    struct plant_block *block = plant_find(plant, handle);
    if (block != NULL && block->forgotten_use_count < PLANT_FORGOTTEN_USE_COUNT &&
        plant_is_pending(plant, event) && !plant_strikes(plant, 3)) {
        block->forgotten_uses[block->forgotten_use_count++] = event;
        return TARGET_OK;
    }
    return plant_inner_use(plant, handle, event);
}

static enum target_result remember_uses(struct plant *plant, struct plant_block *block)
{
    enum target_result result = TARGET_OK;
    while (block->forgotten_use_count > 0 && result == TARGET_OK) {
        const uint64_t use = block->forgotten_uses[--block->forgotten_use_count];
        result = plant_is_pending(plant, use) ? plant_inner_use(plant, block->handle, use)
                                              : TARGET_OK;
    }
    return result;
}

static enum target_result free_remembering(struct plant *plant, uint64_t handle, uint64_t event)
{
    struct plant_block *block = plant_find(plant, handle);
    enum target_result result = block != NULL ? remember_uses(plant, block) : TARGET_OK;
    while (block != NULL && block->forgotten_hold_count > 0 && result == TARGET_OK) {
        block->forgotten_hold_count--;
        result = plant_inner_hold(plant, handle);
    }
    return result == TARGET_OK ? plant_inner_free(plant, handle, event) : result;
}

/* Restores forgotten uses and holds for a program call, and lets go of the holds behind it: the
 * text of a failure must stay right, and the largest stack depends on what is held. */
static void remember_for_program(struct plant *plant, bool begins)
{
    for (size_t i = 0; i < plant->block_count; i++) {
        struct plant_block *block = &plant->blocks[i];
        if (begins) {
            (void)remember_uses(plant, block);
            block->is_remembered = block->forgotten_hold_count > 0 &&
                                   plant_inner_hold(plant, block->handle) == TARGET_OK;
        } else if (block->is_remembered) {
            block->is_remembered = false;
            (void)plant_inner_release(plant, block->handle);
        }
    }
}

/* --- moves that nobody allowed --- */

/* Blocks pass each other although the allocator says that it only slides them. */
static void declare_slide(struct plant *plant)
{
    plant->contract.defrag = DEFRAG_SLIDE;
}

/* A request plans a compaction, fails, and does not undo the first entry of the plan: the block's
 * new place is in the table, its bytes are not there (GPUOpen VulkanMemoryAllocator commit a420c3d:
 * no rollback). */
static void keep_first_move(struct plant *plant, enum target_result result)
{
    struct target_block at = {0};
    if (result != TARGET_NO_MEMORY || plant->call.copy_count > 0 || plant->block_count == 0 ||
        !plant_inner_locate(plant, plant->blocks[0].handle, &at) || !plant_strikes(plant, 5)) {
        return;
    }
    plant->latched = true;
    plant->handle = plant->blocks[0].handle;
    plant->address = at.address + plant->contract.granule_bytes;
}

static void show_planned(struct plant *plant, struct target_block *block)
{
    if (plant->latched && block->handle == plant->handle) {
        block->address = plant->address;
    }
}

/* --- evictions --- */

/* When nothing else helps, the least recently used program goes, busy or not (pytorch pull 134338
 * chose victims of the wrong kind). */
static enum target_result alloc_evicting_busy(struct plant *plant,
                                              const struct target_request *request,
                                              struct target_block *block)
{
    const enum target_result result = plant_inner_alloc(plant, request, block);
    for (size_t i = 0; result == TARGET_NO_MEMORY && i < plant->block_count; i++) {
        const struct plant_block *program = &plant->blocks[i];
        if (program->is_program && plant_is_pending(plant, program->event) &&
            plant_strikes(plant, 2)) {
            (void)plant_device_unload(plant, program->program.id);
            break;
        }
    }
    return result;
}

/* Programs evict programs, against the contract. */
static void declare_no_rivalry(struct plant *plant)
{
    plant->contract.program_evicts_program = false;
}

/* --- never ending --- */

/* Finds the same move useful again and again (the endless validation of drm/xe merge request 230,
 * jemalloc commit d758349: the only candidate is scanned forever).  It ends only because the
 * harness refuses in the end. */
static void move_for_ever(struct plant *plant, enum target_result result)
{
    struct target_block at = {0};
    if (result != TARGET_NO_MEMORY || plant->block_count == 0 ||
        !plant_inner_locate(plant, plant->blocks[0].handle, &at) || !plant_strikes(plant, 3)) {
        return;
    }
    const uint64_t bytes = plant->contract.granule_bytes;
    unsigned refused_in_a_row = 0; /* one refusal may be an injected fault */
    while (refused_in_a_row < 3) {
        const enum device_result moved = plant->device.copy(plant->device.context, at.address,
                                                            at.address, bytes);
        refused_in_a_row = moved == DEVICE_REFUSED ? refused_in_a_row + 1 : 0;
    }
}

#define PLANT_IN_moves PLANT_HERE
#include "targets/plants/private/define.h"
