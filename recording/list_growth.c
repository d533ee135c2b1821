#include "recording/list_growth.h"

#include <math.h>

void list_use_add(struct list_use *use, const struct step_axis *axis, uint32_t op,
                  uint64_t in_use_bytes)
{
    const size_t place = step_axis_place(axis, op);
    series_add(&use->ops, in_use_bytes);
    if (place == axis->count) {
        return;
    }
    if (use->steps.count == 0 || place != use->place) {
        series_add(&use->steps, in_use_bytes);
    } else {
        series_widen(&use->steps, in_use_bytes);
    }
    use->place = place;
}

void list_growth_find(const struct list_use *use, const struct step_axis *axis,
                      struct list_growth *growth)
{
    const enum trend_unit unit = axis->is_said ? TREND_KNOWN_STEPS : TREND_SEEN_STEPS;
    struct trend of_ops, of_steps;
    *growth = (struct list_growth){.answer = trend_of_series(&use->ops, TREND_OPS, &of_ops)};
    const enum trend_answer answer = trend_of_series(&use->steps, unit, &of_steps);
    growth->answer = axis->is_said ? answer : growth->answer;
    if (growth->answer != TREND_GROWS) {
        return;
    }
    const double ops_per_step = use->steps.unit_count == 0
                                    ? 0
                                    : (double)use->ops.unit_count / (double)use->steps.unit_count;
    growth->bytes_per_op = axis->is_said ? of_steps.slope_bytes / ops_per_step : of_ops.slope_bytes;
    growth->bytes_per_step = answer == TREND_GROWS ? of_steps.slope_bytes
                                                   : of_ops.slope_bytes * ops_per_step;
}

int64_t list_growth_per_1000_ops(const struct list_growth *growth)
{
    const double bytes = growth->bytes_per_op * 1000;
    return bytes < 9e18 ? llround(bytes) : INT64_MAX;
}
