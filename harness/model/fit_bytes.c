#include "harness/model/fit_bytes.h"

#include "harness/device/span_map.h"
#include "harness/model/model.h"

static uint64_t sum_pair(const struct model *model, const struct block *block)
{
    struct span above;
    const uint64_t end = block->address + block->size_bytes;
    const bool is_touched = !block->is_absent &&
                            span_map_intersects(model_map(model), end, end + 1, &above);
    return block->size_bytes + (is_touched ? above.end - above.start : 0);
}

static uint64_t find_base(const struct fit *fit, const struct model *model)
{
    const size_t count = model_live_count(model);
    switch ((enum fit_kind)fit->kind) {
    case FIT_HOLE:
        return model_largest_hole_bytes(model);
    case FIT_FREE:
        return model_free_bytes(model);
    case FIT_HALF:
        return model_free_bytes(model) / 2;
    case FIT_BLOCK:
        return count == 0 ? model_granule_bytes(model)
                          : model_live(model, fit->index % count)->size_bytes;
    default:
        return count == 0 ? model_granule_bytes(model)
                          : sum_pair(model, model_live(model, fit->index % count));
    }
}

uint64_t fit_bytes(const struct fit *fit, const struct model *model)
{
    const uint64_t base = find_base(fit, model);
    /* Neither product nor sum can overflow: 2^31 granules of at most 1 GiB, in a device of at most
     * 2^50 bytes. */
    const int64_t size = (int64_t)base + fit->granules * (int64_t)model_granule_bytes(model);
    return size > 0 ? (uint64_t)size : base > 0 ? base : 1;
}
