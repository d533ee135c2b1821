/* A model of PyTorch's CUDA caching allocator: which segments it takes from the driver, which
 * blocks it cuts from them, and in which order it gives things back before it gives up.  It owns no
 * memory of a device: addresses are numbers, and what is below it is the caller's.
 *
 * Segments and blocks are those of one device and of the default memory pools; private pools are
 * not modelled.  Sizes and addresses are bytes.  One thread calls at a time. */
#ifndef TARGETS_CACHING_CACHE_H
#define TARGETS_CACHING_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_UNLIMITED UINT64_MAX
#define CACHE_BLOCK_BYTES UINT64_C(512)          /* sizes of blocks are multiples of it */
#define CACHE_SIZE_BYTES_MAX (UINT64_C(1) << 60) /* of a request; larger ones find no memory */
enum { CACHE_DIVISIONS_COUNT = 16 };

/* The rule that takes one of two free blocks of one size and stream. */
enum cache_ties {
    CACHE_TIES_ADDRESS = 0, /* the lower address: PyTorch before May 2026 */
    CACHE_TIES_COUNTER      /* the older segment, then the lower address */
};

/* PyTorch's settings and constants.  cache_settings_init sets PyTorch's defaults. */
struct cache_settings {
    uint64_t small_limit_bytes; /* rounded sizes up to it use the small pool; 0 = it is not used */
    uint64_t small_segment_bytes;      /* of each segment of the small pool */
    uint64_t large_segment_bytes;      /* large_segment_size_mb: below direct_limit_bytes */
    uint64_t direct_limit_bytes;       /* from here on a segment has the size, in steps of 2 MiB */
    uint64_t kept_remainder_bytes;     /* large pool: a remainder up to it is not split off */
    uint64_t max_split_bytes;          /* max_split_size_mb, or CACHE_UNLIMITED */
    uint64_t non_split_rounding_bytes; /* max_non_split_rounding_mb: what an oversize request may
                                          leave unused is less than this */
    uint64_t limit_bytes; /* per_process_memory_fraction of the device, or CACHE_UNLIMITED */
    double garbage_collection_threshold; /* in (0,1), of limit_bytes; 0 = no collection */
    /* roundup_power2_divisions for sizes of [2^i, 2^(i+1)) MiB, below and above for the first and
     * the last; 0 and 1 = multiples of CACHE_BLOCK_BYTES. */
    uint32_t divisions[CACHE_DIVISIONS_COUNT];
    bool is_expandable;   /* expandable_segments */
    uint64_t range_bytes; /* of each virtual range of an expandable segment */
    enum cache_ties ties;
};
void cache_settings_init(struct cache_settings *settings);
/* The size that a request of 1..CACHE_SIZE_BYTES_MAX bytes is rounded to.  O(1). */
uint64_t cache_rounded(const struct cache_settings *settings, uint64_t bytes);
/* The size of the segment for a rounded size.  O(1). */
uint64_t cache_segment_bytes(const struct cache_settings *settings, uint64_t rounded_bytes);

/* [address, address + size_bytes). */
struct cache_range {
    uint64_t address, size_bytes;
};

/* The events of PyTorch's trace, with its names and in its order. */
enum cache_event_kind {
    CACHE_SEGMENT_ALLOC,
    CACHE_SEGMENT_FREE,
    CACHE_SEGMENT_MAP,
    CACHE_SEGMENT_UNMAP,
    CACHE_ALLOC, /* requested bytes, as with the two frees */
    CACHE_FREE_REQUESTED,
    CACHE_FREE_COMPLETED,
    CACHE_OOM /* the rounded size; address 0 */
};
struct cache_event {
    enum cache_event_kind kind;
    struct cache_range range;
    uint64_t stream;
};

/* The memory below the cache, and those who listen.  It outlives the cache; calls get the context
 * first.  No call may call the cache, but for complete_done and complete_all, which may call
 * cache_complete. */
struct cache_upstream {
    void *context;
    /* cudaMalloc: sets *segment.  It may have fewer bytes than asked, which the device of the
     * harness does under a fault: a multiple of CACHE_BLOCK_BYTES.  needed_bytes is what the
     * request needs of it.  false: out of memory. */
    bool (*segment_take)(void *context, uint64_t bytes, uint64_t needed_bytes,
                         struct cache_range *segment);
    void (*segment_give)(void *context, struct cache_range segment);
    /* Only expandable segments have these.  Takes a range of bytes without memory behind it; false:
     * none is left. */
    bool (*range_take)(void *context, uint64_t bytes, struct cache_range *range);
    void (*range_give)(void *context, struct cache_range range);
    /* Backs all of the part, or returns false and backs none. */
    bool (*map)(void *context, struct cache_range part);
    void (*unmap)(void *context, struct cache_range part);
    /* Queued frees: completes those that are done, at the start of each request; waits for all and
     * completes them, before cached segments are released.  Either may be NULL: nothing. */
    void (*complete_done)(void *context);
    void (*complete_all)(void *context);
    /* Host memory for the records, aligned for any type; NULL: refused. */
    void *(*host_alloc)(void *context, size_t bytes);
    void (*host_free)(void *context, void *memory, size_t bytes);
    void (*event)(void *context, const struct cache_event *event); /* may be NULL */
};

/* Deviations from PyTorch, to prove that a test notices them. */
enum cache_bend {
    CACHE_STRAIGHT = 0,
    CACHE_BEND_KEEPS,    /* cached segments are not released before an out-of-memory */
    CACHE_BEND_OVERLAPS, /* a remainder begins one block too low */
    CACHE_BEND_LOSES,    /* each 16th free that completes leaves its block taken */
    CACHE_BEND_UNMERGED  /* a free block is not merged with the one behind it */
};

struct cache;
/* NULL: host memory was refused.  settings are copied, upstream must outlive the cache. */
struct cache *cache_create(const struct cache_settings *settings,
                           const struct cache_upstream *upstream, enum cache_bend bend);
/* Gives every segment and range back, without events, whatever lives in them. */
void cache_destroy(struct cache *cache);

enum cache_result {
    CACHE_OK = 0,
    CACHE_NO_MEMORY,
    CACHE_NO_HOST_MEMORY /* the upstream refused host memory; nothing changed */
};
/* Sets *block to the block of a request of so many bytes, at least 1.  NO_MEMORY: after every
 * release that PyTorch tries; what was released stays released.  O(log blocks) without releases. */
enum cache_result cache_malloc(struct cache *cache, uint64_t bytes, uint64_t stream,
                               struct cache_range *block);
/* Frees the live block that begins at address.  is_pending: another stream uses it, so it counts as
 * active, and neither merges nor is released, until cache_complete.  false: no live block begins
 * there.  O(log blocks), as the next two. */
bool cache_free(struct cache *cache, uint64_t address, bool is_pending);
/* false: no pending block begins there. */
bool cache_complete(struct cache *cache, uint64_t address);
/* Returns the bytes that the live or pending block there takes; 0: there is none. */
uint64_t cache_block_bytes(const struct cache *cache, uint64_t address);
/* empty_cache: waits for queued frees and releases every segment, or part of an expandable one,
 * that holds no block. */
void cache_empty(struct cache *cache);

enum cache_state { CACHE_FREE = 0, CACHE_LIVE, CACHE_PENDING, CACHE_UNMAPPED };
struct cache_block_view {
    struct cache_range range;
    uint64_t requested_bytes; /* of live and pending blocks */
    enum cache_state state;
};
struct cache_segment_view {
    struct cache_range range;
    uint64_t stream;
    bool is_small, is_expandable;
};
/* Calls visit once for each block, segment by segment, the oldest first, blocks by address. */
void cache_walk(const struct cache *cache,
                void (*visit)(void *context, const struct cache_segment_view *segment,
                              const struct cache_block_view *block),
                void *context);
/* Adds a segment that is there already, without events: count blocks that tile it, in the order of
 * addresses.  What becomes of it later is as if the cache had taken it.  Pieces of an expandable
 * segment are ranges of their own.  false: host memory was refused; nothing changed. */
bool cache_restore(struct cache *cache, const struct cache_segment_view *segment,
                   const struct cache_block_view *blocks, size_t count);

struct cache_totals {
    uint64_t reserved_bytes;  /* segments, and what is mapped of expandable ones */
    uint64_t allocated_bytes; /* live blocks, whole */
    uint64_t active_bytes;    /* and pending ones */
    uint64_t retry_count, oom_count;
};
struct cache_totals cache_totals(const struct cache *cache);
/* The largest free block of the stream in either pool.  O(log blocks). */
uint64_t cache_largest_free(const struct cache *cache, uint64_t stream);

/* Returns true when segments, blocks and the sets of free ones agree with each other.  O(blocks log
 * blocks). */
bool cache_invariants_hold(const struct cache *cache);

#endif
