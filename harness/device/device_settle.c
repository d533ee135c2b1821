#include "harness/device/device_settle.h"

#include "harness/device/private/device_state.h"

void device_settle_moved(struct device *device)
{
    size_t count = 0;
    const struct device_call *calls = device_calls(device, &count);
    for (size_t i = 0; i < count; i++) {
        const enum device_call_kind kind = calls[i].kind;
        if (kind == DEVICE_CALL_COPY || kind == DEVICE_CALL_STAGE_OUT) {
            contents_erase(&device->contents, calls[i].from, calls[i].from + calls[i].bytes);
        }
        if (kind == DEVICE_CALL_COPY || kind == DEVICE_CALL_STAGE_IN) {
            contents_erase(&device->contents, calls[i].to, calls[i].to + calls[i].bytes);
        }
    }
    contents_keep(&device->contents);
    device->begun.done_bytes = 0;
}
