#include "harness/base/check.h"
#include "harness/model/private/model_state.h"

void model_set_regions(struct model *model, const struct device_region *regions, size_t count)
{
    CHECK(count == 0 || model->contract.regions.grows);
    if (count > model->region_capacity) {
        model->region_capacity = count * 2;
        model->regions = array_resized(model->regions,
                                       model->region_capacity * sizeof *model->regions);
    }
    if (count > 0) {
        memcpy(model->regions, regions, count * sizeof *regions);
    }
    model->region_count = count;
    model->holes_known = false;
}

const struct device_region *model_regions(const struct model *model, size_t *count)
{
    *count = model->region_count;
    return model->regions;
}

const struct device_region *model_region_of(const struct model *model, uint64_t address,
                                            uint64_t size_bytes)
{
    size_t low = 0; /* regions below it begin at or below the address */
    size_t high = model->region_count;
    CHECK(size_bytes > 0);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (model->regions[middle].address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return NULL;
    }
    const struct device_region *region = &model->regions[low - 1];
    const uint64_t offset = address - region->address;
    return offset < region->size_bytes && size_bytes <= region->size_bytes - offset ? region : NULL;
}
