/* libhbm sees the device through these: each call passes the plant, which may bend it. */
#include "targets/plants/private/plant.h"

static enum device_result count_copy(struct plant *plant, enum device_result result)
{
    plant->call.copy_count += result == DEVICE_OK;
    return result;
}

static enum device_result bent_copy(void *context, uint64_t from, uint64_t to, uint64_t bytes)
{
    struct plant *plant = context;
    if (plant->defect->copy != NULL) {
        return count_copy(plant, plant->defect->copy(plant, from, to, bytes));
    }
    return count_copy(plant, plant->device.copy(plant->device.context, from, to, bytes));
}

static bool refuse_stage(struct plant *plant)
{
    const bool refuses = plant->defect->refuses_stages && plant->latched && plant->call.is_alloc;
    plant->call.refused_count += refuses;
    return refuses;
}

static enum device_result bent_stage_out(void *context, uint64_t from, uint64_t bytes,
                                         uint64_t *stage)
{
    struct plant *plant = context;
    if (refuse_stage(plant)) {
        return DEVICE_REFUSED;
    }
    return count_copy(plant, plant->device.stage_out(plant->device.context, from, bytes, stage));
}

static enum device_result bent_stage_in(void *context, uint64_t stage, uint64_t to)
{
    struct plant *plant = context;
    return plant->device.stage_in(plant->device.context, stage, to);
}

static void bent_stage_drop(void *context, uint64_t stage)
{
    struct plant *plant = context;
    if (plant->defect->stage_drop != NULL) {
        plant->defect->stage_drop(plant, stage);
        return;
    }
    plant->device.stage_drop(plant->device.context, stage);
}

static void bent_unmap(void *context, uint64_t address, uint64_t bytes)
{
    struct plant *plant = context;
    if (plant->defect->unmap != NULL) {
        plant->defect->unmap(plant, address, bytes);
        return;
    }
    plant->device.unmap(plant->device.context, address, bytes);
}

static enum device_result bent_map(void *context, uint64_t address, uint64_t bytes)
{
    struct plant *plant = context;
    return plant->defect->map != NULL ? plant->defect->map(plant, address, bytes)
                                      : plant->device.map(plant->device.context, address, bytes);
}

static enum device_result bent_stage_copy(void *context, uint64_t stage, uint64_t to)
{
    struct plant *plant = context;
    return plant->defect->stage_copy != NULL
               ? plant->defect->stage_copy(plant, stage, to)
               : plant->device.stage_copy(plant->device.context, stage, to);
}

static bool is_hiding_completions(const struct plant *plant)
{
    return plant->defect->hides_completions && plant->call.is_alloc;
}

static uint64_t count_completed(struct plant *plant)
{
    return plant->device.completed_count(plant->device.context);
}

/* Counts nothing new unless it completed after the last look. */
static uint64_t count_late(struct plant *plant)
{
    const uint64_t count = count_completed(plant);
    plant->told_count = count == plant->looked_count ? plant->told_count : count;
    return plant->told_count;
}

static uint64_t bent_completed_count(void *context)
{
    struct plant *plant = context;
    if (is_hiding_completions(plant)) {
        return plant->call.completed_before;
    }
    return plant->defect->counts_late ? count_late(plant) : count_completed(plant);
}

static bool bent_event_done(void *context, uint64_t event)
{
    struct plant *plant = context;
    if (is_hiding_completions(plant) && plant->call.wait_count > 0) {
        return false;
    }
    const bool is_done = plant->device.event_done(plant->device.context, event);
    plant->looked_count = plant->defect->counts_late ? count_completed(plant) : 0;
    return is_done;
}

static enum device_result bent_event_wait(void *context, uint64_t event)
{
    struct plant *plant = context;
    const enum device_result result = plant->defect->event_wait != NULL
                                          ? plant->defect->event_wait(plant, event)
                                          : plant->device.event_wait(plant->device.context, event);
    plant->call.wait_count += result == DEVICE_OK;
    plant->call.lost_count += result == DEVICE_LOST;
    return result;
}

static enum device_result bent_unload(void *context, uint64_t program)
{
    struct plant *plant = context;
    const enum device_result result = plant->defect->unload != NULL
                                          ? plant->defect->unload(plant, program)
                                          : plant->device.unload(plant->device.context, program);
    plant->call.unload_count += result == DEVICE_OK;
    return result;
}

static uint64_t bent_clock_ns(void *context)
{
    struct plant *plant = context;
    return plant->device.clock_ns(plant->device.context);
}

static void *bent_host_alloc(void *context, size_t bytes)
{
    struct plant *plant = context;
    return plant->device.host_alloc(plant->device.context, bytes);
}

static void bent_host_free(void *context, void *memory, size_t bytes)
{
    struct plant *plant = context;
    if (memory != NULL && plant->defect->host_free_bytes != NULL) {
        bytes = plant->defect->host_free_bytes(plant, bytes);
    }
    plant->device.host_free(plant->device.context, memory, bytes);
}

static enum device_result bent_region_take(void *context, uint64_t bytes,
                                           struct device_region *region)
{
    struct plant *plant = context;
    return plant->device.region_take(plant->device.context, bytes, region);
}

static void bent_region_give(void *context, uint64_t address)
{
    struct plant *plant = context;
    plant->device.region_give(plant->device.context, address);
}

struct device_services plant_make_services(struct plant *plant)
{
    return (struct device_services){
        .size_bytes = sizeof(struct device_services),
        .context = plant,
        .copy = bent_copy,
        .stage_out = bent_stage_out,
        .stage_in = bent_stage_in,
        .stage_drop = bent_stage_drop,
        .completed_count = bent_completed_count,
        .event_done = bent_event_done,
        .event_wait = bent_event_wait,
        .unload = bent_unload,
        .clock_ns = bent_clock_ns,
        .host_alloc = bent_host_alloc,
        .host_free = bent_host_free,
        .unmap = bent_unmap,
        .map = bent_map,
        .stage_copy = bent_stage_copy,
        .region_take = bent_region_take,
        .region_give = bent_region_give,
    };
}
