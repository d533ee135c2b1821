#include "checker/private/check.h"

/* The sums of items and of spans, rounded to units, are as the proof says. */
static void compare_sums(struct check *check, bool is_rounding)
{
    json_int_t unit = 1, nodes = 0, need, have;
    if (check_unpack(check, check->proof, "proof", "{s:s,s:I,s:I,s:I}", "kind", &check->kind,
                     is_rounding ? "unit" : "nodes", is_rounding ? &unit : &nodes, "need", &need,
                     "have", &have)) {
        check_require(check,
                      nodes >= 0 &&
                          is_in_range(unit, 1, INT64_MAX, is_rounding ? check->granule : 1) &&
                          pieces_sum(check->items, check->item_count, unit) == need &&
                          (need > have) == is_rounding &&
                          pieces_sum(check->spans, check->span_count, unit) == have,
                      "proof: one of unit, nodes, need and have is wrong");
    }
}

void check_budget(struct check *check)
{
    compare_sums(check, false);
}

void check_rounding(struct check *check)
{
    compare_sums(check, true);
}
