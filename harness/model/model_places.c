#include "harness/model/private/model_counting.h"

#include "harness/base/array.h"
#include "harness/base/order.h"

#include <stdlib.h>

void model_displace(struct model *model, uint32_t slot)
{
    CHECK(slot < model->block_count);
    struct block *block = &model->blocks[slot];
    CHECK(block->state != BLOCK_GONE);
    if (block->is_absent) {
        slot_list_take(&model->absent, slot);
        block->is_absent = false;
    } else {
        model_unclaim(model, block);
    }
    model_count_displaced(model, block);
    model->gone = array_grown(model->gone, model->gone_count, &model->gone_capacity,
                              sizeof *model->gone);
    /* A program's target was told by unload(). */
    const bool is_freed = block->state == BLOCK_DYING && block->kind != BLOCK_PROGRAM;
    model->gone[model->gone_count++] = (struct model_gone){block->handle, slot, is_freed};
}

/* --- images --- */

void model_evict(struct model *model, uint32_t slot)
{
    struct block *block = &model->blocks[slot];
    CHECK(block->kind == BLOCK_PROGRAM);
    CHECK(block->state == BLOCK_LIVE);
    if (!block->is_absent) {
        model_note_live(model, block, false);
    }
    model_displace(model, slot);
    block->state = BLOCK_GONE;
}

bool model_reload(struct model *model, uint32_t slot, const struct target_block *at,
                  uint32_t *other)
{
    struct block *block = &model->blocks[slot];
    CHECK(block->kind == BLOCK_PROGRAM);
    CHECK(block->state == BLOCK_GONE);
    if (!model_claim(model, slot, at, other)) {
        return false;
    }
    block->address = at->address;
    block->size_bytes = at->size_bytes;
    block->state = BLOCK_LIVE;
    model_count_placed(model, block);
    model_note_live(model, block, true);
    return true;
}

/* --- blocks in host memory --- */

void model_strand(struct model *model, uint32_t slot)
{
    struct block *block = &model->blocks[slot];
    CHECK(block->state != BLOCK_GONE);
    CHECK(!block->is_absent);
    if (block->state == BLOCK_LIVE) {
        model_note_live(model, block, false);
    }
    model_unclaim(model, block);
    slot_list_add(&model->absent, slot);
    block->is_absent = true;
    model->holes_known = false;
}

bool model_return(struct model *model, uint32_t slot, uint64_t address, uint32_t *other)
{
    struct block *block = &model->blocks[slot];
    CHECK(block->is_absent);
    CHECK(block->state != BLOCK_GONE);
    if (!model_claim(model, slot,
                     &(struct target_block){.address = address, .size_bytes = block->size_bytes},
                     other)) {
        return false;
    }
    slot_list_take(&model->absent, slot);
    block->is_absent = false;
    block->address = address;
    if (block->state == BLOCK_LIVE) {
        model_note_live(model, block, true);
    }
    model->holes_known = false;
    return true;
}

/* --- moves --- */

static int compare_spans(const void *a, const void *b)
{
    const struct span *left = a;
    const struct span *right = b;
    return compare_numbers(left->start, right->start);
}

/* Returns where the blocks will be, in ascending order; the caller frees it. */
static struct span *make_moved_spans(const struct model *model, const uint64_t *addresses)
{
    struct span *spans = array_resized(NULL, (model->map.count + 1) * sizeof *spans);
    struct span span;
    size_t i = 0;
    EACH_SPAN(&model->map, &span) {
        spans[i] = span;
        spans[i].end = addresses[i] + (span.end - span.start);
        spans[i].start = addresses[i];
        i++;
    }
    qsort(spans, model->map.count, sizeof *spans, compare_spans);
    return spans;
}

/* The first that begins before the one below it has ended; count when there is none. */
static size_t find_overlap(const struct span *spans, size_t count)
{
    size_t i = 1;
    while (i < count && spans[i].start >= spans[i - 1].end) {
        i++;
    }
    return i < count ? i : count;
}

static uint32_t insert_apart(struct span_map *map, const struct span *span)
{
    const struct span_claim claim = span_map_claim(map, span->start, span->end, span->owner);
    CHECK(claim.is_free);
    return claim.cursor.entry;
}

bool model_relocate(struct model *model, const uint64_t *addresses, uint32_t *slot)
{
    const size_t count = model->map.count;
    struct span *spans = make_moved_spans(model, addresses);
    const size_t wrong = find_overlap(spans, count);
    if (wrong < count) {
        *slot = (uint32_t)spans[wrong].owner;
        free(spans);
        return false;
    }
    span_map_clear(&model->map);
    for (size_t i = 0; i < count; i++) {
        model->blocks[spans[i].owner].address = spans[i].start;
        model->blocks[spans[i].owner].place = insert_apart(&model->map, &spans[i]);
    }
    CHECK(model->map.count == count);
    free_map_forget(&model->free_map);
    CHECK_COSTLY(model_invariants_hold(model));
    model->holes_known = false;
    free(spans);
    return true;
}

static void leave_range(struct model *model, uint32_t slot, uint64_t address)
{
    span_map_erase(&model->map, address, address + model->blocks[slot].size_bytes);
}

/* Frees all old ranges before any block takes its new place: that may be another block's old one.
 */
static void place_again(struct model *model, const uint32_t *slots, const uint64_t *addresses,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct block *block = &model->blocks[slots[i]];
        if (block->state == BLOCK_LIVE) {
            model_note_live(model, block, false);
        }
    }
    for (size_t i = 0; i < count; i++) {
        struct block *block = &model->blocks[slots[i]];
        block->address = addresses[i];
        if (block->state == BLOCK_LIVE) {
            model_note_live(model, block, true);
        }
    }
}

bool model_relocate_some(struct model *model, const uint32_t *slots, const uint64_t *addresses,
                         size_t count)
{
    size_t placed = 0;
    uint32_t other = SLOT_NONE;
    for (size_t i = 0; i < count; i++) {
        CHECK(!model->blocks[slots[i]].is_absent);
        leave_range(model, slots[i], model->blocks[slots[i]].address);
    }
    while (placed < count && model_claim(model, slots[placed],
                                         &(struct target_block){
                                             .address = addresses[placed],
                                             .size_bytes = model->blocks[slots[placed]].size_bytes},
                                         &other)) {
        placed++;
    }
    if (placed < count) {
        while (placed-- > 0) {
            leave_range(model, slots[placed], addresses[placed]);
        }
        for (size_t i = 0; i < count; i++) {
            struct block *block = &model->blocks[slots[i]];
            const struct span span = {block->address, block->address + block->size_bytes, slots[i],
                                      0};
            block->place = insert_apart(&model->map, &span);
        }
        return false;
    }
    place_again(model, slots, addresses, count);
    CHECK_COSTLY(model_invariants_hold(model));
    model->holes_known = false;
    return true;
}
