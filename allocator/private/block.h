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

/* Numbers of records have so many bits; the rest of their words says what a block is. */
#define HBM_NUMBER_BITS 28u
#define HBM_NUMBER_MAX ((1u << HBM_NUMBER_BITS) - 1u)
#define HBM_PADDING_BITS 16u
#define HBM_PADDING_MAX ((1u << HBM_PADDING_BITS) - 1u)
#define HBM_ALIGN_SHIFT_MAX 63u
#define HBM_ROLE_MAX 7u
#define HBM_PLACE_MAX 7u

/* One range: what placing and freeing read of it, two to a cache line.  Invariant: previous and
 * next are the neighbours in address order; two holes are never neighbours. */
struct hbm_block {
    uint64_t address; /* HBM_ADDRESS_NONE: stranded on the host, and no range is kept */
    uint64_t size_bytes;
    union {
        struct {
            uint32_t previous : HBM_NUMBER_BITS;
            uint32_t role : 3; /* enum hbm_role */
            uint32_t dying : 1;
            /* This is its own number when it has no address, so no neighbours. */
            uint32_t next : HBM_NUMBER_BITS;
            uint32_t place : 3;  /* enum hbm_place */
            uint32_t in_use : 1; /* it has unfinished uses: the cold record counts them */
        };
        uint64_t links; /* all of these */
    };
    union {
        struct {
            uint32_t previous; /* in the list or ring */
            uint32_t next;
        } hole;
        struct {                 /* of a block */
            uint32_t hold_count; /* external references */
            /* Bytes of the block that were not asked for, where it is not described. */
            uint32_t padding_bytes : HBM_PADDING_BITS;
            uint32_t align_shift : 6;
            uint32_t described : 1; /* the cold record says what it is for */
            uint32_t shaped : 1;    /* and it has a shape */
            uint32_t unused : 8;
        };
        uint64_t holds; /* all of these */
    };
};
static_assert(sizeof(struct hbm_block) == 32, "two blocks share one cache line");

/* The rest of a range, apart from it.  Of a block only what its flags say is meaningful. */
struct hbm_block_cold {
    union {
        struct {
            uint32_t child[2]; /* in the trie */
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
        } used;
    };
    uint32_t use_count;   /* unfinished uses; meaningful while in_use */
    uint32_t dying_order; /* when it was freed; meaningful while dying */
};
static_assert(sizeof(struct hbm_block_cold) == sizeof(struct hbm_block),
              "a cold record is as far from its hot one as any other");

struct hbm_bin {
    uint32_t head;  /* of the list */
    uint32_t count; /* in the list, at most HBM_BIN_LIST_MAX */
};

/* 32 bins for each power of two waste at most 3 % of a hole's size by good fit. */
#define HBM_BIN_SHIFT 5u
#define HBM_BIN_ROWS 60u
/* Long enough that the trie is rare in normal running, short enough to walk when it must be. */
#define HBM_BIN_LIST_MAX 128u

/* Invariant: used_count blocks hold used_bytes; the bit of a bin is set exactly when it has a hole;
 * the record HBM_POOL_NONE is no hole, so the last range has a neighbour to look at and link. */
struct hbm_heap {
    struct hbm_pool pool;
    uint64_t capacity_bytes;
    uint64_t used_bytes;
    uint64_t above_stack_bytes; /* all but the stack's range */
    uint64_t used_count;
    uint32_t granule_shift;
    uint32_t stack;     /* number of the stack's range */
    uint32_t row_count; /* rows of bins that this capacity needs */
    uint64_t rows;      /* bit r: row r has a hole */
    uint32_t columns[HBM_BIN_ROWS];
    struct hbm_bin *bins; /* [row_count << HBM_BIN_SHIFT] */
    uint32_t *roots;      /* of the tries, one for each bin; in the memory of the bins */
};

/* 1024 records a slab: 32 KiB of hot ones, and behind them as much of cold ones. */
#define HBM_BLOCK_SLAB_SHIFT 10u
#define HBM_BLOCK_SLAB_COUNT (1u << HBM_BLOCK_SLAB_SHIFT)

static inline struct hbm_block *hbm_heap_at(const struct hbm_heap *heap, uint32_t number)
{
    const uintptr_t origin = heap->pool.origins[number >> HBM_BLOCK_SLAB_SHIFT];
    return (struct hbm_block *)(origin + (uintptr_t)number * sizeof(struct hbm_block));
}

static inline struct hbm_block_cold *hbm_heap_cold(const struct hbm_heap *heap, uint32_t number)
{
    return (struct hbm_block_cold *)(void *)(hbm_heap_at(heap, number) + HBM_BLOCK_SLAB_COUNT);
}

/* The number of a block in address order, by way of its neighbour. */
static inline uint32_t hbm_heap_number(const struct hbm_heap *heap, const struct hbm_block *block)
{
    return block->address == HBM_ADDRESS_NONE ? block->next
                                              : hbm_heap_at(heap, block->previous)->next;
}

static inline uint64_t hbm_heap_reserved(const struct hbm_heap *heap)
{
    return heap->capacity_bytes - heap->above_stack_bytes;
}

/* ---- what a block may do ---- */

static inline bool hbm_block_is_stranded(const struct hbm_block *block)
{
    return block->place == HBM_PLACE_HOST;
}

/* Returns true when an external reference or an unfinished use keeps it in place. */
static inline bool hbm_block_is_held(const struct hbm_block *block)
{
    return block->in_use || block->hold_count != 0;
}

static inline bool hbm_block_is_movable(const struct hbm_block *block)
{
    return !block->dying && !hbm_block_is_held(block) && block->role != HBM_ROLE_RETIRED &&
           !hbm_block_is_stranded(block);
}

/* Returns the address that the caller sees. */
static inline uint64_t hbm_block_address(const struct hbm_block *block)
{
    return hbm_block_is_stranded(block) ? HBM_ADDRESS_NONE : block->address;
}

/* ---- what the cold record says of a block ---- */

static inline uint32_t hbm_block_use_count(const struct hbm_heap *heap, uint32_t number)
{
    return hbm_heap_at(heap, number)->in_use ? hbm_heap_cold(heap, number)->use_count : 0;
}

/* Counts an unfinished use up; the caller has seen that there is one less than UINT32_MAX. */
static inline void hbm_block_use(struct hbm_heap *heap, uint32_t number)
{
    const uint32_t count = hbm_block_use_count(heap, number) + 1u;
    HBM_CHECK(count != 0);
    hbm_heap_cold(heap, number)->use_count = count;
    hbm_heap_at(heap, number)->in_use = true;
}

/* Counts one down. */
static inline void hbm_block_unuse(struct hbm_heap *heap, uint32_t number)
{
    HBM_CHECK(hbm_heap_at(heap, number)->in_use);
    const uint32_t count = --hbm_heap_cold(heap, number)->use_count;
    hbm_heap_at(heap, number)->in_use = count != 0;
}

/* NULL: the block is no program. */
static inline struct hbm_program *hbm_block_program(const struct hbm_heap *heap, uint32_t number)
{
    return hbm_heap_at(heap, number)->role == HBM_ROLE_PROGRAM
               ? hbm_heap_cold(heap, number)->used.program
               : NULL;
}

#endif
