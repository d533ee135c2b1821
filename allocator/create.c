#include "allocator/hbm.h"

#include <string.h>

#include "allocator/private/heap.h"
#include "allocator/private/program.h"
#include "allocator/private/state.h"

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

/* ---- create and destroy ---- */

static bool has_all_services(const struct hbm_services *services)
{
    return services->copy != NULL && services->stage_out != NULL && services->stage_in != NULL &&
           services->stage_drop != NULL && services->completed_count != NULL &&
           services->event_done != NULL && services->event_wait != NULL &&
           services->unload != NULL && services->clock_ns != NULL && services->host_alloc != NULL &&
           services->host_free != NULL;
}

static bool is_order_permutation(const enum hbm_mitigation *order)
{
    unsigned seen = 0;
    for (int i = 0; i < HBM_MITIGATION_COUNT; i++) {
        if ((unsigned)order[i] >= HBM_MITIGATION_COUNT) {
            return false;
        }
        seen |= 1u << order[i];
    }
    return seen == (1u << HBM_MITIGATION_COUNT) - 1u;
}

/* 0 when the options name no valid capacity. */
static uint64_t choose_capacity(const struct hbm_options *options)
{
    const uint64_t mask = options->granule_bytes - 1u;
    if (options->chip != HBM_CHIP_NONE) {
        const struct hbm_chip_description *chip = hbm_chip_describe(options->chip);
        return chip == NULL || options->capacity_bytes != 0 ? 0 : chip->usable_bytes & ~mask;
    }
    if ((options->capacity_bytes & mask) != 0 || options->capacity_bytes > HBM_SIZE_BYTES_MAX) {
        return 0;
    }
    return options->capacity_bytes;
}

static bool has_valid_options(const struct hbm_options *options)
{
    const uint32_t granule = options->granule_bytes;
    if (granule == 0 || (granule & (granule - 1)) != 0 || granule > HBM_GRANULE_BYTES_MAX) {
        return false;
    }
    if (options->log_allocations_on_oom && options->sink.line == NULL) {
        return false;
    }
    return choose_capacity(options) != 0 && options->defrag <= HBM_DEFRAG_REPACK &&
           is_order_permutation(options->order);
}

static bool init_parts(struct hbm *hbm)
{
    HBM_CHECK(hbm->options.capacity_bytes != 0);
    const uint32_t granule_shift = (uint32_t)__builtin_ctz(hbm->options.granule_bytes);
    HBM_CHECK((uint32_t)1 << granule_shift == hbm->options.granule_bytes);
    if (!hbm_heap_init(&hbm->heap, &hbm->host, hbm->options.capacity_bytes, granule_shift)) {
        return false;
    }
    if (hbm_pending_init(&hbm->pending, &hbm->host)) {
        if (hbm_shapes_init(&hbm->shapes, &hbm->host)) {
            return true;
        }
        hbm_pending_deinit(&hbm->pending);
    }
    hbm_heap_deinit(&hbm->heap);
    return false;
}

enum hbm_result hbm_create(const struct hbm_services *services, const struct hbm_options *options,
                           struct hbm **out)
{
    if (!has_all_services(services) || !has_valid_options(options)) {
        return HBM_INVALID;
    }
    struct hbm_host host = {.services = *services};
    struct hbm *hbm = hbm_host_array(&host, 1, sizeof *hbm);
    if (hbm == NULL) {
        return HBM_UNAVAILABLE;
    }
    memset(hbm, 0, sizeof *hbm);
    hbm->host = host;
    hbm->options = *options;
    hbm->options.capacity_bytes = choose_capacity(options);
    hbm->totals.bytes_reservable_limit = hbm->options.capacity_bytes;
    if (!init_parts(hbm)) {
        services->host_free(services->context, hbm, sizeof *hbm);
        return HBM_UNAVAILABLE;
    }
    HBM_CHECK(hbm->heap.used_count == 0);
    HBM_CHECK(hbm->host.bytes >= sizeof *hbm);
    *out = hbm;
    return HBM_OK;
}

void hbm_destroy(struct hbm *hbm)
{
    if (hbm == NULL) {
        return;
    }
    const struct hbm_services services = hbm->host.services;
    hbm_stranded_drop_all(hbm);
    HBM_CHECK(hbm->stranded == NULL);
    while (hbm->program_first != NULL) {
        hbm_program_destroy(hbm, hbm->program_first);
    }
    HBM_CHECK(hbm->program_last == NULL);
    hbm_shapes_deinit(&hbm->shapes);
    hbm_pending_deinit(&hbm->pending);
    hbm_heap_deinit(&hbm->heap);
    HBM_CHECK(hbm->host.bytes == sizeof *hbm);
    services.host_free(services.context, hbm, sizeof *hbm);
}

/* ---- counters ---- */

void hbm_stats(struct hbm *hbm, struct hbm_stats *out)
{
    hbm_lock_take(&hbm->lock);
    hbm_collect_events(hbm);
    *out = hbm->totals;
    out->num_allocs = hbm->heap.used_count;
    out->bytes_in_use = hbm->heap.used_bytes;
    out->bytes_limit = hbm->options.capacity_bytes;
    out->bytes_reserved = hbm_heap_reserved(&hbm->heap);
    out->largest_free_block_bytes = hbm_heap_largest(&hbm->heap);
    hbm_lock_give(&hbm->lock);
    HBM_CHECK(out->bytes_in_use <= out->bytes_limit - out->bytes_reserved);
    HBM_CHECK(out->largest_free_block_bytes <= out->bytes_limit);
}

uint64_t hbm_host_bytes(const struct hbm *hbm)
{
    struct hbm *locked = (struct hbm *)(uintptr_t)hbm;
    hbm_lock_take(&locked->lock);
    const uint64_t bytes = hbm->host.bytes;
    hbm_lock_give(&locked->lock);
    return bytes;
}
