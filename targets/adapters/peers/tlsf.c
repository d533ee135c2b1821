/* TLSF (mattconte): two levels of lists of free ranges, 32 for each doubling, and a word before
 * each block.  Aligned requests need a hole that is larger by the alignment, which no contract can
 * say, so there are none. */
#include "kit/kit.h"

#include <tlsf.h>

/* The last word of a pool is a sentinel, for which the device has no room. */
enum { WORD_BYTES = 8, SENTINEL_BYTES = WORD_BYTES, BLOCK_BYTES_MIN = 24 };
#define CAPACITY_BYTES_MAX (UINT64_C(2) << 30)

static tlsf_t create(const struct kit_setup *setup)
{
    void *records = kit_records(setup, tlsf_size());
    if (records == NULL) {
        return NULL;
    }
    tlsf_t tlsf = tlsf_create(records);
    return tlsf_add_pool(tlsf, setup->arena, (size_t)setup->arena_bytes) != NULL ? tlsf : NULL;
}

static uint64_t find_block_bytes(void *state, uint64_t place, uint64_t size_bytes)
{
    (void)state, (void)size_bytes;
    return tlsf_block_size((void *)(uintptr_t)place) + WORD_BYTES;
}

/* As above, the pool is @capacity bytes, and a word lies before the first address. */
static const struct target_api api = {
    .language = "c",
    .build = "cc -g @source $TLSF -o @program",
    .head = "#include <stdio.h>\n"
            "#include <stdint.h>\n"
            "#include <stdlib.h>\n"
            "#include <tlsf.h>\n",
    .version = "printf(\"TLSF, pool overhead %zu bytes\\n\", tlsf_pool_overhead());",
    .create = "void *pool = aligned_alloc(64, (@capacity + 8 + 63) / 64 * 64);\n"
              "tlsf_t tlsf = tlsf_create(malloc(tlsf_size()));\n"
              "if (tlsf_add_pool(tlsf, pool, @capacity + 8) == NULL) {\n"
              "    return 2;\n"
              "}",
    .alloc = "void *@block = tlsf_malloc(tlsf, @size);",
    .free = "tlsf_free(tlsf, @block);",
    .destroy = "tlsf_destroy(tlsf);",
    .bytes = "tlsf_block_size(@block) + 8",
};

KIT_HEAP(create, tlsf_malloc, tlsf_free);
KIT_TARGET_WITH("tlsf", "TLSF 3.1 over one pool", NULL,
                (.limits = {.largest_capacity_bytes = CAPACITY_BYTES_MAX,
                            .largest_align_bytes = WORD_BYTES},
                 .api = &api),
                KIT_HEAP_CALLS, .granule_bytes = WORD_BYTES, .is_granule_fixed = true,
                /* A remainder too small for a block stays with the block before it. */
                .rounding = {.kind = ROUNDING_CLASSES,
                             .steps = 32,
                             .smallest_bytes = BLOCK_BYTES_MIN,
                             .overhead_bytes = WORD_BYTES + BLOCK_BYTES_MIN},
                .header_bytes = WORD_BYTES, .arena = {.back_bytes = SENTINEL_BYTES},
                .block_bytes = find_block_bytes);
