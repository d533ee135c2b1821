#include "checker/private/check.h"

/* Pushes all movable blocks down, in order, with the request before block `before`: does every one
 * end where it may? */
static bool can_slide(const struct check *check, size_t before)
{
    json_int_t low = check->bottom;
    for (size_t i = 0; i <= check->block_count; i++) {
        const struct block *block = &check->blocks[i];
        if (i == before && check->need > 0) {
            low = round_up(low, check->align) + check->need;
        }
        if (block->fate == FIXED && low > block->address) {
            return false;
        }
        if (block->fate != GONE) {
            low = (block->fate == MOVABLE ? round_up(low, block->align) : block->address) +
                  block->size;
        }
    }
    return true;
}

/* That it holds was seen when the spans were looked for. */
void check_stack(struct check *check)
{
    (void)check_unpack(check, check->proof, "proof", "{s:s}", "kind", &check->kind);
}

void check_spans(struct check *check)
{
    check_stack(check); /* no more members than that */
    for (size_t i = 0; i <= check->block_count && check->result == CERTIFICATE_VALID; i++) {
        check_require(check, !can_slide(check, i), "proof: the request fits before blocks[%zu]", i);
    }
}
