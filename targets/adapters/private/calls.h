/* An allocator of host memory that accepts no region: malloc and free of a library, under a limit
 * that the adapter counts.  Where its blocks lie says nothing, so sums decide. */
#ifndef TARGETS_ADAPTERS_PRIVATE_CALLS_H
#define TARGETS_ADAPTERS_PRIVATE_CALLS_H

#include "targets/adapters/private/adapter.h"

/* The functions of one library.  posix_memalign NULL: the adapter aligns blocks by itself. */
struct malloc_calls {
    void *(*malloc)(size_t bytes);
    void (*free)(void *memory);
    int (*posix_memalign)(void **memory, size_t align, size_t bytes);
};

/* An instance; zero before open. */
struct malloc_state {
    const struct malloc_calls *calls;
    uint64_t limit_bytes, used_bytes;
};

/* Opens an allocator once its calls are known. */
void malloc_open(struct malloc_state *state, const struct malloc_calls *calls,
                 const struct kit_setup *setup);
void *malloc_allocate(void *state, uint64_t size_bytes, uint64_t align_bytes);
void malloc_free(void *state, void *memory, uint64_t size_bytes);

/* The members of a kit_allocator but its open.  The limit counts what was asked for, so any free
 * bytes of it serve. */
#define MALLOC_ALLOCATOR                                                                \
    .state_bytes = sizeof(struct malloc_state), .granule_bytes = ADAPTER_GRANULE_BYTES, \
    .is_granule_fixed = true, .placement = PLACEMENT_PAGES, .arena = {.is_own = true},  \
    .allocate = malloc_allocate, .free = malloc_free

/* The texts of its calls, from the names of the functions. */
#define MALLOC_API_CALLS(malloc_, free_, align_)                                            \
    .alloc = "void *@block = @size > @capacity - used_bytes ? NULL : " malloc_ "(@size);\n" \
             "used_bytes += @block == NULL ? 0 : @size;",                                   \
    .alloc_aligned = "void *@block = NULL;\n"                                               \
                     "if (@size > @capacity - used_bytes ||\n"                              \
                     "    " align_ "(&@block, @align, @size) != 0) {\n"                     \
                     "    @block = NULL;\n"                                                 \
                     "}\n"                                                                  \
                     "used_bytes += @block == NULL ? 0 : @size;",                           \
    .free = free_ "(@block);\n"                                                             \
                  "used_bytes -= @size;"

/* Beyond it a request costs address space that no page of is ever used. */
#define MALLOC_LIMITS                                         \
    .limits = {.largest_capacity_bytes = UINT64_C(4) << 30,   \
               .capacity_step_bytes = ADAPTER_GRANULE_BYTES}, \
    .read = kit_read, .write = kit_write

#endif
