/* my_target: first fit.  Put your own allocator in place of heap_allocate and heap_free. */
#include <hbmstress/kit.h>

struct block {
    struct block *next; /* by offset */
    uint64_t offset, size_bytes;
};
struct heap {
    struct kit_host *host;
    uint64_t capacity_bytes;
    struct block *lowest;
};

static const char *heap_open(void *state, const struct kit_setup *setup)
{
    *(struct heap *)state = (struct heap){setup->host, setup->capacity_bytes, NULL};
    return NULL;
}

static uint64_t put_block(struct heap *heap, struct block **link, uint64_t offset, uint64_t size)
{
    struct block *block = kit_host_alloc(heap->host, sizeof *block);
    if (block == NULL) {
        return KIT_NOTHING;
    }
    *block = (struct block){*link, offset, size};
    *link = block;
    return offset;
}

/* size_bytes at a multiple of align_bytes, a power of two, in [0, capacity_bytes). */
static uint64_t heap_allocate(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
    struct heap *heap = state;
    uint64_t start = 0;
    for (struct block **link = &heap->lowest;; link = &(*link)->next) {
        const uint64_t offset = (start + align_bytes - 1) & ~(align_bytes - 1);
        const uint64_t end = *link != NULL ? (*link)->offset : heap->capacity_bytes;
        if (offset <= end && size_bytes <= end - offset) {
            return put_block(heap, link, offset, size_bytes);
        }
        if (*link == NULL) {
            return KIT_NOTHING;
        }
        start = (*link)->offset + (*link)->size_bytes;
    }
}

static void heap_free(void *state, uint64_t offset, uint64_t size_bytes)
{
    struct heap *heap = state;
    struct block **link = &heap->lowest;
    while ((*link)->offset != offset) {
        link = &(*link)->next;
    }
    struct block *block = *link;
    *link = block->next;
    (void)size_bytes;
    kit_host_free(heap->host, block, sizeof *block);
}

KIT_TARGET("my_target", "first fit", .state_bytes = sizeof(struct heap), .open = heap_open,
           .allocate_offset = heap_allocate, .free_offset = heap_free);
