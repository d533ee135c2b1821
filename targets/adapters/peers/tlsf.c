/* TLSF (mattconte): two levels of lists of free ranges, 32 for each doubling, and a word before
 * each block.  Aligned requests need a hole that is larger by the alignment, which no contract can
 * say, so there are none. */
#include "kit/kit.h"

#include <tlsf.h>

#include <stdlib.h>
#include <sys/mman.h>

enum { WORD_BYTES = 8, SENTINEL_BYTES = WORD_BYTES, BLOCK_BYTES_MIN = 24 };
#define CAPACITY_BYTES_MAX (UINT64_C(2) << 30)

struct tlsf {
    tlsf_t control;
    void *records; /* outside of the pool */
    char *pool;
    uint64_t pool_bytes;
};

/* The last word of a pool is a sentinel, for which the device has no room. */
static const char *open_tlsf(void *state, const struct kit_setup *setup)
{
    struct tlsf *tlsf = state;
    tlsf->pool_bytes = setup->capacity_bytes + SENTINEL_BYTES;
    tlsf->records = malloc(tlsf_size());
    tlsf->pool = mmap(NULL, tlsf->pool_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (tlsf->records == NULL || tlsf->pool == MAP_FAILED) {
        free(tlsf->records);
        return "no memory for the pool";
    }
    tlsf->control = tlsf_create(tlsf->records);
    if (tlsf_add_pool(tlsf->control, tlsf->pool, tlsf->pool_bytes) == NULL) {
        (void)munmap(tlsf->pool, tlsf->pool_bytes);
        free(tlsf->records);
        return "tlsf refuses a pool of that size";
    }
    return NULL;
}

static void close_tlsf(void *state)
{
    struct tlsf *tlsf = state;
    (void)munmap(tlsf->pool, tlsf->pool_bytes);
    free(tlsf->records);
}

static uint64_t allocate(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
    struct tlsf *tlsf = state;
    (void)align_bytes;
    const char *block = tlsf_malloc(tlsf->control, (size_t)size_bytes);
    return block == NULL ? KIT_NOTHING : (uint64_t)(block - tlsf->pool);
}

static void free_block(void *state, uint64_t offset, uint64_t size_bytes)
{
    struct tlsf *tlsf = state;
    (void)size_bytes;
    tlsf_free(tlsf->control, tlsf->pool + offset);
}

static uint64_t find_block_bytes(void *state, uint64_t offset, uint64_t size_bytes)
{
    struct tlsf *tlsf = state;
    (void)size_bytes;
    return tlsf_block_size(tlsf->pool + offset) + WORD_BYTES;
}

KIT_TARGET_WITH(
    "tlsf", "TLSF 3.1 over one pool", NULL,
    (.limits = {.largest_capacity_bytes = CAPACITY_BYTES_MAX, .largest_align_bytes = WORD_BYTES}),

    .state_bytes = sizeof(struct tlsf), .granule_bytes = WORD_BYTES, .is_granule_fixed = true,
    /* What is left of a range and too small for a block stays with the one before. */
    .rounding = {.kind = ROUNDING_CLASSES,
                 .steps = 32,
                 .smallest_bytes = BLOCK_BYTES_MIN,
                 .overhead_bytes = WORD_BYTES + BLOCK_BYTES_MIN},
    .header_bytes = WORD_BYTES, .open = open_tlsf, .close = close_tlsf, .allocate_offset = allocate,
    .free_offset = free_block, .block_bytes = find_block_bytes);
