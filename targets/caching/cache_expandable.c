#include "targets/caching/private/cache_state.h"

/* Pages are as large as the segments of the pool, from the start of the range; the last one ends
 * with the range. */
static uint64_t page_bytes(const struct cache *cache, const struct cache_segment *segment)
{
    return segment->pool->is_small ? cache->settings.small_segment_bytes
                                   : cache->settings.large_segment_bytes;
}

static uint64_t round_up(uint64_t bytes, uint64_t step_bytes)
{
    return (bytes + step_bytes - 1) / step_bytes * step_bytes;
}

/* True if the free and unmapped blocks from this one on hold so many bytes. */
static bool has_room(const struct cache_block *block, uint64_t size_bytes)
{
    uint64_t room_bytes = 0;
    while (block != NULL && room_bytes < size_bytes &&
           (block->state == CACHE_FREE || block->state == CACHE_UNMAPPED)) {
        room_bytes += block->range.size_bytes;
        block = block->next;
    }
    return room_bytes >= size_bytes;
}

static struct cache_block *find_room(const struct cache_pool *pool, uint64_t size_bytes,
                                     uint64_t stream)
{
    const struct cache_block key = {.stream = stream};
    for (struct cache_block *block = cache_tree_find(&pool->unmapped, &key);
         block != NULL && block->stream == stream;
         block = cache_tree_after(&pool->unmapped, block)) {
        struct cache_block *start = block->prev != NULL && block->prev->state == CACHE_FREE
                                        ? block->prev
                                        : block;
        if (has_room(start, size_bytes)) {
            return start;
        }
    }
    return NULL;
}

static struct cache_block *add_range(struct cache *cache, struct cache_pool *pool,
                                     uint64_t size_bytes, uint64_t stream)
{
    const struct cache_upstream *upstream = cache->upstream;
    struct cache_segment segment = {.pool = pool, .is_expandable = true};
    if (size_bytes > cache->settings.range_bytes ||
        !upstream->range_take(upstream->context, cache->settings.range_bytes, &segment.range)) {
        return NULL;
    }
    struct cache_block *block = cache_segment_add(cache, &segment, stream, CACHE_UNMAPPED);
    cache_block_insert(cache, block);
    return block;
}

/* Maps the first pages of an unmapped block, for at least so many of its bytes, and merges it with
 * what is free around it.  It is in the tree afterwards, also when the memory is not to be had. */
static bool map_block(struct cache *cache, struct cache_block *block, uint64_t size_bytes)
{
    const struct cache_upstream *upstream = cache->upstream;
    const uint64_t pages_bytes = round_up(size_bytes, page_bytes(cache, block->segment));
    struct cache_range part = block->range;
    part.size_bytes = pages_bytes < part.size_bytes ? pages_bytes : part.size_bytes;
    if (!upstream->map(upstream->context, part)) {
        return false;
    }
    cache_block_remove(cache, block);
    if (part.size_bytes < block->range.size_bytes) {
        cache_block_insert(cache, cache_block_cut(cache, block, part.size_bytes));
    }
    block->state = CACHE_FREE;
    cache_block_merge(cache, block);
    cache_block_insert(cache, block);
    cache->totals.reserved_bytes += part.size_bytes;
    cache_emit(cache, CACHE_SEGMENT_MAP, part, block->stream);
    return true;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

struct cache_block *cache_expand(struct cache *cache, struct cache_pool *pool, uint64_t size_bytes,
                                 uint64_t stream)
{
    struct cache_block *block = find_room(pool, size_bytes, stream);
    if (block == NULL) {
        block = add_range(cache, pool, size_bytes, stream);
    }
    if (block == NULL || (block->state == CACHE_UNMAPPED &&
                          !map_block(cache, block, smaller(block->range.size_bytes, size_bytes)))) {
        return NULL;
    }
    while (block->range.size_bytes < size_bytes) {
        struct cache_block *next = block->next;
        const uint64_t missing_bytes = size_bytes - block->range.size_bytes;
        if (!map_block(cache, next, smaller(next->range.size_bytes, missing_bytes))) {
            return NULL;
        }
        block = next; /* it has taken in what is before it */
    }
    cache_block_remove(cache, block);
    return block;
}

/* The whole pages inside the block. */
static struct cache_range find_pages(const struct cache *cache, const struct cache_block *block)
{
    const struct cache_range *range = &block->segment->range;
    const uint64_t page = page_bytes(cache, block->segment);
    const uint64_t begin = block->range.address - range->address;
    const uint64_t end = begin + block->range.size_bytes;
    const uint64_t first = round_up(begin, page);
    const uint64_t last = end == range->size_bytes ? end : end / page * page;
    return (struct cache_range){range->address + first, last > first ? last - first : 0};
}

void cache_unmap_block(struct cache *cache, struct cache_block *block)
{
    const struct cache_upstream *upstream = cache->upstream;
    const struct cache_range pages = find_pages(cache, block);
    if (pages.size_bytes == 0 ||
        !cache_nodes_reserve(cache, CACHE_NODES_PER_REQUEST + CACHE_NODES_PER_UNMAP)) {
        return;
    }
    cache_block_remove(cache, block);
    if (pages.address > block->range.address) {
        struct cache_block *before = block;
        block = cache_block_cut(cache, before, pages.address - before->range.address);
        cache_block_insert(cache, before);
    }
    if (pages.size_bytes < block->range.size_bytes) {
        cache_block_insert(cache, cache_block_cut(cache, block, pages.size_bytes));
    }
    block->state = CACHE_UNMAPPED;
    cache_block_merge(cache, block);
    cache->totals.reserved_bytes -= pages.size_bytes;
    upstream->unmap(upstream->context, pages);
    cache_emit(cache, CACHE_SEGMENT_UNMAP, pages, block->stream);
    if (block->prev == NULL && block->next == NULL) {
        const struct cache_range range = block->segment->range;
        cache_segment_remove(cache, block->segment);
        upstream->range_give(upstream->context, range);
        return;
    }
    cache_block_insert(cache, block);
}
