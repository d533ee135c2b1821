/* Regions of the device that the target holds: each is the lowest one that was free. */
#include "harness/base/align.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/device/private/device_state.h"

#include <string.h>

/* A short region ends at a multiple of it, if it has as much: no granule of a list is larger. */
#define SHORT_UNIT_BYTES (UINT64_C(1) << 16)

/* The lowest place for so many bytes, and the index that the region there gets.  False: none. */
static bool find_place(const struct device *device, uint64_t bytes, uint64_t *address,
                       size_t *index)
{
    uint64_t start = 0;
    for (size_t i = 0; i <= device->region_count; i++) {
        const bool is_last = i == device->region_count;
        const uint64_t end = is_last ? device->capacity_bytes : device->regions[i].address;
        if (start <= end && bytes <= end - start) {
            *address = start;
            *index = i;
            return true;
        }
        if (!is_last) {
            start = align_up(end + device->regions[i].size_bytes, TARGET_REGION_ALIGN_BYTES);
        }
    }
    return false;
}

static void insert_region(struct device *device, size_t index, const struct device_region *region)
{
    device->regions = array_grown(device->regions, device->region_count, &device->region_capacity,
                                  sizeof *region);
    memmove(&device->regions[index + 1], &device->regions[index],
            (device->region_count - index) * sizeof *region);
    device->regions[index] = *region;
    device->region_count++;
    device->region_changes++;
    CHECK_COSTLY(device->region_count <= device->region_capacity);
    CHECK_COSTLY(region->size_bytes <= device->capacity_bytes - region->address);
}

static uint64_t find_half(uint64_t bytes)
{
    const uint64_t half = bytes / 2 + bytes % 2;
    return half < SHORT_UNIT_BYTES ? half : half - half % SHORT_UNIT_BYTES;
}

/* Returns the bytes that are granted: half of them if FAULT_REGION_SHORT strikes. */
static uint64_t find_granted(struct device *device, uint64_t bytes)
{
    if (faults_strike(&device->faults, FAULT_REGION_SHORT) == NULL) {
        return bytes;
    }
    device->faults.fired |= 1u << FAULT_REGION;
    return find_half(bytes);
}

enum device_result device_region_take(void *context, uint64_t bytes, struct device_region *region)
{
    struct device *device = context;
    struct device_call call = begin_call(device, DEVICE_CALL_REGION_TAKE);
    size_t index = 0;
    call.from = bytes;
    if (is_over_bound(device) || faults_refuse(&device->faults, FAULT_REGION) || bytes == 0 ||
        !find_place(device, bytes, &call.to, &index)) {
        return end_call(device, &call, DEVICE_REFUSED);
    }
    call.bytes = find_granted(device, bytes);
    if (device->is_pooled_by_regions && !pool_take(device, call.bytes)) {
        call.bytes = 0;
        return end_call(device, &call, DEVICE_REFUSED);
    }
    *region = (struct device_region){call.to, call.bytes};
    insert_region(device, index, region);
    return end_call(device, &call, DEVICE_OK);
}

static size_t find_region(const struct device *device, uint64_t address)
{
    size_t i = 0;
    while (i < device->region_count && device->regions[i].address != address) {
        i++;
    }
    return i;
}

void device_region_give(void *context, uint64_t address)
{
    struct device *device = context;
    const size_t index = find_region(device, address);
    /* A call that cannot fail begins here: no witness hears of it, and the clock does not jump. */
    device->unseen_from = UINT64_MAX;
    struct device_call call = {.kind = DEVICE_CALL_REGION_GIVE,
                               .from = address,
                               .completed_before = device_seen_count(device)};
    if (index == device->region_count) {
        device->wrong_address = device->gave_wrongly ? device->wrong_address : address;
        device->gave_wrongly = true;
        (void)end_call(device, &call, DEVICE_REFUSED);
        return;
    }
    call.bytes = device->regions[index].size_bytes;
    if (device->is_pooled_by_regions) {
        pool_give(device, call.bytes);
    }
    device->region_count--;
    memmove(&device->regions[index], &device->regions[index + 1],
            (device->region_count - index) * sizeof *device->regions);
    device->region_changes++;
    (void)end_call(device, &call, DEVICE_OK);
}

const struct device_region *device_regions(const struct device *device, size_t *count)
{
    *count = device->region_count;
    return device->regions;
}

uint64_t device_region_changes(const struct device *device)
{
    return device->region_changes;
}

bool device_gave_wrongly(const struct device *device, uint64_t *address)
{
    *address = device->wrong_address;
    return device->gave_wrongly;
}
