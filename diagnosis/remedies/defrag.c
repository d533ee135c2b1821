#include "diagnosis/private/variant.h"

#include "harness/op/setup.h"

#include <stdio.h>

enum { DEFRAG_VALUE_COUNT = DEFRAG_REPACK + 1 };

static bool defrag_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                             char note[REMEDY_NOTE_BYTES])
{
    return remedy_option_parameter(given, "defrag", DEFRAG_VALUE_COUNT, given->contract->defrag,
                                   index, parameter, note);
}

static void defrag_label(const struct remedy_case *given, uint64_t parameter,
                         char text[REMEDY_LABEL_BYTES])
{
    (void)given;
    snprintf(text, REMEDY_LABEL_BYTES, "%s", defrag_contract_name((enum defrag_contract)parameter));
}

static bool defrag_apply(const struct remedy_case *given, uint64_t parameter,
                         struct remedy_result *result)
{
    return remedy_option_apply(given, "defrag",
                               defrag_contract_name((enum defrag_contract)parameter), result);
}

const struct remedy remedy_defrag = {
    .name = "defrag",
    .summary = "defragmentation off, within spans, or anywhere",
    .parameter_name = "contract",
    .assumes = "The allocator may move the blocks that it moves in this variant.",
    .search = REMEDY_EACH,
    .parameter = defrag_parameter,
    .label = defrag_label,
    .apply = defrag_apply,
};
