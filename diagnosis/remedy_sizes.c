#include "diagnosis/private/variant.h"

#include "harness/base/check.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void remedy_sizes_init(struct remedy_sizes *sizes, const struct remedy_case *given,
                       struct op_list *to)
{
    *sizes = (struct remedy_sizes){.ops = to, .granule_bytes = given->contract->granule_bytes};
    op_list_copy(to, given->ops);
    for (size_t i = 0; i < to->count; i++) {
        struct op *op = &to->ops[i];
        op->flags &= (uint8_t)~OP_SPMD; /* hosts may ask for different sizes now */
        op->group = (op->flags & OP_COLLECTIVE) != 0 ? op->group : 0;
    }
}

static void note_change(struct remedy_sizes *sizes, uint64_t before, uint64_t after)
{
    sizes->changed_count += after < before;
    sizes->saved_bytes += remedy_rounded(before, sizes->granule_bytes) -
                          remedy_rounded(after, sizes->granule_bytes);
}

void remedy_sizes_set(struct remedy_sizes *sizes, size_t i, uint64_t size_bytes)
{
    struct op *op = &sizes->ops->ops[i];
    CHECK(size_bytes >= 1);
    CHECK(size_bytes <= op->size_bytes);
    note_change(sizes, op->size_bytes, size_bytes);
    op->size_bytes = size_bytes;
    if (op_kind_info((enum op_kind)op->kind)->has_unpadded && op->unpadded_bytes >= size_bytes) {
        op->unpadded_bytes = 0;
    }
}

static uint64_t divide_rounding_up(uint64_t bytes, uint64_t n)
{
    return bytes / n + (bytes % n != 0);
}

void remedy_sizes_divide(struct remedy_sizes *sizes, size_t i, uint64_t n)
{
    struct op *op = &sizes->ops->ops[i];
    if (op->kind == OP_LOAD) {
        note_change(sizes, op->stack_bytes, divide_rounding_up(op->stack_bytes, n));
        op->stack_bytes = divide_rounding_up(op->stack_bytes, n);
        return;
    }
    if (op->size_bytes == 0) {
        return;
    }
    op->unpadded_bytes = divide_rounding_up(op->unpadded_bytes, n);
    remedy_sizes_set(sizes, i, divide_rounding_up(op->size_bytes, n));
}

void remedy_sizes_settle(struct remedy_sizes *sizes, const struct remedy_lives *lives)
{
    for (size_t i = 0; i < sizes->ops->count; i++) {
        const struct op *op = &sizes->ops->ops[i];
        if (op->kind != OP_DONATE || lives->lives[i].root == OP_NONE) {
            continue;
        }
        struct op *root = &sizes->ops->ops[lives->lives[i].root];
        if (op->size_bytes > remedy_rounded(root->size_bytes, sizes->granule_bytes)) {
            root->size_bytes = op->size_bytes;
        }
    }
}

bool *remedy_sizes_loads_of_steps(const struct remedy_case *given)
{
    const struct op_list *ops = given->ops;
    uint32_t *first = calloc(ops->count + 1,
                             sizeof *first); /* of executions, by load: the step + 1 */
    bool *is_of_steps = calloc(ops->count + 1, sizeof *is_of_steps);
    CHECK(first != NULL);
    CHECK(is_of_steps != NULL);
    uint32_t step = 1;
    for (size_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        step += step <= given->steps.count && given->steps.bounds[step - 1] == i;
        if (op->kind == OP_EXECUTE && op->ref < i) {
            is_of_steps[op->ref] = is_of_steps[op->ref] ||
                                   (first[op->ref] != 0 && first[op->ref] != step);
            first[op->ref] = first[op->ref] == 0 ? step : first[op->ref];
        }
    }
    free(first);
    return is_of_steps;
}

bool remedy_sizes_divide_steps(struct remedy_sizes *sizes, const struct remedy_case *given,
                               uint64_t n, const bool is_left[OP_TAG_COUNT])
{
    bool *is_of_steps = remedy_sizes_loads_of_steps(given);
    for (size_t i = 0; i < given->ops->count; i++) {
        const struct op *op = &given->ops->ops[i];
        const uint32_t root = given->lives.lives[i].root;
        const bool makes_block = op_kind_info((enum op_kind)op->kind)->makes_block;
        const bool is_whole = is_left != NULL && is_left[op->tag];
        if ((op->kind == OP_LOAD && is_of_steps[i]) ||
            (makes_block && root != OP_NONE && given->steps.is_of_step[root] && !is_whole)) {
            remedy_sizes_divide(sizes, i, n);
        }
    }
    remedy_sizes_settle(sizes, &given->lives);
    free(is_of_steps);
    return sizes->changed_count > 0;
}

bool remedy_sizes_note(const struct remedy_sizes *sizes, const char *what, const char *none,
                       struct remedy_result *result)
{
    return remedy_note(result, sizes->changed_count, none,
                       "sizes %s: %" PRIu64 ", %s less requested in all", what,
                       sizes->changed_count, size_text_of(sizes->saved_bytes).text);
}

bool remedy_sizes_unpad(const struct remedy_case *given, uint64_t unit_bytes, const char *what,
                        struct remedy_result *result)
{
    struct remedy_sizes sizes;
    bool is_known = false;
    remedy_sizes_init(&sizes, given, &result->ops);
    for (size_t i = 0; i < given->ops->count; i++) {
        const struct op *op = &given->ops->ops[i];
        if (!op_kind_info((enum op_kind)op->kind)->has_unpadded || op->unpadded_bytes == 0) {
            continue;
        }
        const uint64_t size_bytes = remedy_rounded(op->unpadded_bytes, unit_bytes);
        is_known = true;
        if (size_bytes < op->size_bytes) {
            remedy_sizes_set(&sizes, i, size_bytes);
        }
    }
    remedy_sizes_settle(&sizes, &given->lives);
    return remedy_sizes_note(&sizes, what,
                             is_known ? "no block is padded by more than that"
                                      : "no op states its unpadded size",
                             result);
}

bool remedy_sizes_divisor(const struct remedy_case *given, size_t index, uint64_t *parameter,
                          char note[REMEDY_NOTE_BYTES])
{
    snprintf(note, REMEDY_NOTE_BYTES, "%s", REMEDY_NO_STEPS);
    *parameter = (uint64_t)2 << index;
    return given->steps.count > 0 && index < 6;
}
