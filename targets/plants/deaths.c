#include "targets/plants/private/plant.h"

#include <stdlib.h>
#include <string.h>

/* --- the process ends --- */

/* Address of a field of a struct that is not there: no page, in any process. */
static void write_through(uintptr_t base)
{
    volatile uintptr_t address = base + 64; /* volatile: compilers warn of what they can see */
    *(volatile char *)address = 1;
}

/* A table of moves has room for two in a row; the third is written through what lies behind it. */
static enum device_result copy_crashing(struct plant *plant, uint64_t from, uint64_t to,
                                        uint64_t bytes)
{
    if (plant->call.copy_count == 2) {
        write_through(0);
    }
    return plant->device.copy(plant->device.context, from, to, bytes);
}

/* An assertion of the allocator's own that is wrong: it says that no request fails twice. */
static enum target_result alloc_aborting(struct plant *plant, const struct target_request *request,
                                         struct target_block *block)
{
    const enum target_result result = plant_inner_alloc(plant, request, block);
    if (result == TARGET_NO_MEMORY && plant_strikes(plant, 2)) {
        abort();
    }
    return result;
}

/* Ends the process when it cannot go on (absl's LOG(FATAL) in the middle of a library). */
static enum target_result free_exiting(struct plant *plant, uint64_t handle, uint64_t event)
{
    if (plant_is_pending(plant, event) && plant->dying_count >= 2) {
        exit(3);
    }
    return plant_inner_free(plant, handle, event);
}

/* Memory of the host is never refused, until it is. */
static void alloc_unchecked(struct plant *plant, struct target_request *request)
{
    const size_t bytes = 128;
    (void)request;
    void *note = plant->device.host_alloc(plant->device.context, bytes);
    write_through((uintptr_t)note);
    plant->device.host_free(plant->device.context, note, bytes);
}

/* --- the process does not end --- */

/* A list of what is dying becomes a ring: whoever walks it never comes to its end, and asks the
 * device for nothing meanwhile. */
static enum target_result free_spinning(struct plant *plant, uint64_t handle, uint64_t event)
{
    volatile size_t at = 0;
    while (plant_is_pending(plant, event) && plant->dying_count >= 3) {
        at = (at + 1) % plant->dying_count;
    }
    return plant_inner_free(plant, handle, event);
}

/* --- memory of the host --- */

/* A row for each of the blocks, and one more written than there is room for. */
static void alloc_overrunning(struct plant *plant, struct target_request *request)
{
    const size_t bytes = plant->block_count * sizeof(uint64_t);
    uint64_t *rows = bytes == 0 ? NULL : plant->device.host_alloc(plant->device.context, bytes);
    (void)request;
    for (size_t i = 0; rows != NULL && i <= plant->block_count; i++) {
        ((volatile uint64_t *)rows)[i] = i;
    }
    plant->device.host_free(plant->device.context, rows, bytes);
}

/* The way out of a failed request does not free its notes, which nobody counts. */
static void leak_notes(struct plant *plant, enum target_result result)
{
    char *notes = malloc(sizeof plant->previous_message);
    if (notes != NULL) {
        (void)memset(notes, (int)result, sizeof plant->previous_message);
    }
    void *volatile lost = notes;
    (void)lost;
}

/* Each request leaves a page of history; it is given back, in the end. */
enum { PAGE_BYTES = 64 << 10 };

static void keep_history(struct plant *plant, struct target_request *request)
{
    (void)request;
    plant_keep_page(plant, PAGE_BYTES);
}

static void close_history(struct plant *plant)
{
    plant_give_pages(plant, PAGE_BYTES);
}

/* --- contents --- */

/* A copy rounds its length up, and the block above loses its first unit. */
static enum device_result copy_scribbling(struct plant *plant, uint64_t from, uint64_t to,
                                          uint64_t bytes)
{
    const uint64_t granule = plant->contract.granule_bytes;
    const uint64_t end = (from > to ? from : to) + bytes;
    const bool is_longer = end + granule <= plant->capacity_bytes && plant_strikes(plant, 3);
    return plant->device.copy(plant->device.context, from, to, is_longer ? bytes + granule : bytes);
}

/* A copy that the device refused is taken for one that was done. */
static enum device_result copy_trusting(struct plant *plant, uint64_t from, uint64_t to,
                                        uint64_t bytes)
{
    (void)plant->device.copy(plant->device.context, from, to, bytes);
    return DEVICE_OK;
}

/* --- what a refusal leaves behind --- */

/* The counter goes up before the call and comes down only when it succeeds. */
static void keep_counted(struct plant *plant, enum target_result result)
{
    if (result == TARGET_FAILED) {
        plant->amount += plant->contract.granule_bytes;
    }
}

/* The upper half of an image counts as free before the device has said that the program is off. */
static enum device_result unload_half(struct plant *plant, uint64_t program)
{
    const enum device_result result = plant->device.unload(plant->device.context, program);
    if (result == DEVICE_REFUSED || result == DEVICE_PARTIAL) {
        plant->latched = true;
        plant->amount = program;
    }
    return result;
}

static bool find_half(struct plant *plant, struct target_block *image)
{
    for (size_t i = 0; plant->latched && i < plant->block_count; i++) {
        const struct plant_block *block = &plant->blocks[i];
        if (block->is_program && block->program.id == plant->amount) {
            return plant_inner_locate(plant, block->handle, image);
        }
    }
    return false;
}

static void place_in_half(struct plant *plant, const struct target_request *request,
                          struct target_block *block)
{
    struct target_block image = {0};
    if (!find_half(plant, &image)) {
        return;
    }
    const uint64_t granule = plant->contract.granule_bytes;
    const uint64_t align = request->align_bytes > granule ? request->align_bytes : granule;
    const uint64_t half = (image.address + image.size_bytes / 2 + align - 1) / align * align;
    if (half < image.address + image.size_bytes &&
        half + block->size_bytes <= plant->capacity_bytes) {
        block->address = half;
    }
}

#define PLANT_IN_deaths PLANT_HERE
#include "targets/plants/private/define.h"
