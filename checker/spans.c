#include "checker/private/check.h"

/* Pushes all movable blocks up from the end of the device: how high may end what is below each?
 * They do not overlap, so that each of them gets at least as high as it is. */
static void find_highest(struct check *check)
{
    json_int_t highest = check->capacity;
    for (size_t i = check->block_count + 1; i-- > 0;) {
        struct checked_block *block = &check->blocks[i];
        if (block->fate == FIXED) {
            highest = block->address;
        } else if (block->fate == MOVABLE) {
            highest = (highest - block->size) / block->align * block->align;
        }
        block->highest = highest;
    }
}

/* Checks the members alone: the spans' search has seen that it holds. */
void check_stack(struct check *check)
{
    (void)check_unpack(check, check->proof, "proof", "{s:s}", "kind", &check->kind);
}

/* Before each block: the blocks below it as low as they get, the request, and the others as high as
 * they get. */
size_t spans_find_slide(struct check *check)
{
    json_int_t low = check->bottom;
    find_highest(check);
    for (size_t i = 0; i <= check->block_count; i++) {
        const struct checked_block *block = &check->blocks[i];
        const json_int_t start = round_up(low + check->header, check->align) - check->header;
        const json_int_t end = check->need > 0 ? start + check->need : low;
        if (end <= block->highest) {
            return i;
        }
        if (block->fate == FIXED && low > block->address) {
            break;
        }
        if (block->fate != GONE) {
            low = (block->fate == MOVABLE ? round_up(low, block->align) : block->address) +
                  block->size;
        }
    }
    return check->block_count + 1;
}

void check_spans(struct check *check)
{
    check_stack(check); /* no more members than that */
    if (check->regions.are_there) {
        const json_int_t place = regions_find_place(check);
        check_require(check, place == NOWHERE, "proof: the request fits at %lld", (long long)place);
        return;
    }
    const size_t before = spans_find_slide(check);
    check_require(check, before > check->block_count, "proof: the request fits before blocks[%zu]",
                  before);
}
