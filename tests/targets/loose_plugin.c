/* A plug-in whose blocks are larger than they need be: the next power of two wherever that fits,
 * otherwise the request in granules.  It refuses only what fits nowhere.  Its
 * contract promises granules, which it breaks. */
#include "harness/target.h"

enum { GRANULE_BYTES = 512, BLOCK_COUNT_MAX = 65536 };

struct target_instance {
    struct device_services device;
    struct target_stats stats;
    uint64_t handle_last;
    size_t count;
    struct target_block blocks[BLOCK_COUNT_MAX]; /* by address */
};

static enum target_result loose_open(const struct target_setup *setup,
                                     const struct device_services *device,
                                     struct target_instance **instance,
                                     struct target_contract *contract, char *reason,
                                     size_t reason_bytes)
{
    (void)reason_bytes;
    reason[0] = '\0';
    struct target_instance *made = device->host_alloc(device->context, sizeof *made);
    if (made == NULL || setup->option_count > 0) {
        return made == NULL ? TARGET_FAILED : TARGET_INVALID;
    }
    *made = (struct target_instance){.device = *device, .stats.bytes_limit = setup->capacity_bytes};
    *contract = (struct target_contract){.granule_bytes = GRANULE_BYTES};
    *instance = made;
    return TARGET_OK;
}

static void loose_close(struct target_instance *instance)
{
    const struct device_services device = instance->device;
    device.host_free(device.context, instance, sizeof *instance);
}

static uint64_t hole_start(const struct target_instance *instance, size_t i)
{
    return i == 0 ? 0 : instance->blocks[i - 1].address + instance->blocks[i - 1].size_bytes;
}

static uint64_t hole_end(const struct target_instance *instance, size_t i)
{
    return i < instance->count ? instance->blocks[i].address : instance->stats.bytes_limit;
}

static void insert_block(struct target_instance *instance, size_t at,
                         const struct target_block *block)
{
    struct target_stats *stats = &instance->stats;
    for (size_t i = instance->count++; i > at; i--) {
        instance->blocks[i] = instance->blocks[i - 1];
    }
    instance->blocks[at] = *block;
    stats->num_allocs++;
    stats->bytes_in_use += block->size_bytes;
    stats->peak_bytes_in_use = stats->bytes_in_use > stats->peak_bytes_in_use
                                   ? stats->bytes_in_use
                                   : stats->peak_bytes_in_use;
    stats->largest_alloc_size = block->size_bytes > stats->largest_alloc_size
                                    ? block->size_bytes
                                    : stats->largest_alloc_size;
}

/* Into the lowest hole; false: none has so many bytes. */
static bool place(struct target_instance *instance, uint64_t size_bytes, uint64_t align_bytes,
                  struct target_block *block)
{
    const uint64_t align = align_bytes > GRANULE_BYTES ? align_bytes : GRANULE_BYTES;
    for (size_t i = 0; i <= instance->count && instance->count < BLOCK_COUNT_MAX; i++) {
        const uint64_t address = (hole_start(instance, i) + align - 1) & ~(align - 1);
        const uint64_t end = hole_end(instance, i);
        if (address <= end && size_bytes <= end - address) {
            *block = (struct target_block){++instance->handle_last, address, size_bytes};
            insert_block(instance, i, block);
            return true;
        }
    }
    return false;
}

static enum target_result loose_alloc(struct target_instance *instance,
                                      const struct target_request *request,
                                      struct target_block *block)
{
    if (request->size_bytes == 0 || request->size_bytes > UINT64_C(1) << 63) {
        return TARGET_INVALID;
    }
    uint64_t power = GRANULE_BYTES;
    while (power < request->size_bytes) {
        power *= 2;
    }
    const uint64_t least = (request->size_bytes + GRANULE_BYTES - 1) / GRANULE_BYTES *
                           GRANULE_BYTES;
    return place(instance, power, request->align_bytes, block) ||
                   place(instance, least, request->align_bytes, block)
               ? TARGET_OK
               : TARGET_NO_MEMORY;
}

static enum target_result loose_free(struct target_instance *instance, uint64_t handle,
                                     uint64_t event)
{
    (void)event;
    size_t at = 0;
    while (at < instance->count && instance->blocks[at].handle != handle) {
        at++;
    }
    if (at == instance->count) {
        return TARGET_INVALID;
    }
    instance->stats.num_allocs--;
    instance->stats.bytes_in_use -= instance->blocks[at].size_bytes;
    instance->count--;
    for (size_t i = at; i < instance->count; i++) {
        instance->blocks[i] = instance->blocks[i + 1];
    }
    return TARGET_OK;
}

static void loose_stats(struct target_instance *instance, struct target_stats *stats)
{
    *stats = instance->stats;
    stats->largest_free_block_bytes = 0;
    for (size_t i = 0; i <= instance->count; i++) {
        const uint64_t hole = hole_end(instance, i) - hole_start(instance, i);
        stats->largest_free_block_bytes = hole > stats->largest_free_block_bytes
                                              ? hole
                                              : stats->largest_free_block_bytes;
    }
}

static const char *loose_message(struct target_instance *instance)
{
    (void)instance;
    return "no hole fits";
}

extern const struct target hbmstress_target;
const struct target hbmstress_target = {
    .abi_version = TARGET_ABI_VERSION,
    .size_bytes = sizeof(struct target),
    .name = "loose",
    .summary = "takes powers of two where they fit",
    .open = loose_open,
    .close = loose_close,
    .alloc = loose_alloc,
    .free = loose_free,
    .stats = loose_stats,
    .message = loose_message,
};
