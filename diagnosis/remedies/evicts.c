#include "diagnosis/private/variant.h"

static bool evicts_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                             char note[REMEDY_NOTE_BYTES])
{
    return remedy_flag_parameter(given, "evicts", given->contract->evicts, index, parameter, note);
}

static bool evicts_apply(const struct remedy_case *given, uint64_t parameter,
                         struct remedy_result *result)
{
    return remedy_flag_apply(given, "evicts", parameter, result);
}

const struct remedy remedy_evicts = {
    .name = "evicts",
    .summary = "whether a buffer may evict idle programs",
    .parameter_name = "yes or no",
    .assumes = "The allocator can be configured this way.",
    .search = REMEDY_EACH,
    .parameter = evicts_parameter,
    .label = remedy_flag_label,
    .apply = evicts_apply,
};
