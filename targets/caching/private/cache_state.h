/* The parts of the cache share this state, and ask these functions of each other. */
#ifndef TARGETS_CACHING_PRIVATE_CACHE_STATE_H
#define TARGETS_CACHING_PRIVATE_CACHE_STATE_H

#include "targets/caching/cache.h"

enum { CACHE_NODES_PER_REQUEST = 8, CACHE_NODES_PER_UNMAP = 2 };

/* A part of a segment.  Two free ones never touch, nor do two unmapped ones. */
struct cache_block {
    struct cache_block *left, *right; /* in its tree: free, unmapped, or those that are taken */
    uint32_t priority;                /* at most that of its parent */
    enum cache_state state;
    struct cache_range range;
    uint64_t requested_bytes;
    uint64_t stream, number;         /* of its segment; numbers ascend with age */
    uint64_t search_count;           /* of its pool, when it became free */
    struct cache_block *prev, *next; /* in the segment */
    struct cache_segment *segment;
};
struct cache_segment {
    struct cache_segment *older, *newer;
    struct cache_range range;
    struct cache_pool *pool;
    struct cache_block *first;
    bool is_expandable;
};

/* A search tree that is a heap by priority, so its depth is logarithmic as a rule. */
enum cache_order {
    CACHE_BY_ADDRESS,
    CACHE_BY_STREAM, /* then by address; the others by stream, size and address */
    CACHE_BY_SIZE,
    CACHE_BY_SIZE_AND_AGE /* the older segment before the lower address */
};
struct cache_tree {
    struct cache_block *root;
    enum cache_order order;
};
void cache_tree_insert(struct cache_tree *tree, struct cache_block *block);
void cache_tree_remove(struct cache_tree *tree, struct cache_block *block);
/* The first block that is not before key, which need not be in the tree. */
struct cache_block *cache_tree_find(const struct cache_tree *tree, const struct cache_block *key);
/* The neighbours of key in the order; NULL: none. */
struct cache_block *cache_tree_after(const struct cache_tree *tree, const struct cache_block *key);
struct cache_block *cache_tree_before(const struct cache_tree *tree, const struct cache_block *key);
struct cache_block *cache_tree_first(const struct cache_tree *tree);

struct cache_pool {
    struct cache_tree free, unmapped;
    uint64_t search_count; /* searches, where garbage is collected */
    bool is_small;
};

union cache_node {
    union cache_node *next_free;
    struct cache_block block;
    struct cache_segment segment;
};
enum { CACHE_CHUNK_NODE_COUNT = 30 };
struct cache_chunk {
    struct cache_chunk *next;
    union cache_node nodes[CACHE_CHUNK_NODE_COUNT];
};

struct cache {
    struct cache_settings settings;
    const struct cache_upstream *upstream;
    enum cache_bend bend;
    struct cache_pool large, small;
    struct cache_tree taken; /* live and pending blocks, by address */
    struct cache_segment *oldest, *newest;
    uint64_t number_last, free_count_done;
    uint32_t priority_last;
    struct cache_totals totals;
    struct cache_chunk *chunks;
    union cache_node *free_nodes;
    size_t free_node_count;
};

/* --- cache_blocks.c --- */

/* Ensures that at least so many nodes are there now. false: host memory was refused. */
bool cache_nodes_reserve(struct cache *cache, size_t count);
void cache_nodes_destroy(struct cache *cache);
void cache_emit(const struct cache *cache, enum cache_event_kind kind, struct cache_range range,
                uint64_t stream);
/* A new segment with one block of the state, which is in no tree; nodes were reserved. */
struct cache_block *cache_segment_add(struct cache *cache, const struct cache_segment *like,
                                      uint64_t stream, enum cache_state state);
/* The segment, and the one block that it is. */
void cache_segment_remove(struct cache *cache, struct cache_segment *segment);
/* Cuts the block, which is in no tree: it keeps its first bytes, and the rest is returned. */
struct cache_block *cache_block_cut(struct cache *cache, struct cache_block *block, uint64_t bytes);
/* The block, in no tree, takes in its neighbours of the same state, which must be free or unmapped.
 */
void cache_block_merge(struct cache *cache, struct cache_block *block);
/* The tree of a block of its state. */
struct cache_tree *cache_tree_of(struct cache *cache, const struct cache_block *block);
void cache_block_insert(struct cache *cache, struct cache_block *block);
void cache_block_remove(struct cache *cache, struct cache_block *block);
/* Returns true when the block is all that its segment, not an expandable one, holds. */
bool cache_block_is_segment(const struct cache_block *block);

/* --- cache_release.c --- */

bool cache_collects_garbage(const struct cache *cache);
void cache_collect_garbage(struct cache *cache);
/* false: too little was released. */
bool cache_release_oversize(struct cache *cache, struct cache_pool *pool, uint64_t size_bytes,
                            uint64_t stream);
void cache_release_cached(struct cache *cache);

/* --- cache_expandable.c --- */

/* Maps pages for a block of at least so many bytes, which is free and in no tree; NULL: none. */
struct cache_block *cache_expand(struct cache *cache, struct cache_pool *pool, uint64_t size_bytes,
                                 uint64_t stream);
/* Gives back the whole pages of a free block. */
void cache_unmap_block(struct cache *cache, struct cache_block *block);

#endif
