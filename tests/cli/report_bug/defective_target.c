/* A plug-in of defective_heap.h.  HEAP_DEFECT is that of the heap; with ADAPTER_REFUSES the defect
 * is the plug-in's own.  TELLS_BYTES: it says how large blocks are; IS_HIDDEN: it hides where they
 * lie, so that their bytes are looked at; NO_API: it has no text of its API. */
#include "kit/kit.h"

#include "tests/cli/report_bug/defective_heap.h"

#define TEXT_OF(value) #value
#define VALUE_OF(value) TEXT_OF(value)

#ifndef NO_API
static const struct target_api api = {
    .language = "c",
    .build = "cc @source -DHEAP_DEFECT=" VALUE_OF(HEAP_DEFECT) " -I$DEFECTIVE_HEAP -o @program",
    .head = "#include <stdio.h>\n#include <stdlib.h>\n#include <defective_heap.h>\n",
    .version = "printf(\"defective heap 1\\n\");",
    .create =
        "static struct heap heap;\nheap_init(&heap, aligned_alloc(2 << 20, 2 << 20), @capacity);",
    .alloc = "void *@block = heap_take(&heap, @size, @granule);",
    .alloc_aligned = "void *@block = heap_take(&heap, @size, @align);",
    .free = "heap_give(&heap, @block);",
    .bytes = "heap_size(@size)",
};
#endif

static const char *open_heap(void *state, const struct kit_setup *setup)
{
    heap_init(state, setup->arena, (size_t)setup->arena_bytes);
    return NULL;
}

static void *allocate(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
#ifdef ADAPTER_REFUSES
    if (size_bytes >= HEAP_LARGE_BYTES) {
        return NULL;
    }
#endif
    return heap_take(state, (size_t)size_bytes, (size_t)align_bytes);
}

static void free_block(void *state, void *memory, uint64_t size_bytes)
{
    (void)size_bytes;
    heap_give(state, memory);
}

#ifdef TELLS_BYTES
static uint64_t find_bytes(void *state, uint64_t place, uint64_t size_bytes)
{
    (void)state, (void)place;
    return heap_size((size_t)size_bytes);
}
#define FIND_BYTES , .block_bytes = find_bytes
#else
#define FIND_BYTES
#endif

#ifdef IS_HIDDEN
#define PLACES , .placement = PLACEMENT_HIDDEN
#define COPIES .read = kit_read, .write = kit_write,
#else
#define PLACES
#define COPIES
#endif

#ifdef NO_API
#define API 0
#else
#define API &api
#endif

KIT_TARGET_WITH("defective_heap", "an allocator with one defect", NULL,
                (COPIES.limits = {.largest_capacity_bytes = 1 << 20}, .api = API),
                .state_bytes = sizeof(struct heap), .granule_bytes = 64, .is_granule_fixed = true,
                .open = open_heap, .allocate = allocate, .free = free_block FIND_BYTES PLACES);
