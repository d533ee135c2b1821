/* The memory of one real device that several simulated ones share, as those of two processes do:
 * each has addresses of its own, and what all of them have together is bounded.  A device has what
 * is mapped, or, of a target that grows, its regions.  A map beyond the bound is refused as a fault
 * would refuse it, a region as where no free range is large enough. */
#ifndef HARNESS_DEVICE_DEVICE_POOL_H
#define HARNESS_DEVICE_DEVICE_POOL_H

#include <stdbool.h>
#include <stdint.h>

struct device;

struct device_pool {
    uint64_t size_bytes;
    uint64_t used_bytes; /* that its members have; what they had when they joined may be more than
                            there is */
};

/* Returns the bytes that the pool's members may still have. */
static inline uint64_t device_pool_left_bytes(const struct device_pool *pool)
{
    return pool->used_bytes < pool->size_bytes ? pool->size_bytes - pool->used_bytes : 0;
}

/* From here on what the device has is of the pool, which outlives that.  It is in none. by_regions:
 * its regions count, not what is mapped. */
void device_join_pool(struct device *device, struct device_pool *pool, bool by_regions);
/* Gives all that its ended process had back to its pool.  Does nothing without a pool. */
void device_leave_pool(struct device *device);
/* Notes that its pool has no room for the region of so many bytes that the op's request needs.
 * That counts as a refused region, whether the target asked for one or not. */
void device_pool_refuse_region(struct device *device, uint64_t bytes);
/* NULL: it has memory of its own. */
const struct device_pool *device_pool_of(const struct device *device);
/* Returns the bytes that the device has of its pool; 0 without a pool. */
uint64_t device_pool_bytes(const struct device *device);
/* The first call that the pool refused in the op: the bytes that it asked for, and the bytes that
 * were left then.  Bytes 0: it refused none. */
struct device_pool_refusal {
    uint64_t asked_bytes, left_bytes;
};
struct device_pool_refusal device_pool_refusal(const struct device *device);

#endif
