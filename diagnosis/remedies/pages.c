/* Pages: memory is mapped page by page behind addresses, so that holes add up. */
#include "diagnosis/private/variant.h"

#include <stdio.h>

static bool pages_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                            char note[REMEDY_NOTE_BYTES])
{
    if (given->contract->defrag == DEFRAG_REPACK) {
        snprintf(note, REMEDY_NOTE_BYTES, "no memory is lost to pieces as the list is");
        return false;
    }
    return remedy_option_parameter(given, "defrag", DEFRAG_REPACK + 1, DEFRAG_REPACK + 1, index,
                                   parameter, note) &&
           index == 0;
}

static bool pages_apply(const struct remedy_case *given, uint64_t parameter,
                        struct remedy_result *result)
{
    (void)parameter;
    return remedy_option_apply(given, "defrag", "repack", result);
}

const struct remedy remedy_pages = {
    .name = "pages",
    .summary = "memory is mapped in pages, so that free pieces need not lie together",
    .assumes = "Pages are so small that no free memory is lost: this is the most that mapping can "
               "bring.",
    .is_estimate = true,
    .search = REMEDY_EACH,
    .parameter = pages_parameter,
    .apply = pages_apply,
};
