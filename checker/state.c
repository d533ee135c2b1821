#include "checker/private/check.h"

bool state_may_evict(const struct check *check, const struct block *block)
{
    return check->evicts && block->is_program && block->is_live &&
           has_ended(block->used_until, check->time) && block->fate != GONE &&
           block->address != IN_HOST_MEMORY && block - check->blocks != check->own_program;
}

void state_set_time(struct check *check, json_int_t time)
{
    check->time = time;
    check->bottom = check->stack;
    for (struct block *block = check->blocks; block < check->blocks + check->block_count; block++) {
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
        check->items[check->item_count++] = (struct piece){.size = check->need,
                                                           .key = check->align};
    }
    for (struct block *block = check->blocks; block <= check->blocks + check->block_count;
         block++) {
        if (state_may_evict(check, block)) {
            block->fate = GONE;
        }
        if (block->fate == MOVABLE) {
            check->items[check->item_count++] = (struct piece){.size = block->size,
                                                               .key = block->align};
        }
        if (block->fate == FIXED && block->address < check->bottom) {
            return false;
        }
        if (block->fate == FIXED && block->address > edge) {
            check->spans[check->span_count++] = (struct piece){.size = block->address - edge,
                                                               .key = edge};
        }
        edge = block->fate == FIXED ? block->address + block->size : edge;
    }
    return true;
}
