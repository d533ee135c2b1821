#include "targets/adapters/private/vulkan.h"

#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { STRUCTURE_ALLOCATE = 5 };

/* The C library's malloc may take this much with a block: header, alignment, whole pages. */
#define BLOCK_EXTRA_BYTES (UINT64_C(16) << 10)
/* It may take this much once: a step of its heap, for records of the driver. */
#define HEAP_STEP_BYTES (UINT64_C(4) << 20)

/* From this size on malloc maps what its heap has no room for.  The heap itself is shared with the
 * rest of the process, so nobody could say whose it is. */
enum { MAPPED_BYTES_MIN = 4096, MAPPED_BYTES_MIN_DEFAULT = 128 << 10 };

/* Address space of the process without the heap of malloc; 0: the system does not tell. */
static uint64_t count_mapped(uint64_t *all_bytes)
{
    static uintptr_t heap_start;
    const uintptr_t heap_end = (uintptr_t)sbrk(0);
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        if (fscanf(file, "%llu", &pages) != 1) {
            pages = 0;
        }
        (void)fclose(file);
    }
    heap_start = heap_start == 0 ? heap_end : heap_start;
    *all_bytes = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return *all_bytes - (uint64_t)(heap_end - heap_start);
}

/* Returns how many bytes the driver may still take. */
static uint64_t count_left(const struct vulkan_memory *memory)
{
    const int64_t left = (int64_t)(memory->limit_bytes + HEAP_STEP_BYTES +
                                   (memory->block_count + 1) * BLOCK_EXTRA_BYTES) -
                         memory->taken_bytes;
    return left < 0 ? 0 : (uint64_t)left;
}

/* A block of so many bytes came or went.  No more than it needs is counted, because threads of the
 * driver may map something at the same time. */
static void count_taken(struct vulkan_memory *memory, int64_t change_bytes, uint64_t block_bytes)
{
    const int64_t most = (int64_t)(block_bytes + BLOCK_EXTRA_BYTES);
    memory->taken_bytes += change_bytes < most ? change_bytes : most;
}

static int ask_driver(const struct vulkan_memory *memory, uint64_t bytes, uint64_t *made)
{
    const struct vulkan_device *const device = memory->device;
    const struct vulkan_allocate_info info = {
        .structure = STRUCTURE_ALLOCATE, .bytes = bytes, .memory_type = device->memory_type};
    return device->calls.allocate(device->device, &info, NULL, made);
}

/* The same, while the process may grow by no more than what is left. */
static int ask_bounded(struct vulkan_memory *memory, uint64_t bytes, uint64_t *made)
{
    struct rlimit before;
    uint64_t all_bytes = 0, unused = 0;
    const uint64_t mapped_bytes = count_mapped(&all_bytes);
    const uint64_t bound_bytes = all_bytes + count_left(memory);
    if (getrlimit(RLIMIT_AS, &before) != 0) {
        return ask_driver(memory, bytes, made);
    }
    const struct rlimit bound = {.rlim_cur = bound_bytes < before.rlim_cur ? bound_bytes
                                                                           : before.rlim_cur,
                                 .rlim_max = before.rlim_max};
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES_MIN);
    (void)setrlimit(RLIMIT_AS, &bound);
    const int error = ask_driver(memory, bytes, made);
    (void)setrlimit(RLIMIT_AS, &before);
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES_MIN_DEFAULT);
    if (error == 0) {
        count_taken(memory, (int64_t)(count_mapped(&unused) - mapped_bytes), bytes);
    }
    return error;
}

static void free_memory(struct vulkan_memory *memory, uint64_t made)
{
    const struct vulkan_device *const device = memory->device;
    uint64_t unused = 0;
    const uint64_t before_bytes = device->is_cpu ? count_mapped(&unused) : 0;
    device->calls.free(device->device, made, NULL);
    if (device->is_cpu) {
        count_taken(memory, (int64_t)(count_mapped(&unused) - before_bytes), 0);
    }
}

bool vulkan_allocate(struct vulkan_memory *memory, uint64_t bytes, struct vulkan_block *block)
{
    const struct vulkan_device *const device = memory->device;
    void *mapped = NULL;
    const int error = device->is_cpu ? ask_bounded(memory, bytes, &block->memory)
                                     : ask_driver(memory, bytes, &block->memory);
    if (error != 0) {
        return false;
    }
    if (bytes > memory->limit_bytes - memory->used_bytes ||
        device->calls.map(device->device, block->memory, 0, UINT64_MAX, 0, &mapped) != 0) {
        free_memory(memory, block->memory);
        return false;
    }
    block->mapped = mapped;
    memory->used_bytes += bytes;
    memory->block_count++;
    return true;
}

void vulkan_free(struct vulkan_memory *memory, uint64_t bytes, const struct vulkan_block *block)
{
    free_memory(memory, block->memory);
    memory->used_bytes -= bytes;
    memory->block_count--;
}
