/* cuda:pool: a stream-ordered pool of the CUDA driver, on a device that is there.
 *
 * The adapter is a client of the pool as a framework is.  A block that is freed while its stream
 * still works on it is freed in the order of that stream.  One that another stream works on is kept
 * until that is done, because an order between streams would be one more that nobody asked for. */
#include "targets/adapters/private/cuda.h"
#include "targets/adapters/private/adapter.h"
#include "targets/private/option.h"

#include "harness/base/size.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Blocks lie at multiples of it.  The pool counts no more than what it was asked for, so it is
 * asked for multiples. */
#define GRANULE_BYTES UINT64_C(512)
/* A pool takes memory from the device by 32 MiB, and its limit, too, is a multiple of that. */
#define CAPACITY_STEP_BYTES (UINT64_C(32) << 20)
/* Every process that runs trials has a pool of its own, and all of them take from one device. */
#define CAPACITY_BYTES_MAX (UINT64_C(1) << 30)
#define SIZE_BYTES_MAX (UINT64_C(1) << 63)
/* --- host memory and messages --- */

__attribute__((format(printf, 3, 4))) static enum target_result fail(
    struct target_instance *instance, enum target_result result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(instance->message, sizeof instance->message, format, arguments);
    va_end(arguments);
    return result;
}

static enum target_result fail_host(struct target_instance *instance)
{
    return fail(instance, TARGET_FAILED, "UNAVAILABLE: host memory or the device refused");
}

static enum target_result fail_handle(struct target_instance *instance)
{
    return fail(instance, TARGET_INVALID, "INVALID_ARGUMENT: no live block has this handle");
}

static const char *error_name(const struct target_instance *instance, int error)
{
    return cuda_error_name(&instance->pool.device->calls, error);
}

/* --- life --- */

enum on_oom { ON_OOM_SYNC = 0, ON_OOM_NONE };
enum reuse { REUSE_DONE = 0, REUSE_NONE };
struct cuda_options {
    struct cuda_pool_setup pool;
    enum placement placement;
    enum on_oom on_oom;
    enum reuse reuse;
    const char *threshold; /* a size or "all" */
};

static const struct target_option_row option_rows[] = {
    OPTION_WORDS("on_oom", "sync|none", struct cuda_options, on_oom),
    {"placement", TARGET_OPTION_WORD, "hidden|pages", PLACEMENT_HIDDEN,
     OPTION_AT(struct cuda_options, placement)},
    OPTION_WORDS("reuse", "done|none", struct cuda_options, reuse),
    {"threshold", TARGET_OPTION_TEXT, .values = "SIZE|all",
     OPTION_AT(struct cuda_options, threshold)},
    {.key = NULL}};

/* "all" keeps everything. */
static bool read_threshold(struct cuda_options *options, const struct option_reason *reason)
{
    const char *text = options->threshold;
    options->pool.threshold_bytes = UINT64_MAX;
    if (strcmp(text, "all") == 0 ||
        (size_parse(text, strlen(text), &options->pool.threshold_bytes) &&
         options->pool.threshold_bytes > 0)) {
        return true;
    }
    (void)snprintf(reason->text, reason->bytes,
                   "option threshold=%s: valid values are sizes from 1, such as 512 or 1M", text);
    return false;
}

static bool read_setup(const struct target_setup *setup, struct cuda_options *options,
                       const struct option_reason *reason)
{
    if (!target_options_read(option_rows, setup, options, reason->text, reason->bytes) ||
        (options->threshold != NULL && !read_threshold(options, reason))) {
        return false;
    }
    options->pool.reuses_done = options->reuse == REUSE_DONE;
    if (setup->granule_bytes != 0 && setup->granule_bytes != GRANULE_BYTES) {
        (void)snprintf(reason->text, reason->bytes,
                       "cuda:pool has a granule of %" PRIu64 "; leave the granule out",
                       GRANULE_BYTES);
        return false;
    }
    if (setup->capacity_bytes % CAPACITY_STEP_BYTES != 0) {
        (void)snprintf(reason->text, reason->bytes, "a capacity of cuda:pool is a multiple of 32M");
        return false;
    }
    return true;
}

static struct target_contract make_contract(const struct cuda_options *options)
{
    return (struct target_contract){
        .granule_bytes = GRANULE_BYTES,
        .queues_frees = true,
        .drains = options->on_oom == ON_OOM_SYNC,
        .order = {options->on_oom == ON_OOM_SYNC ? MITIGATION_DRAIN : MITIGATION_NONE},
        .placement = options->placement,
        .stream_ordered = true,
        .counting = {[TARGET_COUNTER_NUM_ALLOCS] = TARGET_COUNT_ABSENT,
                     [TARGET_COUNTER_LARGEST_ALLOC_SIZE] = TARGET_COUNT_ABSENT,
                     [TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES] = TARGET_COUNT_ABSENT},
    };
}

static enum target_result target_open(const struct target_setup *setup,
                                      const struct device_services *device,
                                      struct target_instance **out,
                                      struct target_contract *contract, char *reason,
                                      size_t reason_bytes)
{
    struct cuda_options options = {.placement = PLACEMENT_HIDDEN,
                                   .pool = {.capacity_bytes = setup->capacity_bytes,
                                            .threshold_bytes = UINT64_MAX,
                                            .reuses_done = true}};
    char why[LIBRARY_REASON_BYTES];
    if (!read_setup(setup, &options,
                    &(struct option_reason){.text = reason, .bytes = reason_bytes})) {
        return TARGET_INVALID;
    }
    struct target_instance *const instance = device->host_alloc(device->context, sizeof *instance);
    if (instance == NULL) {
        (void)snprintf(reason, reason_bytes, "no host memory for the adapter");
        return TARGET_FAILED;
    }
    *instance = (struct target_instance){.device = *device,
                                         .slot_free = CUDA_SLOT_NONE,
                                         .completed_seen = device->completed_count(device->context),
                                         .capacity_bytes = setup->capacity_bytes,
                                         .drains = options.on_oom == ON_OOM_SYNC};
    if (!cuda_pool_open(&instance->pool, &options.pool, why)) {
        (void)snprintf(reason, reason_bytes, "%s", why);
        device->host_free(device->context, instance, sizeof *instance);
        return TARGET_INVALID;
    }
    *contract = make_contract(&options);
    *out = instance;
    return TARGET_OK;
}

static void target_close(struct target_instance *instance)
{
    const struct device_services device = instance->device;
    cuda_free_all(instance);
    cuda_pool_close(&instance->pool);
    cuda_host_free(instance, instance->slots, instance->slot_capacity * sizeof *instance->slots);
    device.host_free(device.context, instance, sizeof *instance);
}

/* --- calls --- */

static const char *find_flaw(const struct target_request *request)
{
    if (request->size_bytes == 0 || request->size_bytes > SIZE_BYTES_MAX) {
        return "the size is 0 or above 2^63";
    }
    if ((request->align_bytes & (request->align_bytes - 1)) != 0 ||
        request->align_bytes > GRANULE_BYTES) {
        return "the alignment is no power of two up to 512";
    }
    return NULL;
}

static enum target_result refuse(struct target_instance *instance,
                                 const struct target_request *request, bool is_refused)
{
    const int error = instance->pool.error;
    if (error != CUDA_OK) {
        return fail(instance, TARGET_FAILED, "INTERNAL: %s", error_name(instance, error));
    }
    if (is_refused) {
        return fail_host(instance);
    }
    return fail(instance, TARGET_NO_MEMORY,
                "RESOURCE_EXHAUSTED: %s: no memory for %" PRIu64 " bytes: the pool of %" PRIu64
                " bytes has %" PRIu64 " in use and %" PRIu64 " reserved",
                error_name(instance, CUDA_OUT_OF_MEMORY), request->size_bytes,
                instance->capacity_bytes, cuda_pool_count(&instance->pool, CUDA_POOL_USED_CURRENT),
                cuda_pool_count(&instance->pool, CUDA_POOL_RESERVED_CURRENT));
}

static bool allocate(struct target_instance *instance, const struct target_request *request,
                     struct cuda_block *block)
{
    const struct cuda_queue *const queue = &instance->pool.queues[request->stream];
    block->behind = queue->first != NULL ? queue->last->value : 0;
    const uint64_t bytes = (request->size_bytes + GRANULE_BYTES - 1) & ~(GRANULE_BYTES - 1);
    return cuda_pool_allocate(&instance->pool, request->stream, bytes, &block->address,
                              &block->size_bytes);
}

/* One more try after everything that can be done about it. */
static bool allocate_drained(struct target_instance *instance, const struct target_request *request,
                             struct cuda_block *block, bool *is_refused)
{
    if (!instance->drains || instance->pool.error != CUDA_OK) {
        return false;
    }
    *is_refused = !cuda_drain(instance);
    cuda_pool_trim(&instance->pool);
    return allocate(instance, request, block);
}

static enum target_result target_alloc(struct target_instance *instance,
                                       const struct target_request *request,
                                       struct target_block *out)
{
    bool is_refused = false;
    cuda_settle(instance);
    const char *const flaw = find_flaw(request);
    if (flaw != NULL) {
        return fail(instance, TARGET_INVALID, "INVALID_ARGUMENT: %s", flaw);
    }
    struct cuda_block *const block = cuda_block_create(instance, request->stream);
    if (block == NULL) {
        return fail_host(instance);
    }
    if (!allocate(instance, request, block) &&
        !allocate_drained(instance, request, block, &is_refused)) {
        cuda_block_forget(instance, block);
        cuda_block_destroy(instance, block);
        return refuse(instance, request, is_refused);
    }
    *out = (struct target_block){.handle = block->handle, .size_bytes = block->size_bytes};
    return TARGET_OK;
}

static enum target_result target_free(struct target_instance *instance, uint64_t handle,
                                      uint64_t event)
{
    cuda_settle(instance);
    struct cuda_block *const block = cuda_block_find(instance, handle);
    if (block == NULL) {
        return fail_handle(instance);
    }
    const struct device_services *const device = &instance->device;
    const uint64_t last = device->last_event(device->context, block->stream);
    cuda_block_forget(instance, block);
    cuda_block_use(block, event, &block->free_event);
    cuda_block_use(block, last == event ? 0 : last, &block->stream_event);
    cuda_free_block(instance, block);
    return TARGET_OK;
}

static enum target_result target_use(struct target_instance *instance, uint64_t handle,
                                     uint64_t event)
{
    cuda_settle(instance);
    struct cuda_block *const block = cuda_block_find(instance, handle);
    if (block == NULL) {
        return fail_handle(instance);
    }
    struct cuda_use *const use = cuda_host_alloc(instance, sizeof *use);
    if (use == NULL) {
        return fail_host(instance);
    }
    cuda_block_use(block, event, use);
    cuda_block_end_uses(instance, block);
    return TARGET_OK;
}

static void target_stats(struct target_instance *instance, struct target_stats *stats)
{
    struct cuda_pool *const pool = &instance->pool;
    cuda_settle(instance);
    *stats = (struct target_stats){
        .bytes_in_use = cuda_pool_count(pool, CUDA_POOL_USED_CURRENT),
        .peak_bytes_in_use = cuda_pool_count(pool, CUDA_POOL_USED_HIGH),
        .bytes_limit = instance->capacity_bytes,
    };
}

static const char *target_message(struct target_instance *instance)
{
    return instance->message;
}

static enum target_result target_read(struct target_instance *instance, uint64_t handle,
                                      uint64_t offset, void *to, size_t bytes)
{
    const struct cuda_block *const block = cuda_block_find(instance, handle);
    if (block == NULL) {
        return fail_handle(instance);
    }
    cuda_pool_read(&instance->pool, block->address + offset, to, bytes);
    return TARGET_OK;
}

static enum target_result target_write(struct target_instance *instance, uint64_t handle,
                                       uint64_t offset, const void *from, size_t bytes)
{
    const struct cuda_block *const block = cuda_block_find(instance, handle);
    if (block == NULL) {
        return fail_handle(instance);
    }
    cuda_pool_write(&instance->pool, block->address + offset, from, bytes);
    return TARGET_OK;
}

const struct target adapter_cuda = {
    .abi_version = TARGET_ABI_VERSION,
    .size_bytes = sizeof(struct target),
    .name = "cuda:pool",
    .summary = "a stream-ordered pool of the CUDA driver, on the first GPU",
    .options = option_rows,
    .open = target_open,
    .close = target_close,
    .alloc = target_alloc,
    .free = target_free,
    .use = target_use,
    .stats = target_stats,
    .message = target_message,
    .limits = {.smallest_capacity_bytes = CAPACITY_STEP_BYTES,
               .largest_capacity_bytes = CAPACITY_BYTES_MAX,
               .capacity_step_bytes = CAPACITY_STEP_BYTES,
               .largest_align_bytes = GRANULE_BYTES},
    .read = target_read,
    .write = target_write,
};
