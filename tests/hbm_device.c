#include "tests/hbm_device.h"

#include <stdlib.h>
#include <string.h>

void hbm_device_init(struct hbm_device *device, uint64_t memory_bytes)
{
    memset(device, 0, sizeof *device);
    device->capacity_bytes = memory_bytes;
    device->memory = memory_bytes == 0 ? NULL : calloc(1, memory_bytes);
}

void hbm_device_deinit(struct hbm_device *device)
{
    for (int i = 0; i < DEVICE_TOKENS_MAX; i++)
        free(device->staged[i]);
    free(device->memory);
}

void hbm_device_complete(struct hbm_device *device, uint64_t event)
{
    if (!atomic_exchange(&device->done[event], true))
        atomic_fetch_add(&device->completed, 1);
}

static bool refuse(uint64_t *left)
{
    if (*left == 0)
        return false;
    (*left)--;
    return true;
}

static enum hbm_service_result device_copy(void *context, uint64_t from, uint64_t to, uint64_t bytes)
{
    struct hbm_device *device = context;
    if (device->copies_before_refusal != 0)
        device->copies_before_refusal--;
    else if (refuse(&device->copies_refused))
        return HBM_SERVICE_REFUSED;
    device->copies++;
    if (device->memory != NULL)
        memmove(device->memory + to, device->memory + from, bytes);
    return HBM_SERVICE_OK;
}

static enum hbm_service_result device_stage_out(void *context, uint64_t from, uint64_t bytes, uint64_t *token)
{
    struct hbm_device *device = context;
    for (uint64_t i = 0; i < DEVICE_TOKENS_MAX; i++) {
        if (device->staged[i] != NULL)
            continue;
        device->staged[i] = malloc(bytes);
        if (device->memory != NULL)
            memcpy(device->staged[i], device->memory + from, bytes);
        device->stage_outs++;
        *token = i;
        return HBM_SERVICE_OK;
    }
    return HBM_SERVICE_REFUSED;
}

static void device_stage_drop(void *context, uint64_t token)
{
    struct hbm_device *device = context;
    free(device->staged[token]);
    device->staged[token] = NULL;
}

static enum hbm_service_result device_stage_in(void *context, uint64_t token, uint64_t to, uint64_t bytes)
{
    struct hbm_device *device = context;
    if (refuse(&device->stage_ins_refused))
        return HBM_SERVICE_REFUSED;
    if (device->memory != NULL)
        memcpy(device->memory + to, device->staged[token], bytes);
    device->stage_ins++;
    device_stage_drop(context, token);
    return HBM_SERVICE_OK;
}

static uint64_t device_completed_count(void *context)
{
    struct hbm_device *device = context;
    return atomic_load(&device->completed);
}

static bool device_event_done(void *context, uint64_t event)
{
    struct hbm_device *device = context;
    return atomic_load(&device->done[event]);
}

static enum hbm_service_result device_event_wait(void *context, uint64_t event)
{
    struct hbm_device *device = context;
    atomic_fetch_add(&device->waits, 1);
    if (device->lost[event])
        return HBM_SERVICE_LOST;
    hbm_device_complete(device, event);
    return HBM_SERVICE_OK;
}

static enum hbm_service_result device_unload(void *context, uint64_t program_id)
{
    struct hbm_device *device = context;
    if (refuse(&device->unloads_refused))
        return HBM_SERVICE_REFUSED;
    device->unloads[device->unload_count++ % DEVICE_UNLOADS_MAX] = program_id;
    return HBM_SERVICE_OK;
}

static uint64_t device_clock_ns(void *context)
{
    struct hbm_device *device = context;
    return device->clock++;
}

static void *device_host_alloc(void *context, size_t bytes)
{
    struct hbm_device *device = context;
    if (device->host_allocs_until_refusal != 0 && --device->host_allocs_until_refusal == 0)
        return NULL;
    atomic_fetch_add(&device->host_bytes, bytes);
    return malloc(bytes);
}

static void device_host_free(void *context, void *memory, size_t bytes)
{
    struct hbm_device *device = context;
    atomic_fetch_sub(&device->host_bytes, bytes);
    free(memory);
}

struct hbm_services hbm_device_services(struct hbm_device *device)
{
    return (struct hbm_services){
        .context = device,
        .copy = device_copy,
        .stage_out = device_stage_out,
        .stage_in = device_stage_in,
        .stage_drop = device_stage_drop,
        .completed_count = device_completed_count,
        .event_done = device_event_done,
        .event_wait = device_event_wait,
        .unload = device_unload,
        .clock_ns = device_clock_ns,
        .host_alloc = device_host_alloc,
        .host_free = device_host_free,
    };
}
