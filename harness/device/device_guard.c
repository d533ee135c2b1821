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

/* A service that says no result, that says what it knows, and that may change what others see. */
#define TELLS(name, parameters, ...)                                 \
    static void guarded_##name parameters                            \
    {                                                                \
        const struct device_services *device = enter_guard(context); \
        device->name(device->context, __VA_ARGS__);                  \
        leave_guard(context);                                        \
    }
#define ASKS(type, name, parameters, ...)                            \
    static type guarded_##name parameters                            \
    {                                                                \
        const struct device_services *device = enter_guard(context); \
        type const answer = device->name(__VA_ARGS__);               \
        leave_guard(context);                                        \
        return answer;                                               \
    }
#define CHANGES(name, parameters, ...)                                                   \
    static enum device_result guarded_##name parameters                                  \
    {                                                                                    \
        const struct device_services *device = enter_guard(context);                     \
        return leave_changed_guard(context, device->name(device->context, __VA_ARGS__)); \
    }

CHANGES(copy, (void *context, uint64_t from, uint64_t to, uint64_t bytes), from, to, bytes)
CHANGES(stage_out, (void *context, uint64_t from, uint64_t bytes, uint64_t *stage), from, bytes,
        stage)
CHANGES(stage_in, (void *context, uint64_t stage, uint64_t to), stage, to)
CHANGES(stage_copy, (void *context, uint64_t stage, uint64_t to), stage, to)
CHANGES(event_wait, (void *context, uint64_t event), event)
CHANGES(unload, (void *context, uint64_t program), program)
CHANGES(map, (void *context, uint64_t address, uint64_t bytes), address, bytes)
CHANGES(region_take, (void *context, uint64_t bytes, struct device_region *region), bytes, region)
TELLS(stage_drop, (void *context, uint64_t stage), stage)
TELLS(host_free, (void *context, void *memory, size_t bytes), memory, bytes)
TELLS(unmap, (void *context, uint64_t address, uint64_t bytes), address, bytes)
TELLS(region_give, (void *context, uint64_t address), address)
ASKS(uint64_t, completed_count, (void *context), device->context)
ASKS(bool, event_done, (void *context, uint64_t event), device->context, event)
ASKS(uint64_t, clock_ns, (void *context), device->context)
ASKS(void *, host_alloc, (void *context, size_t bytes), device->context, bytes)
ASKS(uint32_t, event_stream, (void *context, uint64_t event), device->context, event)
ASKS(uint64_t, last_event, (void *context, uint32_t stream), device->context, stream)

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
