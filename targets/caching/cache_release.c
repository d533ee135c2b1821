#include "targets/caching/private/cache_state.h"

/* The free block is its whole segment. */
static void release_segment(struct cache *cache, struct cache_block *block)
{
    struct cache_segment *segment = block->segment;
    const struct cache_range range = segment->range;
    cache_block_remove(cache, block);
    cache_emit(cache, CACHE_SEGMENT_FREE, range, block->stream);
    cache->totals.reserved_bytes -= range.size_bytes;
    cache_segment_remove(cache, segment);
    cache->upstream->segment_give(cache->upstream->context, range);
}

/* --- garbage --- */

bool cache_collects_garbage(const struct cache *cache)
{
    return cache->settings.limit_bytes != CACHE_UNLIMITED &&
           cache->settings.garbage_collection_threshold > 0;
}

struct garbage {
    double age_sum; /* in searches, of those that may be released */
    uint64_t count;
};

static double age_of(const struct cache_pool *pool, const struct cache_block *block)
{
    return (double)(pool->search_count - block->search_count);
}

static struct garbage count_garbage(const struct cache_pool *pool)
{
    struct garbage garbage = {0};
    for (const struct cache_block *block = cache_tree_first(&pool->free); block != NULL;
         block = cache_tree_after(&pool->free, block)) {
        if (cache_block_is_segment(block)) {
            garbage.age_sum += age_of(pool, block);
            garbage.count++;
        }
    }
    return garbage;
}

/* Releases what is at least as old as the mean, and returns how many bytes these are. */
static uint64_t release_old(struct cache *cache, struct garbage *garbage)
{
    const struct cache_pool *pool = &cache->large;
    const double limit = garbage->age_sum / (double)garbage->count;
    uint64_t released_bytes = 0;
    struct cache_block *next = NULL;
    for (struct cache_block *block = cache_tree_first(&pool->free); block != NULL; block = next) {
        next = cache_tree_after(&pool->free, block);
        if (cache_block_is_segment(block) && age_of(pool, block) >= limit) {
            released_bytes += block->range.size_bytes;
            garbage->age_sum -= age_of(pool, block);
            garbage->count--;
            release_segment(cache, block);
        }
    }
    return released_bytes;
}

void cache_collect_garbage(struct cache *cache)
{
    const double threshold = cache->settings.garbage_collection_threshold *
                             (double)cache->settings.limit_bytes;
    const double surplus = (double)cache->totals.reserved_bytes - threshold;
    struct garbage garbage = count_garbage(&cache->large);
    double released = 0;
    bool has_released = true;
    while (released < surplus && has_released && garbage.count > 0) {
        const uint64_t bytes = release_old(cache, &garbage);
        released += (double)bytes;
        has_released = bytes > 0;
    }
}

/* --- oversize --- */

bool cache_release_oversize(struct cache *cache, struct cache_pool *pool, uint64_t size_bytes,
                            uint64_t stream)
{
    const uint64_t max_split_bytes = cache->settings.max_split_bytes;
    const uint64_t needed_bytes = size_bytes > max_split_bytes ? size_bytes : max_split_bytes;
    const struct cache_block key = {.range.size_bytes = needed_bytes, .stream = stream};
    struct cache_block *found = cache_tree_find(&pool->free, &key);
    if (found != NULL && found->stream == stream && cache_block_is_segment(found)) {
        release_segment(cache, found);
        return true;
    }
    uint64_t released_bytes = 0;
    struct cache_block *before = NULL;
    for (struct cache_block *block = cache_tree_before(&pool->free, &key);
         block != NULL && block->stream == stream && released_bytes < needed_bytes &&
         block->range.size_bytes >= max_split_bytes;
         block = before) {
        before = cache_tree_before(&pool->free, block);
        if (cache_block_is_segment(block)) {
            released_bytes += block->range.size_bytes;
            release_segment(cache, block);
        }
    }
    return released_bytes >= needed_bytes;
}

/* --- everything --- */

static struct cache_block *next_expandable(const struct cache_pool *pool, struct cache_block *block)
{
    while (block != NULL && !block->segment->is_expandable) {
        block = cache_tree_after(&pool->free, block);
    }
    return block;
}

/* Unmapping leaves smaller pieces, which come earlier in the order, so the next one is looked for
 * before. */
static void release_pool(struct cache *cache, struct cache_pool *pool)
{
    struct cache_block *next = NULL;
    for (struct cache_block *block = cache_tree_first(&pool->free); block != NULL; block = next) {
        next = cache_tree_after(&pool->free, block);
        if (cache_block_is_segment(block)) {
            release_segment(cache, block);
        }
    }
    for (struct cache_block *block = next_expandable(pool, cache_tree_first(&pool->free));
         block != NULL; block = next) {
        next = next_expandable(pool, cache_tree_after(&pool->free, block));
        cache_unmap_block(cache, block);
    }
}

void cache_release_cached(struct cache *cache)
{
    if (cache->upstream->complete_all != NULL) {
        cache->upstream->complete_all(cache->upstream->context);
    }
    if (cache->bend != CACHE_BEND_KEEPS) {
        release_pool(cache, &cache->large);
        release_pool(cache, &cache->small);
    }
}
