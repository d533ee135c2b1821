/* These calls allocate, free and use blocks. */

#include "kit/private/instance.h"

#include <inttypes.h>
#include <string.h>

enum { ALIGN_BYTES_MAX = 1 << 21 };
#define SIZE_BYTES_MAX (UINT64_C(1) << 63)

/* --- the allocator --- */

static uint64_t call_allocate(struct target_instance *instance, uint64_t size, uint64_t align)
{
    const struct kit_allocator *allocator = instance->allocator;
    const uint64_t asked = size - instance->paid_bytes;
    if (allocator->allocate_offset != NULL) {
        const uint64_t offset = allocator->allocate_offset(instance->state, asked, align);
        return offset == KIT_NOTHING ? KIT_NOTHING : offset - instance->paid_bytes;
    }
    const void *pointer = allocator->allocate(instance->state, asked, align);
    return pointer == NULL
               ? KIT_NOTHING
               : (uint64_t)((uintptr_t)pointer - instance->origin) - instance->paid_bytes;
}

/* Returns what the allocator returned for the block at that address. */
static uint64_t place_of(const struct target_instance *instance, uint64_t address)
{
    return (uint64_t)instance->origin + address + instance->paid_bytes;
}

static void *pointer_of(const struct target_instance *instance, const struct target_block *block)
{
    return (void *)(uintptr_t)place_of(instance, block->address);
}

static void call_free(struct target_instance *instance, const struct target_block *block)
{
    const struct kit_allocator *allocator = instance->allocator;
    if (allocator->allocate_offset != NULL) {
        allocator->free_offset(instance->state, place_of(instance, block->address),
                               block->size_bytes);
        return;
    }
    allocator->free(instance->state, pointer_of(instance, block), block->size_bytes);
}

/* Size classes, as docs/promise.md has them. */
uint64_t kit_class_bytes(const struct target_rounding *rounding, uint64_t granule_bytes,
                         uint64_t size_bytes)
{
    uint64_t class_bytes = size_bytes;
    if (rounding->kind == ROUNDING_CLASSES && size_bytes <= rounding->smallest_bytes) {
        class_bytes = rounding->smallest_bytes;
    } else if (rounding->kind == ROUNDING_CLASSES && size_bytes > 1) {
        /* The power of two below: 2^63 is above 2^62. */
        const uint64_t low = UINT64_C(1) << (63 - __builtin_clzll(size_bytes - 1));
        const uint64_t step = low > rounding->steps ? low / rounding->steps : 1;
        class_bytes = (size_bytes + step - 1) & ~(step - 1);
    }
    return (class_bytes + granule_bytes - 1) & ~(granule_bytes - 1);
}

static uint64_t call_block_bytes(struct target_instance *instance, uint64_t address, uint64_t size)
{
    const struct kit_allocator *allocator = instance->allocator;
    if (allocator->block_bytes != NULL) {
        return allocator->block_bytes(instance->state, place_of(instance, address),
                                      size - instance->paid_bytes);
    }
    const uint64_t taken = allocator->takes_class
                               ? kit_class_bytes(&instance->rounding, instance->granule_bytes, size)
                               : size;
    return taken + instance->header_bytes;
}

/* --- blocks --- */

static void count_block(struct target_stats *stats, uint64_t size)
{
    stats->num_allocs++;
    stats->bytes_in_use += size;
    if (stats->bytes_in_use > stats->peak_bytes_in_use) {
        stats->peak_bytes_in_use = stats->bytes_in_use;
    }
    if (size > stats->largest_alloc_size) {
        stats->largest_alloc_size = size;
    }
}

static struct kit_block *create_block(struct target_instance *instance,
                                      const struct target_request *request)
{
    struct kit_block *block = kit_host_alloc(&instance->host, sizeof *block);
    if (block == NULL) {
        return NULL;
    }
    *block = (struct kit_block){.kind = request->kind, .tag = request->tag};
    if (!kit_slot_take(instance, block)) {
        kit_host_free(&instance->host, block, sizeof *block);
        return NULL;
    }
    return block;
}

static void destroy_block(struct target_instance *instance, struct kit_block *block)
{
    kit_slot_give(instance, block);
    kit_host_free(&instance->host, block, sizeof *block);
}

/* The block lies where its record says. */
static void keep_block(struct target_instance *instance, struct kit_block *block)
{
    block->serial = ++instance->serial_last;
    kit_blocks_insert(&instance->root, block);
    count_block(&instance->stats, block->at.size_bytes);
}

void kit_block_drop(struct target_instance *instance, struct kit_block *block)
{
    kit_blocks_remove(&instance->root, block);
    instance->stats.num_allocs--;
    instance->stats.bytes_in_use -= block->at.size_bytes;
    call_free(instance, &block->at);
    destroy_block(instance, block);
}

void kit_block_settle(struct target_instance *instance, struct kit_block *block)
{
    if (block->is_freed && block->hold_count == 0 && block->pending_count == 0) {
        kit_block_drop(instance, block);
    }
}

/* --- requests --- */

/* NULL, or why the request can never be right; sets the size and the alignment to ask for. */
static const char *read_request(const struct target_instance *instance,
                                const struct target_request *request, uint64_t *size,
                                uint64_t *align)
{
    const uint64_t granule = instance->granule_bytes;
    const uint64_t align_max = granule > ALIGN_BYTES_MAX ? granule : ALIGN_BYTES_MAX;
    if (request->size_bytes == 0 || request->size_bytes > SIZE_BYTES_MAX) {
        return "INVALID_ARGUMENT: the size is 0 or above 2^63";
    }
    if ((request->align_bytes & (request->align_bytes - 1)) != 0 ||
        request->align_bytes > align_max) {
        return "INVALID_ARGUMENT: the alignment is no power of two up to 2 MiB";
    }
    *size = (request->size_bytes + granule - 1) & ~(granule - 1);
    *align = request->align_bytes > granule ? request->align_bytes : granule;
    return NULL;
}

static enum target_result fail_refused(struct target_instance *instance)
{
    return kit_fail(instance, TARGET_FAILED, "UNAVAILABLE: host memory or the device refused");
}

/* Nobody else sees where a block without an address is. */
static enum target_result check_pointer(struct target_instance *instance, uint64_t offset,
                                        uint64_t size, uint64_t align)
{
    if (instance->origin != 0 || instance->placement == PLACEMENT_RANGES ||
        instance->allocator->allocate_offset != NULL || offset % align == 0) {
        return TARGET_OK;
    }
    call_free(instance, &(struct target_block){.address = offset, .size_bytes = size});
    return kit_fail(instance, TARGET_INVALID,
                    "INTERNAL: the allocator returned a pointer that is not aligned to %" PRIu64,
                    align);
}

/* Asks again after each event that a queued free waits for, until none is left. */
static enum target_result find_room(struct target_instance *instance, uint64_t size, uint64_t align,
                                    uint64_t *offset)
{
    const struct device_services *device = &instance->device;
    enum target_result result = TARGET_OK;
    while (result == TARGET_OK) {
        kit_pending_settle(instance);
        *offset = call_allocate(instance, size, align);
        if (*offset != KIT_NOTHING) {
            return check_pointer(instance, *offset, size, align);
        }
        if (instance->host.is_refused) {
            return TARGET_FAILED;
        }
        /* Something may have completed while the allocator looked. */
        if (device->completed_count(device->context) == instance->completed_seen) {
            result = kit_pending_await(instance);
        }
    }
    return result;
}

uint64_t kit_largest_gap(const struct target_instance *instance)
{
    const struct target_stats *stats = &instance->stats;
    if (instance->placement == PLACEMENT_RANGES) {
        /* A header lies before the address: all that is behind it is so much further up. */
        const uint64_t header_bytes = instance->header_bytes;
        return kit_blocks_largest_gap(instance->root, header_bytes,
                                      header_bytes + stats->bytes_limit);
    }
    return stats->bytes_limit > stats->bytes_in_use ? stats->bytes_limit - stats->bytes_in_use : 0;
}

static enum target_result fail_alloc(struct target_instance *instance, enum target_result result,
                                     const struct target_request *request)
{
    if (result == TARGET_INVALID) { /* the message says why */
        return result;
    }
    if (result != TARGET_NO_MEMORY) {
        return fail_refused(instance);
    }
    return kit_fail(instance, result,
                    "RESOURCE_EXHAUSTED: no room for %" PRIu64 " bytes: %" PRIu64 " of %" PRIu64
                    " bytes are in use, the largest gap has %" PRIu64,
                    request->size_bytes, instance->stats.bytes_in_use, instance->stats.bytes_limit,
                    kit_largest_gap(instance));
}

enum target_result kit_alloc(struct target_instance *instance, const struct target_request *request,
                             struct target_block *block)
{
    uint64_t size = 0, align = 0;
    kit_call_begin(instance);
    const char *why = read_request(instance, request, &size, &align);
    if (why != NULL) {
        return kit_fail(instance, TARGET_INVALID, "%s", why);
    }
    struct kit_block *made = create_block(instance, request);
    if (made == NULL) {
        return fail_refused(instance);
    }
    const enum target_result result = find_room(instance, size, align, &made->at.address);
    if (result != TARGET_OK) {
        destroy_block(instance, made);
        return fail_alloc(instance, result, request);
    }
    made->at.size_bytes = call_block_bytes(instance, made->at.address, size);
    keep_block(instance, made);
    *block = made->at;
    return TARGET_OK;
}

enum target_result kit_retire(struct target_instance *instance, uint64_t address,
                              uint64_t size_bytes)
{
    const struct kit_allocator *allocator = instance->allocator;
    kit_call_begin(instance);
    if (allocator->reserve_offset == NULL) {
        return kit_fail(instance, TARGET_INVALID, "INTERNAL: the plug-in has no reserve_offset");
    }
    struct kit_block *made = create_block(instance,
                                          &(struct target_request){.kind = BLOCK_RETIRED});
    if (made == NULL) {
        return fail_refused(instance);
    }
    if (!allocator->reserve_offset(instance->state, address, size_bytes)) {
        destroy_block(instance, made);
        return fail_refused(instance);
    }
    made->at.address = address;
    made->at.size_bytes = size_bytes;
    keep_block(instance, made);
    return TARGET_OK;
}

enum target_result kit_defragment(struct target_instance *instance)
{
    const struct kit_allocator *allocator = instance->allocator;
    kit_call_begin(instance);
    if (allocator->defragment == NULL) {
        return kit_fail(instance, TARGET_INVALID, "INTERNAL: the plug-in has no defragment");
    }
    allocator->defragment(instance->state);
    return instance->host.is_refused ? fail_refused(instance) : TARGET_OK;
}

bool kit_may_move(const struct kit_host *host, uint64_t place)
{
    const struct target_instance
        *instance = (const struct target_instance *)((const char *)host -
                                                     offsetof(struct target_instance, host));
    const uint64_t address = place - instance->origin - instance->paid_bytes;
    const struct kit_block *block = kit_blocks_find(instance->root, address);
    return block != NULL && !block->is_freed && block->hold_count == 0 && block->pending_count == 0;
}

/* --- blocks that are there --- */

static enum target_result fail_handle(struct target_instance *instance)
{
    return kit_fail(instance, TARGET_INVALID, "INVALID_ARGUMENT: no live block has this handle");
}

/* NULL: the handle is of no block, or of one that was freed. */
static struct kit_block *find_live(const struct target_instance *instance, uint64_t handle)
{
    struct kit_block *block = kit_slot_find(instance, handle);
    return block == NULL || block->is_freed ? NULL : block;
}

static bool is_done(const struct target_instance *instance, uint64_t event)
{
    const struct device_services *device = &instance->device;
    return event == 0 || device->event_done(device->context, event);
}

enum target_result kit_free(struct target_instance *instance, uint64_t handle, uint64_t event)
{
    kit_call_begin(instance);
    struct kit_block *block = find_live(instance, handle);
    if (block == NULL) {
        return fail_handle(instance);
    }
    block->is_freed = true;
    if (!is_done(instance, event)) {
        kit_pending_add(instance, block, event, &block->free_event);
    }
    kit_block_settle(instance, block);
    return TARGET_OK;
}

enum target_result kit_use(struct target_instance *instance, uint64_t handle, uint64_t event)
{
    kit_call_begin(instance);
    struct kit_block *block = find_live(instance, handle);
    if (block == NULL) {
        return fail_handle(instance);
    }
    if (is_done(instance, event)) {
        return TARGET_OK;
    }
    struct kit_pending *pending = kit_host_alloc(&instance->host, sizeof *pending);
    if (pending == NULL) {
        return fail_refused(instance);
    }
    kit_pending_add(instance, block, event, pending);
    return TARGET_OK;
}

enum target_result kit_hold(struct target_instance *instance, uint64_t handle)
{
    kit_call_begin(instance);
    struct kit_block *block = find_live(instance, handle);
    if (block == NULL) {
        return fail_handle(instance);
    }
    block->hold_count++;
    return TARGET_OK;
}

enum target_result kit_release(struct target_instance *instance, uint64_t handle)
{
    kit_call_begin(instance);
    struct kit_block *block = kit_slot_find(instance, handle);
    if (block == NULL || block->hold_count == 0) {
        return kit_fail(instance, TARGET_INVALID,
                        "INVALID_ARGUMENT: no block with this handle "
                        "is held");
    }
    block->hold_count--;
    kit_block_settle(instance, block);
    return TARGET_OK;
}

enum target_result kit_donate(struct target_instance *instance, uint64_t handle,
                              const struct target_request *request, struct target_block *block)
{
    uint64_t size = 0, align = 0;
    kit_call_begin(instance);
    struct kit_block *taken = find_live(instance, handle);
    if (taken == NULL || taken->hold_count > 0) {
        return fail_handle(instance);
    }
    if (read_request(instance, request, &size, &align) != NULL ||
        size > taken->at.size_bytes - instance->header_bytes) {
        return kit_fail(instance, TARGET_INVALID,
                        "INVALID_ARGUMENT: the request does not fit into the block");
    }
    kit_slot_rename(instance, taken);
    taken->kind = request->kind;
    taken->tag = request->tag;
    *block = taken->at;
    return TARGET_OK;
}

enum target_result kit_locate(struct target_instance *instance, uint64_t handle,
                              struct target_block *block)
{
    const struct kit_block *found = kit_slot_find(instance, handle);
    if (found == NULL) {
        return fail_handle(instance);
    }
    *block = found->at;
    return TARGET_OK;
}

/* --- what blocks hold --- */

enum target_result kit_read(struct target_instance *instance, uint64_t handle, uint64_t offset,
                            void *to, size_t bytes)
{
    const struct kit_allocator *allocator = instance->allocator;
    const struct kit_block *block = find_live(instance, handle);
    if (block == NULL) {
        return fail_handle(instance);
    }
    const char *place = pointer_of(instance, &block->at);
    if (allocator->read != NULL) {
        allocator->read(instance->state, place, offset, to, bytes);
    } else {
        memcpy(to, place + offset, bytes);
    }
    return TARGET_OK;
}

enum target_result kit_write(struct target_instance *instance, uint64_t handle, uint64_t offset,
                             const void *from, size_t bytes)
{
    const struct kit_allocator *allocator = instance->allocator;
    const struct kit_block *block = find_live(instance, handle);
    if (block == NULL) {
        return fail_handle(instance);
    }
    char *place = pointer_of(instance, &block->at);
    if (allocator->write != NULL) {
        allocator->write(instance->state, place, offset, from, bytes);
    } else {
        memcpy(place + offset, from, bytes);
    }
    return TARGET_OK;
}
