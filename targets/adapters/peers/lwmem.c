/* lwmem (Tilen Majerle): one list of free blocks in the order of their addresses, first fit, and a
 * header before each block. */
#include "kit/kit.h"

#include <lwmem/lwmem.h>

/* A block without bytes ends the region. */
enum { HEADER_BYTES = 16, END_BYTES = HEADER_BYTES };

static lwmem_t *create(const struct kit_setup *setup)
{
    lwmem_t *heap = kit_records(setup, sizeof *heap);
    if (heap == NULL) {
        return NULL;
    }
    *heap = (lwmem_t){0};
    const lwmem_region_t regions[] = {{setup->arena, (size_t)setup->arena_bytes}, {NULL, 0}};
    return lwmem_assignmem_ex(heap, regions) == 1 ? heap : NULL;
}

static void *allocate(lwmem_t *heap, size_t size_bytes)
{
    return lwmem_malloc_ex(heap, NULL, size_bytes);
}

static uint64_t find_block_bytes(void *state, uint64_t place, uint64_t size_bytes)
{
    (void)size_bytes;
    return lwmem_get_size_ex(*(lwmem_t **)state, (void *)(uintptr_t)place) + HEADER_BYTES;
}

static const struct target_api api = {
    .language = "c",
    .build = "cc -g @source $LWMEM -o @program",
    .head = "#include <lwmem/lwmem.h>\n#include <stdio.h>\n#include <stdlib.h>",
    .create = "static lwmem_t heap;\n"
              "void *arena = malloc(@capacity + 16);\n"
              "const lwmem_region_t regions[] = {{arena, @capacity + 16}, {NULL, 0}};\n"
              "lwmem_assignmem_ex(&heap, regions);",
    .alloc = "void *@block = lwmem_malloc_ex(&heap, NULL, @size);",
    .free = "lwmem_free_ex(&heap, @block);",
    .destroy = "free(arena);",
    .bytes = "lwmem_get_size_ex(&heap, @block) + 16",
};

KIT_HEAP(create, allocate, lwmem_free_ex);
KIT_TARGET_WITH("lwmem", "lwmem over one region", NULL,
                (.limits = {.largest_align_bytes = HEADER_BYTES}, .api = &api), KIT_HEAP_CALLS,
                .granule_bytes = HEADER_BYTES, .is_granule_fixed = true,
                .rounding = {.overhead_bytes = HEADER_BYTES}, .header_bytes = HEADER_BYTES,
                .arena = {.back_bytes = END_BYTES}, .block_bytes = find_block_bytes);
