/* A complete plug-in: an allocator of about the least that can be tested.
 *
 *     cc -std=c17 -shared -fPIC $(pkg-config --cflags hbmstress-kit) -o example.so example.c
 *     hbmstress run fragmentation_storm --target ./example.so --capacity 64M
 *
 * In the source tree of hbmstress the option -I with its top folder takes the place of pkg-config.
 *
 * It keeps its blocks in one array in address order and puts a new one into the lowest hole that
 * fits.  It moves nothing, waits for nothing and evicts nothing, and its contract says so: an
 * out-of-memory is then justified when no hole fits.  The header of targets is the only one it
 * needs.
 */
#include "harness/target.h"

#include <string.h>

enum { BLOCK_COUNT_MAX = 65536 };

struct example_block {
    uint64_t handle, address, size_bytes;
};

/* The type behind `struct target_instance *` is the plug-in's own business. */
struct target_instance {
    struct device_services device;
    struct target_stats stats;
    uint64_t granule_bytes, handle_last;
    size_t count;
    struct example_block blocks[BLOCK_COUNT_MAX];
};

/* Says what is promised and takes host memory from the harness, which sees to it that all of it
 * comes back. */
static enum target_result example_open(const struct target_setup *setup,
                                       const struct device_services *device,
                                       struct target_instance **instance,
                                       struct target_contract *contract, char *reason,
                                       size_t reason_bytes)
{
    if (setup->option_count > 0) {
        strncpy(reason, "this target has no options", reason_bytes - 1);
        return TARGET_INVALID;
    }
    struct target_instance *made = device->host_alloc(device->context, sizeof *made);
    if (made == NULL) {
        strncpy(reason, "no host memory", reason_bytes - 1);
        return TARGET_FAILED;
    }
    memset(made, 0, sizeof *made);
    made->device = *device;
    made->granule_bytes = setup->granule_bytes != 0 ? setup->granule_bytes : 512;
    made->stats.bytes_limit = setup->capacity_bytes;
    /* Everything else is false: no queued frees, no programs, no mitigation, free wording of
     * messages.  A block is as large as its request, rounded up to granules. */
    *contract = (struct target_contract){.granule_bytes = made->granule_bytes,
                                         .defrag = DEFRAG_NONE,
                                         .rounding = {.kind = ROUNDING_GRANULE}};
    *instance = made;
    return TARGET_OK;
}

static void example_close(struct target_instance *instance)
{
    const struct device_services device = instance->device;
    device.host_free(device.context, instance, sizeof *instance);
}

/* Returns where the hole before block `index` ends; the last hole ends with the device. */
static uint64_t hole_end(const struct target_instance *instance, size_t index)
{
    return index < instance->count ? instance->blocks[index].address : instance->stats.bytes_limit;
}

static uint64_t hole_start(const struct target_instance *instance, size_t index)
{
    return index == 0
               ? 0
               : instance->blocks[index - 1].address + instance->blocks[index - 1].size_bytes;
}

static void count_block(struct target_stats *stats, uint64_t size)
{
    stats->num_allocs++;
    stats->bytes_in_use += size;
    stats->peak_bytes_in_use = stats->bytes_in_use > stats->peak_bytes_in_use
                                   ? stats->bytes_in_use
                                   : stats->peak_bytes_in_use;
    stats->largest_alloc_size = size > stats->largest_alloc_size ? size : stats->largest_alloc_size;
}

static enum target_result example_alloc(struct target_instance *instance,
                                        const struct target_request *request,
                                        struct target_block *block)
{
    /* A size that can never be right is INVALID, not out of memory. */
    if (request->size_bytes == 0 || request->size_bytes > UINT64_C(1) << 63) {
        return TARGET_INVALID;
    }
    const uint64_t granule = instance->granule_bytes;
    const uint64_t align = request->align_bytes > granule ? request->align_bytes : granule;
    const uint64_t size = (request->size_bytes + granule - 1) & ~(granule - 1);
    for (size_t i = 0; i <= instance->count && instance->count < BLOCK_COUNT_MAX; i++) {
        const uint64_t address = (hole_start(instance, i) + align - 1) & ~(align - 1);
        const uint64_t end = hole_end(instance, i);
        if (address > end || size > end - address) {
            continue;
        }
        memmove(&instance->blocks[i + 1], &instance->blocks[i],
                (instance->count - i) * sizeof instance->blocks[0]);
        instance->blocks[i] = (struct example_block){++instance->handle_last, address, size};
        instance->count++;
        count_block(&instance->stats, size);
        *block = (struct target_block){instance->handle_last, address, size};
        return TARGET_OK;
    }
    return TARGET_NO_MEMORY; /* the harness now proves, or refutes, that nothing fitted */
}

/* event is 0 or done: the contract says that frees are not queued, so the harness keeps them back.
 */
static enum target_result example_free(struct target_instance *instance, uint64_t handle,
                                       uint64_t event)
{
    (void)event;
    for (size_t i = 0; i < instance->count; i++) {
        if (instance->blocks[i].handle == handle) {
            instance->stats.num_allocs--;
            instance->stats.bytes_in_use -= instance->blocks[i].size_bytes;
            instance->count--;
            memmove(&instance->blocks[i], &instance->blocks[i + 1],
                    (instance->count - i) * sizeof instance->blocks[0]);
            return TARGET_OK;
        }
    }
    return TARGET_INVALID;
}

static void example_stats(struct target_instance *instance, struct target_stats *stats)
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

static const char *example_message(struct target_instance *instance)
{
    (void)instance;
    return "RESOURCE_EXHAUSTED: no hole fits";
}

/* The one symbol that is looked up.  Calls that are left out are NULL: ops that need them are
 * skipped. */
extern const struct target hbmstress_target;
const struct target hbmstress_target = {
    .abi_version = TARGET_ABI_VERSION,
    .size_bytes = sizeof(struct target),
    .name = "example",
    .summary = "the lowest hole that fits, in an array",
    .open = example_open,
    .close = example_close,
    .alloc = example_alloc,
    .free = example_free,
    .stats = example_stats,
    .message = example_message,
};
