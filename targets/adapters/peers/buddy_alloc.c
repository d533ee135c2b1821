/* buddy_alloc (Stanislav Paskalev): a binary buddy system whose records lie outside of its memory.
 */
#include "kit/kit.h"

#define BUDDY_ALLOC_IMPLEMENTATION
#include <buddy_alloc.h>

enum { SMALLEST_BYTES = 64 };

static struct buddy *create(const struct kit_setup *setup)
{
    const size_t bytes = buddy_sizeof_alignment((size_t)setup->arena_bytes, SMALLEST_BYTES);
    unsigned char *records = bytes == 0 ? NULL : kit_records(setup, bytes);
    if (records == NULL) {
        return NULL;
    }
    return buddy_init_alignment(records, setup->arena, (size_t)setup->arena_bytes, SMALLEST_BYTES);
}

static const struct target_api api = {
    .language = "c",
    .build = "cc -g @source $BUDDY_ALLOC -o @program",
    .head = "#define BUDDY_ALLOC_IMPLEMENTATION\n#include <buddy_alloc.h>\n#include <stdlib.h>",
    .create = "unsigned char *arena = malloc(@capacity);\n"
              "unsigned char *records = malloc(buddy_sizeof_alignment(@capacity, 64));\n"
              "struct buddy *heap = buddy_init_alignment(records, arena, @capacity, 64);",
    .alloc = "void *@block = buddy_malloc(heap, @size);",
    .free = "buddy_free(heap, @block);",
    .destroy = "free(records);\nfree(arena);",
};

KIT_HEAP(create, buddy_malloc, buddy_free);
KIT_TARGET_WITH("buddy_alloc", "buddy_alloc over one arena", NULL,
                (.limits = {.largest_align_bytes = SMALLEST_BYTES}, .api = &api), KIT_HEAP_CALLS,
                .granule_bytes = SMALLEST_BYTES, .is_granule_fixed = true,
                .rounding = {.kind = ROUNDING_CLASSES, .steps = 1}, .takes_class = true,
                .aligns_naturally = true);
