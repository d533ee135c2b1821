/* Small records of one size, numbered from 1, in slabs that never move: a record is reached by a
 * 32-bit number, which is what lets a block fit in one cache line. */
#ifndef ALLOCATOR_PRIVATE_POOL_H
#define ALLOCATOR_PRIVATE_POOL_H

#include "allocator/private/base.h"

#define HBM_POOL_NONE 0u

/* Invariant: records 1..capacity exist; each is in use, on the free list, or fresh: from
 * first_fresh on none was ever taken, so a pool costs what is used of it.  slab_count slabs are
 * held.  The first four bytes of a record on the free list are the number of the next one. */
struct hbm_pool {
    struct hbm_host *host;
    /* [slab_capacity], each aligned to a cache line: the address that record 0 would have if its
     * slab began with it, so that a number needs no rest to be taken. */
    uintptr_t *origins;
    uint32_t slab_shift; /* records per slab, as a power of two */
    uint32_t record_bytes;
    uint32_t cold_bytes; /* of the cold part of each record, behind all records of its slab */
    uint32_t slab_count;
    uint32_t slab_capacity;
    uint32_t free_head;
    uint32_t first_fresh;
    uint32_t free_count; /* fresh ones too */
};

/* Holds one slab from the start.  False when host memory is refused; nothing is held then. */
bool hbm_pool_init(struct hbm_pool *pool, struct hbm_host *host, uint32_t record_bytes,
                   uint32_t slab_shift);

/* Does the same where each record has a second part, which the owner finds from the slab's start:
 * rarely used bytes that would only fill the cache if they lay between the others. */
bool hbm_pool_init_split(struct hbm_pool *pool, struct hbm_host *host, uint32_t record_bytes,
                         uint32_t cold_bytes, uint32_t slab_shift);
void hbm_pool_deinit(struct hbm_pool *pool);

/* Adds slabs until at least `count` records are free.  False when host memory is refused. */
HBM_RARE bool hbm_pool_grow(struct hbm_pool *pool, uint32_t count);

/* Forgets all records and gives back all slabs but the first. */
void hbm_pool_reset(struct hbm_pool *pool);

static inline void *hbm_pool_at(const struct hbm_pool *pool, uint32_t number)
{
    const uintptr_t origin = pool->origins[number >> pool->slab_shift];
    return (void *)(origin + (uintptr_t)number * pool->record_bytes);
}

/* Records in use; number 0 exists, but is none. */
static inline uint32_t hbm_pool_used_count(const struct hbm_pool *pool)
{
    return (pool->slab_count << pool->slab_shift) - 1u - pool->free_count;
}

static inline bool hbm_pool_reserve(struct hbm_pool *pool, uint32_t count)
{
    return pool->free_count >= count || hbm_pool_grow(pool, count);
}

/* Takes a record; one must be free.  Its contents are unspecified. */
static inline uint32_t hbm_pool_take(struct hbm_pool *pool)
{
    HBM_CHECK(pool->free_count != 0);
    uint32_t number = pool->free_head;
    if (number == HBM_POOL_NONE) {
        number = pool->first_fresh++;
    } else {
        pool->free_head = *(const uint32_t *)hbm_pool_at(pool, number);
    }
    pool->free_count--;
    HBM_CHECK_COSTLY(number < pool->slab_count << pool->slab_shift);
    return number;
}

static inline void hbm_pool_give(struct hbm_pool *pool, uint32_t number)
{
    HBM_CHECK(number != HBM_POOL_NONE);
    HBM_CHECK_COSTLY(hbm_pool_used_count(pool) != 0);
    *(uint32_t *)hbm_pool_at(pool, number) = pool->free_head;
    pool->free_head = number;
    pool->free_count++;
}

#endif
