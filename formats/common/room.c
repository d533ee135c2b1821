#include "formats/common/room.h"

#include "harness/base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE_BYTES ((uintptr_t)2 << 20)

void room_advise(void *memory, size_t bytes)
{
    const uintptr_t begin = ((uintptr_t)memory + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
    const uintptr_t end = ((uintptr_t)memory + bytes) & ~(HUGE_PAGE_BYTES - 1);
    if (memory != NULL && begin < end) {
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
    }
}

void *room_make(size_t bytes)
{
    if (bytes < HUGE_PAGE_BYTES || bytes > SIZE_MAX - HUGE_PAGE_BYTES) {
        return array_resized(NULL, bytes);
    }
    const size_t rounded = (bytes + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
    void *memory = aligned_alloc(HUGE_PAGE_BYTES, rounded);
    CHECK(memory != NULL);
    room_advise(memory, rounded);
    return memory;
}

void room_for_ops(struct op_list *ops, size_t count)
{
    if (count <= ops->capacity || count > SIZE_MAX / sizeof *ops->ops) {
        return;
    }
    struct op *grown = realloc(ops->ops, count * sizeof *ops->ops);
    if (grown != NULL) {
        ops->ops = grown;
        ops->capacity = count;
        room_advise(grown, count * sizeof *grown);
    }
}
