/* What all of libhbm stands on: checks, rounding, hashes, sorting, host memory, and the lock. */
#ifndef ALLOCATOR_PRIVATE_BASE_H
#define ALLOCATOR_PRIVATE_BASE_H

#include "allocator/hbm.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* HBM_CHECK aborts with a place when an invariant of libhbm itself is broken: our own bug, never an
 * answer to the caller.  It is always on. */

#define HBM_CHECK(condition) \
    (__builtin_expect(!(condition), 0) ? hbm_check_failed(#condition, __FILE__, __LINE__) : (void)0)

/* Does the same for checks that cost more than the code around them: a walk over blocks, a look at
 * a neighbour's cache line, the inner loop of a search.  On where HBM_COSTLY_CHECKS is defined;
 * elsewhere it is compiled, but never evaluated. */
#ifdef HBM_COSTLY_CHECKS
#define HBM_CHECK_COSTLY(condition) HBM_CHECK(condition)
#else
#define HBM_CHECK_COSTLY(condition) ((void)(0 && (condition)))
#endif

/* A function that is part of its callers, which are few and hot. */
#define HBM_HOT static inline __attribute__((always_inline))
/* A function that is kept out of its callers, so that their own code stays short; HBM_RARE: it is
 * called rarely, too. */
#define HBM_APART __attribute__((noinline))
#define HBM_RARE __attribute__((cold, noinline))

HBM_RARE _Noreturn void hbm_check_failed(const char *condition, const char *file, int line);

/* Rounding of addresses and sizes to powers of two. */

static inline uint64_t hbm_align_up(uint64_t value, uint32_t shift)
{
    const uint64_t mask = ((uint64_t)1 << shift) - 1;
    return (value + mask) & ~mask;
}

static inline uint64_t hbm_align_down(uint64_t value, uint32_t shift)
{
    return value >> shift << shift;
}

/* The hash of libhbm: for tables that find records by their bytes. */

/* FNV-1a, 32 bits. */
static inline uint32_t hbm_hash_bytes(const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ byte[i]) * 16777619u;
    }
    return hash;
}

/* The finaliser of splitmix64: every bit of the value changes about half of the result's. */
static inline uint64_t hbm_hash_mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
}

/* Fibonacci hashing: consecutive numbers, the usual case of ids, spread over all buckets. */
static inline uint32_t hbm_hash_id(uint64_t id)
{
    return (uint32_t)((id * 0x9E3779B97F4A7C15u) >> 32);
}

/* Heapsort of 32-bit numbers: the C library's qsort may take host memory behind the caller's back.
 */

/* Sorts so that comes_before(a, b) never holds for a number b that stands earlier than a. */
void hbm_sort(uint32_t *numbers, size_t count,
              bool (*comes_before)(const void *context, uint32_t left, uint32_t right),
              const void *context);

/* Host memory by way of the caller's services, with a running sum, so that a leak of libhbm's own
 * is visible as a number. */

/* Invariant: bytes is the sum of all allocations that are not yet freed. */
struct hbm_host {
    struct hbm_services services;
    uint64_t bytes;
};

/* NULL when the service refuses or the product overflows.  Not cleared. */
void *hbm_host_array(struct hbm_host *host, size_t count, size_t element_bytes);

/* Does the same, and clears it. */
void *hbm_host_zeroed(struct hbm_host *host, size_t count, size_t element_bytes);

/* Gives an array back; NULL is ignored. */
void hbm_host_free(struct hbm_host *host, void *memory, size_t count, size_t element_bytes);

/* A lock for sections of some ten nanoseconds: one atomic exchange to take, one store to give back,
 * half of what a mutex costs.  A thread that does not get it spins a little, then yields, then
 * sleeps, because a section that plans a defragmentation is long. */

struct hbm_lock {
    atomic_bool taken;
};

void hbm_lock_wait(struct hbm_lock *lock);

static inline void hbm_lock_take(struct hbm_lock *lock)
{
    if (__builtin_expect(atomic_exchange_explicit(&lock->taken, true, memory_order_acquire), 0)) {
        hbm_lock_wait(lock);
    }
}

static inline void hbm_lock_give(struct hbm_lock *lock)
{
    atomic_store_explicit(&lock->taken, false, memory_order_release);
}

#endif
