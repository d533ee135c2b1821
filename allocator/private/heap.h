/* The ranges of device memory: every byte of [0, capacity) belongs to the stack, to one block, or
 * to one hole, all of them linked in address order; holes are also found by size.
 *
 * Holes are kept in bins of nearby sizes with a bitmap over them, so the next larger one is found
 * at once.  Within a bin the first holes are in a list and, once that is long, further ones in a
 * bitwise trie on size: when only the request's own bin is left, the search there is exact and
 * bounded, so a request that fits some hole is never refused. */
#ifndef ALLOCATOR_PRIVATE_HEAP_H
#define ALLOCATOR_PRIVATE_HEAP_H

#include <assert.h>

#include "allocator/private/pool.h"

struct hbm_program;

enum hbm_role {
    HBM_ROLE_HOLE,
    HBM_ROLE_STACK, /* [0, reserved): always the first range, may be empty */
    HBM_ROLE_BUFFER,
    HBM_ROLE_OUTPUT,
    HBM_ROLE_PROGRAM,
    HBM_ROLE_RETIRED, /* went bad: never moved, never freed */
};

enum hbm_place {
    HBM_PLACE_LIST,   /* a hole in its bin's list */
    HBM_PLACE_TREE,   /* a node of its bin's trie */
    HBM_PLACE_RING,   /* of the same size as a node, and linked to it */
    HBM_PLACE_DEVICE, /* the contents of a block are in its range */
    HBM_PLACE_HOST, /* they are stranded on the host; the range, if it has one, is kept for them */
};

/* One range; one cache line.  Invariant: previous and next are the neighbours in address order;
 * two holes are never neighbours. */
struct hbm_block {
    uint64_t address; /* HBM_ADDRESS_NONE: stranded on the host, and no range is kept */
    uint64_t size_bytes;
    uint32_t previous;
    uint32_t next; /* its own number when it has no address and so no neighbours */
    union {
        struct {
            uint32_t previous; /* in the list or ring */
            uint32_t next;
            uint32_t child[2];
            uint32_t parent;
        } hole;
        struct {
            uint64_t unpadded_bytes;
            union {
                const char *tag_name;        /* buffer, output */
                struct hbm_program *program; /* program */
            };
            uint32_t shape; /* number in the shape table, or 0 */
            int32_t tag;
            uint32_t hold_count; /* external references */
            uint32_t use_count;  /* unfinished uses */
        } used;
    };
    uint32_t dying_order; /* when it was freed; meaningful while dying */
    uint8_t role;         /* enum hbm_role */
    uint8_t place;        /* enum hbm_place */
    uint8_t align_shift;
    bool dying;
};
static_assert(sizeof(struct hbm_block) == 64, "a block is one cache line");

struct hbm_bin {
    uint32_t head;  /* of the list */
    uint32_t count; /* in the list, at most HBM_BIN_LIST_MAX */
    uint32_t root;  /* of the trie */
};

/* 32 bins for each power of two waste at most 3 % of a hole's size by good fit. */
#define HBM_BIN_SHIFT 5u
#define HBM_BIN_ROWS 60u
/* Long enough that the trie is rare in normal running, short enough to walk when it must be. */
#define HBM_BIN_LIST_MAX 128u

/* Invariant: used_count blocks hold used_bytes; the bit of a bin is set exactly when it has a hole.
 */
struct hbm_heap {
    struct hbm_pool pool;
    uint64_t capacity_bytes;
    uint64_t used_bytes;
    uint64_t used_count;
    uint32_t granule_shift;
    uint32_t stack;     /* number of the stack's range */
    uint32_t row_count; /* rows of bins that this capacity needs */
    uint64_t rows;      /* bit r: row r has a hole */
    uint32_t columns[HBM_BIN_ROWS];
    struct hbm_bin *bins; /* [row_count << HBM_BIN_SHIFT] */
};

/* One hole of the whole capacity.  False when host memory is refused; nothing is held then. */
bool hbm_heap_init(struct hbm_heap *heap, struct hbm_host *host, uint64_t capacity_bytes,
                   uint32_t granule_shift);
void hbm_heap_deinit(struct hbm_heap *heap);

static inline struct hbm_block *hbm_heap_at(const struct hbm_heap *heap, uint32_t number)
{
    return (struct hbm_block *)(void *)(heap->pool.slabs[number >> heap->pool.slab_shift] +
                                        (size_t)(number & ((1u << heap->pool.slab_shift) - 1u)) *
                                            sizeof(struct hbm_block));
}

/* The number of a block in address order, by way of its neighbour. */
static inline uint32_t hbm_heap_number(const struct hbm_heap *heap, const struct hbm_block *block)
{
    return block->address == HBM_ADDRESS_NONE ? block->next
                                              : hbm_heap_at(heap, block->previous)->next;
}

static inline uint64_t hbm_heap_reserved(const struct hbm_heap *heap)
{
    return hbm_heap_at(heap, heap->stack)->size_bytes;
}

/* Finds a hole for size_bytes (a granule multiple) at a multiple of 1 << align_shift (the granule's
 * shift or more) and makes the block at its highest such address.  The caller sets role and the
 * rest.  HBM_POOL_NONE: no hole, or no host memory, in which case *host_refused is set.
 * O(log holes) for granule alignment. */
uint32_t hbm_heap_take(struct hbm_heap *heap, uint64_t size_bytes, uint32_t align_shift,
                       bool *host_refused);

/* The hole that [address, address + size_bytes) lies in, or HBM_POOL_NONE.  O(blocks). */
uint32_t hbm_heap_hole_around(const struct hbm_heap *heap, uint64_t address, uint64_t size_bytes);

/* Makes a block of that range of a hole; the caller sets role and the rest.  HBM_POOL_NONE: no host
 * memory. */
uint32_t hbm_heap_take_at(struct hbm_heap *heap, uint32_t hole_number, uint64_t address,
                          uint64_t size_bytes);

/* Gives a block's range back; its number may be reused at once. */
void hbm_heap_give(struct hbm_heap *heap, uint32_t number);

/* Sets the stack's size.  False, and nothing changed, when a block is in the way. */
bool hbm_heap_stack_set(struct hbm_heap *heap, uint64_t size_bytes);

/* The largest hole in bytes; 0 when there is none. */
uint64_t hbm_heap_largest(const struct hbm_heap *heap);

/* Links all ranges anew: numbers[0..count) are all blocks with an address, in address order, with
 * their addresses already set.  Holes are made where there are gaps. */
void hbm_heap_relink(struct hbm_heap *heap, const uint32_t *numbers, size_t count);

/* Takes a block without its range: it counts as used, but has no address and no neighbours.  The
 * caller relinks the others. */
void hbm_heap_strand(struct hbm_heap *heap, uint32_t number);

/* Gives such a block a range again; false if there is no hole, or no host memory for its record. */
bool hbm_heap_return(struct hbm_heap *heap, uint32_t number);

/* Gives the number of such a block back. */
void hbm_heap_stranded_give(struct hbm_heap *heap, uint32_t number);

/* Sees to it that moves can be followed by a relink, which needs a record for each gap. */
bool hbm_heap_relink_reserve(struct hbm_heap *heap, size_t count);

bool hbm_heap_invariants_hold(const struct hbm_heap *heap);

#endif
