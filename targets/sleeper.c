#include "targets/private/sleeper.h"

#include <string.h>

enum { BLOCK_COUNT_MIN = 16 };

struct sleeper_block {
    uint64_t address;
    uint64_t stage;
};

void sleeper_init(struct sleeper *sleeper, const struct device_services *device,
                  uint64_t capacity_bytes)
{
    *sleeper = (struct sleeper){.device = *device, .capacity_bytes = capacity_bytes};
}

void sleeper_deinit(struct sleeper *sleeper)
{
    const struct device_services *device = &sleeper->device;
    sleeper_drop(sleeper);
    if (sleeper->blocks != NULL) {
        device->host_free(device->context, sleeper->blocks,
                          sleeper->block_capacity * sizeof *sleeper->blocks);
    }
    sleeper->blocks = NULL;
}

/* False: host memory was refused. */
static bool grow(struct sleeper *sleeper)
{
    const struct device_services *device = &sleeper->device;
    const size_t capacity = sleeper->block_capacity == 0 ? BLOCK_COUNT_MIN
                                                         : 2 * sleeper->block_capacity;
    struct sleeper_block *blocks = device->host_alloc(device->context, capacity * sizeof *blocks);
    if (blocks == NULL) {
        return false;
    }
    if (sleeper->blocks != NULL) {
        memcpy(blocks, sleeper->blocks, sleeper->block_count * sizeof *blocks);
        device->host_free(device->context, sleeper->blocks,
                          sleeper->block_capacity * sizeof *blocks);
    }
    sleeper->blocks = blocks;
    sleeper->block_capacity = capacity;
    return true;
}

bool sleeper_save(struct sleeper *sleeper, uint64_t address, uint64_t bytes)
{
    const struct device_services *device = &sleeper->device;
    struct sleeper_block block = {.address = address};
    if ((sleeper->block_count == sleeper->block_capacity && !grow(sleeper)) ||
        device->stage_out(device->context, address, bytes, &block.stage) != DEVICE_OK) {
        return false;
    }
    sleeper->blocks[sleeper->block_count++] = block;
    return true;
}

void sleeper_drop(struct sleeper *sleeper)
{
    const struct device_services *device = &sleeper->device;
    for (size_t i = 0; i < sleeper->block_count; i++) {
        device->stage_drop(device->context, sleeper->blocks[i].stage);
    }
    sleeper->block_count = 0;
}

void sleeper_release(struct sleeper *sleeper)
{
    sleeper->device.unmap(sleeper->device.context, 0, sleeper->capacity_bytes);
}

/* The stage stays until all of them have arrived. */
static bool restore_block(const struct sleeper *sleeper, const struct sleeper_block *block)
{
    const struct device_services *device = &sleeper->device;
    enum device_result result = DEVICE_PARTIAL;
    while (result == DEVICE_PARTIAL) {
        result = device->stage_copy(device->context, block->stage, block->address);
    }
    return result == DEVICE_OK;
}

bool sleeper_restore(struct sleeper *sleeper)
{
    const struct device_services *device = &sleeper->device;
    bool is_there = device->map(device->context, 0, sleeper->capacity_bytes) == DEVICE_OK;
    for (size_t i = 0; is_there && i < sleeper->block_count; i++) {
        is_there = restore_block(sleeper, &sleeper->blocks[i]);
    }
    if (!is_there) {
        sleeper_release(sleeper);
        return false;
    }
    sleeper_drop(sleeper);
    return true;
}
