#include "tests/allocator/hbm_device.h"

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
    for (int i = 0; i < DEVICE_TOKENS_MAX; i++) {
        free(device->staged[i]);
    }
    free(device->torn_bytes);
    free(device->memory);
}

void hbm_device_complete(struct hbm_device *device, uint64_t event)
{
    if (!atomic_exchange(&device->done[event], true)) {
        atomic_fetch_add(&device->completed, 1);
    }
}

/* ---- faults ---- */

#define PARTIAL_ANSWERS 3u

void hbm_device_arm(struct hbm_device *device, const struct device_fault *fault)
{
    device->fault = *fault;
    device->fault_calls = 0;
    device->fault_count = 0;
}

static void events_pass(struct hbm_device *device, uint64_t but, bool one)
{
    for (uint64_t event = 1; event <= device->event_newest; event++) {
        if (event == but || device->lost[event] || device->done[event]) {
            continue;
        }
        hbm_device_complete(device, event);
        if (one) {
            return;
        }
    }
}

/* Counts a call of that kind; true when the fault strikes it and is of the kind asked for. */
static bool fault_strikes(struct hbm_device *device, enum device_call call,
                          enum device_fault_kind kind)
{
    const struct device_fault *fault = &device->fault;
    if (fault->at == 0 || fault->kind != kind || (fault->calls & call) == 0) {
        return false;
    }
    device->fault_calls++;
    bool strikes = fault->for_ever ? device->fault_calls >= fault->at
                                   : device->fault_calls == fault->at;
    device->fault_count += strikes;
    return strikes;
}

/* Before each call that can fail. */
static bool call_refused(struct hbm_device *device, enum device_call call)
{
    if (fault_strikes(device, call, DEVICE_JUMPS)) {
        events_pass(device, 0, device->fault.for_ever);
    }
    return fault_strikes(device, call, DEVICE_REFUSES);
}

/* Whether to answer PARTIAL.  A call that goes on must be the one that was begun. */
static bool call_torn(struct hbm_device *device, const struct device_torn *call)
{
    if (device->torn.call != 0) {
        device->torn_broken += memcmp(&device->torn, call, sizeof *call) != 0;
        if (device->torn_left-- != 0) {
            return true;
        }
        device->torn.call = 0;
        return false;
    }
    if (!fault_strikes(device, call->call, DEVICE_HALVES)) {
        return false;
    }
    device->torn = *call;
    device->torn_left = PARTIAL_ANSWERS - 1;
    return true;
}

/* ---- services ---- */

/* What a torn copy has not yet written holds nothing of use, wherever that is. */
static void copy_tear(struct hbm_device *device, uint64_t from, uint64_t to, uint64_t bytes)
{
    if (device->torn_bytes != NULL || device->memory == NULL) {
        return;
    }
    device->torn_bytes = malloc(bytes);
    memcpy(device->torn_bytes, device->memory + from, bytes);
    memset(device->memory + to, 0xEE, bytes);
}

static void copy_finish(struct hbm_device *device, uint64_t from, uint64_t to, uint64_t bytes)
{
    if (device->memory == NULL) {
        return;
    }
    if (device->torn_bytes == NULL) {
        memmove(device->memory + to, device->memory + from, bytes);
    } else {
        memcpy(device->memory + to, device->torn_bytes, bytes);
    }
    free(device->torn_bytes);
    device->torn_bytes = NULL;
}

static enum hbm_service_result device_copy(void *context, uint64_t from, uint64_t to,
                                           uint64_t bytes)
{
    struct hbm_device *device = context;
    struct device_torn call;
    memset(&call, 0, sizeof call);
    call.call = DEVICE_CALL_COPY, call.from = from, call.to = to, call.bytes = bytes;
    if (device->torn.call == 0 && call_refused(device, DEVICE_CALL_COPY)) {
        return HBM_SERVICE_REFUSED;
    }
    if (call_torn(device, &call)) {
        copy_tear(device, from, to, bytes);
        return HBM_SERVICE_PARTIAL;
    }
    copy_finish(device, from, to, bytes);
    return HBM_SERVICE_OK;
}

static enum hbm_service_result device_stage_out(void *context, uint64_t from, uint64_t bytes,
                                                uint64_t *token)
{
    struct hbm_device *device = context;
    device->torn_broken += device->torn.call != 0;
    if (call_refused(device, DEVICE_CALL_COPY)) {
        return HBM_SERVICE_REFUSED;
    }
    for (uint64_t i = 0; i < DEVICE_TOKENS_MAX; i++) {
        if (device->staged[i] != NULL) {
            continue;
        }
        device->staged[i] = malloc(bytes);
        if (device->memory != NULL) {
            memcpy(device->staged[i], device->memory + from, bytes);
        }
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

static enum hbm_service_result device_stage_in(void *context, uint64_t token, uint64_t to,
                                               uint64_t bytes)
{
    struct hbm_device *device = context;
    struct device_torn call;
    memset(&call, 0, sizeof call);
    call.call = DEVICE_CALL_COPY, call.from = token, call.to = to, call.bytes = bytes;
    if (device->torn.call == 0 && call_refused(device, DEVICE_CALL_COPY)) {
        return HBM_SERVICE_REFUSED;
    }
    if (call_torn(device, &call)) {
        if (device->memory != NULL) {
            memset(device->memory + to, 0xEE, bytes);
        }
        return HBM_SERVICE_PARTIAL;
    }
    if (device->memory != NULL) {
        memcpy(device->memory + to, device->staged[token], bytes);
    }
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
    if (call_refused(device, DEVICE_CALL_WAIT)) {
        return HBM_SERVICE_REFUSED;
    }
    if (fault_strikes(device, DEVICE_CALL_WAIT, DEVICE_TIMES_OUT)) {
        events_pass(device, event, false);
        return HBM_SERVICE_REFUSED;
    }
    if (device->lost[event]) {
        return HBM_SERVICE_LOST;
    }
    hbm_device_complete(device, event);
    return HBM_SERVICE_OK;
}

static enum hbm_service_result device_unload(void *context, uint64_t program_id)
{
    struct hbm_device *device = context;
    struct device_torn call;
    memset(&call, 0, sizeof call);
    call.call = DEVICE_CALL_UNLOAD, call.from = program_id;
    if (device->torn.call == 0 && call_refused(device, DEVICE_CALL_UNLOAD)) {
        return HBM_SERVICE_REFUSED;
    }
    if (call_torn(device, &call)) {
        return HBM_SERVICE_PARTIAL;
    }
    device->unload_count++;
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
    if (call_refused(device, DEVICE_CALL_HOST)) {
        return NULL;
    }
    if (device->host_allocs_until_refusal != 0 && --device->host_allocs_until_refusal == 0) {
        return NULL;
    }
    atomic_fetch_add(&device->host_bytes, bytes);
    void *memory = malloc(bytes);
    if (memory != NULL) {
        memset(memory, 0x5a, bytes); /* so that nobody finds zeros in it by luck */
    }
    return memory;
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
