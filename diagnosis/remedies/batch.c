#include "diagnosis/private/variant.h"

static bool batch_apply(const struct remedy_case *given, uint64_t parameter,
                        struct remedy_result *result)
{
    struct remedy_sizes sizes;
    remedy_sizes_init(&sizes, given, &result->ops);
    (void)remedy_sizes_divide_steps(&sizes, given, parameter, NULL);
    return remedy_sizes_note(&sizes, "divided", "nothing lives within a step", result);
}

const struct remedy remedy_batch = {
    .name = "batch",
    .summary =
        "the batch is divided by n, and so are blocks of a step and the stacks of its programs",
    .parameter_name = "n",
    .assumes = "What lives within a step grows with the batch, and nothing else does.",
    .is_estimate = true,
    .search = REMEDY_FIRST,
    .parameter = remedy_sizes_divisor,
    .apply = batch_apply,
};
