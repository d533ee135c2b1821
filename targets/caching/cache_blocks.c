#include "targets/caching/private/cache_state.h"

/* --- nodes --- */

bool cache_nodes_reserve(struct cache *cache, size_t count)
{
    while (cache->free_node_count < count) {
        const struct cache_upstream *upstream = cache->upstream;
        struct cache_chunk *chunk = upstream->host_alloc(upstream->context, sizeof *chunk);
        if (chunk == NULL) {
            return false;
        }
        chunk->next = cache->chunks;
        cache->chunks = chunk;
        for (size_t i = 0; i < CACHE_CHUNK_NODE_COUNT; i++) {
            chunk->nodes[i].next_free = cache->free_nodes;
            cache->free_nodes = &chunk->nodes[i];
        }
        cache->free_node_count += CACHE_CHUNK_NODE_COUNT;
    }
    return true;
}

void cache_nodes_destroy(struct cache *cache)
{
    while (cache->chunks != NULL) {
        struct cache_chunk *chunk = cache->chunks;
        cache->chunks = chunk->next;
        cache->upstream->host_free(cache->upstream->context, chunk, sizeof *chunk);
    }
}

/* They were reserved. */
static union cache_node *take_node(struct cache *cache)
{
    union cache_node *node = cache->free_nodes;
    cache->free_nodes = node->next_free;
    cache->free_node_count--;
    return node;
}

static void give_node(struct cache *cache, union cache_node *node)
{
    node->next_free = cache->free_nodes;
    cache->free_nodes = node;
    cache->free_node_count++;
}

/* --- segments --- */

void cache_emit(const struct cache *cache, enum cache_event_kind kind, struct cache_range range,
                uint64_t stream)
{
    const struct cache_upstream *upstream = cache->upstream;
    if (upstream->event != NULL) {
        upstream->event(upstream->context, &(struct cache_event){kind, range, stream});
    }
}

/* Priorities that look random and are the same in each run: steps of an odd number, mixed. */
static uint32_t next_priority(struct cache *cache)
{
    uint32_t mixed = cache->priority_last += UINT32_C(0x9e3779b9);
    mixed = (mixed ^ (mixed >> 16)) * UINT32_C(0x45d9f3b);
    return (mixed ^ (mixed >> 16)) * UINT32_C(0x45d9f3b);
}

struct cache_block *cache_segment_add(struct cache *cache, const struct cache_segment *like,
                                      uint64_t stream, enum cache_state state)
{
    struct cache_segment *segment = &take_node(cache)->segment;
    struct cache_block *block = &take_node(cache)->block;
    *segment = *like;
    segment->older = cache->newest;
    segment->newer = NULL;
    segment->first = block;
    *(cache->newest != NULL ? &cache->newest->newer : &cache->oldest) = segment;
    cache->newest = segment;
    *block = (struct cache_block){.priority = next_priority(cache),
                                  .state = state,
                                  .range = like->range,
                                  .stream = stream,
                                  .number = ++cache->number_last,
                                  .segment = segment};
    return block;
}

void cache_segment_remove(struct cache *cache, struct cache_segment *segment)
{
    *(segment->older != NULL ? &segment->older->newer : &cache->oldest) = segment->newer;
    *(segment->newer != NULL ? &segment->newer->older : &cache->newest) = segment->older;
    give_node(cache, (union cache_node *)segment->first);
    give_node(cache, (union cache_node *)segment);
}

/* --- blocks --- */

struct cache_tree *cache_tree_of(struct cache *cache, const struct cache_block *block)
{
    struct cache_pool *pool = block->segment->pool;
    return block->state == CACHE_FREE       ? &pool->free
           : block->state == CACHE_UNMAPPED ? &pool->unmapped
                                            : &cache->taken;
}

void cache_block_insert(struct cache *cache, struct cache_block *block)
{
    block->search_count = block->segment->pool->search_count;
    cache_tree_insert(cache_tree_of(cache, block), block);
}

void cache_block_remove(struct cache *cache, struct cache_block *block)
{
    cache_tree_remove(cache_tree_of(cache, block), block);
}

bool cache_block_is_segment(const struct cache_block *block)
{
    return block->prev == NULL && block->next == NULL && !block->segment->is_expandable;
}

struct cache_block *cache_block_cut(struct cache *cache, struct cache_block *block, uint64_t bytes)
{
    struct cache_block *rest = &take_node(cache)->block;
    *rest = *block;
    rest->priority = next_priority(cache);
    rest->range.address += bytes;
    rest->range.size_bytes -= bytes;
    rest->prev = block;
    block->range.size_bytes = bytes;
    block->next = rest;
    if (rest->next != NULL) {
        rest->next->prev = rest;
    }
    return rest;
}

static void absorb_next(struct cache *cache, struct cache_block *block, struct cache_block *next)
{
    block->range.size_bytes += next->range.size_bytes;
    block->next = next->next;
    if (next->next != NULL) {
        next->next->prev = block;
    }
    give_node(cache, (union cache_node *)next);
}

static void absorb_prev(struct cache *cache, struct cache_block *block, struct cache_block *prev)
{
    block->range.address = prev->range.address;
    block->range.size_bytes += prev->range.size_bytes;
    block->prev = prev->prev;
    *(prev->prev != NULL ? &prev->prev->next : &block->segment->first) = block;
    give_node(cache, (union cache_node *)prev);
}

void cache_block_merge(struct cache *cache, struct cache_block *block)
{
    struct cache_block *prev = block->prev;
    struct cache_block *next = block->next;
    if (prev != NULL && prev->state == block->state) {
        cache_block_remove(cache, prev);
        absorb_prev(cache, block, prev);
    }
    if (next != NULL && next->state == block->state && cache->bend != CACHE_BEND_UNMERGED) {
        cache_block_remove(cache, next);
        absorb_next(cache, block, next);
    }
}
