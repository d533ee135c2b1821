/* The part that a device has of the memory that it shares with others. */
#include "harness/base/check.h"
#include "harness/device/private/device_state.h"

static uint64_t sum_regions(const struct device *device)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < device->region_count; i++) {
        bytes += device->regions[i].size_bytes;
    }
    return bytes;
}

void device_join_pool(struct device *device, struct device_pool *pool, bool by_regions)
{
    CHECK(device->pool == NULL);
    device->pool = pool;
    device->is_pooled_by_regions = by_regions;
    pool->used_bytes += device_pool_bytes(device);
}

void device_leave_pool(struct device *device)
{
    if (device->pool != NULL) {
        CHECK(device->pool->used_bytes >= device_pool_bytes(device));
        device->pool->used_bytes -= device_pool_bytes(device);
        device->pool = NULL;
    }
}

static void note_refused(struct device *device, uint64_t bytes)
{
    if (device->pool_refusal.asked_bytes == 0) {
        device->pool_refusal = (struct device_pool_refusal){
            .asked_bytes = bytes, .left_bytes = device_pool_left_bytes(device->pool)};
    }
}

void device_pool_refuse_region(struct device *device, uint64_t bytes)
{
    CHECK(device->is_pooled_by_regions);
    device->faults.fired |= 1u << FAULT_REGION;
    note_refused(device, bytes);
}

const struct device_pool *device_pool_of(const struct device *device)
{
    return device->pool;
}

uint64_t device_pool_bytes(const struct device *device)
{
    return device->pool == NULL           ? 0
           : device->is_pooled_by_regions ? sum_regions(device)
                                          : device_mapped_bytes(device);
}

struct device_pool_refusal device_pool_refusal(const struct device *device)
{
    return device->pool_refusal;
}

bool pool_take(struct device *device, uint64_t bytes)
{
    if (device->pool == NULL) {
        return true;
    }
    if (bytes > device_pool_left_bytes(device->pool)) {
        note_refused(device, bytes);
        return false;
    }
    device->pool->used_bytes += bytes;
    return true;
}

void pool_give(struct device *device, uint64_t bytes)
{
    if (device->pool != NULL) {
        CHECK(bytes <= device->pool->used_bytes);
        device->pool->used_bytes -= bytes;
    }
}
