/* Spans are sorted by host and address; each host's device is laid out from the bottom, then filled
 * from the top. */
#include "formats/common/heap_image.h"

#include "formats/common/import.h"
#include "formats/common/tags.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/order.h"
#include "harness/base/search.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESS_END_MAX ((uint64_t)1 << 63)

void heap_image_init(struct heap_image *image)
{
    *image = (struct heap_image){0};
}

void heap_image_deinit(struct heap_image *image)
{
    free(image->spans);
    heap_image_init(image);
}

void heap_image_add(struct heap_image *image, const struct heap_span *span)
{
    ARRAY_ADD(image->spans, image->count, image->room) = *span;
}

/* --- what the spans say --- */

/* Total as far as it matters: two spans that are equal here overlap, and are refused. */
static int compare_spans(const void *a, const void *b)
{
    const struct heap_span *x = a;
    const struct heap_span *y = b;
    return compare_then(compare_places(x->host, x->address, y->host, y->address),
                        compare_numbers(x->line, y->line));
}

/* Snapshots list their memory in order of address nearly always. */
static void sort_spans(struct heap_image *image)
{
    for (size_t i = 1; i < image->count; i++) {
        if (compare_spans(&image->spans[i - 1], &image->spans[i]) > 0) {
            qsort(image->spans, image->count, sizeof *image->spans, compare_spans);
            return;
        }
    }
}

/* True if memory is missing, or a region ends, between span `index` and the one before it on the
 * same host. */
static bool is_behind_gap(const struct heap_image *image, size_t index)
{
    const struct heap_span *span = &image->spans[index];
    if (index == 0 || span[-1].host != span->host) {
        return false;
    }
    return span->begins_region || span[-1].address + span[-1].size_bytes != span->address;
}

static enum import_result check_span(const struct heap_span *span, struct import_error *error)
{
    if (span->size_bytes == 0) {
        return IMPORT_REFUSE(error, span->line, "the range at 0x%" PRIx64 " has 0 bytes",
                             span->address);
    }
    if (span->address >= ADDRESS_END_MAX || span->size_bytes > ADDRESS_END_MAX - span->address) {
        return IMPORT_REFUSE(error, span->line,
                             "the range at 0x%" PRIx64 " of %" PRIu64 " bytes ends above 2^63",
                             span->address, span->size_bytes);
    }
    if (span->requested_bytes > span->size_bytes) {
        return IMPORT_REFUSE(error, span->line,
                             "%" PRIu64 " bytes were requested in the range at 0x%" PRIx64
                             ", which has only %" PRIu64,
                             span->requested_bytes, span->address, span->size_bytes);
    }
    CHECK(span->host < OP_HOST_COUNT_MAX);
    return IMPORT_OK;
}

static enum import_result check_overlaps(const struct heap_image *image, struct import_error *error)
{
    for (size_t i = 1; i < image->count; i++) {
        const struct heap_span *below = &image->spans[i - 1];
        const struct heap_span *span = &image->spans[i];
        if (below->host == span->host && below->address + below->size_bytes > span->address) {
            const struct heap_span *later = below->line > span->line ? below : span;
            const struct heap_span *earlier = later == span ? below : span;
            return IMPORT_REFUSE(error, later->line,
                                 "the range at 0x%" PRIx64 " of %" PRIu64
                                 " bytes overlaps the one at 0x%" PRIx64 " of %" PRIu64 " bytes",
                                 later->address, later->size_bytes, earlier->address,
                                 earlier->size_bytes);
        }
    }
    return IMPORT_OK;
}

static enum import_result check_spans(const struct heap_image *image, struct import_error *error)
{
    if (image->count == 0) {
        return IMPORT_LACKS(error, "the snapshot has no memory");
    }
    for (size_t i = 0; i < image->count; i++) {
        IMPORT_TRY(check_span(&image->spans[i], error));
    }
    return check_overlaps(image, error);
}

/* The granule that is fixed, if it divides all sizes; else the largest that does. */
static enum import_result choose_granule(const struct heap_image *image, const struct setup *fixed,
                                         struct import *import, struct import_error *error)
{
    uint64_t size_bits = 0;
    for (size_t i = 0; i < image->count; i++) {
        const struct heap_span *span = &image->spans[i];
        size_bits |= span->size_bytes;
        if (fixed->granule_bytes != 0 && (span->size_bytes & (fixed->granule_bytes - 1)) != 0) {
            return IMPORT_REFUSE(error, span->line,
                                 "the range at 0x%" PRIx64 " has %" PRIu64
                                 " bytes, which is not a multiple of the granule of %" PRIu64,
                                 span->address, span->size_bytes, fixed->granule_bytes);
        }
    }
    import->setup.granule_bytes = fixed->granule_bytes != 0 ? fixed->granule_bytes
                                                            : capacity_granule(size_bits);
    return IMPORT_OK;
}

/* --- where they lie --- */

/* Sets the offsets of the spans from *index on that are of one host, from 0 up; moves *index behind
 * them. */
static enum import_result lay_out_host(struct heap_image *image, uint64_t granule_bytes,
                                       size_t *index, uint64_t *device_bytes,
                                       struct import_error *error)
{
    const uint8_t host = image->spans[*index].host;
    uint64_t end_bytes = 0;
    for (; *index < image->count && image->spans[*index].host == host; ++*index) {
        struct heap_span *span = &image->spans[*index];
        end_bytes += is_behind_gap(image, *index) ? granule_bytes : 0;
        span->offset = end_bytes;
        span->op = OP_NONE;
        if (end_bytes > IMPORT_CAPACITY_MAX || span->size_bytes > IMPORT_CAPACITY_MAX - end_bytes) {
            return IMPORT_REFUSE(error, span->line,
                                 "with this range, a device has more than 2^50 bytes");
        }
        end_bytes += span->size_bytes;
    }
    *device_bytes = end_bytes;
    return IMPORT_OK;
}

/* The layout of the devices that a build uses, next to the image. */
struct heap_layout {
    uint64_t device_bytes[OP_HOST_COUNT_MAX];
    uint64_t largest_bytes;
    uint64_t spare_bytes; /* at the bottom: what the capacity that is fixed has above the largest
                             device */
    uint32_t host_count;
};

static enum import_result lay_out(struct heap_image *image, struct import *import,
                                  struct heap_layout *layout, struct import_error *error)
{
    for (size_t index = 0; index < image->count;) {
        const uint8_t host = image->spans[index].host;
        uint64_t *device_bytes = &layout->device_bytes[host];
        IMPORT_TRY(lay_out_host(image, import->setup.granule_bytes, &index, device_bytes, error));
        layout->largest_bytes = *device_bytes > layout->largest_bytes ? *device_bytes
                                                                      : layout->largest_bytes;
        layout->host_count = host + UINT32_C(1);
    }
    return IMPORT_OK;
}

static enum import_result choose_capacity(const struct heap_layout *layout, struct import *import,
                                          struct import_error *error)
{
    struct setup *setup = &import->setup;
    setup->capacity_bytes = setup->capacity_bytes == 0 ? layout->largest_bytes
                                                       : setup->capacity_bytes;
    if (setup->capacity_bytes < layout->largest_bytes) {
        return IMPORT_REFUSE(error, 0,
                             "the capacity of %" PRIu64 " bytes is below the %" PRIu64
                             " bytes of the snapshot",
                             setup->capacity_bytes, layout->largest_bytes);
    }
    if (setup->capacity_bytes % setup->granule_bytes != 0) {
        return IMPORT_REFUSE(error, 0,
                             "the capacity of %" PRIu64
                             " bytes is not a multiple of the granule of %" PRIu64,
                             setup->capacity_bytes, setup->granule_bytes);
    }
    return IMPORT_OK;
}

/* --- the ops --- */

static void append_retire(struct import *import, uint8_t host, uint64_t address,
                          uint64_t size_bytes)
{
    (void)import_append(
        import, &OP_TO_MAKE(OP_RETIRE, .host = host, .address = address, .size_bytes = size_bytes));
}

static uint32_t append_alloc(struct import *import, const struct heap_span *span,
                             uint64_t size_bytes)
{
    const bool is_padded = span->requested_bytes != size_bytes;
    return import_append(import,
                         &OP_TO_MAKE(OP_ALLOC, .host = span->host, .size_bytes = size_bytes,
                                     .tag = span->tag,
                                     .unpadded_bytes = is_padded ? span->requested_bytes : 0));
}

/* The one of that name, or the highest that no block has and that has no name. */
static uint8_t choose_filler_tag(const struct heap_image *image, const struct setup *setup)
{
    bool is_taken[OP_TAG_COUNT] = {[0] = true, [TAG_OTHER] = true};
    unsigned tag = setup_filler_tag(setup);
    if (tag < OP_TAG_COUNT) {
        return (uint8_t)tag;
    }
    for (size_t i = 0; i < image->count; i++) {
        is_taken[image->spans[i].tag] = is_taken[image->spans[i].tag] ||
                                        image->spans[i].state != HEAP_SPAN_FREE;
    }
    for (tag = TAG_OTHER - 1; tag > 0 && (is_taken[tag] || setup->tags[tag][0] != '\0'); tag--) {
    }
    return (uint8_t)tag;
}

/* Fills what the free spans that end with number `index` cover; their lowest keeps the op.  Returns
 * that one's index. At the bottom of the device there is nothing to fill. */
static size_t fill_free(struct heap_image *image, struct import *import, size_t first, size_t index)
{
    uint64_t size_bytes = image->spans[index].size_bytes;
    while (index > first && !is_behind_gap(image, index) &&
           image->spans[index - 1].state == HEAP_SPAN_FREE) {
        size_bytes += image->spans[--index].size_bytes;
    }
    if (index > first) {
        struct heap_span filler = image->spans[index];
        filler.requested_bytes = 0;
        filler.tag = image->filler_tag;
        if (filler.tag != 0) {
            setup_set_tag(&import->setup, filler.tag, SETUP_FILLER_NAME);
        }
        image->spans[index].op = append_alloc(import, &filler, size_bytes);
    }
    return index;
}

/* From the top down.  There is one hole all the time, at the bottom, so each block goes to the top
 * of it. */
static void fill_host(struct heap_image *image, struct import *import, size_t first, size_t end)
{
    const uint64_t granule_bytes = import->setup.granule_bytes;
    for (size_t i = end; i-- > first;) {
        struct heap_span *span = &image->spans[i];
        if (span->state == HEAP_SPAN_FREE) {
            i = fill_free(image, import, first, i);
            span = &image->spans[i];
        } else {
            span->op = append_alloc(import, span, span->size_bytes);
            import_say(import, span->op, SAID_ADDRESS, span->offset);
            stacks_say(import->stacks, span->op, span->stack);
        }
        if (is_behind_gap(image, i)) {
            append_retire(import, span->host, span->offset - granule_bytes, granule_bytes);
        }
    }
}

/* Once all is in its place: references are taken, frees queued, and holes made. */
static void set_states(struct heap_image *image, struct import *import, size_t first, size_t end)
{
    for (size_t i = end; i > first; i--) {
        struct heap_span *span = &image->spans[i - 1];
        struct op op = OP_ON(OP_HOLD, span->op, .host = span->host);
        if (span->state == HEAP_SPAN_DYING) {
            op.kind = OP_FREE_AFTER;
            op.delay_ns = DELAY_NEVER;
        } else if (span->state == HEAP_SPAN_FREE) {
            op.kind = OP_FREE;
            span->op = OP_NONE;
        }
        if (span->state != HEAP_SPAN_IN_USE && op.ref != OP_NONE) {
            (void)import_append(import, &op);
        }
    }
}

/* The host's spans begin at number `first`; returns the number behind its last. */
static size_t build_host(struct heap_image *image, struct import *import,
                         const struct heap_layout *layout, uint8_t host, size_t first)
{
    const uint64_t top_bytes = layout->device_bytes[host] + layout->spare_bytes;
    size_t end = first;
    for (; end < image->count && image->spans[end].host == host; end++) {
        image->spans[end].offset += layout->spare_bytes;
    }
    if (top_bytes < import->setup.capacity_bytes) {
        append_retire(import, host, top_bytes, import->setup.capacity_bytes - top_bytes);
    }
    fill_host(image, import, first, end);
    set_states(image, import, first, end);
    return end;
}

enum import_result heap_image_build(struct heap_image *image, const struct setup *fixed,
                                    struct import *import, struct import_error *error)
{
    struct heap_layout layout = {0};
    CHECK(import->ops.count == 0);
    sort_spans(image);
    IMPORT_TRY(check_spans(image, error));
    IMPORT_TRY(choose_granule(image, fixed, import, error));
    IMPORT_TRY(lay_out(image, import, &layout, error));
    import_apply_fixed(fixed, &import->setup);
    IMPORT_TRY(choose_capacity(&layout, import, error));
    import_suggest_option(&import->setup, "defrag", "none");
    import->view = import->view == IMPORT_SUMS ? IMPORT_SUMS : IMPORT_MOMENT;
    layout.spare_bytes = import->setup.capacity_bytes - layout.largest_bytes;
    import->setup.host_count = layout.host_count;
    image->filler_tag = choose_filler_tag(image, &import->setup);
    size_t next = 0;
    for (uint32_t host = 0; host < layout.host_count; host++) {
        next = build_host(image, import, &layout, (uint8_t)host, next);
    }
    return IMPORT_OK;
}

const struct heap_span *heap_image_find(const struct heap_image *image, uint8_t host,
                                        uint64_t address)
{
    const struct heap_span *spans = image->spans;
    size_t i;
    SEARCH_FIRST(i, 0, image->count,
                 compare_places(spans[i].host, spans[i].address, host, address) >= 0);
    return i < image->count && spans[i].host == host && spans[i].address == address ? &spans[i]
                                                                                    : NULL;
}

/* --- sums --- */

void heap_parts_init(struct heap_parts *parts)
{
    *parts = (struct heap_parts){0};
    heap_image_init(&parts->image);
}

void heap_parts_deinit(struct heap_parts *parts)
{
    heap_image_deinit(&parts->image);
}

void heap_parts_add(struct heap_parts *parts, struct import *import, const char *name,
                    uint64_t size_bytes, enum heap_span_state state)
{
    if (size_bytes == 0) {
        return;
    }
    const struct heap_span span = {
        .address = parts->end_bytes,
        .size_bytes = size_bytes,
        .state = state,
        .tag = state == HEAP_SPAN_FREE
                   ? 0
                   : tag_table_add(&parts->tags, &import->setup, name, strlen(name)),
    };
    parts->end_bytes += size_bytes;
    import->view = IMPORT_SUMS;
    heap_image_add(&parts->image, &span);
}
