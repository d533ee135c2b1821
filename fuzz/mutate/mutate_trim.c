#include "fuzz/mutate/mutate.h"

#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

void trim_init(struct trim *trim)
{
    memset(trim, 0, sizeof *trim);
    input_init(&trim->best);
    input_init(&trim->candidate);
}

void trim_deinit(struct trim *trim)
{
    input_deinit(&trim->best);
    input_deinit(&trim->candidate);
    free(trim->keep);
    memset(trim, 0, sizeof *trim);
}

void trim_begin(struct trim *trim, const struct input *input)
{
    const size_t count = input->ops.count;
    input_copy(&trim->best, input);
    if (count > trim->keep_capacity) {
        free(trim->keep);
        trim->keep = malloc(count * sizeof *trim->keep);
        CHECK(trim->keep != NULL);
        trim->keep_capacity = count;
    }
    trim->chunk = count < 2 ? count : count / 2;
    trim->end = count;
    trim->field = 0;
    trim->step_count = 0;
}

/* --- lists --- */

/* Goes on to chunks of half the size once the last chunk has been tried; behind single ops come
 * numbers. */
static void settle_chunk(struct trim *trim)
{
    while (trim->chunk > 0 && trim->end == 0) {
        trim->chunk /= 2;
        trim->end = trim->chunk > 0 ? trim->best.ops.count : 0;
        if (trim->best.ops.count == 0) {
            return;
        }
    }
}

static size_t find_chunk_start(const struct trim *trim)
{
    return trim->end > trim->chunk ? trim->end - trim->chunk : 0;
}

static bool has_dropped_reference(const struct trim *trim, size_t i)
{
    const struct op *op = &trim->best.ops.ops[i];
    return (op->flags & OP_RELATIVE) == 0 &&
           ((op->ref < i && !trim->keep[op->ref]) || (op->event < i && !trim->keep[op->event]));
}

static const struct input *drop_chunk(struct trim *trim)
{
    const size_t first = find_chunk_start(trim);
    input_copy(&trim->candidate, &trim->best);
    for (size_t i = 0; i < trim->best.ops.count; i++) {
        trim->keep[i] = (i < first || i >= trim->end) && !has_dropped_reference(trim, i);
    }
    op_list_filter(&trim->candidate.ops, trim->keep);
    return &trim->candidate;
}

/* --- numbers --- */

static uint64_t round_down_to_power(uint64_t number)
{
    return number == 0 ? 0 : UINT64_C(1) << (63 - __builtin_clzll(number));
}

enum { FIELD_COUNT = 4 };

/* The op with one field simpler. */
static struct op simplify_op(const struct op *op, unsigned field)
{
    struct op next = *op;
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    if (field == 0) {
        next.align_log2 = 0;
        next.tag = op->kind == OP_FAULT || op->kind == OP_SWITCH ? op->tag : 0;
    } else if (field == 1 && (info->has_unpadded || info->has_stack)) {
        next.unpadded_bytes = 0;
    } else if (field == 2 && info->has_size && (op->flags & OP_FITTED) == 0) {
        next.size_bytes = round_down_to_power(op->size_bytes);
    } else if (field == 3 && info->has_delay && op->delay_ns != DELAY_NEVER) {
        next.delay_ns = 0;
    }
    return next;
}

static const struct input *simplify_number(struct trim *trim)
{
    const struct op_list *ops = &trim->best.ops;
    for (; trim->end < ops->count; trim->end++, trim->field = 0) {
        for (; trim->field < FIELD_COUNT; trim->field++) {
            const struct op op = simplify_op(&ops->ops[trim->end], trim->field);
            if (!op_equal(&op, &ops->ops[trim->end]) &&
                input_op_bytes(&trim->best, &op) <=
                    input_op_bytes(&trim->best, &ops->ops[trim->end])) {
                input_copy(&trim->candidate, &trim->best);
                trim->candidate.ops.ops[trim->end] = op;
                return &trim->candidate;
            }
        }
    }
    return NULL;
}

/* --- steps --- */

const struct input *trim_next(struct trim *trim)
{
    if (trim->step_count == TRIM_STEPS_MAX) {
        return NULL;
    }
    settle_chunk(trim);
    const struct input *next = trim->chunk > 0 && trim->end > 0 ? drop_chunk(trim)
                                                                : simplify_number(trim);
    trim->step_count += next != NULL;
    return next;
}

void trim_tell(struct trim *trim, bool is_as_good)
{
    if (is_as_good) {
        input_copy(&trim->best, &trim->candidate);
    }
    if (trim->chunk == 0) {
        trim->field++;
        return;
    }
    /* Later ops depend on earlier ones: from the end to the front. */
    trim->end = find_chunk_start(trim);
}
