/* The final state as a heap, and the request that failed in it. */
#include "formats/torch/private/torch.h"

#include "formats/common/heap_image.h"
#include "formats/common/tags.h"

#include <inttypes.h>
#include <stdlib.h>

struct builder {
    const struct torch_snapshot *snapshot;
    struct import *import;
    const struct setup *fixed;
    struct heap_image image;
    uint8_t *tags;                   /* by number of the name */
    const struct torch_event *asked; /* the request that failed, or NULL */
    uint8_t idle_tags[TORCH_IDLE_COUNT];
    size_t idle_kinds;
    uint64_t idle_bytes;
    uint64_t unexplained_bytes; /* of the largest free block that would serve the request */
};

static const struct torch_event *find_failure(const struct torch_snapshot *snapshot,
                                              struct import *import)
{
    unsigned other_count = 0;
    const struct torch_event *found = torch_find_failure(snapshot, &other_count);
    if (other_count > 0) {
        import_note(
            import,
            "on %u more devices, the last event is a failed request; only the latest of all is replayed, on device %u",
            other_count, found->host);
    }
    return found;
}

/* Returns the tag of memory that could not serve the request: shown as in use, the tag says why. */
static uint8_t tag_idle(struct builder *builder, enum torch_idle idle, uint64_t size_bytes)
{
    if (builder->idle_tags[idle] == 0) {
        const size_t rank = builder->snapshot->names.table.count + builder->idle_kinds++;
        builder->idle_tags[idle] = tag_by_rank(&builder->import->setup, rank,
                                               torch_idle_name(idle));
    }
    builder->idle_bytes += size_bytes;
    return builder->idle_tags[idle];
}

static void note_unexplained(struct builder *builder, const struct torch_block *block,
                             enum torch_idle idle)
{
    if (builder->asked != NULL && idle == TORCH_IDLE_NOT && block->state == TORCH_INACTIVE &&
        block->host == builder->asked->host && block->size_bytes >= builder->asked->size_bytes &&
        block->size_bytes > builder->unexplained_bytes) {
        builder->unexplained_bytes = block->size_bytes;
    }
}

static void add_blocks(struct builder *builder)
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
        const enum torch_idle idle = builder->asked == NULL
                                         ? TORCH_IDLE_NOT
                                         : torch_why_idle(builder->snapshot, builder->asked, block);
        note_unexplained(builder, block, idle);
        if (idle != TORCH_IDLE_NOT) {
            span.state = HEAP_SPAN_IN_USE;
            span.tag = tag_idle(builder, idle, block->size_bytes);
        }
        heap_image_add(&builder->image, &span);
    }
}

/* It has the bytes of the request, and not those of its segment, or it refused these. */
static void refuse_device_bytes(struct builder *builder, struct heap_span *span)
{
    const uint64_t segment_bytes = torch_segment_bytes_for(builder->snapshot,
                                                           builder->asked->size_bytes);
    span->state = HEAP_SPAN_IN_USE;
    span->tag = tag_idle(builder, TORCH_IDLE_DEVICE, span->size_bytes);
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
static void add_free(struct builder *builder)
{
    const struct torch_event *asked = builder->asked;
    const uint64_t granule_bytes = builder->snapshot->granule_bytes;
    if (asked == NULL || asked->free_bytes == UINT64_MAX || asked->free_bytes < granule_bytes) {
        return;
    }
    struct heap_span span = {.size_bytes = asked->free_bytes / granule_bytes * granule_bytes,
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

static void explain_failure(struct builder *builder)
{
    if (builder->asked->free_bytes == UINT64_MAX) {
        import_assume(builder->import, "device %u had nothing free outside the segments",
                      builder->asked->host);
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
    torch_quote_failure(builder->snapshot, builder->asked, builder->import);
}

static void append_request(struct builder *builder)
{
    const struct torch_event *asked = builder->asked;
    if (asked == NULL) {
        import_note(builder->import, "the file does not show a failed request in this state");
        return;
    }
    explain_failure(builder);
    const bool is_huge = asked->size_bytes > CAPACITY_BYTES_MAX;
    struct op op = OP_TO_MAKE(
        OP_ALLOC, .host = asked->host, .tag = torch_name_tag(builder->tags, asked->name),
        .size_bytes = is_huge ? CAPACITY_BYTES_MAX
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
    struct builder builder = {.snapshot = snapshot,
                              .import = import,
                              .fixed = input->fixed,
                              .asked = find_failure(snapshot, import)};
    if (snapshot->block_count == 0) {
        return import_fail(error, IMPORT_INCOMPLETE, 0, 0,
                           "the file has no block in a segment, and no event of one");
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
