/* Sleeps that keep something, and wakes that do not bring back what was there.  vLLM's sleep mode
 * had most of them: memory that stays after each sleep (vllm-project/vllm#21336), what a wake took
 * before it was refused (PR 34600), copies in host memory that stay after a wake (#16663). */
#include "targets/plants/private/plant.h"

#include <stdio.h>

/* --- the device's memory --- */

/* Each sleep leaves one granule more mapped, at the end of the device. */
static void unmap_ever_less(struct plant *plant, uint64_t address, uint64_t bytes)
{
    const uint64_t granule = plant->contract.granule_bytes;
    plant->amount += plant->call.is_wake ? 0 : granule;
    const uint64_t kept = plant->amount < bytes ? plant->amount : bytes;
    plant->device.unmap(plant->device.context, address, bytes - kept);
}

/* The way out of a wake gives nothing back. */
static void unmap_asleep_only(struct plant *plant, uint64_t address, uint64_t bytes)
{
    if (!plant->call.is_wake) {
        plant->device.unmap(plant->device.context, address, bytes);
    }
}

enum { PIECE_COUNT = 8 };

/* Piece by piece, and what came before the piece that is refused stays. */
static enum device_result map_in_pieces(struct plant *plant, uint64_t address, uint64_t bytes)
{
    const uint64_t granule = plant->contract.granule_bytes;
    const uint64_t piece = bytes / PIECE_COUNT / granule * granule + granule;
    enum device_result result = DEVICE_OK;
    for (uint64_t at = 0; at < bytes && result == DEVICE_OK; at += piece) {
        result = plant->device.map(plant->device.context, address + at,
                                   bytes - at < piece ? bytes - at : piece);
    }
    return result;
}

/* --- contents --- */

static enum device_result stage_copy_forgotten(struct plant *plant, uint64_t stage, uint64_t to)
{
    return plant_strikes(plant, 16) ? DEVICE_OK
                                    : plant->device.stage_copy(plant->device.context, stage, to);
}

/* A flag at each block says that it is restored, and the way out of a wake that fails leaves it. */
static enum device_result stage_copy_noted(struct plant *plant, uint64_t stage, uint64_t to)
{
    if (plant->latched && stage == plant->handle) {
        return DEVICE_OK;
    }
    const enum device_result result = plant->device.stage_copy(plant->device.context, stage, to);
    if (result == DEVICE_OK && plant->amount++ == 0) {
        plant->handle = stage;
    }
    return result;
}

static enum target_result wake_noting(struct plant *plant)
{
    plant->amount = 0;
    const enum target_result result = plant_inner_wake(plant);
    plant->latched = result != TARGET_OK && plant->amount > 0;
    return result;
}

/* --- places --- */

/* A wake puts one block where the next one would be. */
static enum target_result wake_elsewhere(struct plant *plant)
{
    const enum target_result result = plant_inner_wake(plant);
    struct target_block block;
    for (size_t i = 0; result == TARGET_OK && !plant->latched && i < plant->block_count; i++) {
        plant->handle = plant->blocks[i].handle;
        plant->latched = plant_inner_locate(plant, plant->handle, &block);
    }
    return result;
}

static void show_elsewhere(struct plant *plant, struct target_block *block)
{
    if (plant->latched && block->handle == plant->handle) {
        block->address += plant->contract.granule_bytes;
    }
}

/* --- answers --- */

static enum target_result wake_without_cause(struct plant *plant)
{
    if (!plant_strikes(plant, 3)) {
        return plant_inner_wake(plant);
    }
    (void)snprintf(plant->message, sizeof plant->message, "UNAVAILABLE: it is not asleep");
    return TARGET_FAILED;
}

/* --- host memory --- */

enum { PAGE_BYTES = 4096 };

static enum target_result wake_with_history(struct plant *plant)
{
    plant_keep_page(plant, PAGE_BYTES);
    return plant_inner_wake(plant);
}

static void close_wakes(struct plant *plant)
{
    plant_give_pages(plant, PAGE_BYTES);
}

/* Forgets a stage that a wake restored, now and then, without giving it back. */
static void stage_drop_asleep_only(struct plant *plant, uint64_t stage)
{
    if (!plant->call.is_wake || !plant_strikes(plant, 16)) {
        plant->device.stage_drop(plant->device.context, stage);
    }
}

#define PLANT_IN_sleeps PLANT_HERE
#include "targets/plants/private/define.h"
