/* The final state as a heap, and the request that failed in it. */
#include "formats/torch/private/torch.h"

#include "formats/common/heap_image.h"
#include "formats/common/tags.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the request that failed last --- */

/* PyTorch's constants: requests up to 1 MiB are of the small pool, in segments of 2 MiB; those from
 * 10 MiB on get a segment of their own, in steps of 2 MiB. */
#define MIB ((uint64_t)1 << 20)
#define SMALL_BYTES_MAX MIB
#define SMALL_SEGMENT_BYTES (2 * MIB)
#define DIRECT_BYTES_MIN (10 * MIB)

/* Finds the latest failure after which nothing was allocated or freed on its device: the final
 * state of the device is that of the failure.  NULL: there is none. *other_count: further ones. */
static const struct torch_event *find_failure(const struct torch_snapshot *snapshot,
                                              unsigned *other_count)
{
    const struct torch_event *found = NULL;
    *other_count = 0;
    for (size_t i = 0; i < snapshot->event_count; i++) {
        const struct torch_event *event = &snapshot->events[i];
        const bool is_last = i + 1 == snapshot->event_count || event[1].host != event->host;
        if (is_last && event->action == TORCH_OOM) {
            *other_count += found != NULL ? 1 : 0;
            found = found == NULL || event->time_us >= found->time_us ? event : found;
        }
    }
    return found;
}

static uint64_t count_live_bytes(const struct torch_snapshot *snapshot, uint8_t host)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < snapshot->block_count; i++) {
        const struct torch_block *block = &snapshot->blocks[i];
        bytes += block->host == host && block->state != TORCH_INACTIVE ? block->size_bytes : 0;
    }
    return bytes;
}

bool torch_fails_by_place(const struct torch_snapshot *snapshot)
{
    unsigned other_count = 0;
    const struct torch_event *failure = find_failure(snapshot, &other_count);
    if (failure == NULL || failure->size_bytes > IMPORT_CAPACITY_MAX) {
        return false;
    }
    const uint64_t capacity_bytes = torch_capacity(snapshot, failure->host);
    return capacity_bytes == 0 || count_live_bytes(snapshot, failure->host) +
                                          torch_rounded(snapshot, failure->size_bytes) <=
                                      capacity_bytes;
}

/* The bytes that the allocator asks the device for when no cached block serves size_bytes. */
static uint64_t segment_bytes_for(const struct torch_snapshot *snapshot, uint64_t size_bytes)
{
    if (size_bytes <= SMALL_BYTES_MAX) {
        return SMALL_SEGMENT_BYTES;
    }
    return size_bytes < DIRECT_BYTES_MIN ? snapshot->large_segment_bytes
                                         : align_up(size_bytes, 2 * MIB);
}

/* Why free memory that is large enough could not serve the request that failed. */
enum idle {
    IDLE_NOT, /* it is in use, or too small, or nothing that the file has keeps it */
    IDLE_SMALL_POOL,
    IDLE_LARGE_POOL,
    IDLE_PRIVATE_POOL,
    IDLE_STREAM,
    IDLE_WHOLE,
    IDLE_DEVICE, /* the device's own: less than a segment, or refused */
    IDLE_COUNT
};
static const char *const idle_names[IDLE_COUNT] = {
    [IDLE_NOT] = "",
    [IDLE_SMALL_POOL] = "free in the small pool",
    [IDLE_LARGE_POOL] = "free in the large pool",
    [IDLE_PRIVATE_POOL] = "free in a private pool",
    [IDLE_STREAM] = "free for another stream",
    [IDLE_WHOLE] = "free, kept whole by max_split_size",
    [IDLE_DEVICE] = "free on the device, not for a segment",
};

/* max_split_size: a block that large is not split, and serves no request below that size, nor one
 * that would leave a large segment unused. */
static bool is_kept_whole(const struct torch_snapshot *snapshot, const struct torch_block *block,
                          uint64_t size_bytes)
{
    const uint64_t limit_bytes = snapshot->max_split_bytes;
    return limit_bytes != 0 && block->size_bytes >= limit_bytes &&
           (size_bytes < limit_bytes ||
            block->size_bytes >= size_bytes + snapshot->large_segment_bytes);
}

static enum idle why_idle(const struct torch_snapshot *snapshot, const struct torch_event *failure,
                          const struct torch_block *block)
{
    const uint64_t size_bytes = failure->size_bytes;
    const bool is_small = size_bytes <= SMALL_BYTES_MAX;
    if (block->state != TORCH_INACTIVE || block->host != failure->host ||
        block->size_bytes < size_bytes) {
        return IDLE_NOT;
    }
    if (block->pool == TORCH_POOL_SMALL && !is_small) {
        return IDLE_SMALL_POOL;
    }
    if (block->pool == TORCH_POOL_LARGE && is_small) {
        return IDLE_LARGE_POOL;
    }
    if (block->is_private) {
        return IDLE_PRIVATE_POOL;
    }
    if (block->stream != failure->stream) {
        return IDLE_STREAM;
    }
    return is_kept_whole(snapshot, block, size_bytes) ? IDLE_WHOLE : IDLE_NOT;
}

/* --- the heap --- */

struct torch_heap_builder {
    const struct torch_snapshot *snapshot;
    struct import *import;
    const struct setup *fixed;
    struct heap_image image;
    uint8_t *tags;                   /* by number of the name */
    const struct torch_event *asked; /* the request that failed, or NULL */
    uint8_t idle_tags[IDLE_COUNT];
    size_t idle_kinds;
    uint64_t idle_bytes;
    uint64_t unexplained_bytes; /* of the largest free block that would serve the request */
};

/* Returns the tag of memory that could not serve the request: shown as in use, the tag says why. */
static uint8_t tag_idle(struct torch_heap_builder *builder, enum idle idle, uint64_t size_bytes)
{
    if (builder->idle_tags[idle] == 0) {
        const size_t rank = builder->snapshot->names.table.count + builder->idle_kinds++;
        builder->idle_tags[idle] = tag_by_rank(&builder->import->setup, rank, idle_names[idle]);
    }
    builder->idle_bytes += size_bytes;
    return builder->idle_tags[idle];
}

static void add_blocks(struct torch_heap_builder *builder)
{
    static const enum heap_span_state states[] = {HEAP_SPAN_FREE, HEAP_SPAN_IN_USE,
                                                  HEAP_SPAN_DYING};
    for (size_t i = 0; i < builder->snapshot->block_count; i++) {
        const struct torch_block *block = &builder->snapshot->blocks[i];
        struct heap_span span = {
            .address = block->address,
            .size_bytes = block->size_bytes,
            .requested_bytes = block->state == TORCH_INACTIVE ? 0 : block->requested_bytes,
            .state = states[block->state],
            .host = block->host,
            .tag = torch_name_tag(builder->tags, block->name),
            .stack = block->stack,
            .begins_region = block->begins_segment,
        };
        const enum idle idle = builder->asked == NULL
                                   ? IDLE_NOT
                                   : why_idle(builder->snapshot, builder->asked, block);
        if (builder->asked != NULL && idle == IDLE_NOT && block->state == TORCH_INACTIVE &&
            block->host == builder->asked->host &&
            block->size_bytes >= builder->asked->size_bytes &&
            block->size_bytes > builder->unexplained_bytes) {
            builder->unexplained_bytes = block->size_bytes;
        }
        if (idle != IDLE_NOT) {
            span.state = HEAP_SPAN_IN_USE;
            span.tag = tag_idle(builder, idle, block->size_bytes);
        }
        heap_image_add(&builder->image, &span);
    }
}

/* It has the bytes of the request, and not those of its segment, or it refused these. */
static void refuse_device_bytes(struct torch_heap_builder *builder, struct heap_span *span)
{
    const uint64_t segment_bytes = segment_bytes_for(builder->snapshot, builder->asked->size_bytes);
    span->state = HEAP_SPAN_IN_USE;
    span->tag = tag_idle(builder, IDLE_DEVICE, span->size_bytes);
    if (segment_bytes <= builder->asked->free_bytes) {
        import_assume(builder->import,
                      "the device refused a segment of %" PRIu64 " bytes although it had %" PRIu64
                      " free: a limit (per_process_memory_fraction), or another process that took "
                      "and gave back memory; the file does not say which",
                      segment_bytes, builder->asked->free_bytes);
    } else {
        import_note(builder->import,
                    "the request needs a segment of %" PRIu64 " bytes, which the device has not",
                    segment_bytes);
    }
}

/* Adds one more region for what the device still had besides the segments.  Its place is not known,
 * and nothing depends on it. */
static void add_free(struct torch_heap_builder *builder)
{
    const struct torch_event *asked = builder->asked;
    const uint64_t granule_bytes = builder->snapshot->granule_bytes;
    if (asked == NULL || asked->free_bytes == UINT64_MAX || asked->free_bytes < granule_bytes) {
        return;
    }
    struct heap_span span = {.size_bytes = align_down(asked->free_bytes, granule_bytes),
                             .host = asked->host,
                             .begins_region = true};
    const struct torch_block *first = NULL;
    for (size_t i = 0; i < builder->snapshot->block_count; i++) {
        const struct torch_block *block = &builder->snapshot->blocks[i];
        if (block->host == asked->host) {
            first = first == NULL ? block : first;
            span.address = block->address + block->size_bytes;
        }
    }
    if (first != NULL && first->address >= span.size_bytes) {
        span.address = first->address -
                       span.size_bytes; /* free memory at the bottom needs no ops */
    }
    import_note(builder->import, "device %u has %" PRIu64 " more bytes free outside the segments",
                asked->host, span.size_bytes);
    if (asked->size_bytes <= span.size_bytes) {
        refuse_device_bytes(builder, &span);
    }
    heap_image_add(&builder->image, &span);
}

static void append_request(struct torch_heap_builder *builder)
{
    const struct torch_event *asked = builder->asked;
    if (asked == NULL) {
        import_note(builder->import, "the file does not show a failed request in this state");
        return;
    }
    if (asked->free_bytes == UINT64_MAX) {
        import_assume(builder->import, "device %u had nothing free outside the segments",
                      asked->host);
    }
    if (builder->idle_bytes > 0) {
        import_note(builder->import,
                    "%" PRIu64 " free bytes in pieces that are large enough, but not for this "
                    "request, are shown as in use: tags 'free ...'",
                    builder->idle_bytes);
    }
    if (builder->unexplained_bytes > 0) {
        import_assume(builder->import,
                      "a free block of %" PRIu64
                      " bytes serves the request, which failed: its pool, "
                      "stream and size are right, and the file does not say why PyTorch passed it "
                      "over, or whether another thread freed it later",
                      builder->unexplained_bytes);
    }
    torch_quote_failure(builder->snapshot, asked, builder->import);
    const bool is_huge = asked->size_bytes > IMPORT_CAPACITY_MAX;
    struct op op = OP_TO_MAKE(
        OP_ALLOC, .host = asked->host, .tag = torch_name_tag(builder->tags, asked->name),
        .size_bytes = is_huge ? IMPORT_CAPACITY_MAX
                              : torch_rounded(builder->snapshot, asked->size_bytes));
    op.unpadded_bytes = asked->size_bytes < op.size_bytes ? asked->size_bytes : 0;
    if (is_huge) {
        import_assume(builder->import, "the request of %" PRIu64 " bytes asks for 2^50 here",
                      asked->size_bytes);
    }
    const uint32_t index = import_append(builder->import, &op);
    import_say(builder->import, index, SAID_FAILED, 0);
    stacks_say(builder->import->stacks, index, asked->stack);
}

enum import_result torch_build_heap(const struct torch_snapshot *snapshot,
                                    const struct import_input *input, struct import *import,
                                    struct import_error *error)
{
    unsigned other_count = 0;
    struct torch_heap_builder builder = {.snapshot = snapshot,
                                         .import = import,
                                         .fixed = input->fixed,
                                         .asked = find_failure(snapshot, &other_count)};
    if (other_count > 0) {
        import_note(
            import,
            "on %u more devices, the last event is a failed request; only the latest of all is replayed, on device %u",
            other_count, builder.asked->host);
    }
    if (snapshot->block_count == 0) {
        return IMPORT_LACKS(error, "the file has no block in a segment, and no event of one");
    }
    import_note(
        import,
        "the final state: %zu blocks in %zu segments; no block crosses the border of a segment",
        snapshot->block_count, snapshot->segment_count);
    heap_image_init(&builder.image);
    builder.tags = name_table_give_tags(&snapshot->names.table, tag_by_rank, &import->setup);
    add_blocks(&builder);
    add_free(&builder);
    const enum import_result result = heap_image_build(&builder.image, builder.fixed, import,
                                                       error);
    if (result == IMPORT_OK) {
        append_request(&builder);
    }
    heap_image_deinit(&builder.image);
    free(builder.tags);
    return result;
}

void torch_quote_failure(const struct torch_snapshot *snapshot, const struct torch_event *failure,
                         struct import *import)
{
    char text[IMPORT_MESSAGE_BYTES];
    char device_free[64] = "";
    const char *place = torch_name_text(&snapshot->names, failure->name);
    if (failure->free_bytes != UINT64_MAX) {
        snprintf(device_free, sizeof device_free, ", device_free %" PRIu64, failure->free_bytes);
    }
    const int length = snprintf(text, sizeof text,
                                "device_traces[%u][%" PRIu32 "]: oom, size %" PRIu64 "%s%s%s",
                                failure->host, failure->index, failure->size_bytes, device_free,
                                place[0] == '\0' ? "" : ", in ", place);
    import_quote(import, text, (size_t)length, 0);
}
