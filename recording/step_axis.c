#include "recording/step_axis.h"

#include "diagnosis/remedy_steps.h"
#include "harness/base/check.h"
#include "harness/base/json.h"
#include "harness/base/trend.h"

#include <inttypes.h>
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
    size_t low = 0, high = axis->count; /* the first that begins after op lies in [low, high] */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (axis->ops[middle] <= op) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == 0 ? axis->count : low - 1;
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
