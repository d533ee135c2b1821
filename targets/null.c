/* As little allocator as the rules allow, to measure what the harness itself costs.
 *
 * The device is cut into slots of one size; free slots are on a stack; a block is a slot.  It
 * leaves out queued frees (the harness keeps them back), use, hold, donate, programs, mitigations
 * and sizes above the slot (out of memory, though the device has room: such a run is rightly called
 * premature).  Its count of the largest hole is exact only when nothing or everything is in use:
 * run it without `report` ops. */
#include "targets/private/option.h"
#include "targets/targets.h"

#include <stdio.h>

#define SLOT_BYTES_DEFAULT (UINT64_C(64) * 1024)
/* 4 bytes of host memory per slot: 64 MiB at most. */
#define SLOT_COUNT_MAX (UINT64_C(1) << 24)

struct target_instance {
    struct device_services device;
    uint64_t slot_bytes;
    uint32_t slot_count, free_count;
    struct target_stats stats;
    uint32_t free_slots[]; /* slot_count of them, free_count in use as a stack */
};

static size_t instance_bytes(uint64_t slot_count)
{
    return sizeof(struct target_instance) + (size_t)slot_count * sizeof(uint32_t);
}

struct null_options {
    uint64_t granule_bytes, slot_bytes;
};
static const struct target_option_row option_rows[] = {
    OPTION_GRANULE(struct null_options, granule_bytes),
    {"slot", TARGET_OPTION_SIZE, "N", 1, OPTION_AT(struct null_options, slot_bytes)},
    {.key = NULL}};

static bool read_options(const struct target_setup *setup, struct null_options *options,
                         const struct option_reason *reason)
{
    *options = (struct null_options){
        .granule_bytes = setup->granule_bytes != 0 ? setup->granule_bytes : 512,
        .slot_bytes = SLOT_BYTES_DEFAULT};
    if (!target_options_read(option_rows, setup, options, reason->text, reason->bytes) ||
        !option_check_device(setup->capacity_bytes, options->granule_bytes, reason)) {
        return false;
    }
    if (options->slot_bytes > setup->capacity_bytes) {
        options->slot_bytes = setup->capacity_bytes;
    }
    if (options->slot_bytes % options->granule_bytes != 0) {
        (void)snprintf(reason->text, reason->bytes, "the slot is not a multiple of the granule");
        return false;
    }
    return true;
}

static enum target_result target_open(const struct target_setup *setup,
                                      const struct device_services *device,
                                      struct target_instance **out,
                                      struct target_contract *contract, char *text,
                                      size_t text_bytes)
{
    const struct option_reason reason = {text, text_bytes};
    struct null_options options;
    if (!read_options(setup, &options, &reason)) {
        return TARGET_INVALID;
    }
    uint64_t slot_count = setup->capacity_bytes / options.slot_bytes;
    slot_count = slot_count > SLOT_COUNT_MAX ? SLOT_COUNT_MAX : slot_count;
    struct target_instance *instance = device->host_alloc(device->context,
                                                          instance_bytes(slot_count));
    if (instance == NULL) {
        (void)snprintf(text, text_bytes, "the host memory for the slots was refused");
        return TARGET_FAILED;
    }
    *instance = (struct target_instance){
        .device = *device,
        .slot_bytes = options.slot_bytes,
        .slot_count = (uint32_t)slot_count,
        .free_count = (uint32_t)slot_count,
        .stats = {.bytes_limit = setup->capacity_bytes,
                  .bytes_reservable_limit = setup->capacity_bytes,
                  .largest_free_block_bytes = setup->capacity_bytes}};
    for (uint32_t i = 0; i < slot_count; i++) {
        instance->free_slots[i] = (uint32_t)slot_count - 1 - i;
    }
    *contract = (struct target_contract){
        .granule_bytes = options.granule_bytes,
        .rounding = {.kind = ROUNDING_CLASSES, .steps = 1, .smallest_bytes = options.slot_bytes}};
    *out = instance;
    return TARGET_OK;
}

static void target_close(struct target_instance *instance)
{
    const struct device_services device = instance->device;
    device.host_free(device.context, instance, instance_bytes(instance->slot_count));
}

static enum target_result target_alloc(struct target_instance *instance,
                                       const struct target_request *request,
                                       struct target_block *block)
{
    if (request->size_bytes == 0 || request->size_bytes > UINT64_C(1) << 63) {
        return TARGET_INVALID;
    }
    if (request->size_bytes > instance->slot_bytes || instance->free_count == 0) {
        return TARGET_NO_MEMORY;
    }
    const uint32_t slot = instance->free_slots[instance->free_count - 1];
    const uint64_t address = slot * instance->slot_bytes;
    if (request->align_bytes > 1 && address % request->align_bytes != 0) {
        return TARGET_NO_MEMORY;
    }
    struct target_stats *stats = &instance->stats;
    instance->free_count--;
    stats->num_allocs++;
    stats->bytes_in_use += instance->slot_bytes;
    stats->largest_alloc_size = instance->slot_bytes;
    if (stats->bytes_in_use > stats->peak_bytes_in_use) {
        stats->peak_bytes_in_use = stats->bytes_in_use;
    }
    *block = (struct target_block){(uint64_t)slot + 1, address, instance->slot_bytes};
    return TARGET_OK;
}

static enum target_result target_free(struct target_instance *instance, uint64_t handle,
                                      uint64_t event)
{
    (void)event; /* done already: the contract says that frees are not queued */
    instance->free_slots[instance->free_count++] = (uint32_t)(handle - 1);
    instance->stats.num_allocs--;
    instance->stats.bytes_in_use -= instance->slot_bytes;
    return TARGET_OK;
}

static void target_stats(struct target_instance *instance, struct target_stats *stats)
{
    *stats = instance->stats;
    const uint64_t tail_bytes = stats->bytes_limit - instance->slot_count * instance->slot_bytes;
    stats->largest_free_block_bytes = stats->num_allocs == 0 ? stats->bytes_limit : tail_bytes;
}

static const char *target_message(struct target_instance *instance)
{
    (void)instance;
    return "RESOURCE_EXHAUSTED: no slot fits";
}

const struct target target_null = {
    .abi_version = TARGET_ABI_VERSION,
    .size_bytes = sizeof(struct target),
    .name = "null",
    .summary =
        "slots of one size from a stack, to measure the harness's own cost; breaks promises on real workloads",
    .options = option_rows,
    .open = target_open,
    .close = target_close,
    .alloc = target_alloc,
    .free = target_free,
    .stats = target_stats,
    .message = target_message,
};
