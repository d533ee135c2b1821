/* From a checked dump to ops: its heap, chunk by chunk, then the request that failed.  The
 * operations that chunks belong to become tags. */
#include "formats/bfc/private/bfc.h"
#include "formats/common/heap_image.h"
#include "formats/common/tags.h"
#include "harness/base/check.h"
#include "harness/base/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- tags --- */

/* One operation, and what it holds. */
struct bfc_holder {
    struct text_part name;
    uint64_t size_bytes;
    uint8_t tag;
};

struct bfc_holders {
    struct bfc_holder *holders; /* sorted by name */
    size_t count;
};

static int compare_texts(const struct text_part *a, const struct text_part *b)
{
    const size_t shorter = a->length < b->length ? a->length : b->length;
    return compare_then(shorter == 0 ? 0 : memcmp(a->at, b->at, shorter),
                        compare_numbers(a->length, b->length));
}

static int compare_names(const void *a, const void *b)
{
    const struct bfc_holder *x = a;
    const struct bfc_holder *y = b;
    return compare_texts(&x->name, &y->name);
}

static int compare_bytes(const void *a, const void *b)
{
    const struct bfc_holder *x = *(const struct bfc_holder *const *)a;
    const struct bfc_holder *y = *(const struct bfc_holder *const *)b;
    return compare_then(compare_numbers(y->size_bytes, x->size_bytes),
                        compare_texts(&x->name, &y->name));
}

static bool is_used(const struct bfc_chunk *chunk)
{
    return chunk->is_in_use || chunk->is_pending;
}

static uint8_t find_tag(const struct bfc_holders *holders, const struct text_part *name)
{
    const struct bfc_holder key = {.name = *name};
    const struct bfc_holder *holder = holders->count == 0
                                          ? NULL
                                          : bsearch(&key, holders->holders, holders->count,
                                                    sizeof key, compare_names);
    return holder == NULL ? 0 : holder->tag;
}

/* Sorts count of them and puts those of one name together. */
static void merge_holders(struct bfc_holders *holders, size_t count)
{
    qsort(holders->holders, count, sizeof *holders->holders, compare_names);
    for (size_t i = 0; i < count; i++) {
        struct bfc_holder *last = &holders->holders[holders->count - (holders->count > 0)];
        if (holders->count > 0 && compare_names(last, &holders->holders[i]) == 0) {
            last->size_bytes += holders->holders[i].size_bytes;
        } else {
            holders->holders[holders->count++] = holders->holders[i];
        }
    }
}

/* Operations with chunks in use, and the one that asked.  Chunks of which no operation is said
 * share a name without letters. */
static void collect_holders(const struct bfc_dump *dump, struct bfc_holders *holders)
{
    struct bfc_holder unnamed = {0};
    size_t count = 0;
    holders->holders = malloc((dump->chunk_count + 2) * sizeof *holders->holders);
    CHECK(holders->holders != NULL);
    if (dump->operation.length > 0) {
        holders->holders[count++] = (struct bfc_holder){.name = dump->operation};
    }
    for (size_t i = 0; i < dump->chunk_count; i++) {
        const struct bfc_chunk *chunk = &dump->chunks[i];
        if (!is_used(chunk)) {
            continue;
        }
        if (chunk->operation.length == 0) {
            unnamed.size_bytes += chunk->size_bytes;
        } else {
            holders->holders[count++] = (struct bfc_holder){.name = chunk->operation,
                                                            .size_bytes = chunk->size_bytes};
        }
    }
    if (unnamed.size_bytes > 0) {
        holders->holders[count++] = unnamed;
    }
    merge_holders(holders, count);
}

/* The largest have a tag of their own, in descending order of bytes; all others share one. */
static void give_tags(struct bfc_holders *holders, struct import *import)
{
    struct bfc_holder **order = malloc((holders->count + 1) * sizeof(struct bfc_holder *));
    CHECK(order != NULL);
    for (size_t i = 0; i < holders->count; i++) {
        order[i] = &holders->holders[i];
    }
    qsort(order, holders->count, sizeof(struct bfc_holder *), compare_bytes);
    for (size_t i = 0; i < holders->count; i++) {
        char name[SETUP_NAME_BYTES];
        /* If it is too long for a tag, its end says more than its beginning. */
        const struct text_part *text = &order[i]->name;
        const bool is_long = text->length > SETUP_NAME_BYTES - 1;
        const size_t kept = is_long ? SETUP_NAME_BYTES - 4 : text->length;
        snprintf(name, sizeof name, "%s%.*s",
                 is_long             ? "..."
                 : text->length == 0 ? "in use"
                                     : "",
                 (int)kept, kept == 0 ? "" : text->at + text->length - kept);
        order[i]->tag = tag_by_rank(&import->setup, i, name);
    }
    if (holders->count > TAG_OWN_COUNT_MAX) {
        import_note(
            import,
            "of %zu operations, the %d that hold most have a tag each; the others share the tag 'other'",
            holders->count, TAG_OWN_COUNT_MAX);
    }
    free(order);
}

/* --- heap --- */

static void add_spans(const struct bfc_dump *dump, const struct bfc_holders *holders,
                      struct heap_image *image)
{
    for (size_t i = 0; i < dump->chunk_count; i++) {
        const struct bfc_chunk *chunk = &dump->chunks[i];
        const struct heap_span span = {
            .address = chunk->address,
            .size_bytes = chunk->size_bytes,
            .state = chunk->is_in_use    ? HEAP_SPAN_IN_USE
                     : chunk->is_pending ? HEAP_SPAN_DYING
                                         : HEAP_SPAN_FREE,
            .tag = is_used(chunk) ? find_tag(holders, &chunk->operation) : 0,
            .begins_region = chunk->begins_region,
            .line = chunk->line,
        };
        heap_image_add(image, &span);
    }
}

/* The granule of the allocator, unless the user fixed one or a size of the dump is no multiple of
 * it. */
static void fix_granule(const struct bfc_dump *dump, const struct setup *fixed, struct setup *setup)
{
    setup_init(setup);
    setup_copy(setup, fixed);
    for (size_t i = 0; i < dump->chunk_count; i++) {
        if (dump->chunks[i].size_bytes % BFC_GRANULE_BYTES != 0) {
            return;
        }
    }
    setup->granule_bytes = fixed->granule_bytes != 0 ? fixed->granule_bytes : BFC_GRANULE_BYTES;
}

static enum import_result build_heap(const struct bfc_dump *dump, const struct bfc_holders *holders,
                                     const struct import_input *input, struct import *import,
                                     struct import_error *error)
{
    static const struct setup nothing;
    struct setup fixed = nothing;
    struct heap_image image;
    heap_image_init(&image);
    fix_granule(dump, input->fixed, &fixed);
    add_spans(dump, holders, &image);
    const enum import_result result = heap_image_build(&image, &fixed, import, error);
    heap_image_deinit(&image);
    return result;
}

/* --- notes --- */

static void note_request(const struct bfc_dump *dump, struct import *import)
{
    const int name_length = (int)(dump->name.length > 60 ? 60 : dump->name.length);
    const int operation_length = (int)(dump->operation.length > 120 ? 120 : dump->operation.length);
    import_note(import, "line %zu: %.*s%sran out of memory: %" PRIu64 " bytes were requested%s%.*s",
                dump->request_line != 0 ? dump->request_line : dump->bin_for_line, name_length,
                dump->name.at, name_length == 0 ? "the allocator " : " ", dump->request_bytes,
                operation_length == 0 ? "" : " by ", operation_length, dump->operation.at);
    if (!dump->is_request_exact) {
        import_assume(import,
                      "the request has %" PRIu64 " bytes, of those that print as the dump does",
                      dump->request_bytes);
    } else if (dump->rounded_bytes == 0) {
        import_note(
            import,
            "the exact size of the request comes from the tensor in the message after the dump");
    }
}

static void note_heap(const struct bfc_dump *dump, struct import *import)
{
    import_note(import,
                "chunks in use: %zu, of %" PRIu64 " bytes; free: %zu, of %" PRIu64
                " bytes, the largest of %" PRIu64,
                dump->in_use_count, dump->in_use_bytes, dump->free_count, dump->free_bytes,
                dump->largest_free_bytes);
    import_note(import, "option defrag=none: this allocator moves nothing");
    if (dump->border_count > 0) {
        import_note(
            import,
            "%zu regions: a granule between them is retired, because no chunk crosses a border",
            dump->border_count + 1);
    }
    if (dump->pending_count > 0) {
        import_assume(import,
                      "the frees of %zu chunks, of %" PRIu64
                      " bytes, never complete: they wait for a count that was not reached",
                      dump->pending_count, dump->pending_bytes);
    }
    if (dump->stat_lines[BFC_STAT_MAX_IN_USE] != 0) {
        import_note(import, "the most ever in use was %" PRIu64 " bytes",
                    dump->stats[BFC_STAT_MAX_IN_USE]);
    }
}

static void note_limit(const struct bfc_dump *dump, struct import *import)
{
    const uint64_t beyond_bytes = dump->stats[BFC_STAT_LIMIT] - dump->region_bytes;
    if (beyond_bytes >= dump->request_bytes) {
        import_note(import,
                    "the capacity is the size of the regions: the limit allows %" PRIu64
                    " bytes more, but the device did not grant them",
                    beyond_bytes);
    } else if (beyond_bytes >= BFC_GRANULE_BYTES) {
        import_assume(import,
                      "the capacity is the size of the regions: the limit allows %" PRIu64
                      " bytes more, too few for the request",
                      beyond_bytes);
    }
}

enum import_result bfc_dump_build(const struct bfc_dump *dump, const struct import_input *input,
                                  struct import *import, struct import_error *error)
{
    struct bfc_holders holders = {0};
    note_request(dump, import);
    note_heap(dump, import);
    note_limit(dump, import);
    collect_holders(dump, &holders);
    give_tags(&holders, import);
    const enum import_result result = build_heap(dump, &holders, input, import, error);
    if (result == IMPORT_OK) {
        const uint8_t tag = dump->operation.length == 0 ? 0 : find_tag(&holders, &dump->operation);
        const uint32_t request = import_append(
            import, &OP_TO_MAKE(OP_ALLOC, .size_bytes = dump->request_bytes, .tag = tag));
        import_say(import, request, SAID_FAILED, 0);
        /* Else what is retired and what is pending counts as in use in a run, but not in the
         * statistics. */
        if (dump->border_count == 0 && dump->pending_count == 0) {
            import_say(import, request, SAID_IN_USE_BYTES, dump->in_use_bytes);
        }
        import_say(import, request, SAID_FREE_BYTES, dump->free_bytes);
        import_say(import, request, SAID_LARGEST_HOLE_BYTES, dump->largest_free_bytes);
    }
    free(holders.holders);
    return result;
}
