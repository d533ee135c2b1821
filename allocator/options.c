#include <string.h>

#include "allocator/hbm.h"

#define GIB ((uint64_t)1 << 30)
#define MIB ((uint64_t)1 << 20)

static const struct hbm_chip_description chips[HBM_CHIP_COUNT] = {
    [HBM_CHIP_V2] =
        {HBM_CHIP_V2, "v2", 8 * GIB - 530 * MIB, false,
         "8 GiB a core less the 530 MiB that its runtime prints as reserved: prints as 7.48G"},
    [HBM_CHIP_V3] =
        {HBM_CHIP_V3, "v3", 16 * GIB - 530 * MIB, false,
         "16 GiB a core less the 530 MiB that its runtime prints as reserved: prints as 15.48G"},
    [HBM_CHIP_V4] = {HBM_CHIP_V4, "v4", 33014413312, true,
                     "bytes_limit of a public counter dump: prints as 30.75G"},
    [HBM_CHIP_V5E] = {HBM_CHIP_V5E, "v5e", 16909332480, true,
                      "bytes_limit of a public counter dump: prints as 15.75G"},
    [HBM_CHIP_V5P] = {HBM_CHIP_V5P, "v5p", 102800031744, false,
                      "printed as 95.74G; the largest multiple of 64 KiB below 95.74 GiB"},
    [HBM_CHIP_V6E] = {HBM_CHIP_V6E, "v6e", 33550237696, true, "a public profile: prints as 31.25G"},
    [HBM_CHIP_V7X] = {HBM_CHIP_V7X, "v7x", 94 * GIB + 768 * MIB, false,
                      "printed as 94.75 GiB a core"},
};

const struct hbm_chip_description *hbm_chip_describe(enum hbm_chip chip)
{
    return chip > HBM_CHIP_NONE && chip < HBM_CHIP_COUNT ? &chips[chip] : NULL;
}

const struct hbm_chip_description *hbm_chip_find(const char *name)
{
    for (size_t i = 1; i < HBM_CHIP_COUNT; i++) {
        if (strcmp(chips[i].name, name) == 0) {
            return &chips[i];
        }
    }
    return NULL;
}

void hbm_options_init(struct hbm_options *options)
{
    *options = (struct hbm_options){
        .granule_bytes = 512,
        .defrag = HBM_DEFRAG_REPACK,
        .order = {HBM_DRAIN, HBM_DEFRAGMENT, HBM_EVICT},
        .drains = true,
        .evicts = true,
        .search_nodes_max = HBM_SEARCH_NODES_DEFAULT,
    };
}
