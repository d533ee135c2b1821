/* o1heap (Pavel Kirienko): fragments whose sizes are powers of two, each with a header of its own,
 * and a list of free ones for each doubling. */
#include "kit/kit.h"

#include <o1heap.h>

/* The instance lies in front of the first fragment, whose size counts the header. */
enum { HEADER_BYTES = 32, FRAGMENT_BYTES_MIN = 64, INSTANCE_BYTES = 576 };

static O1HeapInstance *create(const struct kit_setup *setup)
{
    return o1heapInit(setup->arena, (size_t)setup->arena_bytes);
}

static const struct target_api api = {
    .language = "c",
    .build = "cc -g @source $O1HEAP -o @program",
    .head = "#include <o1heap.h>\n#include <stdio.h>\n#include <stdlib.h>",
    .version = "printf(\"o1heap %d\\n\", O1HEAP_VERSION_MAJOR);",
    .create = "void *arena = aligned_alloc(64, @capacity + 576);\n"
              "O1HeapInstance *heap = o1heapInit(arena, @capacity + 576);",
    .alloc = "void *@block = o1heapAllocate(heap, @size - 32);",
    .free = "o1heapFree(heap, @block);",
    .destroy = "free(arena);",
};

KIT_HEAP(create, o1heapAllocate, o1heapFree);
KIT_TARGET_WITH("o1heap", "o1heap over one arena", NULL,
                (.limits = {.largest_align_bytes = FRAGMENT_BYTES_MIN}, .api = &api),
                KIT_HEAP_CALLS, .granule_bytes = FRAGMENT_BYTES_MIN, .is_granule_fixed = true,
                .rounding = {.kind = ROUNDING_CLASSES, .steps = 1}, .takes_class = true,
                .header_bytes = HEADER_BYTES, .header_in_request = true,
                .arena = {.front_bytes = INSTANCE_BYTES});
