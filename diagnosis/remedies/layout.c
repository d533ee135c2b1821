#include "diagnosis/private/variant.h"

/* A tile of 8 x 128 elements of 4 bytes, or 16 x 128 of 2, or 32 x 128 of 1: facts about shapes are
 * not in a list. */
enum { TILE_BYTES = 4096 };

static bool layout_apply(const struct remedy_case *given, uint64_t parameter,
                         struct remedy_result *result)
{
    (void)parameter;
    return remedy_sizes_unpad(given, TILE_BYTES, "in full tiles of 4K", result);
}

const struct remedy remedy_layout = {
    .name = "layout",
    .summary = "a better layout: every tile of a buffer but the last is full",
    .assumes =
        "The list has no shapes, so the best layout is assumed: dimensions that fill tiles of 8 x 128 words.",
    .is_estimate = true,
    .search = REMEDY_EACH,
    .apply = layout_apply,
};
