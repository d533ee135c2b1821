/* An instance begins and ends here, and so does its host memory. */
#include "kit/private/instance.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void *kit_host_alloc(struct kit_host *host, size_t bytes)
{
    void *memory = host->device->host_alloc(host->device->context, bytes);
    host->is_refused = host->is_refused || memory == NULL;
    return memory;
}

void kit_host_free(struct kit_host *host, void *memory, size_t bytes)
{
    if (memory != NULL) {
        host->device->host_free(host->device->context, memory, bytes);
    }
}

void *kit_records(const struct kit_setup *setup, size_t bytes)
{
    struct kit_host *host = setup->host;
    struct kit_record *record = NULL;
    if (bytes > SIZE_MAX - sizeof *record) {
        return NULL;
    }
    record = kit_host_alloc(host, bytes + sizeof *record);
    if (record == NULL) {
        return NULL;
    }
    *record = (struct kit_record){.next = host->records, .bytes = bytes + sizeof *record};
    host->records = record;
    return record + 1;
}

static void free_records(struct kit_host *host)
{
    while (host->records != NULL) {
        struct kit_record *record = host->records;
        host->records = record->next;
        kit_host_free(host, record, record->bytes);
    }
}

bool kit_region_take(struct kit_host *host, uint64_t bytes, struct device_region *region)
{
    const struct device_services *device = host->device;
    return device->region_take(device->context, bytes, region) == DEVICE_OK;
}

void kit_region_give(struct kit_host *host, uint64_t offset)
{
    host->device->region_give(host->device->context, offset);
}

void kit_call_begin(struct target_instance *instance)
{
    instance->host.is_refused = false;
    kit_pending_settle(instance);
}

enum target_result kit_fail(struct target_instance *instance, enum target_result result,
                            const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(instance->message, sizeof instance->message, format, arguments);
    va_end(arguments);
    return result;
}

const char *kit_message(struct target_instance *instance)
{
    return instance->message;
}

static bool is_power(uint64_t bytes)
{
    return bytes != 0 && (bytes & (bytes - 1)) == 0;
}

static bool has_calls(const struct kit_allocator *allocator)
{
    return (allocator->allocate_offset != NULL && allocator->free_offset != NULL) ||
           (allocator->allocate_offset == NULL && allocator->allocate != NULL &&
            allocator->free != NULL);
}

/* True if what it reserves has no header, and lies where it is told. */
static bool reserves_rightly(const struct kit_allocator *allocator)
{
    return allocator->reserve_offset == NULL ||
           (allocator->allocate_offset != NULL && allocator->header_bytes == 0);
}

static bool grows_rightly(const struct kit_allocator *allocator)
{
    return !allocator->regions.grows ||
           (allocator->allocate_offset != NULL && allocator->largest_free_bytes != NULL);
}

/* NULL, or why the allocator cannot have this granule. */
static const char *choose_granule(const struct kit_allocator *allocator,
                                  const struct target_setup *setup, uint64_t *granule)
{
    const uint64_t own = allocator->granule_bytes != 0 ? allocator->granule_bytes
                                                       : KIT_GRANULE_BYTES;
    *granule = setup->granule_bytes != 0 ? setup->granule_bytes : own;
    if (!is_power(*granule)) {
        return "the granule is no power of two";
    }
    if (!grows_rightly(allocator)) {
        return "a plug-in that grows needs allocate_offset and largest_free_bytes";
    }
    if (!reserves_rightly(allocator)) {
        return "a plug-in that reserves ranges needs allocate_offset and no headers";
    }
    if (allocator->is_granule_fixed && *granule != own) {
        return "this target has a granule of its own; leave the granule out";
    }
    return setup->capacity_bytes % *granule == 0 ? NULL
                                                 : "the capacity is no multiple of the granule";
}

/* The state and the arena; NULL, or why not. */
static const char *make_state(struct target_instance *instance, void **arena)
{
    const struct kit_allocator *allocator = instance->allocator;
    if (allocator->state_bytes > 0) {
        instance->state = kit_host_alloc(&instance->host, allocator->state_bytes);
        if (instance->state == NULL) {
            return "no host memory for the allocator's state";
        }
        memset(instance->state, 0, allocator->state_bytes);
    }
    if (allocator->allocate_offset == NULL && !allocator->arena.is_own) {
        *arena = kit_arena_map(&allocator->arena, instance->stats.bytes_limit, &instance->mapping);
        if (*arena == NULL) {
            return "no address space for the arena";
        }
        instance->origin = (uintptr_t)*arena + (uintptr_t)allocator->arena.front_bytes;
    }
    return NULL;
}

/* NULL, or what is wrong with the contract that open left. */
static const char *check_opened(const struct target_instance *instance,
                                const struct target_contract *contract)
{
    if (contract->thread_safe) {
        return "the kit takes calls from one thread at a time; leave thread_safe out";
    }
    if (instance->paid_bytes >= instance->granule_bytes) {
        return "a header in the request needs to be less than the granule";
    }
    if (instance->placement != PLACEMENT_RANGES) {
        return instance->paid_bytes == 0 ? NULL : "a header in the request needs ranges";
    }
    return instance->allocator->arena.is_own ? "a plug-in of ranges that returns pointers needs "
                                               "the kit's arena"
                                             : NULL;
}

static const char *open_allocator(struct target_instance *instance, void *arena,
                                  const char *option_help, const struct target_setup *setup,
                                  struct target_contract *contract)
{
    const struct kit_allocator *allocator = instance->allocator;
    const struct kit_arena *around = &allocator->arena;
    const struct kit_setup opened = {
        .capacity_bytes = setup->capacity_bytes,
        .variant = instance->allocator->variant,
        .granule_bytes = contract->granule_bytes,
        .arena = arena,
        .arena_bytes = arena == NULL
                           ? 0
                           : setup->capacity_bytes + around->front_bytes + around->back_bytes,
        .host = &instance->host,
        .contract = contract,
        .target = setup,
        .option_help = option_help,
        .options = allocator->options};
    const char *why = allocator->open != NULL ? allocator->open(instance->state, &opened) : NULL;
    if (why != NULL) {
        return why;
    }
    instance->granule_bytes = contract->granule_bytes;
    instance->header_bytes = contract->header_bytes;
    instance->rounding = contract->rounding;
    instance->placement = contract->placement;
    why = check_opened(instance, contract);
    if (why != NULL && allocator->close != NULL) {
        allocator->close(instance->state);
    }
    return why;
}

static void destroy_instance(struct target_instance *instance)
{
    const struct device_services device = instance->device;
    struct kit_host *host = &instance->host;
    kit_host_free(host, instance->slots, instance->slot_capacity * sizeof *instance->slots);
    kit_arena_unmap(&instance->mapping);
    kit_host_free(host, instance->state, instance->allocator->state_bytes);
    free_records(host);
    device.host_free(device.context, instance, sizeof *instance);
}

static void init_instance(struct target_instance *instance, const struct kit_allocator *allocator,
                          const struct target_setup *setup, const struct device_services *device)
{
    *instance = (struct target_instance){.allocator = allocator,
                                         .device = *device,
                                         .slot_free = KIT_SLOT_NONE,
                                         .stats.bytes_limit = setup->capacity_bytes};
    instance->paid_bytes = allocator->header_in_request ? allocator->header_bytes : 0;
    instance->host.device = &instance->device;
    instance->pending_end = &instance->pending;
    instance->completed_seen = device->completed_count(device->context);
}

/* Returns the contract as it is before open changes it. */
static struct target_contract promise_of(const struct target_instance *instance, uint64_t granule)
{
    const struct kit_allocator *allocator = instance->allocator;
    return (struct target_contract){.granule_bytes = granule,
                                    .defrag = DEFRAG_NONE,
                                    .queues_frees = true,
                                    .drains = true,
                                    .order = {MITIGATION_DRAIN},
                                    .rounding = allocator->rounding,
                                    .placement = allocator->placement,
                                    .header_bytes = allocator->header_bytes - instance->paid_bytes,
                                    .regions = allocator->regions,
                                    .aligns_naturally = allocator->aligns_naturally};
}

enum target_result kit_open(const struct kit_allocator *allocator, const char *option_help,
                            const struct target_setup *setup, const struct device_services *device,
                            struct target_instance **instance, struct target_contract *contract,
                            char *reason, size_t reason_bytes)
{
    uint64_t granule = 0;
    if (allocator->options == NULL &&
        !kit_options_check(option_help, setup, reason, reason_bytes)) {
        return TARGET_INVALID;
    }
    const char *why = has_calls(allocator) ? choose_granule(allocator, setup, &granule)
                                           : "the plug-in lacks allocate_offset and free_offset, "
                                             "or allocate and free";
    if (why != NULL) {
        (void)snprintf(reason, reason_bytes, "%s", why);
        return TARGET_INVALID;
    }
    struct target_instance *made = device->host_alloc(device->context, sizeof *made);
    if (made == NULL) {
        (void)snprintf(reason, reason_bytes, "no host memory for the kit");
        return TARGET_FAILED;
    }
    init_instance(made, allocator, setup, device);
    struct target_contract promised = promise_of(made, granule);
    void *arena = NULL;
    why = make_state(made, &arena);
    if (why == NULL) {
        why = open_allocator(made, arena, option_help, setup, &promised);
    }
    if (why != NULL) {
        const bool is_refused = made->host.is_refused;
        (void)snprintf(reason, reason_bytes, "%s", why);
        destroy_instance(made);
        return is_refused ? TARGET_FAILED : TARGET_INVALID;
    }
    *contract = promised;
    *instance = made;
    return TARGET_OK;
}

void kit_close(struct target_instance *instance)
{
    while (instance->pending != NULL) {
        kit_pending_end(instance, instance->pending);
    }
    while (instance->root != NULL) {
        kit_block_drop(instance, instance->root);
    }
    if (instance->allocator->close != NULL) {
        instance->allocator->close(instance->state);
    }
    destroy_instance(instance);
}
