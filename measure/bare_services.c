#include "measure/bare_services.h"

#include <stdio.h>
#include <stdlib.h>

static enum device_result bare_copy(void *context, uint64_t from, uint64_t to, uint64_t bytes)
{
    (void)context, (void)from, (void)to, (void)bytes;
    return DEVICE_OK;
}

static enum device_result bare_stage_out(void *context, uint64_t from, uint64_t bytes,
                                         uint64_t *stage)
{
    (void)context, (void)from, (void)bytes;
    *stage = 1;
    return DEVICE_OK;
}

static enum device_result bare_stage_in(void *context, uint64_t stage, uint64_t to)
{
    (void)context, (void)stage, (void)to;
    return DEVICE_OK;
}

static void bare_stage_drop(void *context, uint64_t stage)
{
    (void)context, (void)stage;
}

static uint64_t bare_completed_count(void *context)
{
    (void)context;
    return 0;
}

static bool bare_event_done(void *context, uint64_t event)
{
    (void)context, (void)event;
    return true;
}

static enum device_result bare_event_wait(void *context, uint64_t event)
{
    (void)context, (void)event;
    return DEVICE_OK;
}

static enum device_result bare_unload(void *context, uint64_t program)
{
    (void)context, (void)program;
    return DEVICE_OK;
}

static uint64_t bare_clock_ns(void *context)
{
    (void)context;
    return 0;
}

static void *bare_host_alloc(void *context, size_t bytes)
{
    (void)context;
    return malloc(bytes);
}

static void bare_host_free(void *context, void *memory, size_t bytes)
{
    (void)context, (void)bytes;
    free(memory);
}

static enum device_result bare_region_take(void *context, uint64_t bytes,
                                           struct device_region *region)
{
    (void)context, (void)bytes, (void)region;
    return DEVICE_REFUSED;
}

static void bare_region_give(void *context, uint64_t address)
{
    (void)context, (void)address;
}

const struct device_services bare_services = {
    .size_bytes = sizeof(struct device_services),
    .copy = bare_copy,
    .stage_out = bare_stage_out,
    .stage_in = bare_stage_in,
    .stage_drop = bare_stage_drop,
    .completed_count = bare_completed_count,
    .event_done = bare_event_done,
    .event_wait = bare_event_wait,
    .unload = bare_unload,
    .clock_ns = bare_clock_ns,
    .host_alloc = bare_host_alloc,
    .host_free = bare_host_free,
    .region_take = bare_region_take,
    .region_give = bare_region_give,
};

bool bare_open(const struct target *target, const struct setup *setup,
               struct target_instance **instance, char *reason, size_t reason_bytes)
{
    struct target_option options[SETUP_OPTION_COUNT_MAX];
    struct target_contract contract = {0};
    const struct target_setup wanted = {.capacity_bytes = setup->capacity_bytes,
                                        .granule_bytes = setup->granule_bytes,
                                        .options = options,
                                        .option_count = setup->option_count};
    for (uint32_t i = 0; i < setup->option_count; i++) {
        options[i] = (struct target_option){setup->options[i].key, setup->options[i].value};
    }
    if (target->open(&wanted, &bare_services, instance, &contract, reason, reason_bytes) !=
        TARGET_OK) {
        return false;
    }
    const bool is_plain = !contract.regions.grows && !contract.stream_ordered;
    if (!is_plain) {
        target->close(*instance);
        (void)snprintf(reason, reason_bytes, "it takes regions, or orders frees by streams");
    }
    return is_plain;
}
