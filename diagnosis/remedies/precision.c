/* Precision: what is float32, by the names in the list, becomes bfloat16: half as large. */
#include "diagnosis/advice.h"
#include "diagnosis/private/variant.h"

static bool precision_apply(const struct remedy_case *given, uint64_t parameter,
                            struct remedy_result *result)
{
    struct remedy_sizes sizes;
    (void)parameter;
    remedy_sizes_init(&sizes, given, &result->ops);
    for (size_t i = 0; i < given->ops->count; i++) {
        const struct op *op = &given->ops->ops[i];
        const uint32_t root = given->lives.lives[i].root;
        if (op_kind_info((enum op_kind)op->kind)->makes_block && op->kind != OP_LOAD &&
            root != OP_NONE &&
            advice_name_is_float32(given->setup->tags[given->ops->ops[root].tag])) {
            remedy_sizes_divide(&sizes, i, 2);
        }
    }
    remedy_sizes_settle(&sizes, &given->lives);
    return remedy_sizes_note(&sizes, "halved", "no name in the list says float32", result);
}

const struct remedy remedy_precision = {
    .name = "precision",
    .summary = "what is float32, by its name, becomes bfloat16",
    .assumes = "The model bears it, and no copy in float32 is kept beside.",
    .is_estimate = true,
    .search = REMEDY_EACH,
    .apply = precision_apply,
};
