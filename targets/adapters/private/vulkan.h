/* The parts of Vulkan that we use: its functions, which are loaded at run time, and one device of
 * one driver.  The program compiles and links without Vulkan. */
#ifndef TARGETS_ADAPTERS_PRIVATE_VULKAN_H
#define TARGETS_ADAPTERS_PRIVATE_VULKAN_H

#include "targets/adapters/private/library.h"

#include <stdint.h>

/* The device that is taken: the first one that the loader lists, or the first one of a kind. */
enum vulkan_kind { VULKAN_FIRST = 0, VULKAN_CPU, VULKAN_GPU };

struct vulkan_allocate_info {
    int structure;
    const void *next;
    uint64_t bytes;
    uint32_t memory_type;
};

/* The functions of a device.  All return 0 or, below 0, an error. */
struct vulkan_calls {
    int (*allocate)(void *device, const struct vulkan_allocate_info *info, const void *callbacks,
                    uint64_t *memory);
    void (*free)(void *device, uint64_t memory, const void *callbacks);
    int (*map)(void *device, uint64_t memory, uint64_t offset, uint64_t bytes, uint32_t flags,
               void **address);
};

/* A device of this process, and one type of memory of it that the host sees.  It stays until the
 * process ends. */
struct vulkan_device {
    struct vulkan_calls calls;
    void *device;
    uint32_t memory_type;
    uint64_t heap_bytes;  /* of the heap of that type; the budget, where the driver tells it */
    uint64_t block_count; /* allocations that may live at once */
    bool is_cpu;          /* its memory is that of this process, and nothing bounds it */
};

/* Loads Vulkan and starts the device, where that was not done before.  NULL: reason is one line
 * that says why not.  A process that has called it cannot be forked into one that does: drivers
 * have threads. */
const struct vulkan_device *vulkan_device_start(enum vulkan_kind kind,
                                                char reason[LIBRARY_REASON_BYTES]);

/* Returns true when vulkan_device_start() of the first device would succeed in a child of this
 * process, which itself does not call Vulkan. */
bool vulkan_device_is_usable(char reason[LIBRARY_REASON_BYTES]);

/* Starts the first device in this process, and asks for all of them. */
void vulkan_device_examine(struct adapter_findings *findings);

#endif
