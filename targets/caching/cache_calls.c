#include "targets/caching/private/cache_state.h"

/* --- life --- */

struct cache *cache_create(const struct cache_settings *settings,
                           const struct cache_upstream *upstream, enum cache_bend bend)
{
    struct cache *cache = upstream->host_alloc(upstream->context, sizeof *cache);
    if (cache == NULL) {
        return NULL;
    }
    const struct cache_tree by_size = {
        .order = settings->ties == CACHE_TIES_COUNTER ? CACHE_BY_SIZE_AND_AGE : CACHE_BY_SIZE};
    const struct cache_tree by_stream = {.order = CACHE_BY_STREAM};
    *cache = (struct cache){.settings = *settings,
                            .upstream = upstream,
                            .bend = bend,
                            .large = {.free = by_size, .unmapped = by_stream},
                            .small = {.free = by_size, .unmapped = by_stream, .is_small = true},
                            .taken = {.order = CACHE_BY_ADDRESS}};
    return cache;
}

static void give_segment(const struct cache *cache, const struct cache_segment *segment)
{
    const struct cache_upstream *upstream = cache->upstream;
    if (!segment->is_expandable) {
        upstream->segment_give(upstream->context, segment->range);
        return;
    }
    for (const struct cache_block *block = segment->first; block != NULL; block = block->next) {
        if (block->state != CACHE_UNMAPPED) {
            upstream->unmap(upstream->context, block->range);
        }
    }
    upstream->range_give(upstream->context, segment->range);
}

void cache_destroy(struct cache *cache)
{
    const struct cache_upstream *upstream = cache->upstream;
    for (struct cache_segment *segment = cache->oldest; segment != NULL; segment = segment->newer) {
        give_segment(cache, segment);
    }
    cache_nodes_destroy(cache);
    upstream->host_free(upstream->context, cache, sizeof *cache);
}

/* --- a request --- */

struct cache_wanted {
    struct cache_pool *pool;
    uint64_t size_bytes, stream;
};

static bool is_oversize(const struct cache *cache, uint64_t bytes)
{
    return bytes >= cache->settings.max_split_bytes;
}

static uint64_t expandable_bytes(const struct cache_block *block)
{
    const struct cache_block *next = block->next;
    return block->range.size_bytes +
           (next != NULL && next->state == CACHE_UNMAPPED ? next->range.size_bytes : 0);
}

static bool is_on_stream(const struct cache_block *block, uint64_t stream)
{
    return block != NULL && block->stream == stream;
}

/* Prefers a hole to the tail among the expandable blocks that fit: the tail can still grow. */
static struct cache_block *choose_expandable(const struct cache *cache,
                                             const struct cache_wanted *wanted,
                                             struct cache_block *block)
{
    const struct cache_tree *free = &wanted->pool->free;
    if (!cache->settings.is_expandable) {
        while (is_on_stream(block, wanted->stream) && block->segment->is_expandable) {
            block = cache_tree_after(free, block);
        }
        return block;
    }
    struct cache_block *next = cache_tree_after(free, block);
    while (block->segment->is_expandable && is_on_stream(next, wanted->stream) &&
           expandable_bytes(next) < expandable_bytes(block)) {
        block = next;
        next = cache_tree_after(free, block);
    }
    return block;
}

/* The best fit, removed from its tree; NULL: none, or one that max_split_bytes keeps. */
static struct cache_block *take_fit(struct cache *cache, const struct cache_wanted *wanted)
{
    const struct cache_block key = {.range.size_bytes = wanted->size_bytes,
                                    .stream = wanted->stream};
    wanted->pool->search_count += cache_collects_garbage(cache);
    struct cache_block *block = cache_tree_find(&wanted->pool->free, &key);
    if (is_on_stream(block, wanted->stream) && block->segment->is_expandable) {
        block = choose_expandable(cache, wanted, block);
    }
    if (!is_on_stream(block, wanted->stream)) {
        return NULL;
    }
    const uint64_t bytes = block->range.size_bytes;
    const bool is_kept = is_oversize(cache, wanted->size_bytes)
                             ? bytes - wanted->size_bytes >=
                                   cache->settings.non_split_rounding_bytes
                             : is_oversize(cache, bytes);
    if (is_kept) {
        return NULL;
    }
    cache_block_remove(cache, block);
    return block;
}

static struct cache_block *take_segment(struct cache *cache, const struct cache_wanted *wanted)
{
    const struct cache_upstream *upstream = cache->upstream;
    const uint64_t limit_bytes = cache->settings.limit_bytes;
    const uint64_t bytes = cache_segment_bytes(&cache->settings, wanted->size_bytes);
    struct cache_segment segment = {.pool = wanted->pool};
    if (limit_bytes != CACHE_UNLIMITED &&
        (bytes > limit_bytes || cache->totals.reserved_bytes > limit_bytes - bytes)) {
        return NULL;
    }
    if (cache->settings.is_expandable) {
        return cache_expand(cache, wanted->pool, wanted->size_bytes, wanted->stream);
    }
    if (!upstream->segment_take(upstream->context, bytes, wanted->size_bytes, &segment.range)) {
        return NULL;
    }
    cache->totals.reserved_bytes += segment.range.size_bytes;
    cache_emit(cache, CACHE_SEGMENT_ALLOC, segment.range, wanted->stream);
    return cache_segment_add(cache, &segment, wanted->stream, CACHE_FREE);
}

/* Every try that PyTorch makes, in its order.  After the last release it does not look at what
 * became free meanwhile. */
static struct cache_block *take_block(struct cache *cache, const struct cache_wanted *wanted)
{
    struct cache_block *block = take_fit(cache, wanted);
    if (block == NULL && cache_collects_garbage(cache)) {
        cache_collect_garbage(cache);
    }
    if (block == NULL) {
        block = take_segment(cache, wanted);
    }
    if (block == NULL && cache->settings.max_split_bytes != CACHE_UNLIMITED &&
        cache_release_oversize(cache, wanted->pool, wanted->size_bytes, wanted->stream)) {
        block = take_segment(cache, wanted);
    }
    if (block == NULL) {
        cache_release_cached(cache);
        cache->totals.retry_count++;
        block = take_segment(cache, wanted);
    }
    return block;
}

static bool is_split(const struct cache *cache, const struct cache_wanted *wanted,
                     uint64_t rest_bytes)
{
    if (wanted->pool->is_small || cache->settings.is_expandable) {
        return rest_bytes >= CACHE_BLOCK_BYTES;
    }
    return !is_oversize(cache, wanted->size_bytes) &&
           rest_bytes > cache->settings.kept_remainder_bytes;
}

static void split_block(struct cache *cache, const struct cache_wanted *wanted,
                        struct cache_block *block)
{
    if (is_split(cache, wanted, block->range.size_bytes - wanted->size_bytes)) {
        struct cache_block *rest = cache_block_cut(cache, block, wanted->size_bytes);
        if (cache->bend == CACHE_BEND_OVERLAPS && wanted->size_bytes > CACHE_BLOCK_BYTES) {
            rest->range.address -= CACHE_BLOCK_BYTES;
            rest->range.size_bytes += CACHE_BLOCK_BYTES;
        }
        cache_block_insert(cache, rest);
    }
}

static enum cache_result fail_request(struct cache *cache, uint64_t size_bytes, uint64_t stream)
{
    cache->totals.oom_count++;
    cache_emit(cache, CACHE_OOM, (struct cache_range){0, size_bytes}, stream);
    return CACHE_NO_MEMORY;
}

enum cache_result cache_malloc(struct cache *cache, uint64_t bytes, uint64_t stream,
                               struct cache_range *out)
{
    if (!cache_nodes_reserve(cache, CACHE_NODES_PER_REQUEST)) {
        return CACHE_NO_HOST_MEMORY;
    }
    if (cache->upstream->complete_done != NULL) {
        cache->upstream->complete_done(cache->upstream->context);
    }
    if (bytes > CACHE_SIZE_BYTES_MAX) {
        return fail_request(cache, bytes, stream);
    }
    const uint64_t size_bytes = cache_rounded(&cache->settings, bytes);
    const struct cache_wanted wanted = {
        .pool = size_bytes <= cache->settings.small_limit_bytes ? &cache->small : &cache->large,
        .size_bytes = size_bytes,
        .stream = stream};
    struct cache_block *block = take_block(cache, &wanted);
    if (block == NULL) {
        return fail_request(cache, size_bytes, stream);
    }
    split_block(cache, &wanted, block);
    block->state = CACHE_LIVE;
    block->requested_bytes = bytes;
    cache_block_insert(cache, block);
    cache->totals.allocated_bytes += block->range.size_bytes;
    cache->totals.active_bytes += block->range.size_bytes;
    cache_emit(cache, CACHE_ALLOC, (struct cache_range){block->range.address, bytes}, stream);
    *out = block->range;
    return CACHE_OK;
}

/* --- frees --- */

static struct cache_block *find_taken(const struct cache *cache, uint64_t address)
{
    const struct cache_block key = {.range.address = address};
    struct cache_block *block = cache_tree_find(&cache->taken, &key);
    return block != NULL && block->range.address == address ? block : NULL;
}

enum { LOST_EACH = 16 };

static void complete_free(struct cache *cache, struct cache_block *block)
{
    const struct cache_range asked = {block->range.address, block->requested_bytes};
    cache_emit(cache, CACHE_FREE_COMPLETED, asked, block->stream);
    cache->totals.active_bytes -= block->range.size_bytes;
    cache->free_count_done++;
    if (cache->bend == CACHE_BEND_LOSES && cache->free_count_done % LOST_EACH == 0) {
        return;
    }
    cache_block_remove(cache, block);
    block->state = CACHE_FREE;
    cache_block_merge(cache, block);
    cache_block_insert(cache, block);
}

bool cache_free(struct cache *cache, uint64_t address, bool is_pending)
{
    struct cache_block *block = find_taken(cache, address);
    if (block == NULL || block->state != CACHE_LIVE) {
        return false;
    }
    const struct cache_range asked = {address, block->requested_bytes};
    cache->totals.allocated_bytes -= block->range.size_bytes;
    block->state = CACHE_PENDING;
    cache_emit(cache, CACHE_FREE_REQUESTED, asked, block->stream);
    if (!is_pending) {
        complete_free(cache, block);
    }
    return true;
}

bool cache_complete(struct cache *cache, uint64_t address)
{
    struct cache_block *block = find_taken(cache, address);
    if (block == NULL || block->state != CACHE_PENDING) {
        return false;
    }
    complete_free(cache, block);
    return true;
}

void cache_empty(struct cache *cache)
{
    cache_release_cached(cache);
}

uint64_t cache_block_bytes(const struct cache *cache, uint64_t address)
{
    const struct cache_block *block = find_taken(cache, address);
    return block == NULL ? 0 : block->range.size_bytes;
}
