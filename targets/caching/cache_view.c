#include "targets/caching/private/cache_state.h"

/* --- what it shows --- */

void cache_walk(const struct cache *cache,
                void (*visit)(void *context, const struct cache_segment_view *segment,
                              const struct cache_block_view *block),
                void *context)
{
    for (const struct cache_segment *segment = cache->oldest; segment != NULL;
         segment = segment->newer) {
        const struct cache_segment_view view = {.range = segment->range,
                                                .stream = segment->first->stream,
                                                .is_small = segment->pool->is_small,
                                                .is_expandable = segment->is_expandable};
        for (const struct cache_block *block = segment->first; block != NULL; block = block->next) {
            visit(context, &view,
                  &(struct cache_block_view){block->range, block->requested_bytes, block->state});
        }
    }
}

struct cache_totals cache_totals(const struct cache *cache)
{
    return cache->totals;
}

uint64_t cache_largest_free(const struct cache *cache, uint64_t stream)
{
    const struct cache_block key = {.range = {UINT64_MAX, UINT64_MAX}, .stream = stream};
    const struct cache_pool *const pools[] = {&cache->large, &cache->small};
    uint64_t largest = 0;
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        const struct cache_block *block = cache_tree_before(&pools[i]->free, &key);
        if (block != NULL && block->stream == stream && block->range.size_bytes > largest) {
            largest = block->range.size_bytes;
        }
    }
    return largest;
}

/* --- what was there before --- */

static void restore_block(struct cache *cache, struct cache_block *block,
                          const struct cache_block_view *view)
{
    const bool is_taken = view->state == CACHE_LIVE || view->state == CACHE_PENDING;
    block->state = view->state;
    block->requested_bytes = view->requested_bytes;
    cache->totals.allocated_bytes += view->state == CACHE_LIVE ? view->range.size_bytes : 0;
    cache->totals.active_bytes += is_taken ? view->range.size_bytes : 0;
    cache->totals.reserved_bytes += view->state != CACHE_UNMAPPED ? view->range.size_bytes : 0;
    cache_block_insert(cache, block);
}

bool cache_restore(struct cache *cache, const struct cache_segment_view *segment,
                   const struct cache_block_view *blocks, size_t count)
{
    if (count == 0 || !cache_nodes_reserve(cache, count + 1)) {
        return false;
    }
    const struct cache_segment like = {.range = segment->range,
                                       .pool = segment->is_small ? &cache->small : &cache->large,
                                       .is_expandable = segment->is_expandable};
    struct cache_block *block = cache_segment_add(cache, &like, segment->stream, CACHE_FREE);
    for (size_t i = 0; i < count; i++) {
        struct cache_block *rest = i + 1 == count
                                       ? NULL
                                       : cache_block_cut(cache, block, blocks[i].range.size_bytes);
        restore_block(cache, block, &blocks[i]);
        block = rest;
    }
    return true;
}

/* --- invariants --- */

static bool is_in_tree(const struct cache *cache, const struct cache_block *block)
{
    const struct cache_pool *pool = block->segment->pool;
    const struct cache_tree *tree = block->state == CACHE_FREE       ? &pool->free
                                    : block->state == CACHE_UNMAPPED ? &pool->unmapped
                                                                     : &cache->taken;
    return cache_tree_find(tree, block) == block;
}

static bool is_block_right(const struct cache *cache, const struct cache_block *block)
{
    const struct cache_block *next = block->next;
    const bool may_merge = block->state == CACHE_FREE || block->state == CACHE_UNMAPPED;
    const uint64_t end = block->range.address + block->range.size_bytes;
    const struct cache_range *whole = &block->segment->range;
    return block->range.size_bytes > 0 && is_in_tree(cache, block) &&
           (next != NULL ? next->prev == block && next->range.address == end
                         : end == whole->address + whole->size_bytes) &&
           !(may_merge && next != NULL && next->state == block->state);
}

static size_t count_tree(const struct cache_tree *tree)
{
    size_t count = 0;
    for (const struct cache_block *block = cache_tree_first(tree); block != NULL;
         block = cache_tree_after(tree, block)) {
        count++;
    }
    return count;
}

bool cache_invariants_hold(const struct cache *cache)
{
    size_t count = 0;
    uint64_t reserved_bytes = 0;
    for (const struct cache_segment *segment = cache->oldest; segment != NULL;
         segment = segment->newer) {
        if (segment->first->prev != NULL ||
            segment->first->range.address != segment->range.address) {
            return false;
        }
        for (const struct cache_block *block = segment->first; block != NULL; block = block->next) {
            if (!is_block_right(cache, block)) {
                return false;
            }
            count++;
            reserved_bytes += block->state == CACHE_UNMAPPED ? 0 : block->range.size_bytes;
        }
    }
    return reserved_bytes == cache->totals.reserved_bytes &&
           count == count_tree(&cache->taken) + count_tree(&cache->large.free) +
                        count_tree(&cache->small.free) + count_tree(&cache->large.unmapped) +
                        count_tree(&cache->small.unmapped);
}
