#include "checker/private/check.h"

#include <stdlib.h>

bool state_may_evict(const struct check *check, const struct checked_block *block)
{
    return check->evicts && block->is_program && block->is_live &&
           has_ended(block->used_until, check->time) && block->fate != GONE &&
           block->address != IN_HOST_MEMORY && block - check->blocks != check->own_program;
}

void state_set_time(struct check *check, json_int_t time)
{
    check->time = time;
    check->bottom = check->stack;
    for (struct checked_block *block = check->blocks; block < check->blocks + check->block_count;
         block++) {
        const bool is_free = block->holds == 0 &&
                             has_ended(block->is_live ? block->used_until : block->freed_at, time);
        block->fate = is_free && !block->is_live          ? GONE
                      : block->address == IN_HOST_MEMORY  ? MOVABLE
                      : !is_free || check->defrag == NONE ? FIXED
                                                          : MOVABLE;
        if (!has_ended(block->used_until, time) && block->stack > check->bottom) {
            check->bottom = block->stack;
        }
    }
}

bool state_find_spans(struct check *check)
{
    json_int_t edge = check->bottom;
    check->spans = check->items + check->block_count + 1;
    if (check->need > 0) {
        check->items[check->item_count++] = (struct checked_piece){.size = check->need,
                                                                   .key = check->align};
    }
    for (struct checked_block *block = check->blocks; block <= check->blocks + check->block_count;
         block++) {
        if (state_may_evict(check, block)) {
            block->fate = GONE;
        }
        if (block->fate == MOVABLE) {
            check->items[check->item_count++] = (struct checked_piece){.size = block->size,
                                                                       .key = block->align};
        }
        if (block->fate == FIXED && block->address < check->bottom) {
            return false;
        }
        if (block->fate == FIXED && block->address > edge) {
            check->spans[check->span_count++] = (struct checked_piece){
                .size = block->address - edge, .key = edge};
        }
        edge = block->fate == FIXED ? block->address + block->size : edge;
    }
    return true;
}

enum { WALK_ITEMS_MAX = 8192 }; /* no search has more, so that the walk may call itself */

json_int_t pieces_sum(const struct checked_piece *pieces, size_t count, json_int_t unit)
{
    json_int_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += pieces[i].size / unit;
    }
    return sum;
}

int pieces_compare(const void *left, const void *right)
{
    const struct checked_piece *a = left, *b = right;
    return a->size != b->size ? (a->size < b->size) - (a->size > b->size)
                              : (a->key > b->key) - (a->key < b->key);
}

size_t pieces_make_types(struct check *check, json_int_t least, json_int_t *slack)
{
    size_t count = check->item_count, type_count = 0;
    qsort(check->spans, check->span_count, sizeof *check->spans, pieces_compare);
    qsort(check->items, count, sizeof *check->items, pieces_compare);
    while (count > 0 && check->items[count - 1].size < least) {
        count--;
    }
    *slack = pieces_sum(check->spans, check->span_count, 1) - pieces_sum(check->items, count, 1);
    check_require(check, *slack >= 0 && check->span_count > 0 && count <= WALK_ITEMS_MAX,
                  "proof: no span, no slack, or too many items");
    for (size_t i = 0; i < count; check->items[type_count - 1].count++, i++) {
        if (i == 0 || pieces_compare(&check->items[type_count - 1], &check->items[i]) != 0) {
            check->items[type_count++] = check->items[i];
        }
    }
    check->item_count = type_count;
    return count;
}
