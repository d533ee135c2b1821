#include "harness/device/private/device_state.h"
#include "harness/base/check.h"

#include <stdlib.h>

/* --- life --- */

struct device *device_create(uint64_t capacity_bytes, struct timeline *timeline)
{
    CHECK(capacity_bytes >= 1);
    CHECK(timeline != NULL);
    struct device *device = calloc(1, sizeof *device);
    CHECK(device != NULL);
    device->capacity_bytes = capacity_bytes;
    device->timeline = timeline;
    device->call_count_max = device->unseen_from = UINT64_MAX;
    contents_init(&device->contents);
    span_map_init(&device->unmapped);
    host_memory_init(&device->host_memory);
    device->services = device_offered(device);
    return device;
}

void device_destroy(struct device *device)
{
    if (device == NULL) {
        return;
    }
    CHECK_COSTLY(device->stages != NULL || device->stage_count == 0);
    CHECK_COSTLY(device->call_count <= device->call_capacity);
    device_leave_pool(device);
    for (size_t i = 0; i < device->stage_count; i++) {
        stage_end(device, &device->stages[i]);
    }
    contents_deinit(&device->contents);
    span_map_deinit(&device->unmapped);
    host_memory_deinit(&device->host_memory);
    free(device->stages);
    free(device->half_unloaded);
    free(device->regions);
    free(device->calls);
    free(device);
}

const struct device_services *device_services(struct device *device)
{
    return &device->services;
}

/* --- the op under way --- */

void device_begin_op(struct device *device, uint64_t call_count_max)
{
    CHECK_COSTLY(device->call_count <= device->call_capacity);
    CHECK_COSTLY(device->calls != NULL || device->call_count == 0);
    device->is_in_op = true;
    device->call_count_max = call_count_max;
    device->call_count = 0;
    device->total_count = 0;
    device->look_count = device->poll_count = 0;
    device->unseen_from = UINT64_MAX;
    device->faults.fired = device->faults.struck = 0;
    device->hung = device->is_runaway = false;
    device->left_range = false;
    device->pool_refusal = (struct device_pool_refusal){0};
}

void device_join_op(struct device *device, uint64_t call_count_max)
{
    CHECK_COSTLY(device->call_count <= device->call_capacity);
    if (__builtin_add_overflow(device->call_count_max, call_count_max, &device->call_count_max)) {
        device->call_count_max = UINT64_MAX;
    }
    CHECK_COSTLY(device->call_count_max >= call_count_max);
}

static inline bool was_quiet(const struct device *device)
{
    return (device->total_count | device->call_count | device->faults.fired |
            device->faults.struck | device->unmapped.count | device->hung | device->left_range |
            (device->unseen_from ^ UINT64_MAX)) == 0;
}

bool device_end_op(struct device *device)
{
    CHECK_COSTLY(device->call_count <= device->call_capacity);
    CHECK_COSTLY(!device->is_runaway || device->hung);
    device->is_in_op = false;
    return was_quiet(device);
}

const struct device_call *device_calls(const struct device *device, size_t *count)
{
    CHECK_COSTLY(device->calls != NULL || device->call_count == 0);
    CHECK_COSTLY(device->call_count <= device->call_capacity);
    static const struct device_call none;
    *count = device->call_count;
    return device->calls == NULL ? &none : device->calls;
}

void device_set_clock(struct device *device, const struct setup_clock *clock)
{
    device->clock = *clock;
}

bool device_hung(const struct device *device)
{
    return device->hung;
}

uint64_t device_call_total(const struct device *device)
{
    return device->total_count + device->look_count;
}

bool device_was_quiet(const struct device *device)
{
    return was_quiet(device);
}

uint64_t device_seen_count(const struct device *device)
{
    const uint64_t completed_count = timeline_completed_count(device->timeline);
    return device->unseen_from < completed_count ? device->unseen_from : completed_count;
}

bool device_left_range(const struct device *device)
{
    return device->left_range;
}

/* --- host memory --- */

uint64_t device_host_bytes(const struct device *device)
{
    return device->host_memory.held_bytes;
}

struct host_memory *device_host_memory(struct device *device)
{
    return &device->host_memory;
}

bool device_keeps_host_memory(struct device *device, uint64_t item_count)
{
    struct host_memory *memory = &device->host_memory;
    host_memory_allow(memory, item_count);
    return memory->fault[0] == '\0' && memory->held_bytes <= host_memory_bytes_max(memory);
}

/* --- faults --- */

enum fault_kind device_call_refusal(enum device_call_kind kind)
{
    static const enum fault_kind refusals[DEVICE_CALL_KIND_COUNT] = {
        [DEVICE_CALL_COPY] = FAULT_COPY,          [DEVICE_CALL_STAGE_OUT] = FAULT_COPY,
        [DEVICE_CALL_STAGE_IN] = FAULT_COPY,      [DEVICE_CALL_WAIT] = FAULT_WAIT,
        [DEVICE_CALL_UNLOAD] = FAULT_UNLOAD,      [DEVICE_CALL_HOST_ALLOC] = FAULT_HOST_MEMORY,
        [DEVICE_CALL_REGION_TAKE] = FAULT_REGION, [DEVICE_CALL_REGION_GIVE] = FAULT_REGION,
        [DEVICE_CALL_MAP] = FAULT_COPY,
    };
    CHECK((unsigned)kind < DEVICE_CALL_KIND_COUNT);
    return refusals[kind];
}

void device_arm(struct device *device, const struct device_fault *fault)
{
    faults_arm(&device->faults, fault);
}

void device_disarm_all(struct device *device)
{
    for (unsigned kind = 0; kind < FAULT_KIND_COUNT; kind++) {
        faults_arm(&device->faults, &(struct device_fault){.kind = (enum fault_kind)kind});
    }
}

void device_pin(struct device *device, bool is_pinned)
{
    device->faults.is_pinned = is_pinned;
}

void device_rename(struct device *device)
{
    device->is_renamed = true;
}

void device_set_resumes(struct device *device, bool resumes)
{
    device->faults.resumes = resumes;
}

uint32_t device_faults_fired(const struct device *device)
{
    return device->faults.fired;
}

uint32_t device_faults_struck(const struct device *device)
{
    return device->faults.struck;
}

/* --- who else takes part --- */

void device_set_images(struct device *device, const struct device_images *images)
{
    CHECK(images->owner_of != NULL);
    device->images = *images;
}

void device_set_waiter(struct device *device, const struct device_waiter *waiter)
{
    CHECK_COSTLY(waiter == NULL || waiter->wait != NULL);
    CHECK_COSTLY(waiter == NULL || waiter->looked != NULL);
    CHECK_COSTLY(waiter == NULL || waiter->gave_back != NULL);
    device->waiter = waiter;
}

void device_set_witness(struct device *device, device_witness *witness, void *context)
{
    CHECK_COSTLY(witness != NULL || context == NULL);
    device->witness = witness;
    device->witness_context = context;
}
