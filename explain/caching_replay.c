#include "explain/private/files.h"

#include "harness/base/array.h"
#include "harness/base/check.h"

#include <stdlib.h>

#define NOT_THERE UINT64_MAX
/* Segments never lie where another one lay; ranges of expandable segments are as far apart as the
 * memory of a device is large, or 2^44 bytes. */
#define SEGMENT_ALIGN_BYTES (UINT64_C(1) << 21)
#define RANGE_BYTES_UNLIMITED (UINT64_C(1) << 44)

/* A block that is freed and waits for an event. */
struct waiting {
    uint64_t address;
    uint32_t event;
    bool ends_in_time; /* when time passes next */
};

/* One device with its allocator: the driver below it is here. */
struct gpu {
    struct cache *cache;
    struct cache_upstream upstream;
    uint64_t capacity_bytes, reserved_bytes, next_address;
    struct waiting *waiting; /* waiting_count of them */
    size_t waiting_count, waiting_room;
};

/* --- the driver --- */

static bool take_bytes(struct gpu *gpu, uint64_t bytes)
{
    if (bytes > gpu->capacity_bytes - gpu->reserved_bytes) {
        return false;
    }
    gpu->reserved_bytes += bytes;
    return true;
}

static struct cache_range take_addresses(struct gpu *gpu, uint64_t bytes)
{
    const struct cache_range range = {gpu->next_address, bytes};
    gpu->next_address += (bytes + SEGMENT_ALIGN_BYTES - 1) / SEGMENT_ALIGN_BYTES *
                         SEGMENT_ALIGN_BYTES;
    return range;
}

static bool take_segment(void *context, uint64_t bytes, uint64_t needed_bytes,
                         struct cache_range *segment)
{
    (void)needed_bytes;
    if (!take_bytes(context, bytes)) {
        return false;
    }
    *segment = take_addresses(context, bytes);
    return true;
}

static void give_segment(void *context, struct cache_range segment)
{
    ((struct gpu *)context)->reserved_bytes -= segment.size_bytes;
}

static bool take_range(void *context, uint64_t bytes, struct cache_range *range)
{
    *range = take_addresses(context, bytes);
    return true;
}

static void give_range(void *context, struct cache_range range)
{
    (void)context;
    (void)range;
}

static bool map_part(void *context, struct cache_range part)
{
    return take_bytes(context, part.size_bytes);
}

static void *allocate_host(void *context, size_t bytes)
{
    (void)context;
    return malloc(bytes);
}

static void free_host(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)bytes;
    free(memory);
}

/* --- queued frees --- */

/* Completes those that wait for the event, those that time ends, or all. */
static void complete(struct gpu *gpu, bool all, bool in_time, uint32_t event)
{
    size_t kept = 0;
    for (size_t i = 0; i < gpu->waiting_count; i++) {
        const struct waiting *waiting = &gpu->waiting[i];
        if (all || (in_time && waiting->ends_in_time) || (!in_time && waiting->event == event)) {
            (void)cache_complete(gpu->cache, waiting->address);
        } else {
            gpu->waiting[kept++] = *waiting;
        }
    }
    gpu->waiting_count = kept;
}

static void complete_all(void *context)
{
    complete(context, true, false, OP_NONE);
}

static void gpu_init(struct gpu *gpu, const struct cache_settings *settings,
                     uint64_t capacity_bytes)
{
    *gpu = (struct gpu){.capacity_bytes = capacity_bytes, .next_address = SEGMENT_ALIGN_BYTES};
    gpu->upstream = (struct cache_upstream){.context = gpu,
                                            .segment_take = take_segment,
                                            .segment_give = give_segment,
                                            .range_take = take_range,
                                            .range_give = give_range,
                                            .map = map_part,
                                            .unmap = give_segment,
                                            .complete_all = complete_all,
                                            .host_alloc = allocate_host,
                                            .host_free = free_host};
    gpu->cache = cache_create(settings, &gpu->upstream, CACHE_STRAIGHT);
    CHECK(gpu->cache != NULL);
}

static void gpu_deinit(struct gpu *gpu)
{
    cache_destroy(gpu->cache);
    free(gpu->waiting);
}

/* --- ops --- */

struct caching_replay {
    const struct op_list *ops;
    struct gpu *gpus;    /* one for each host */
    uint64_t *addresses; /* by op: of the block that it made; NOT_THERE */
    unsigned filler_tag;
    struct caching_outcome *outcome;
};

static uint64_t find_stream(const struct op *op)
{
    return (op->flags & OP_ON_STREAM) != 0 ? op->stream : 0;
}

static void note_reserved(const struct gpu *gpu, struct caching_outcome *outcome)
{
    if (gpu->reserved_bytes > outcome->reserved_peak_bytes) {
        outcome->reserved_peak_bytes = gpu->reserved_bytes;
        outcome->unused_bytes = gpu->reserved_bytes - cache_totals(gpu->cache).active_bytes;
    }
}

static void play_request(struct caching_replay *replay, struct gpu *gpu, uint32_t i)
{
    const struct op *op = &replay->ops->ops[i];
    struct caching_outcome *outcome = replay->outcome;
    struct cache_range block;
    if (op->tag == replay->filler_tag || op->size_bytes == 0) {
        return;
    }
    if (cache_malloc(gpu->cache, op->size_bytes, find_stream(op), &block) != CACHE_OK) {
        outcome->first_oom_op = outcome->oom_count == 0 ? i : outcome->first_oom_op;
        outcome->oom_count++;
        return;
    }
    replay->addresses[i] = block.address;
    outcome->largest_served_bytes = op->size_bytes > outcome->largest_served_bytes
                                        ? op->size_bytes
                                        : outcome->largest_served_bytes;
    note_reserved(gpu, outcome);
}

static void play_free(struct caching_replay *replay, struct gpu *gpu, uint32_t i)
{
    const struct op *op = &replay->ops->ops[i];
    const uint64_t address = op->ref < i ? replay->addresses[op->ref] : NOT_THERE;
    const bool has_own_event = op->event == OP_NONE;
    if (address == NOT_THERE) {
        return;
    }
    replay->addresses[op->ref] = NOT_THERE;
    (void)cache_free(gpu->cache, address, op->kind == OP_FREE_AFTER);
    if (op->kind == OP_FREE_AFTER) {
        gpu->waiting = array_grown(gpu->waiting, gpu->waiting_count, &gpu->waiting_room,
                                   sizeof *gpu->waiting);
        gpu->waiting[gpu->waiting_count++] = (struct waiting){
            address, has_own_event ? i : op->event, has_own_event && op->delay_ns != DELAY_NEVER};
    }
}

static void play_op(struct caching_replay *replay, uint32_t i)
{
    const struct op *op = &replay->ops->ops[i];
    struct gpu *gpu = &replay->gpus[op->host];
    switch (op->kind) {
    case OP_ALLOC:
    case OP_OUTPUT:
        play_request(replay, gpu, i);
        break;
    case OP_DONATE: /* the output has the block */
        if (op->ref < i) {
            replay->addresses[i] = replay->addresses[op->ref];
            replay->addresses[op->ref] = NOT_THERE;
        }
        break;
    case OP_FREE:
    case OP_FREE_AFTER:
        play_free(replay, gpu, i);
        break;
    case OP_COMPLETE:
        complete(gpu, false, false, op->event);
        break;
    case OP_ADVANCE:
        complete(gpu, false, true, OP_NONE);
        break;
    default:
        break;
    }
}

void caching_replay(const struct setup *setup, const struct op_list *ops,
                    const struct cache_settings *settings, uint64_t capacity_bytes,
                    struct caching_outcome *outcome)
{
    struct cache_settings used = *settings;
    struct caching_replay replay = {
        .ops = ops, .filler_tag = setup_filler_tag(setup), .outcome = outcome};
    used.range_bytes = capacity_bytes == UINT64_MAX ? RANGE_BYTES_UNLIMITED
                                                    : capacity_bytes / 8 * 9;
    *outcome = (struct caching_outcome){.first_oom_op = OP_NONE};
    replay.gpus = calloc(setup->host_count, sizeof *replay.gpus);
    replay.addresses = malloc((ops->count + 1) * sizeof *replay.addresses);
    CHECK(replay.gpus != NULL && replay.addresses != NULL);
    for (uint32_t host = 0; host < setup->host_count; host++) {
        gpu_init(&replay.gpus[host], &used, capacity_bytes);
    }
    for (uint32_t i = 0; i < ops->count; i++) {
        replay.addresses[i] = NOT_THERE;
        play_op(&replay, i);
    }
    for (uint32_t host = 0; host < setup->host_count; host++) {
        gpu_deinit(&replay.gpus[host]);
    }
    free(replay.gpus);
    free(replay.addresses);
}
