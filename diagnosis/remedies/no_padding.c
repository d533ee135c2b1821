#include "diagnosis/private/variant.h"

static bool no_padding_apply(const struct remedy_case *given, uint64_t parameter,
                             struct remedy_result *result)
{
    (void)parameter;
    return remedy_sizes_unpad(given, 1, "without padding", result);
}

const struct remedy remedy_no_padding = {
    .name = "no-padding",
    .summary = "every buffer takes its unpadded size",
    .assumes =
        "No layout can save more; shapes that fill their tiles, or a smaller batch of them, come near to it.",
    .search = REMEDY_EACH,
    .apply = no_padding_apply,
};
