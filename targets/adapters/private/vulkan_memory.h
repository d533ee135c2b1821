/* Memory of a Vulkan device under a limit.
 *
 * The memory of a driver on the CPU is address space of this process, which nothing bounds.  So it
 * is bounded while the driver is asked, and only then: by what the process has at that moment, and
 * what the limit leaves.  What the rest of the process takes in between does not count, and what
 * the driver took and did not give back does. */
#ifndef TARGETS_ADAPTERS_PRIVATE_VULKAN_MEMORY_H
#define TARGETS_ADAPTERS_PRIVATE_VULKAN_MEMORY_H

#include "targets/adapters/private/vulkan_device.h"

struct vulkan_memory {
    const struct vulkan_device *device;
    uint64_t limit_bytes;
    uint64_t used_bytes;  /* of the blocks that live */
    uint64_t block_count; /* those */
    int64_t taken_bytes;  /* address space that the driver took and did not give back */
};

/* A block, and where the host sees it until it is freed. */
struct vulkan_block {
    uint64_t memory;
    char *mapped;
};

/* The driver is asked also for what cannot fit; what it gives beyond the limit it gets back at
 * once. bytes are at least 1.  false: no memory. */
bool vulkan_allocate(struct vulkan_memory *memory, uint64_t bytes, struct vulkan_block *block);
void vulkan_free(struct vulkan_memory *memory, uint64_t bytes, const struct vulkan_block *block);

#endif
