/* Which of its addresses have memory behind them: a target that sleeps gives it back. */
#include "harness/base/check.h"
#include "harness/device/private/device_state.h"

void device_unmap(void *context, uint64_t address, uint64_t bytes)
{
    struct device *device = context;
    if (bytes == 0 || !is_in_range(device, address, bytes)) {
        return;
    }
    contents_erase(&device->contents, address, address + bytes);
    span_map_erase(&device->unmapped, address, address + bytes);
    span_map_insert(&device->unmapped, &(struct span){.start = address, .end = address + bytes});
    /* What had arrived of a copy is lost with the rest. */
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
    span_map_erase(&device->unmapped, address, address + bytes);
    return end_call(device, &call, DEVICE_OK);
}

uint64_t device_mapped_bytes(const struct device *device)
{
    uint64_t mapped_bytes = device->capacity_bytes;
    struct span_cursor cursor;
    struct span span;
    bool found = device->unmapped.count > 0 && span_map_first(&device->unmapped, &cursor);
    for (; found; found = span_map_next(&device->unmapped, &cursor)) {
        span_map_get(&device->unmapped, &cursor, &span);
        CHECK_COSTLY(span.end - span.start <= mapped_bytes);
        mapped_bytes -= span.end - span.start;
    }
    return mapped_bytes;
}
