/* Address space for allocators of pointers.  Its pages cost nothing until they are written. */
#include "kit/private/instance.h"

#include <sys/mman.h>

void *kit_region_map(uint64_t bytes, uint64_t align_bytes)
{
    if (bytes > SIZE_MAX - align_bytes) {
        return NULL;
    }
    const size_t taken = (size_t)(bytes + align_bytes);
    char *start = mmap(NULL, taken, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) {
        return NULL;
    }
    const size_t before = (size_t)(-(uintptr_t)start & (align_bytes - 1));
    const size_t behind = (size_t)align_bytes - before;
    if (before > 0) {
        (void)munmap(start, before);
    }
    (void)munmap(start + before + bytes, behind);
    return start + before;
}

void kit_region_unmap(void *region, uint64_t bytes)
{
    if (region != NULL) {
        (void)munmap(region, (size_t)bytes);
    }
}
