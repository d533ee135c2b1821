#include "diagnosis/private/variant.h"

static bool sharding_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                               char note[REMEDY_NOTE_BYTES])
{
    (void)given;
    note[0] = '\0';
    *parameter = (uint64_t)2 << index;
    return index < 3;
}

static bool sharding_apply(const struct remedy_case *given, uint64_t parameter,
                           struct remedy_result *result)
{
    struct remedy_sizes sizes;
    remedy_sizes_init(&sizes, given, &result->ops);
    for (size_t i = 0; i < given->ops->count; i++) {
        const struct op *op = &given->ops->ops[i];
        if (op->kind == OP_LOAD || op_kind_info((enum op_kind)op->kind)->makes_block) {
            remedy_sizes_divide(&sizes, i, parameter);
        }
    }
    remedy_sizes_settle(&sizes, &given->lives);
    return remedy_sizes_note(&sizes, "divided", "there is nothing to divide", result);
}

const struct remedy remedy_sharding = {
    .name = "sharding",
    .summary = "every buffer and stack is divided among n devices",
    .parameter_name = "n",
    .assumes =
        "Everything divides evenly, and exchange between devices needs no memory; images of programs stay whole.",
    .is_estimate = true,
    .search = REMEDY_FIRST,
    .parameter = sharding_parameter,
    .apply = sharding_apply,
};
