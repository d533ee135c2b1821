#include "targets/adapters/private/calls.h"

#include <stdint.h>
#include <string.h>

void malloc_open(struct malloc_state *state, const struct malloc_calls *calls,
                 const struct kit_setup *setup)
{
    *state = (struct malloc_state){.calls = calls, .limit_bytes = setup->capacity_bytes};
}

/* The block begins behind what malloc returned, which stands right before it. */
static void *allocate_aligned(const struct malloc_calls *calls, uint64_t bytes, uint64_t align)
{
    char *start = calls->malloc((size_t)(bytes + align + sizeof start));
    if (start == NULL) {
        return NULL;
    }
    const uintptr_t first = (uintptr_t)start + sizeof start;
    char *block = start + sizeof start + (-first & (align - 1));
    memcpy(block - sizeof start, &start, sizeof start);
    return block;
}

void *malloc_allocate(void *context, uint64_t size_bytes, uint64_t align_bytes)
{
    struct malloc_state *state = context;
    const struct malloc_calls *calls = state->calls;
    void *memory = NULL;
    if (size_bytes > state->limit_bytes - state->used_bytes) {
        return NULL;
    }
    if (calls->posix_memalign == NULL) {
        memory = allocate_aligned(calls, size_bytes, align_bytes);
    } else if (align_bytes <= ADAPTER_GRANULE_BYTES) {
        memory = calls->malloc((size_t)size_bytes);
    } else if (calls->posix_memalign(&memory, (size_t)align_bytes, (size_t)size_bytes) != 0) {
        memory = NULL;
    }
    state->used_bytes += memory == NULL ? 0 : size_bytes;
    return memory;
}

void malloc_free(void *context, void *memory, uint64_t size_bytes)
{
    struct malloc_state *state = context;
    const struct malloc_calls *calls = state->calls;
    void *start = memory;
    if (calls->posix_memalign == NULL) {
        memcpy(&start, (char *)memory - sizeof start, sizeof start);
    }
    calls->free(start);
    state->used_bytes -= size_bytes;
}
