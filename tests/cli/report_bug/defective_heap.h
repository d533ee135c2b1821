/* An allocator with an API of its own and at most one defect, HEAP_DEFECT: what report-bug writes
 * programs of.  It knows nothing of hbmstress. */
#ifndef DEFECTIVE_HEAP_H
#define DEFECTIVE_HEAP_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAP_SOUND = 0,
    HEAP_REFUSES,   /* it never uses the last half of its memory */
    HEAP_OVERLAPS,  /* a block of 4 KiB or more begins inside the one before */
    HEAP_ENDS,      /* the last block may end beyond the memory */
    HEAP_MISALIGNS, /* a block of 4 KiB or more is 8 bytes off */
    HEAP_WRITES,    /* a free writes into the first block that is still there */
    HEAP_CRASHES,   /* a free of 4 KiB or more ends the process */
    HEAP_HANGS,     /* a request of 4 KiB or more does not end */
    HEAP_TAKES      /* a block of 4 KiB or more takes twice its size */
};

enum { HEAP_BLOCK_COUNT_MAX = 4096, HEAP_LARGE_BYTES = 4096 };

/* Blocks by address. */
struct heap {
    char *memory;
    size_t bytes, count;
    struct heap_block {
        size_t start, bytes;
    } blocks[HEAP_BLOCK_COUNT_MAX];
};

static inline void heap_init(struct heap *heap, void *memory, size_t bytes)
{
    heap->memory = (char *)memory;
    heap->bytes = bytes;
    heap->count = 0;
}

static inline size_t heap_end(const struct heap *heap, size_t index)
{
    return index == 0 ? 0 : heap->blocks[index - 1].start + heap->blocks[index - 1].bytes;
}

/* The first hole with room; *index: the block behind it. */
static inline int heap_find(const struct heap *heap, size_t bytes, size_t align, size_t *start,
                            size_t *index)
{
    size_t limit = HEAP_DEFECT == HEAP_REFUSES ? heap->bytes / 2 : heap->bytes;
    if (HEAP_DEFECT == HEAP_ENDS) {
        limit += 64;
    }
    for (size_t i = 0; i <= heap->count; i++) {
        const size_t first = (heap_end(heap, i) + align - 1) / align * align;
        const size_t end = i == heap->count ? limit : heap->blocks[i].start;
        if (first <= end && bytes <= end - first) {
            *start = first;
            *index = i;
            return 1;
        }
    }
    return 0;
}

static inline size_t heap_place(const struct heap *heap, size_t start, size_t bytes, size_t index)
{
    if (HEAP_DEFECT == HEAP_OVERLAPS && bytes >= HEAP_LARGE_BYTES && index > 0) {
        return heap->blocks[index - 1].start;
    }
    return HEAP_DEFECT == HEAP_MISALIGNS && bytes >= HEAP_LARGE_BYTES ? start + 8 : start;
}

/* NULL: there is no room. */
static inline void *heap_take(struct heap *heap, size_t bytes, size_t align)
{
    size_t start = 0, index = 0;
    volatile int is_stuck = HEAP_DEFECT == HEAP_HANGS && bytes >= HEAP_LARGE_BYTES;
    while (is_stuck) {
    }
    if (heap->count == HEAP_BLOCK_COUNT_MAX || !heap_find(heap, bytes, align, &start, &index)) {
        return NULL;
    }
    memmove(&heap->blocks[index + 1], &heap->blocks[index],
            (heap->count - index) * sizeof *heap->blocks);
    heap->blocks[index].start = start;
    heap->blocks[index].bytes = bytes;
    heap->count++;
    return heap->memory + heap_place(heap, start, bytes, index);
}

static inline size_t heap_size(size_t bytes)
{
    return HEAP_DEFECT == HEAP_TAKES && bytes >= HEAP_LARGE_BYTES ? 2 * bytes : bytes;
}

static inline void heap_give(struct heap *heap, void *memory)
{
    const size_t start = (size_t)((char *)memory - heap->memory);
    for (size_t i = 0; i < heap->count; i++) {
        if (heap->blocks[i].start != start) {
            continue;
        }
        if (HEAP_DEFECT == HEAP_CRASHES && heap->blocks[i].bytes >= HEAP_LARGE_BYTES) {
            abort();
        }
        memmove(&heap->blocks[i], &heap->blocks[i + 1],
                (heap->count - i - 1) * sizeof *heap->blocks);
        heap->count--;
        if (HEAP_DEFECT == HEAP_WRITES && heap->count > 0) {
            heap->memory[heap->blocks[0].start] ^= 1;
        }
        return;
    }
}

#endif
