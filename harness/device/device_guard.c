#include "harness/device/device_guard.h"

#include "harness/base/check.h"

#include <stdlib.h>

struct guarded_device {
    struct device_guard *guard;
    const struct device_services *device;
    struct device_services services;
};

/* --- the guard --- */

void device_guard_init(struct device_guard *guard)
{
    CHECK(pthread_mutex_init(&guard->mutex, NULL) == 0);
    CHECK(pthread_cond_init(&guard->changed, NULL) == 0);
}

void device_guard_deinit(struct device_guard *guard)
{
    CHECK(pthread_cond_destroy(&guard->changed) == 0);
    CHECK(pthread_mutex_destroy(&guard->mutex) == 0);
}

void device_guard_enter(struct device_guard *guard)
{
    CHECK(pthread_mutex_lock(&guard->mutex) == 0);
}

void device_guard_leave(struct device_guard *guard)
{
    CHECK(pthread_mutex_unlock(&guard->mutex) == 0);
}

void device_guard_tell(struct device_guard *guard)
{
    CHECK(pthread_cond_broadcast(&guard->changed) == 0);
}

void device_guard_await(struct device_guard *guard)
{
    CHECK(pthread_cond_wait(&guard->changed, &guard->mutex) == 0);
}

/* --- services --- */

static const struct device_services *enter_guard(const struct guarded_device *guarded)
{
    device_guard_enter(guarded->guard);
    return guarded->device;
}

static void leave_guard(const struct guarded_device *guarded)
{
    device_guard_leave(guarded->guard);
}

/* A fault may have struck in the call: time passed, events completed or were lost. */
static enum device_result leave_changed_guard(const struct guarded_device *guarded,
                                              enum device_result result)
{
    device_guard_tell(guarded->guard);
    leave_guard(guarded);
    return result;
}

static enum device_result guarded_copy(void *context, uint64_t from, uint64_t to, uint64_t bytes)
{
    const struct device_services *device = enter_guard(context);
    return leave_changed_guard(context, device->copy(device->context, from, to, bytes));
}

static enum device_result guarded_stage_out(void *context, uint64_t from, uint64_t bytes,
                                            uint64_t *stage)
{
    const struct device_services *device = enter_guard(context);
    return leave_changed_guard(context, device->stage_out(device->context, from, bytes, stage));
}

static enum device_result guarded_stage_in(void *context, uint64_t stage, uint64_t to)
{
    const struct device_services *device = enter_guard(context);
    return leave_changed_guard(context, device->stage_in(device->context, stage, to));
}

static void guarded_stage_drop(void *context, uint64_t stage)
{
    const struct device_services *device = enter_guard(context);
    device->stage_drop(device->context, stage);
    leave_guard(context);
}

static uint64_t guarded_completed_count(void *context)
{
    const struct device_services *device = enter_guard(context);
    const uint64_t count = device->completed_count(device->context);
    leave_guard(context);
    return count;
}

static bool guarded_event_done(void *context, uint64_t event)
{
    const struct device_services *device = enter_guard(context);
    const bool is_done = device->event_done(device->context, event);
    leave_guard(context);
    return is_done;
}

static enum device_result guarded_event_wait(void *context, uint64_t event)
{
    const struct device_services *device = enter_guard(context);
    return leave_changed_guard(context, device->event_wait(device->context, event));
}

static enum device_result guarded_unload(void *context, uint64_t program)
{
    const struct device_services *device = enter_guard(context);
    return leave_changed_guard(context, device->unload(device->context, program));
}

static uint64_t guarded_clock_ns(void *context)
{
    const struct device_services *device = enter_guard(context);
    const uint64_t now_ns = device->clock_ns(device->context);
    leave_guard(context);
    return now_ns;
}

static void *guarded_host_alloc(void *context, size_t bytes)
{
    const struct device_services *device = enter_guard(context);
    void *memory = device->host_alloc(device->context, bytes);
    leave_guard(context);
    return memory;
}

static void guarded_host_free(void *context, void *memory, size_t bytes)
{
    const struct device_services *device = enter_guard(context);
    device->host_free(device->context, memory, bytes);
    leave_guard(context);
}

static void guarded_unmap(void *context, uint64_t address, uint64_t bytes)
{
    const struct device_services *device = enter_guard(context);
    device->unmap(device->context, address, bytes);
    leave_guard(context);
}

static enum device_result guarded_map(void *context, uint64_t address, uint64_t bytes)
{
    const struct device_services *device = enter_guard(context);
    return leave_changed_guard(context, device->map(device->context, address, bytes));
}

static enum device_result guarded_stage_copy(void *context, uint64_t stage, uint64_t to)
{
    const struct device_services *device = enter_guard(context);
    return leave_changed_guard(context, device->stage_copy(device->context, stage, to));
}

static enum device_result guarded_region_take(void *context, uint64_t bytes,
                                              struct device_region *region)
{
    const struct device_services *device = enter_guard(context);
    return leave_changed_guard(context, device->region_take(device->context, bytes, region));
}

static void guarded_region_give(void *context, uint64_t address)
{
    const struct device_services *device = enter_guard(context);
    device->region_give(device->context, address);
    leave_guard(context);
}

static uint32_t guarded_event_stream(void *context, uint64_t event)
{
    const struct device_services *device = enter_guard(context);
    const uint32_t stream = device->event_stream(device->context, event);
    leave_guard(context);
    return stream;
}

static uint64_t guarded_last_event(void *context, uint32_t stream)
{
    const struct device_services *device = enter_guard(context);
    const uint64_t event = device->last_event(device->context, stream);
    leave_guard(context);
    return event;
}

struct guarded_device *guarded_device_create(struct device_guard *guard,
                                             const struct device_services *device)
{
    CHECK(guard != NULL);
    struct guarded_device *guarded = malloc(sizeof *guarded);
    CHECK(guarded != NULL);
    *guarded = (struct guarded_device){.guard = guard, .device = device};
    guarded->services = (struct device_services){
        .size_bytes = sizeof(struct device_services),
        .context = guarded,
        .copy = guarded_copy,
        .stage_out = guarded_stage_out,
        .stage_in = guarded_stage_in,
        .stage_drop = guarded_stage_drop,
        .completed_count = guarded_completed_count,
        .event_done = guarded_event_done,
        .event_wait = guarded_event_wait,
        .unload = guarded_unload,
        .clock_ns = guarded_clock_ns,
        .host_alloc = guarded_host_alloc,
        .host_free = guarded_host_free,
        .unmap = guarded_unmap,
        .map = guarded_map,
        .stage_copy = guarded_stage_copy,
        .region_take = guarded_region_take,
        .region_give = guarded_region_give,
        .event_stream = guarded_event_stream,
        .last_event = guarded_last_event,
    };
    return guarded;
}

void guarded_device_destroy(struct guarded_device *guarded)
{
    free(guarded);
}

const struct device_services *guarded_device_services(const struct guarded_device *guarded)
{
    return &guarded->services;
}
