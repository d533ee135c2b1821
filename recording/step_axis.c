#include "recording/step_axis.h"

#include "diagnosis/remedy_steps.h"
#include "harness/base/check.h"
#include "harness/base/json.h"
#include "harness/base/search.h"
#include "harness/base/trend.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static void take_said(struct step_axis *axis, const struct said *said, size_t said_count)
{
    for (size_t i = 0; i < said_count; i++) {
        if (said[i].kind == SAID_STEP) {
            axis->ops[axis->count] = said[i].op;
            axis->numbers[axis->count++] = said[i].value;
        }
    }
    axis->is_said = axis->count > 0;
}

static bool has_ends(const struct remedy_lives *lives, size_t count_min)
{
    size_t count = 0;
    for (size_t i = 0; i < lives->op_count && count < count_min; i++) {
        count += lives->lives[i].root == i && lives->lives[i].end != OP_NONE;
    }
    return count >= count_min;
}

static void take_period(struct step_axis *axis, const struct op_list *ops, uint64_t granule_bytes)
{
    struct remedy_lives lives;
    struct remedy_steps steps;
    remedy_lives_init(&lives, ops, NULL, granule_bytes);
    remedy_steps_init(&steps, ops, &lives);
    for (size_t i = 0; i < steps.count && has_ends(&lives, steps.count); i++) {
        axis->ops[axis->count] = steps.bounds[i];
        axis->numbers[axis->count++] = i + 1;
    }
    remedy_steps_deinit(&steps);
    remedy_lives_deinit(&lives);
}

void step_axis_init(struct step_axis *axis, const struct said *said, size_t said_count,
                    const struct op_list *ops, uint64_t granule_bytes)
{
    const size_t most = said_count + (ops == NULL ? 0 : ops->count) + 1;
    *axis = (struct step_axis){.ops = calloc(most, sizeof *axis->ops),
                               .numbers = calloc(most, sizeof *axis->numbers)};
    CHECK(axis->ops != NULL);
    CHECK(axis->numbers != NULL);
    take_said(axis, said, said_count);
    if (axis->count == 0 && ops != NULL) {
        take_period(axis, ops, granule_bytes);
    }
}

static void take_cycles(struct step_axis *axis, const struct remedy_lives *lives)
{
    struct swings swings;
    int64_t *curve = calloc(lives->op_count + 1, sizeof *curve);
    CHECK(curve != NULL);
    for (size_t i = 0; i < lives->op_count; i++) {
        curve[i] = lives->live_bytes[i] > INT64_MAX ? INT64_MAX : (int64_t)lives->live_bytes[i];
    }
    swings_init(&swings, curve, lives->op_count);
    for (size_t i = swings.settled_first; swings.settled_count > 0 && i <= swings.count; i++) {
        axis->ops[axis->count] = swings.ends[i - 1];
        axis->numbers[axis->count++] = i;
    }
    axis->are_cycles = axis->count > 0;
    swings_deinit(&swings);
    free(curve);
}

void step_axis_find_cycles(struct step_axis *axis, const struct op_list *ops,
                           uint64_t granule_bytes)
{
    struct remedy_lives lives;
    if (axis->count > 0) {
        return;
    }
    remedy_lives_init(&lives, ops, NULL, granule_bytes);
    take_cycles(axis, &lives);
    remedy_lives_deinit(&lives);
}

void step_axis_deinit(struct step_axis *axis)
{
    free(axis->ops);
    free(axis->numbers);
    *axis = (struct step_axis){0};
}

size_t step_axis_place(const struct step_axis *axis, uint32_t op)
{
    size_t after;
    SEARCH_FIRST(after, 0, axis->count, axis->ops[after] > op);
    return after == 0 ? axis->count : after - 1;
}

bool step_axis_number(const struct step_axis *axis, uint32_t op, uint64_t *number)
{
    const size_t place = step_axis_place(axis, op);
    if (place == axis->count) {
        return false;
    }
    *number = axis->numbers[place];
    return true;
}

void step_axis_append(const struct step_axis *axis, uint32_t op, const char *before,
                      struct writing *text)
{
    uint64_t number;
    if (step_axis_number(axis, op, &number)) {
        writing_append_format(text, "%s%sstep %" PRIu64, before, axis->is_said ? "" : "about ",
                              number);
    }
}

void step_axis_add(const struct step_axis *axis, uint32_t op, struct writing *text)
{
    uint64_t number;
    if (step_axis_number(axis, op, &number)) {
        json_add_number(text, "step", number);
        if (!axis->is_said) {
            json_add_boolean(text, "step_is_about", true);
        }
    }
}

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
