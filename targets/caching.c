/* The target caching: the model of PyTorch's caching allocator (caching/cache.h) in regions of the
 * device, on top of the kit, which queues frees. */
#include "targets/targets.h"

#include "kit/kit.h"
#include "targets/caching/cache.h"
#include "targets/private/option.h"

#include <stdlib.h>
#include <string.h>

struct caching {
    struct kit_host *host;
    struct cache *cache;
    struct cache_upstream upstream;
    uint64_t capacity_bytes;
    bool is_expandable, is_range_taken; /* the one range is the whole device */
};

/* The options that are numbers; an option that was not given is 0. */
struct caching_numbers {
    uint64_t max_split_mib, max_non_split_mib, large_segment_mib;
    uint32_t divisions_log2;
    const char *memory_fraction, *collection_threshold; /* as they were given, or NULL */
};

/* PyTorch's settings, under its names.  pools=one is no setting of PyTorch: one pool without kept
 * remainders, so that the contract with limit=device describes it exactly.  The first word is what
 * holds where nothing is given. */
#define CACHING_MIB(key, member)                                                                   \
    {                                                                                              \
        key, TARGET_OPTION_NUMBER, "<MiB>", 11, 1 << 24, OPTION_AT(struct caching_numbers, member) \
    }
#define CACHING_FRACTION(key, member)                                                              \
    {                                                                                              \
        key, TARGET_OPTION_TEXT, .values = "<fraction>", OPTION_AT(struct caching_numbers, member) \
    }
#define CACHING_OPTION_ROWS(pools, limit)                                                    \
    {"pools", TARGET_OPTION_WORD, .values = (pools)},                                        \
        {"limit", TARGET_OPTION_WORD, .values = (limit)},                                    \
        CACHING_MIB("max_split_size_mb", max_split_mib),                                     \
        CACHING_MIB("max_non_split_rounding_mb", max_non_split_mib),                         \
        CACHING_MIB("large_segment_size_mb", large_segment_mib),                             \
        OPTION_WORDS("roundup_power2_divisions", "1|2|4|8|16|32|64", struct caching_numbers, \
                     divisions_log2),                                                        \
        CACHING_FRACTION("per_process_memory_fraction", memory_fraction),                    \
        CACHING_FRACTION("garbage_collection_threshold", collection_threshold),              \
        {"expandable_segments", TARGET_OPTION_WORD, .values = "False|True"},                 \
        {"ties", TARGET_OPTION_WORD, .values = "address|counter"},                           \
    {                                                                                        \
        .key = NULL                                                                          \
    }

#define MIB (UINT64_C(1) << 20)
#define STEP_BYTES (2 * MIB)
enum { REASON_BYTES = 512 };

/* --- upstream --- */

static bool take_segment(void *context, uint64_t bytes, uint64_t needed_bytes,
                         struct cache_range *segment)
{
    struct caching *caching = context;
    struct device_region region;
    if (bytes > caching->capacity_bytes || !kit_region_take(caching->host, bytes, &region)) {
        return false;
    }
    if (region.size_bytes < needed_bytes || region.size_bytes % CACHE_BLOCK_BYTES != 0) {
        kit_region_give(caching->host, region.address);
        return false;
    }
    *segment = (struct cache_range){region.address, region.size_bytes};
    return true;
}

static void give_segment(void *context, struct cache_range segment)
{
    const struct caching *caching = context;
    kit_region_give(caching->host, segment.address);
}

/* The device has one address space, so there is one range: all of it. */
static bool take_range(void *context, uint64_t bytes, struct cache_range *range)
{
    struct caching *caching = context;
    if (caching->is_range_taken) {
        return false;
    }
    caching->is_range_taken = true;
    *range = (struct cache_range){0, bytes};
    return true;
}

static void give_range(void *context, struct cache_range range)
{
    struct caching *caching = context;
    (void)range;
    caching->is_range_taken = false;
}

/* Every byte of the range is there. */
static bool map_part(void *context, struct cache_range part)
{
    (void)context, (void)part;
    return true;
}

static void unmap_part(void *context, struct cache_range part)
{
    (void)context, (void)part;
}

static void *host_alloc(void *context, size_t bytes)
{
    const struct caching *caching = context;
    return kit_host_alloc(caching->host, bytes);
}

static void host_free(void *context, void *memory, size_t bytes)
{
    const struct caching *caching = context;
    kit_host_free(caching->host, memory, bytes);
}

/* --- settings --- */

/* Reads a share; an option that was not given is right.  False: it is no number above 0 and at most
 * 1. */
static bool read_fraction(const char *text, double *value)
{
    char *end = NULL;
    const double number = text != NULL && text[0] >= '0' && text[0] <= '9' ? strtod(text, &end) : 0;
    const bool is_number = end != NULL && *end == '\0' && number > 0 && number <= 1;
    *value = is_number ? number : *value;
    return text == NULL || is_number;
}

static const char *read_sizes(const struct caching_numbers *numbers,
                              struct cache_settings *settings)
{
    if (numbers->large_segment_mib != 0) {
        settings->large_segment_bytes = numbers->large_segment_mib * MIB;
    }
    const uint64_t large_mib = settings->large_segment_bytes / MIB;
    settings->non_split_rounding_bytes = settings->large_segment_bytes;
    if (numbers->max_split_mib != 0) {
        settings->max_split_bytes = numbers->max_split_mib * MIB;
    }
    if (numbers->max_non_split_mib != 0) {
        settings->non_split_rounding_bytes = numbers->max_non_split_mib * MIB;
    }
    return numbers->max_split_mib != 0 && numbers->max_split_mib < large_mib
               ? "max_split_size_mb must be a whole number from large_segment_size_mb, which is 20 "
                 "unless given"
           : numbers->max_non_split_mib != 0 && numbers->max_non_split_mib < large_mib
               ? "max_non_split_rounding_mb must be a whole number from large_segment_size_mb, "
                 "which is 20 unless given"
               : NULL;
}

static const char *read_limits(const struct kit_setup *setup, const struct caching_numbers *numbers,
                               struct cache_settings *settings)
{
    double fraction = 1;
    if (!read_fraction(numbers->memory_fraction, &fraction)) {
        return "per_process_memory_fraction must be above 0 and at most 1";
    }
    if (fraction < 1) {
        settings->limit_bytes = (uint64_t)(fraction * (double)setup->capacity_bytes);
    }
    if (!read_fraction(numbers->collection_threshold, &settings->garbage_collection_threshold) ||
        settings->garbage_collection_threshold >= 1) {
        return "garbage_collection_threshold must be between 0 and 1";
    }
    return NULL;
}

/* One pool without kept remainders: a segment has the size of its request, in steps of 2 MiB. */
static void use_one_pool(struct cache_settings *settings)
{
    settings->small_limit_bytes = 0;
    settings->direct_limit_bytes = 0;
    settings->kept_remainder_bytes = 0;
}

static const char *read_settings(const struct kit_setup *setup, struct cache_settings *settings)
{
    static char wrong[REASON_BYTES];
    struct caching_numbers numbers = {0};
    cache_settings_init(settings);
    if (!target_options_read(setup->options, setup->target, &numbers, wrong, sizeof wrong)) {
        return wrong;
    }
    const char *reason = read_sizes(&numbers, settings);
    if (reason == NULL) {
        reason = read_limits(setup, &numbers, settings);
    }
    for (size_t i = 0; i < CACHE_DIVISIONS_COUNT; i++) {
        settings->divisions[i] = UINT32_C(1) << numbers.divisions_log2;
    }
    settings->is_expandable = kit_option_is(setup, "expandable_segments", "True");
    settings->range_bytes = setup->capacity_bytes;
    settings->ties = kit_option_is(setup, "ties", "counter") ? CACHE_TIES_COUNTER
                                                             : CACHE_TIES_ADDRESS;
    if (settings->is_expandable || kit_option_is(setup, "pools", "one")) {
        use_one_pool(settings);
    }
    return reason;
}

/* --- the contract --- */

static uint64_t find_overhead(const struct cache_settings *settings)
{
    const uint64_t kept = settings->is_expandable ? 0 : settings->kept_remainder_bytes;
    const uint64_t unsplit = settings->max_split_bytes == CACHE_UNLIMITED || settings->is_expandable
                                 ? 0
                                 : settings->non_split_rounding_bytes;
    return kept > unsplit ? kept : unsplit;
}

static void fill_contract(const struct kit_setup *setup, const struct cache_settings *settings)
{
    struct target_contract *contract = setup->contract;
    const uint32_t divisions = settings->divisions[0];
    const bool is_device_limit = kit_option_is(setup, "limit", "device");
    contract->limit = is_device_limit ? TARGET_LIMIT_DEVICE : TARGET_LIMIT_PROCESS;
    contract->rounding = (struct target_rounding){.overhead_bytes = find_overhead(settings)};
    if (divisions > 1) {
        contract->rounding.kind = ROUNDING_CLASSES;
        contract->rounding.steps = divisions;
    }
    contract->regions.step_bytes = STEP_BYTES;
    if (settings->is_expandable) {
        contract->regions = (struct target_regions){0};
    }
}

/* --- the calls --- */

static const char *caching_open(void *state, const struct kit_setup *setup)
{
    struct caching *caching = state;
    struct cache_settings settings;
    const char *reason = setup->granule_bytes < CACHE_BLOCK_BYTES
                             ? "the granule must be at least 512, the block of PyTorch"
                             : read_settings(setup, &settings);
    if (reason != NULL) {
        return reason;
    }
    *caching = (struct caching){.host = setup->host,
                                .capacity_bytes = setup->capacity_bytes,
                                .is_expandable = settings.is_expandable};
    caching->upstream = (struct cache_upstream){.context = caching,
                                                .segment_take = take_segment,
                                                .segment_give = give_segment,
                                                .range_take = take_range,
                                                .range_give = give_range,
                                                .map = map_part,
                                                .unmap = unmap_part,
                                                .host_alloc = host_alloc,
                                                .host_free = host_free};
    fill_contract(setup, &settings);
    caching->cache = cache_create(&settings, &caching->upstream, (enum cache_bend)setup->variant);
    return caching->cache == NULL ? "the host memory for the allocator was refused" : NULL;
}

static void caching_close(void *state)
{
    const struct caching *caching = state;
    cache_destroy(caching->cache);
}

static uint64_t caching_allocate(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
    const struct caching *caching = state;
    struct cache_range block;
    (void)align_bytes;
    return cache_malloc(caching->cache, size_bytes, 0, &block) == CACHE_OK ? block.address
                                                                           : KIT_NOTHING;
}

static void caching_free(void *state, uint64_t offset, uint64_t size_bytes)
{
    const struct caching *caching = state;
    (void)size_bytes;
    (void)cache_free(caching->cache, offset, false);
}

static uint64_t caching_block_bytes(void *state, uint64_t place, uint64_t size_bytes)
{
    const struct caching *caching = state;
    (void)size_bytes;
    return cache_block_bytes(caching->cache, place);
}

/* Holes in an expandable target's one range: mapped and unmapped bytes join into one hole. */
struct cache_gap {
    uint64_t bytes, largest_bytes;
};

static void measure_gap(void *context, const struct cache_segment_view *segment,
                        const struct cache_block_view *block)
{
    struct cache_gap *gap = context;
    (void)segment;
    const bool is_open = block->state == CACHE_FREE || block->state == CACHE_UNMAPPED;
    gap->bytes = is_open ? gap->bytes + block->range.size_bytes : 0;
    gap->largest_bytes = gap->bytes > gap->largest_bytes ? gap->bytes : gap->largest_bytes;
}

static uint64_t caching_largest_free(void *state)
{
    const struct caching *caching = state;
    struct cache_gap gap = {0};
    if (!caching->is_expandable) {
        return cache_largest_free(caching->cache, 0);
    }
    cache_walk(caching->cache, measure_gap, &gap);
    return caching->is_range_taken ? gap.largest_bytes : caching->capacity_bytes;
}

/* A free of the table that awaits nothing: a planted defect. */
static enum target_result caching_free_early(struct target_instance *instance, uint64_t handle,
                                             uint64_t event)
{
    (void)event;
    return kit_free(instance, handle, 0);
}

/* --- the tables --- */

/* Defines a target with that bend; it frees with the call free_. */
#define DEFINE_TARGET(storage, variable, name_, rows, bend, free_, rule, text)               \
    KIT_OPEN(open_##variable, NULL, .options = rows, .state_bytes = sizeof(struct caching),  \
             .granule_bytes = CACHE_BLOCK_BYTES, .regions = {.grows = true, .trims = true},  \
             .variant = bend, .open = caching_open, .close = caching_close,                  \
             .allocate_offset = caching_allocate, .free_offset = caching_free,               \
             .block_bytes = caching_block_bytes, .largest_free_bytes = caching_largest_free) \
    storage const struct target variable = {                                                 \
        KIT_TABLE_FREEING(name_, text, NULL, open_##variable, free_), .options = rows,       \
        .breaks = rule, .limits = {.largest_align_bytes = CACHE_BLOCK_BYTES}};

static const struct target_option_row option_rows[] = {
    CACHING_OPTION_ROWS("torch|one", "process|device")};
/* The contract describes these options exactly, so that each defect is seen. */
static const struct target_option_row plant_option_rows[] = {
    CACHING_OPTION_ROWS("one|torch", "device|process")};

DEFINE_TARGET(, target_caching, "caching", option_rows, CACHE_STRAIGHT, kit_free, NULL,
              "a model of PyTorch's CUDA caching allocator, in segments of the device")

#define CACHING(noun, bend, free_, rule, text)                                                    \
    DEFINE_TARGET(static, caching_##noun, "caching_" #noun, plant_option_rows, bend, free_, rule, \
                  text)
#include "targets/caching/list.h"
#undef CACHING

const struct target *const caching_plants[] = {
#define CACHING(noun, bend, free_, rule, text) &caching_##noun,
#include "targets/caching/list.h"
#undef CACHING
    NULL,
};
