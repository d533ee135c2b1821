/* Tracks which addresses have memory behind them: a target that sleeps gives it back. */
#include "harness/base/check.h"
#include "harness/device/private/device_state.h"

/* Returns how many bytes of [start, end) are unmapped. */
static uint64_t find_unmapped_bytes(const struct device *device, uint64_t start, uint64_t end)
{
    uint64_t unmapped_bytes = 0;
    struct span span;
    if (device->unmapped.count == 0) {
        return 0;
    }
    EACH_SPAN_BETWEEN(&device->unmapped, start, end, &span) {
        const uint64_t first = span.start > start ? span.start : start;
        const uint64_t last = span.end < end ? span.end : end;
        unmapped_bytes += last - first;
    }
    CHECK_COSTLY(unmapped_bytes <= end - start);
    return unmapped_bytes;
}

uint64_t device_mapped_bytes(const struct device *device)
{
    return device->capacity_bytes - find_unmapped_bytes(device, 0, device->capacity_bytes);
}

void device_unmap(void *context, uint64_t address, uint64_t bytes)
{
    struct device *device = context;
    if (bytes == 0 || !is_in_range(device, address, bytes)) {
        return;
    }
    pool_give(device, bytes - find_unmapped_bytes(device, address, address + bytes));
    contents_erase(&device->contents, address, address + bytes);
    span_map_erase(&device->unmapped, address, address + bytes);
    span_map_insert(&device->unmapped, &(struct span){.start = address, .end = address + bytes});
    /* The part of a copy that had arrived is lost with the rest. */
    device->begun.is_open = false;
}

enum device_result device_map(void *context, uint64_t address, uint64_t bytes)
{
    struct device *device = context;
    struct device_call call = begin_call(device, DEVICE_CALL_MAP);
    call.to = address;
    call.bytes = bytes;
    if (is_over_bound(device) || faults_refuse(&device->faults, FAULT_COPY) ||
        !is_in_range(device, address, bytes)) {
        return end_call(device, &call, DEVICE_REFUSED);
    }
    const uint64_t more_bytes = find_unmapped_bytes(device, address, address + bytes);
    if (!pool_take(device, more_bytes)) {
        device->faults.fired |= 1u << FAULT_COPY;
        return end_call(device, &call, DEVICE_REFUSED);
    }
    span_map_erase(&device->unmapped, address, address + bytes);
    return end_call(device, &call, DEVICE_OK);
}
