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
    struct import_error *error;
};

/* The names with the most bytes get a tag each. */
static void choose_tags(struct builder *builder)
{
    const struct torch_names *names = &builder->snapshot->names;
    const struct torch_name **order = torch_names_by_bytes(names);
    builder->tags = calloc(names->count + 1, 1);
    for (size_t i = 0; builder->tags != NULL && i < names->count; i++) {
        builder->tags[order[i]->number] = tag_by_rank(&builder->import->setup, i, order[i]->text);
    }
    free(order);
}

/* Of the failures after which nothing was allocated or freed on their devices the latest: the final
 * state of its device is that of the failure. */
static const struct torch_event *find_failure(const struct torch_snapshot *snapshot,
                                              struct import *import)
{
    const struct torch_event *found = NULL;
    unsigned count = 0;
    for (size_t i = 0; i < snapshot->event_count; i++) {
        const struct torch_event *event = &snapshot->events[i];
        const bool is_last = i + 1 == snapshot->event_count || event[1].host != event->host;
        if (is_last && event->action == TORCH_OOM) {
            found = found == NULL || event->time_us >= found->time_us ? event : found;
            count++;
        }
    }
    if (count > 1) {
        import_note(
            import,
            "on %u more devices, the last event is a failed request; only the latest of all is replayed, on device %u",
            count - 1, found->host);
    }
    return found;
}

static enum import_result add_blocks(struct builder *builder)
{
    static const enum heap_span_state states[] = {HEAP_SPAN_FREE, HEAP_SPAN_IN_USE,
                                                  HEAP_SPAN_DYING};
    enum import_result result = IMPORT_OK;
    for (size_t i = 0; result == IMPORT_OK && i < builder->snapshot->block_count; i++) {
        const struct torch_block *block = &builder->snapshot->blocks[i];
        const struct heap_span span = {
            .address = block->address,
            .size_bytes = block->size_bytes,
            .requested_bytes = block->state == TORCH_INACTIVE ? 0 : block->requested_bytes,
            .state = states[block->state],
            .host = block->host,
            .tag = torch_name_tag(builder->tags, block->name),
            .begins_region = block->begins_segment,
        };
        result = heap_image_add(&builder->image, &span, builder->error);
    }
    return result;
}

/* What the device still had besides the segments is one region more; where is not known, and
 * nothing depends on it. */
static enum import_result add_free(struct builder *builder)
{
    const struct torch_event *asked = builder->asked;
    const uint64_t granule_bytes = builder->snapshot->granule_bytes;
    if (asked == NULL || asked->free_bytes == UINT64_MAX || asked->free_bytes < granule_bytes) {
        return IMPORT_OK;
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
    return heap_image_add(&builder->image, &span, builder->error);
}

static void append_request(struct builder *builder)
{
    const struct torch_event *asked = builder->asked;
    if (asked == NULL) {
        import_note(builder->import, "the file does not show a failed request in this state");
        return;
    }
    struct op op = op_make(OP_ALLOC);
    op.host = asked->host;
    const bool is_huge = asked->size_bytes > CAPACITY_BYTES_MAX;
    op.size_bytes = is_huge ? CAPACITY_BYTES_MAX
                            : torch_rounded(builder->snapshot, asked->size_bytes);
    op.unpadded_bytes = asked->size_bytes < op.size_bytes ? asked->size_bytes : 0;
    if (is_huge) {
        import_note(builder->import, "the request of %" PRIu64 " bytes is cut to 2^50",
                    asked->size_bytes);
    }
    op.tag = torch_name_tag(builder->tags, asked->name);
    const uint32_t index = (uint32_t)builder->import->ops.count;
    op_list_append(&builder->import->ops, &op);
    import_say(builder->import, index, SAID_FAILED, 0);
}

enum import_result torch_build_heap(const struct torch_snapshot *snapshot,
                                    const struct import_input *input, struct import *import,
                                    struct import_error *error)
{
    struct builder builder = {.snapshot = snapshot,
                              .import = import,
                              .fixed = input->fixed,
                              .error = error,
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
    choose_tags(&builder);
    enum import_result result = add_blocks(&builder);
    if (result == IMPORT_OK) {
        result = add_free(&builder);
    }
    if (result == IMPORT_OK) {
        result = heap_image_build(&builder.image, builder.fixed, import, error);
    }
    if (result == IMPORT_OK) {
        append_request(&builder);
    }
    heap_image_deinit(&builder.image);
    free(builder.tags);
    return result;
}
