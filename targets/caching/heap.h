/* The target caching: the model of PyTorch's caching allocator (cache.h) in regions of the device,
 * on top of the kit, which queues frees. */
#ifndef TARGETS_CACHING_HEAP_H
#define TARGETS_CACHING_HEAP_H

#include "kit/kit.h"
#include "targets/caching/cache.h"
#include "targets/private/option.h"

struct caching {
    struct kit_host *host;
    struct cache *cache;
    struct cache_upstream upstream;
    uint64_t capacity_bytes;
    bool is_expandable, is_range_taken; /* the one range is the whole device */
};

/* Its options that are numbers; what was not given is 0. */
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

/* The calls of struct kit_allocator; open with the bend is its open. */
const char *caching_open(void *state, const struct kit_setup *setup, enum cache_bend bend);
void caching_close(void *state);
uint64_t caching_allocate(void *state, uint64_t size_bytes, uint64_t align_bytes);
void caching_free(void *state, uint64_t offset, uint64_t size_bytes);
uint64_t caching_block_bytes(void *state, uint64_t place, uint64_t size_bytes);
uint64_t caching_largest_free(void *state);
/* A free of the table that awaits nothing: a planted defect. */
enum target_result caching_free_early(struct target_instance *instance, uint64_t handle,
                                      uint64_t event);

/* Defines a target with that bend; it frees with the call free_. */
#define CACHING_TARGET(storage, variable, name_, rows, bend, free_, rule, text)                \
    static const char *begin_##variable(void *state, const struct kit_setup *setup)            \
    {                                                                                          \
        return caching_open(state, setup, bend);                                               \
    }                                                                                          \
    static enum target_result open_##variable(                                                 \
        const struct target_setup *setup, const struct device_services *device,                \
        struct target_instance **out, struct target_contract *contract, char *reason,          \
        size_t reason_bytes)                                                                   \
    {                                                                                          \
        static const struct kit_allocator allocator = {                                        \
            .state_bytes = sizeof(struct caching),                                             \
            .granule_bytes = CACHE_BLOCK_BYTES,                                                \
            .regions = {.grows = true, .trims = true},                                         \
            .options = rows,                                                                   \
            .open = begin_##variable,                                                          \
            .close = caching_close,                                                            \
            .allocate_offset = caching_allocate,                                               \
            .free_offset = caching_free,                                                       \
            .block_bytes = caching_block_bytes,                                                \
            .largest_free_bytes = caching_largest_free,                                        \
        };                                                                                     \
        return kit_open(&allocator, NULL, setup, device, out, contract, reason, reason_bytes); \
    }                                                                                          \
    storage const struct target variable = {                                                   \
        .abi_version = TARGET_ABI_VERSION,                                                     \
        .size_bytes = sizeof(struct target),                                                   \
        .name = name_,                                                                         \
        .summary = text,                                                                       \
        .breaks = rule,                                                                        \
        .options = rows,                                                                       \
        .open = open_##variable,                                                               \
        .close = kit_close,                                                                    \
        .alloc = kit_alloc,                                                                    \
        .free = free_,                                                                         \
        .use = kit_use,                                                                        \
        .hold = kit_hold,                                                                      \
        .release = kit_release,                                                                \
        .donate = kit_donate,                                                                  \
        .locate = kit_locate,                                                                  \
        .stats = kit_stats,                                                                    \
        .report = kit_report,                                                                  \
        .message = kit_message,                                                                \
        .limits = {.largest_align_bytes = CACHE_BLOCK_BYTES},                                  \
    };

#endif
