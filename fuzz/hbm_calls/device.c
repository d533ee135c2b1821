#include "fuzz/hbm_calls/private/state.h"

#include <stdlib.h>

enum { CALL_NS = 1000 };

/* OK when the service does what it should. */
static enum hbm_service_result answer_call(struct calls_device *device, enum calls_service service)
{
    struct calls_fault *fault = &device->faults[service];
    device->clock_ns += CALL_NS;
    if (fault->count == 0) {
        return HBM_SERVICE_OK;
    }
    if (fault->after > 0) {
        fault->after--;
        return HBM_SERVICE_OK;
    }
    fault->count--;
    device->refusal_count += !fault->is_partial;
    return fault->is_partial ? HBM_SERVICE_PARTIAL : HBM_SERVICE_REFUSED;
}

static enum hbm_service_result service_copy(void *context, uint64_t from, uint64_t to,
                                            uint64_t bytes)
{
    (void)from, (void)to, (void)bytes;
    return answer_call(context, CALLS_COPY);
}

static enum hbm_service_result service_stage_out(void *context, uint64_t from, uint64_t bytes,
                                                 uint64_t *token)
{
    struct calls_device *device = context;
    (void)from, (void)bytes;
    const enum hbm_service_result result = answer_call(device, CALLS_STAGE_OUT);
    if (result == HBM_SERVICE_OK) {
        *token = ++device->stage_count;
    }
    return result;
}

static enum hbm_service_result service_stage_in(void *context, uint64_t token, uint64_t to,
                                                uint64_t bytes)
{
    (void)token, (void)to, (void)bytes;
    return answer_call(context, CALLS_STAGE_IN);
}

static void service_stage_drop(void *context, uint64_t token)
{
    (void)context, (void)token;
}

static uint64_t service_completed_count(void *context)
{
    const struct calls_device *device = context;
    return device->completed_count;
}

static bool service_event_done(void *context, uint64_t event)
{
    const struct calls_device *device = context;
    return device->is_done[event];
}

static enum hbm_service_result service_event_wait(void *context, uint64_t event)
{
    struct calls_device *device = context;
    const enum hbm_service_result result = answer_call(device, CALLS_WAIT);
    if (result == HBM_SERVICE_OK && device->is_lost[event] && !device->is_done[event]) {
        return HBM_SERVICE_LOST;
    }
    if (result == HBM_SERVICE_OK) {
        calls_device_complete(device, event);
    }
    return result;
}

static enum hbm_service_result service_unload(void *context, uint64_t program_id)
{
    (void)program_id;
    return answer_call(context, CALLS_UNLOAD);
}

static uint64_t service_clock_ns(void *context)
{
    const struct calls_device *device = context;
    return device->clock_ns;
}

static void *service_host_alloc(void *context, size_t bytes)
{
    struct calls_device *device = context;
    void *memory = answer_call(device, CALLS_HOST_MEMORY) == HBM_SERVICE_OK ? malloc(bytes) : NULL;
    device->host_bytes += memory != NULL ? bytes : 0;
    return memory;
}

static void service_host_free(void *context, void *memory, size_t bytes)
{
    struct calls_device *device = context;
    device->host_bytes -= bytes;
    free(memory);
}

struct hbm_services calls_device_services(struct calls_device *device)
{
    return (struct hbm_services){
        .context = device,
        .copy = service_copy,
        .stage_out = service_stage_out,
        .stage_in = service_stage_in,
        .stage_drop = service_stage_drop,
        .completed_count = service_completed_count,
        .event_done = service_event_done,
        .event_wait = service_event_wait,
        .unload = service_unload,
        .clock_ns = service_clock_ns,
        .host_alloc = service_host_alloc,
        .host_free = service_host_free,
    };
}

void calls_device_complete(struct calls_device *device, uint64_t event)
{
    device->completed_count += !device->is_done[event];
    device->is_done[event] = true;
}

void calls_device_lose(struct calls_device *device, uint64_t event)
{
    device->is_lost[event] = true;
}

void calls_device_calm(struct calls_device *device)
{
    for (unsigned i = 0; i < CALLS_SERVICE_COUNT; i++) {
        device->faults[i] = (struct calls_fault){0};
    }
    for (uint64_t event = 0; event < CALLS_EVENTS_MAX; event++) {
        calls_device_complete(device, event);
    }
}
