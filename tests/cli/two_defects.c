#include "tests/cli/two_defects.h"

#include "targets/plants/private/calls.h"

#include <stdlib.h>

enum { LARGE_GRANULE_COUNT = 6, LARGE_COUNT = 3, FREE_COUNT = 3 };

/* case_count: large requests; amount: frees.  latched: the counters are wrong from now on. */
static bool is_hit(struct plant *plant, const struct target_request *request)
{
    const uint64_t granule = plant->contract.granule_bytes;
    return request->size_bytes >= LARGE_GRANULE_COUNT * granule &&
           plant_strikes(plant, LARGE_COUNT);
}

static enum target_result alloc_too_small(struct plant *plant, const struct target_request *request,
                                          struct target_block *block)
{
    const enum target_result result = plant_inner_alloc(plant, request, block);
    if (result == TARGET_OK && is_hit(plant, request)) {
        block->size_bytes -= plant->contract.granule_bytes;
    }
    return result;
}

static enum target_result crash_on_size(struct plant *plant, const struct target_request *request,
                                        struct target_block *block)
{
    const enum target_result result = plant_inner_alloc(plant, request, block);
    if (result == TARGET_OK && is_hit(plant, request)) {
        abort();
    }
    return result;
}

static enum target_result free_with_defects(struct plant *plant, uint64_t handle, uint64_t event)
{
    if (++plant->amount == FREE_COUNT) {
        abort();
    }
    return plant_inner_free(plant, handle, event);
}

static enum target_result free_miscounted(struct plant *plant, uint64_t handle, uint64_t event)
{
    plant->latched = ++plant->amount >= FREE_COUNT;
    return plant_inner_free(plant, handle, event);
}

static void stats_miscounted(struct plant *plant, struct target_stats *stats)
{
    stats->bytes_in_use += plant->latched ? plant->contract.granule_bytes : 0;
}

#define TWO(noun, ...)                                                                \
    static const struct plant_defect defects_##noun = {__VA_ARGS__};                  \
    static enum target_result open_##noun(                                            \
        const struct target_setup *setup, const struct device_services *device,       \
        struct target_instance **out, struct target_contract *contract, char *reason, \
        size_t reason_bytes)                                                          \
    {                                                                                 \
        return plant_call_open(&defects_##noun, setup, device, out, contract, reason, \
                               reason_bytes);                                         \
    }                                                                                 \
    const struct target noun = {                                                      \
        .abi_version = TARGET_ABI_VERSION,                                            \
        .size_bytes = sizeof(struct target),                                          \
        .name = #noun,                                                                \
        .summary = #noun,                                                             \
        .open = open_##noun,                                                          \
        .close = plant_call_close,                                                    \
        .alloc = plant_call_alloc,                                                    \
        .free = plant_call_free,                                                      \
        .use = plant_call_use,                                                        \
        .defragment = plant_call_defragment,                                          \
        .locate = plant_call_locate,                                                  \
        .stats = plant_call_stats,                                                    \
        .report = plant_call_report,                                                  \
        .message = plant_call_message,                                                \
        .load = plant_call_load,                                                      \
        .execute = plant_call_execute,                                                \
        .unload = plant_call_unload,                                                  \
    }

TWO(two_rules, .alloc = alloc_too_small, .free = free_miscounted, .stats = stats_miscounted);
TWO(rule_and_crash, .alloc = alloc_too_small, .free = free_with_defects);
TWO(two_crashes, .alloc = crash_on_size, .free = free_with_defects);
