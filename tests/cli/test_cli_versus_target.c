/* A small allocator, built several times with one difference each, for `compare`: VERSUS_BUILD says
 * which.  All of it is first fit over a sorted list of blocks. */
#include "kit/kit.h"

#include <stdlib.h>

enum build {
    BUILD_SOUND = 0,
    BUILD_GREEDY,   /* wants a hole a quarter larger: a regression that is premature */
    BUILD_WORST,    /* the largest hole, not the lowest: no promise is broken, and more is needed */
    BUILD_CRASHING, /* a refusal ends the process */
    BUILD_GRANULAR  /* another granule: another contract */
};

/* One for all plug-ins of a process, as the static tables of C++ headers are: a process with two
 * builds has the first one twice. */
extern const int versus_build_of_process;
const int versus_build_of_process = VERSUS_BUILD;
__asm__(".type versus_build_of_process, %gnu_unique_object");

struct block {
    struct block *next; /* by offset */
    uint64_t offset, size_bytes;
};
struct heap {
    struct kit_host *host;
    uint64_t capacity_bytes;
    struct block *lowest;
};

static enum build find_build(void)
{
    return (enum build)(*(const volatile int *)&versus_build_of_process);
}

static const char *heap_open(void *state, const struct kit_setup *setup)
{
    *(struct heap *)state = (struct heap){setup->host, setup->capacity_bytes, NULL};
    return NULL;
}

/* The link before which the block goes, and where it begins; NULL: there is no hole. */
static struct block **find_hole(struct heap *heap, uint64_t size, uint64_t align, uint64_t *offset)
{
    struct block **found = NULL;
    const uint64_t wanted = find_build() == BUILD_GREEDY ? size + size / 4 : size;
    uint64_t start = 0, largest = 0;
    for (struct block **link = &heap->lowest;; link = &(*link)->next) {
        const uint64_t at = (start + align - 1) & ~(align - 1);
        const uint64_t end = *link != NULL ? (*link)->offset : heap->capacity_bytes;
        if (at <= end && wanted <= end - at && end - at > largest) {
            largest = end - at;
            found = link;
            *offset = at;
        }
        if (*link == NULL || (found != NULL && find_build() != BUILD_WORST)) {
            return found;
        }
        start = (*link)->offset + (*link)->size_bytes;
    }
}

static uint64_t heap_allocate(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
    struct heap *heap = state;
    uint64_t offset = 0;
    struct block **link = find_hole(heap, size_bytes, align_bytes, &offset);
    if (link == NULL && find_build() == BUILD_CRASHING) {
        abort();
    }
    struct block *block = link == NULL ? NULL : kit_host_alloc(heap->host, sizeof *block);
    if (block == NULL) {
        return KIT_NOTHING;
    }
    *block = (struct block){*link, offset, size_bytes};
    *link = block;
    return offset;
}

static void heap_free(void *state, uint64_t offset, uint64_t size_bytes)
{
    struct heap *heap = state;
    struct block **link = &heap->lowest;
    (void)size_bytes;
    while ((*link)->offset != offset) {
        link = &(*link)->next;
    }
    struct block *block = *link;
    *link = block->next;
    kit_host_free(heap->host, block, sizeof *block);
}

KIT_TARGET("versus", "first fit, in several builds", .state_bytes = sizeof(struct heap),
           .granule_bytes = VERSUS_BUILD == BUILD_GRANULAR ? 1024 : 512, .open = heap_open,
           .allocate_offset = heap_allocate, .free_offset = heap_free);
