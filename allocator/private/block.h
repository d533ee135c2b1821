/* The records of device memory: blocks, the bins that find holes by size, and the heap that owns
 * them. */
#ifndef ALLOCATOR_PRIVATE_BLOCK_H
#define ALLOCATOR_PRIVATE_BLOCK_H

#include "allocator/private/pool.h"

#include <assert.h>

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

/* ---- what a block may do ---- */

static inline bool hbm_block_is_stranded(const struct hbm_block *block)
{
    return block->place == HBM_PLACE_HOST;
}

static inline bool hbm_block_is_movable(const struct hbm_block *block)
{
    return !block->dying && block->used.hold_count == 0 && block->used.use_count == 0 &&
           block->role != HBM_ROLE_RETIRED && !hbm_block_is_stranded(block);
}

/* What the caller sees. */
static inline uint64_t hbm_block_address(const struct hbm_block *block)
{
    return hbm_block_is_stranded(block) ? HBM_ADDRESS_NONE : block->address;
}

#endif
