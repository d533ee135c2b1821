#include "diagnosis/private/variant.h"

static bool program_evicts_parameter(const struct remedy_case *given, size_t index,
                                     uint64_t *parameter, char note[REMEDY_NOTE_BYTES])
{
    return remedy_flag_parameter(given, "program_evicts_program",
                                 given->contract->program_evicts_program, index, parameter, note);
}

static bool program_evicts_apply(const struct remedy_case *given, uint64_t parameter,
                                 struct remedy_result *result)
{
    return remedy_flag_apply(given, "program_evicts_program", parameter, result);
}

const struct remedy remedy_program_evicts = {
    .name = "program-evicts-program",
    .summary = "whether loading a program may evict idle programs",
    .parameter_name = "yes or no",
    .assumes = "The allocator can be configured this way.",
    .search = REMEDY_EACH,
    .parameter = program_evicts_parameter,
    .label = remedy_flag_label,
    .apply = program_evicts_apply,
};
