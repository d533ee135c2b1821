#include "tests/campaign/process/two_defects.h"

#include "targets/plants/private/plant.h"

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

/* The table of any plant, opened with the defects; it does not hold, donate, retire or sleep. */
extern const struct target plant_overlap;

#define TWO(noun, ...)                                                                          \
    static const struct plant_defect defects_##noun = {__VA_ARGS__};                            \
    static enum target_result open_##noun(                                                      \
        const struct target_setup *setup, const struct device_services *device,                 \
        struct target_instance **out, struct target_contract *contract, char *reason,           \
        size_t reason_bytes)                                                                    \
    {                                                                                           \
        return plant_open(&defects_##noun, setup, device, out, contract, reason, reason_bytes); \
    }                                                                                           \
    struct target noun;                                                                         \
    __attribute__((constructor)) static void fill_##noun(void)                                  \
    {                                                                                           \
        noun = plant_overlap;                                                                   \
        noun.name = noun.summary = #noun;                                                       \
        noun.breaks = noun.option_help = NULL;                                                  \
        noun.open = open_##noun;                                                                \
        noun.hold = noun.release = NULL;                                                        \
        noun.donate = NULL;                                                                     \
        noun.retire = NULL;                                                                     \
        noun.sleep = noun.wake = NULL;                                                          \
    }

TWO(two_rules, .alloc = alloc_too_small, .free = free_miscounted, .stats = stats_miscounted)
TWO(rule_and_crash, .alloc = alloc_too_small, .free = free_with_defects)
TWO(two_crashes, .alloc = crash_on_size, .free = free_with_defects)
