#include "targets/caching/cache.h"

#define MIB (UINT64_C(1) << 20)
#define STEP_BYTES (2 * MIB) /* of segments from direct_limit_bytes on */

void cache_settings_init(struct cache_settings *settings)
{
    *settings = (struct cache_settings){.small_limit_bytes = MIB,
                                        .small_segment_bytes = 2 * MIB,
                                        .large_segment_bytes = 20 * MIB,
                                        .direct_limit_bytes = 10 * MIB,
                                        .kept_remainder_bytes = MIB,
                                        .max_split_bytes = CACHE_UNLIMITED,
                                        .non_split_rounding_bytes = 20 * MIB,
                                        .limit_bytes = CACHE_UNLIMITED};
}

static uint64_t round_up(uint64_t bytes, uint64_t step_bytes)
{
    return (bytes + step_bytes - 1) / step_bytes * step_bytes;
}

static unsigned floor_log2(uint64_t value)
{
    return 63u - (unsigned)__builtin_clzll(value);
}

static uint32_t divisions_for(const struct cache_settings *settings, uint64_t bytes)
{
    const unsigned log2 = floor_log2(bytes);
    const unsigned index = log2 < 20 ? 0 : log2 - 20;
    return settings->divisions[index < CACHE_DIVISIONS_COUNT ? index : CACHE_DIVISIONS_COUNT - 1];
}

uint64_t cache_rounded(const struct cache_settings *settings, uint64_t bytes)
{
    if (bytes < CACHE_BLOCK_BYTES) {
        return CACHE_BLOCK_BYTES;
    }
    const uint32_t divisions = divisions_for(settings, bytes);
    if (divisions <= 1 || bytes <= CACHE_BLOCK_BYTES * divisions) {
        return round_up(bytes, CACHE_BLOCK_BYTES);
    }
    const uint64_t power = UINT64_C(1) << floor_log2(bytes);
    return round_up(bytes, power / divisions);
}

uint64_t cache_segment_bytes(const struct cache_settings *settings, uint64_t rounded_bytes)
{
    if (rounded_bytes <= settings->small_limit_bytes) {
        return settings->small_segment_bytes;
    }
    return rounded_bytes < settings->direct_limit_bytes ? settings->large_segment_bytes
                                                        : round_up(rounded_bytes, STEP_BYTES);
}
