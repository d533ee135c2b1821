#include "diagnosis/private/variant.h"

static bool drains_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                             char note[REMEDY_NOTE_BYTES])
{
    return remedy_flag_parameter(given, "drains", given->contract->drains, index, parameter, note);
}

static bool drains_apply(const struct remedy_case *given, uint64_t parameter,
                         struct remedy_result *result)
{
    return remedy_flag_apply(given, "drains", parameter, result);
}

const struct remedy remedy_drains = {
    .name = "drains",
    .summary = "whether a request waits for queued frees",
    .parameter_name = "yes or no",
    .assumes = "The allocator can be configured this way.",
    .search = REMEDY_EACH,
    .parameter = drains_parameter,
    .label = remedy_flag_label,
    .apply = drains_apply,
};
