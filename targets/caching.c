/* The target caching: the model of PyTorch's caching allocator (caching/cache.h) in regions of the
 * device, on top of the kit, which queues frees. */
#include "targets/targets.h"

#include "kit/kit.h"
#include "targets/caching/cache.h"

#include <stdlib.h>
#include <string.h>

struct caching {
    struct kit_host *host;
    struct cache *cache;
    struct cache_upstream upstream;
    uint64_t capacity_bytes;
    bool is_expandable, is_range_taken; /* the one range is the whole device */
};

/* PyTorch's settings, under its names.  pools=one is no setting of PyTorch: one pool without kept
 * remainders, so that the contract with limit=device describes it exactly. */
#define OPTION_HELP(pools, limit)                 \
    "pools=" pools "\n"                           \
    "limit=" limit "\n"                           \
    "max_split_size_mb=<MiB>\n"                   \
    "max_non_split_rounding_mb=<MiB>\n"           \
    "large_segment_size_mb=<MiB>\n"               \
    "roundup_power2_divisions=1|2|4|8|16|32|64\n" \
    "per_process_memory_fraction=<fraction>\n"    \
    "garbage_collection_threshold=<fraction>\n"   \
    "expandable_segments=False|True\n"            \
    "ties=address|counter\n"

#define MIB (UINT64_C(1) << 20)
#define STEP_BYTES (2 * MIB)

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
    (void)context;
    (void)part;
    return true;
}

static void unmap_part(void *context, struct cache_range part)
{
    (void)context;
    (void)part;
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

/* A positive decimal number with nothing behind it, and at most max. */
static bool read_number(const char *text, double max, double *value)
{
    char *end = NULL;
    const double number = text[0] >= '0' && text[0] <= '9' ? strtod(text, &end) : 0;
    const bool is_number = end != NULL && *end == '\0' && number > 0 && number <= max;
    *value = is_number ? number : *value;
    return is_number;
}

/* Each is false: the value is wrong; nothing given is right. */
static bool read_fraction(const struct kit_setup *setup, const char *key, double *value)
{
    const char *text = kit_option(setup, key);
    return text == NULL || read_number(text, 1, value);
}

static bool read_mebibytes(const struct kit_setup *setup, const char *key, uint64_t min_bytes,
                           uint64_t *bytes)
{
    const char *text = kit_option(setup, key);
    double value = 0;
    if (text == NULL) {
        return true;
    }
    if (strspn(text, "0123456789") != strlen(text) || !read_number(text, 1 << 24, &value) ||
        (uint64_t)value * MIB < min_bytes) {
        return false;
    }
    *bytes = (uint64_t)value * MIB;
    return true;
}

static const char *read_sizes(const struct kit_setup *setup, struct cache_settings *settings)
{
    if (!read_mebibytes(setup, "large_segment_size_mb", 11 * MIB, &settings->large_segment_bytes)) {
        return "large_segment_size_mb must be a whole number from 11";
    }
    settings->non_split_rounding_bytes = settings->large_segment_bytes;
    if (!read_mebibytes(setup, "max_split_size_mb", settings->large_segment_bytes,
                        &settings->max_split_bytes)) {
        return "max_split_size_mb must be a whole number from large_segment_size_mb, which is 20 "
               "unless given";
    }
    if (!read_mebibytes(setup, "max_non_split_rounding_mb", settings->large_segment_bytes,
                        &settings->non_split_rounding_bytes)) {
        return "max_non_split_rounding_mb must be a whole number from large_segment_size_mb, which "
               "is 20 unless given";
    }
    return NULL;
}

static const char *read_limits(const struct kit_setup *setup, struct cache_settings *settings)
{
    double fraction = 1;
    if (!read_fraction(setup, "per_process_memory_fraction", &fraction)) {
        return "per_process_memory_fraction must be above 0 and at most 1";
    }
    if (fraction < 1) {
        settings->limit_bytes = (uint64_t)(fraction * (double)setup->capacity_bytes);
    }
    if (!read_fraction(setup, "garbage_collection_threshold",
                       &settings->garbage_collection_threshold) ||
        settings->garbage_collection_threshold >= 1) {
        return "garbage_collection_threshold must be between 0 and 1";
    }
    return NULL;
}

static uint32_t read_divisions(const struct kit_setup *setup)
{
    const char *text = kit_option(setup, "roundup_power2_divisions");
    return text == NULL ? 1 : (uint32_t)strtoul(text, NULL, 10);
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
    cache_settings_init(settings);
    const char *reason = read_sizes(setup, settings);
    if (reason == NULL) {
        reason = read_limits(setup, settings);
    }
    const uint32_t divisions = read_divisions(setup);
    for (size_t i = 0; i < CACHE_DIVISIONS_COUNT; i++) {
        settings->divisions[i] = divisions;
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

/* Of the one range of an expandable target: what is mapped and what is not make one hole. */
struct gap {
    uint64_t bytes, largest_bytes;
};

static void measure_gap(void *context, const struct cache_segment_view *segment,
                        const struct cache_block_view *block)
{
    struct gap *gap = context;
    (void)segment;
    const bool is_open = block->state == CACHE_FREE || block->state == CACHE_UNMAPPED;
    gap->bytes = is_open ? gap->bytes + block->range.size_bytes : 0;
    gap->largest_bytes = gap->bytes > gap->largest_bytes ? gap->bytes : gap->largest_bytes;
}

static uint64_t caching_largest_free(void *state)
{
    const struct caching *caching = state;
    struct gap gap = {0};
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
#define DEFINE_TARGET(storage, variable, name_, help, bend, free_, rule, text)               \
    KIT_OPEN(open_##variable, help, .state_bytes = sizeof(struct caching),                   \
             .granule_bytes = CACHE_BLOCK_BYTES, .regions = {.grows = true, .trims = true},  \
             .variant = bend, .open = caching_open, .close = caching_close,                  \
             .allocate_offset = caching_allocate, .free_offset = caching_free,               \
             .block_bytes = caching_block_bytes, .largest_free_bytes = caching_largest_free) \
    storage const struct target variable = {                                                 \
        KIT_TABLE_FREEING(name_, text, help, open_##variable, free_), .breaks = rule,        \
        .limits = {.largest_align_bytes = CACHE_BLOCK_BYTES}};

static const char option_help[] = OPTION_HELP("torch|one", "process|device");
/* What the contract describes exactly, so that each defect is seen. */
static const char plant_option_help[] = OPTION_HELP("one|torch", "device|process");

DEFINE_TARGET(, target_caching, "caching", option_help, CACHE_STRAIGHT, kit_free, NULL,
              "a model of PyTorch's CUDA caching allocator, in segments of the device")

#define CACHING(noun, bend, free_, rule, text)                                                    \
    DEFINE_TARGET(static, caching_##noun, "caching_" #noun, plant_option_help, bend, free_, rule, \
                  text)
#include "targets/caching/list.h"
#undef CACHING

const struct target *const caching_plants[] = {
#define CACHING(noun, bend, free_, rule, text) &caching_##noun,
#include "targets/caching/list.h"
#undef CACHING
    NULL,
};
