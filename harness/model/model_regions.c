#include "harness/base/check.h"
#include "harness/base/search.h"
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
    size_t above; /* the first region that begins above the address */
    CHECK(size_bytes > 0);
    SEARCH_FIRST(above, 0, model->region_count, model->regions[above].address > address);
    if (above == 0) {
        return NULL;
    }
    const struct device_region *region = &model->regions[above - 1];
    const uint64_t offset = address - region->address;
    return offset < region->size_bytes && size_bytes <= region->size_bytes - offset ? region : NULL;
}
