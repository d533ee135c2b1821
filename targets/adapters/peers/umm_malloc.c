/* umm_malloc (Ralph Hempel): blocks of one size, 512 bytes here, in runs that are counted in 15
 * bits, best fit. */
#include "kit/kit.h"

#define UMM_MALLOC_CFGFILE <stdint.h>
#define UMM_BLOCK_BODY_SIZE 512
#define UMM_NUM_HEAPS 1
#include <umm_malloc.c>

/* It has a heap of its own besides, which nobody uses. */
void *UMM_MALLOC_CFG_HEAP_ADDR;
uint32_t UMM_MALLOC_CFG_HEAP_SIZE;

/* The first block heads the list of free ones, and the last one ends the heap. */
enum { HEADER_BYTES = 4, BLOCK_COUNT_MAX = 32767 };

static umm_heap *create(const struct kit_setup *setup)
{
    umm_heap *heap = kit_records(setup, sizeof *heap);
    if (heap != NULL) {
        umm_multi_init_heap(heap, setup->arena, (size_t)setup->arena_bytes);
    }
    return heap;
}

static const struct target_api api = {
    .language = "c",
    .build = "cc -g '-DUMM_MALLOC_CFGFILE=<stdint.h>' -DUMM_BLOCK_BODY_SIZE=512 @source "
             "$UMM_MALLOC -o @program",
    .head = "#include <stdbool.h>\n#include <stdlib.h>\n#include <umm_malloc.h>\n"
            "void *UMM_MALLOC_CFG_HEAP_ADDR;\nuint32_t UMM_MALLOC_CFG_HEAP_SIZE;",
    .create = "umm_heap heap;\n"
              "void *arena = malloc(@capacity + 1024);\n"
              "umm_multi_init_heap(&heap, arena, @capacity + 1024);",
    .alloc = "void *@block = umm_multi_malloc(&heap, @size - 4);",
    .free = "umm_multi_free(&heap, @block);",
    .destroy = "free(arena);",
};

KIT_HEAP(create, umm_multi_malloc, umm_multi_free);
KIT_TARGET_WITH("umm_malloc", "umm_malloc over one arena", NULL,
                (.limits = {.largest_capacity_bytes = (BLOCK_COUNT_MAX - 2) *
                                                      (uint64_t)UMM_BLOCK_BODY_SIZE,
                            .largest_align_bytes = UMM_BLOCK_BODY_SIZE},
                 .api = &api),
                KIT_HEAP_CALLS, .granule_bytes = UMM_BLOCK_BODY_SIZE, .is_granule_fixed = true,
                .header_bytes = HEADER_BYTES, .header_in_request = true,
                .arena = {.front_bytes = UMM_BLOCK_BODY_SIZE, .back_bytes = UMM_BLOCK_BODY_SIZE});
