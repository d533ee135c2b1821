#include "allocator/private/pool.h"

#include <string.h>

#define CACHE_LINE_BYTES 64u
#define SLAB_TABLE_FIRST 8u
/* The links of blocks have so many bits. */
#define RECORD_NUMBER_MAX ((1u << 28) - 1u)

/* Each slab is over-allocated by one line so that records can start on a line; the word before the
 * first record remembers how far. */
static size_t count_slab_bytes(const struct hbm_pool *pool)
{
    return ((size_t)(pool->record_bytes + pool->cold_bytes) << pool->slab_shift) +
           2 * CACHE_LINE_BYTES;
}

static char *create_slab(struct hbm_pool *pool)
{
    char *raw = hbm_host_array(pool->host, 1, count_slab_bytes(pool));
    if (raw == NULL) {
        return NULL;
    }
    const uintptr_t start = ((uintptr_t)raw + 2 * CACHE_LINE_BYTES - 1) &
                            ~(uintptr_t)(CACHE_LINE_BYTES - 1);
    char *slab = raw + (start - (uintptr_t)raw);
    memcpy(slab - sizeof raw, &raw, sizeof raw);
    HBM_CHECK(((uintptr_t)slab & (CACHE_LINE_BYTES - 1)) == 0);
    HBM_CHECK((size_t)(slab - raw) >= sizeof raw);
    return slab;
}

/* Returns what must be added to the first record of the slab `index` for its origin. */
static uintptr_t count_bytes_before(const struct hbm_pool *pool, uint32_t index)
{
    return ((uintptr_t)index << pool->slab_shift) * pool->record_bytes;
}

static void destroy_slab(struct hbm_pool *pool, uint32_t index)
{
    char *slab = (char *)(pool->origins[index] + count_bytes_before(pool, index));
    char *raw;
    memcpy(&raw, slab - sizeof raw, sizeof raw);
    HBM_CHECK(raw < slab);
    HBM_CHECK(slab - raw <= (ptrdiff_t)(2 * CACHE_LINE_BYTES));
    hbm_host_free(pool->host, raw, 1, count_slab_bytes(pool));
}

static bool grow_slab_table(struct hbm_pool *pool)
{
    HBM_CHECK(pool->slab_count == pool->slab_capacity);
    const uint32_t capacity = pool->slab_capacity == 0 ? SLAB_TABLE_FIRST : pool->slab_capacity * 2;
    uintptr_t *origins = hbm_host_array(pool->host, capacity, sizeof *origins);
    if (origins == NULL) {
        return false;
    }
    if (pool->slab_count != 0) {
        memcpy(origins, pool->origins, pool->slab_count * sizeof *origins);
    }
    hbm_host_free(pool->host, pool->origins, pool->slab_capacity, sizeof *origins);
    pool->origins = origins;
    pool->slab_capacity = capacity;
    HBM_CHECK(pool->slab_count < pool->slab_capacity);
    return true;
}

bool hbm_pool_grow(struct hbm_pool *pool, uint32_t count)
{
    while (pool->free_count < count) {
        if (pool->slab_count >= RECORD_NUMBER_MAX >> pool->slab_shift) {
            return false;
        }
        if (pool->slab_count == pool->slab_capacity && !grow_slab_table(pool)) {
            return false;
        }
        char *slab = create_slab(pool);
        if (slab == NULL) {
            return false;
        }
        HBM_CHECK(pool->slab_count < pool->slab_capacity);
        pool->origins[pool->slab_count] = (uintptr_t)slab -
                                          count_bytes_before(pool, pool->slab_count);
        pool->slab_count++;
        pool->free_count += 1u << pool->slab_shift;
    }
    HBM_CHECK(pool->free_count >= count);
    return true;
}

/* Makes all records of the one slab fresh again; number 0 stays unused. */
static void forget_records(struct hbm_pool *pool)
{
    HBM_CHECK(pool->slab_count == 1);
    HBM_CHECK(pool->slab_shift < 20);
    pool->free_head = HBM_POOL_NONE;
    pool->first_fresh = HBM_POOL_NONE + 1;
    pool->free_count = (1u << pool->slab_shift) - 1;
}

bool hbm_pool_init_split(struct hbm_pool *pool, struct hbm_host *host, uint32_t record_bytes,
                         uint32_t cold_bytes, uint32_t slab_shift)
{
    HBM_CHECK(record_bytes % sizeof(uint32_t) == 0);
    HBM_CHECK(slab_shift < 20);
    *pool = (struct hbm_pool){.host = host,
                              .record_bytes = record_bytes,
                              .cold_bytes = cold_bytes,
                              .slab_shift = slab_shift};
    if (!hbm_pool_grow(pool, 1)) {
        hbm_pool_deinit(pool);
        return false;
    }
    forget_records(pool);
    return true;
}

bool hbm_pool_init(struct hbm_pool *pool, struct hbm_host *host, uint32_t record_bytes,
                   uint32_t slab_shift)
{
    return hbm_pool_init_split(pool, host, record_bytes, 0, slab_shift);
}

void hbm_pool_deinit(struct hbm_pool *pool)
{
    HBM_CHECK(pool->host != NULL);
    HBM_CHECK(pool->slab_count <= pool->slab_capacity);
    for (uint32_t i = 0; i < pool->slab_count; i++) {
        destroy_slab(pool, i);
    }
    hbm_host_free(pool->host, pool->origins, pool->slab_capacity, sizeof *pool->origins);
    *pool = (struct hbm_pool){.host = pool->host};
}

/* A larger slab table than the first goes too, if a small one is to be had; else it is kept. */
static void shrink_slab_table(struct hbm_pool *pool)
{
    HBM_CHECK(pool->slab_count == 1);
    HBM_CHECK(pool->slab_capacity >= SLAB_TABLE_FIRST);
    if (pool->slab_capacity == SLAB_TABLE_FIRST) {
        return;
    }
    uintptr_t *origins = hbm_host_array(pool->host, SLAB_TABLE_FIRST, sizeof *origins);
    if (origins == NULL) {
        return;
    }
    origins[0] = pool->origins[0];
    hbm_host_free(pool->host, pool->origins, pool->slab_capacity, sizeof *origins);
    pool->origins = origins;
    pool->slab_capacity = SLAB_TABLE_FIRST;
}

void hbm_pool_reset(struct hbm_pool *pool)
{
    HBM_CHECK(pool->slab_count != 0);
    while (pool->slab_count > 1) {
        destroy_slab(pool, --pool->slab_count);
    }
    shrink_slab_table(pool);
    forget_records(pool);
    HBM_CHECK(pool->slab_count == 1);
}
