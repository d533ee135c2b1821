#include "checker/private/check.h"

/* The stack and all blocks that have not gone. */
static json_int_t sum_taken(const struct check *check)
{
    json_int_t taken = check->bottom;
    for (size_t i = 0; i < check->block_count; i++) {
        taken += check->blocks[i].fate == GONE ? 0 : check->blocks[i].size;
    }
    return taken;
}

static json_int_t count_blocks(const struct check *check)
{
    json_int_t count = 0;
    for (size_t i = 0; i < check->block_count; i++) {
        count += check->blocks[i].fate != GONE;
    }
    return count;
}

/* Pages fit wherever they are.  The largest of at most k + 1 holes has its share of what is free at
 * least, and in it the request loses less than its align. */
void check_sum_fits(struct check *check)
{
    const json_int_t free = check->capacity - sum_taken(check);
    if (!check_require(check, check->need <= free, "proof: the request needs more than is free") ||
        check->placement == PAGES) {
        return;
    }
    const json_int_t holes = count_blocks(check) + 1, granule = check->granule;
    const json_int_t share = (free / granule + holes - 1) / holes;
    check_require(check, check->need / granule + check->align / granule - 1 <= share,
                  "proof: it depends on where the blocks lie");
}

void check_sum(struct check *check)
{
    json_int_t need, have;
    if (!check_unpack(check, check->proof, "proof", "{s:s,s:I,s:I}", "kind", &check->kind, "need",
                      &need, "have", &have)) {
        return;
    }
    for (struct checked_block *block = check->blocks; block < check->blocks + check->block_count;
         block++) {
        block->fate = state_may_evict(check, block) ? GONE : block->fate;
    }
    check_require(check, need == sum_taken(check) + check->need && have == check->capacity,
                  "proof: need or have is wrong");
    check_require(check, need > have, "proof: what is needed is there");
}

/* The sums of items and of spans, rounded to units, are as the proof says. */
void check_rounding(struct check *check)
{
    json_int_t unit, need, have;
    if (check_unpack(check, check->proof, "proof", "{s:s,s:I,s:I,s:I}", "kind", &check->kind,
                     "unit", &unit, "need", &need, "have", &have)) {
        check_require(check,
                      is_in_range(unit, 1, INT64_MAX, check->granule) && need > have &&
                          pieces_sum(check->items, check->item_count, unit) == need &&
                          pieces_sum(check->spans, check->span_count, unit) == have,
                      "proof: one of unit, need and have is wrong");
    }
}
