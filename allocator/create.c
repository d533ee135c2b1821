#include "allocator/hbm.h"

#include <string.h>

#include "allocator/private/check.h"
#include "allocator/private/counters.h"
#include "allocator/private/heap.h"
#include "allocator/private/life.h"
#include "allocator/private/program.h"

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
