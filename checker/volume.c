#include "checker/private/check.h"

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
