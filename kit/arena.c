/* Address space for allocators of pointers.  Its pages cost nothing until they are written. */
#include "kit/private/instance.h"

#include <sys/mman.h>
#include <unistd.h>

enum { ALIGN_BYTES_MIN = 1 << 21 };

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) & ~(unit - 1);
}

/* Maps so many bytes, of which those behind lead_bytes begin at a multiple of align_bytes; all are
 * multiples of a page. */
static bool map_aligned(uint64_t bytes, uint64_t lead_bytes, uint64_t align_bytes,
                        struct kit_mapping *mapping)
{
    char *start = mmap(NULL, (size_t)(bytes + align_bytes), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) {
        return false;
    }
    const size_t before = (size_t)(-((uintptr_t)start + lead_bytes) & (align_bytes - 1));
    if (before > 0) {
        (void)munmap(start, before);
    }
    (void)munmap(start + before + bytes, (size_t)align_bytes - before);
    *mapping = (struct kit_mapping){.start = start + before, .bytes = (size_t)bytes};
    return true;
}

void *kit_arena_map(const struct kit_arena *arena, uint64_t capacity_bytes,
                    struct kit_mapping *mapping)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), most = SIZE_MAX / 4;
    const uint64_t align = arena->align_bytes > ALIGN_BYTES_MIN ? arena->align_bytes
                                                                : ALIGN_BYTES_MIN;
    if (capacity_bytes > most || arena->front_bytes > most || arena->back_bytes > most ||
        align > most) {
        return NULL;
    }
    const uint64_t lead = round_up(arena->front_bytes, page);
    const uint64_t rest = round_up(capacity_bytes + arena->back_bytes, page);
    return map_aligned(lead + rest, lead, align, mapping)
               ? mapping->start + (lead - arena->front_bytes)
               : NULL;
}

void kit_arena_unmap(struct kit_mapping *mapping)
{
    if (mapping->start != NULL) {
        (void)munmap(mapping->start, mapping->bytes);
    }
}
