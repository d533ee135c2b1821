/* malloc:mimalloc: version 2 of mimalloc, with an exclusive arena over one region.
 *
 * mimalloc never gives an arena back, and has at most 64 of them.  So a region stays for the life
 * of the process, and the next instance of the same capacity gets it again. */
#include "targets/adapters/private/adapter.h"

#include <sys/mman.h>

/* An arena is made of segments of this size, and lies at a multiple of it. */
#define SEGMENT_BYTES (UINT64_C(32) << 20)
enum { REGION_COUNT_MAX = 64 };

static struct {
    bool (*manage_os_memory_ex)(void *start, size_t bytes, bool is_committed, bool is_large,
                                bool is_zero, int numa_node, bool exclusive, int *arena);
    void *(*heap_new_in_arena)(int arena);
    void (*heap_destroy)(void *heap);
    void *(*heap_malloc)(void *heap, size_t bytes);
    void *(*heap_malloc_aligned)(void *heap, size_t bytes, size_t align);
    void (*free)(void *memory);
    size_t (*usable_size)(const void *memory);
    void (*collect)(bool force);
} mi;

static const struct library_call calls[] = {{"mi_manage_os_memory_ex", &mi.manage_os_memory_ex},
                                            {"mi_heap_new_in_arena", &mi.heap_new_in_arena},
                                            {"mi_heap_destroy", &mi.heap_destroy},
                                            {"mi_heap_malloc", &mi.heap_malloc},
                                            {"mi_heap_malloc_aligned", &mi.heap_malloc_aligned},
                                            {"mi_free", &mi.free},
                                            {"mi_usable_size", &mi.usable_size},
                                            {"mi_collect", &mi.collect},
                                            {NULL, NULL}};
const struct library library_mimalloc = {
    .file = "libmimalloc.so.2", .package = "libmimalloc2.0", .calls = calls};

struct mimalloc_region {
    char *start;
    uint64_t bytes;
    int arena;
    bool is_taken;
};
static struct mimalloc_region regions[REGION_COUNT_MAX];
static size_t region_count;

struct mimalloc {
    struct mimalloc_region *region;
    void *heap;
};

/* bytes at a multiple of a segment; NULL: the system refused. */
static char *map_region(uint64_t bytes)
{
    char *const start = mmap(NULL, bytes + SEGMENT_BYTES, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) {
        return NULL;
    }
    const uint64_t before = (SEGMENT_BYTES - (uintptr_t)start % SEGMENT_BYTES) % SEGMENT_BYTES;
    if (before > 0) {
        (void)munmap(start, before);
    }
    (void)munmap(start + before + bytes, SEGMENT_BYTES - before);
    return start + before;
}

/* NULL: there is one more region; otherwise why not. */
static const char *add_region(uint64_t bytes)
{
    struct mimalloc_region *region = &regions[region_count];
    if (region_count == REGION_COUNT_MAX) {
        return "mimalloc has at most 64 arenas in one process, and all are in use or of another "
               "capacity";
    }
    *region = (struct mimalloc_region){.start = map_region(bytes), .bytes = bytes};
    if (region->start == NULL) {
        return "the system has no address range of the capacity for mimalloc's region";
    }
    if (!mi.manage_os_memory_ex(region->start, bytes, true, false, true, -1, true,
                                &region->arena)) {
        (void)munmap(region->start, bytes);
        return "mimalloc refused the region";
    }
    region_count++;
    return NULL;
}

static struct mimalloc_region *find_region(uint64_t bytes)
{
    for (size_t i = 0; i < region_count; i++) {
        if (!regions[i].is_taken && regions[i].bytes == bytes) {
            return &regions[i];
        }
    }
    return NULL;
}

static const char *open_heap(void *state, const struct kit_setup *setup)
{
    struct mimalloc *const mimalloc = state;
    const uint64_t bytes = setup->capacity_bytes;
    if (bytes % SEGMENT_BYTES != 0) {
        return "a capacity of malloc:mimalloc is a multiple of 32M, the size of its segments";
    }
    const char *reason = library_load(&library_mimalloc);
    if (reason == NULL && find_region(bytes) == NULL) {
        reason = add_region(bytes);
    }
    if (reason != NULL) {
        return reason;
    }
    mimalloc->region = find_region(bytes);
    mimalloc->heap = mi.heap_new_in_arena(mimalloc->region->arena);
    if (mimalloc->heap == NULL) {
        return "mimalloc cannot make a heap";
    }
    mimalloc->region->is_taken = true;
    return NULL;
}

static void close_heap(void *state)
{
    const struct mimalloc *const mimalloc = state;
    mi.heap_destroy(mimalloc->heap);
    mi.collect(true); /* segments that it keeps go back to the arena */
    mimalloc->region->is_taken = false;
}

static uint64_t allocate(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
    const struct mimalloc *const mimalloc = state;
    if (size_bytes > mimalloc->region->bytes) {
        return KIT_NOTHING;
    }
    /* Every block is aligned to the granule; asked for it, mimalloc would take more. */
    const char *memory = align_bytes <= ADAPTER_GRANULE_BYTES
                             ? mi.heap_malloc(mimalloc->heap, size_bytes)
                             : mi.heap_malloc_aligned(mimalloc->heap, size_bytes, align_bytes);
    return memory == NULL ? KIT_NOTHING : (uint64_t)(memory - mimalloc->region->start);
}

static void free_block(void *state, uint64_t offset, uint64_t size_bytes)
{
    const struct mimalloc *const mimalloc = state;
    (void)size_bytes;
    mi.free(mimalloc->region->start + offset);
}

static uint64_t find_block_bytes(void *state, uint64_t offset, uint64_t size_bytes)
{
    const struct mimalloc *const mimalloc = state;
    (void)size_bytes;
    const uint64_t usable = mi.usable_size(mimalloc->region->start + offset);
    return usable / ADAPTER_GRANULE_BYTES * ADAPTER_GRANULE_BYTES;
}

/* Classes are a quarter of a doubling apart up to 128 KiB.  Above, a block is a multiple of 64 KiB,
 * and above 512 KiB one of 512 KiB.  The first of these exceeds its class by most: a request of 512
 * KiB and a byte has the class 640 KiB and gets 1 MiB. */
#define OVERHEAD_BYTES_MAX (UINT64_C(384) << 10)

const struct kit_allocator allocator_mimalloc = {
    .state_bytes = sizeof(struct mimalloc),
    .granule_bytes = ADAPTER_GRANULE_BYTES,
    .is_granule_fixed = true,
    .rounding = {.kind = ROUNDING_CLASSES, .steps = 4, .overhead_bytes = OVERHEAD_BYTES_MAX},
    .open = open_heap,
    .close = close_heap,
    .allocate_offset = allocate,
    .free_offset = free_block,
    .block_bytes = find_block_bytes,
};

/* The Debian package has no header without its -dev part: the few calls are declared. */
static const struct target_api api = {
    .language = "c",
    .build = "cc -g @source -l:libmimalloc.so.2 -o @program",
    .head = "#include <stdbool.h>\n"
            "#include <stddef.h>\n"
            "#include <stdint.h>\n"
            "#include <stdio.h>\n"
            "#include <stdlib.h>\n"
            "\n"
            "/* of <mimalloc.h> */\n"
            "int mi_version(void);\n"
            "bool mi_manage_os_memory_ex(void *start, size_t bytes, bool is_committed,\n"
            "                            bool is_large, bool is_zero, int numa_node,\n"
            "                            bool exclusive, int *arena);\n"
            "void *mi_heap_new_in_arena(int arena);\n"
            "void mi_heap_destroy(void *heap);\n"
            "void *mi_heap_malloc(void *heap, size_t bytes);\n"
            "void *mi_heap_malloc_aligned(void *heap, size_t bytes, size_t align);\n"
            "void mi_free(void *memory);\n"
            "size_t mi_usable_size(const void *memory);\n",
    .version = "printf(\"mimalloc %d\\n\", mi_version());",
    .create =
        "int arena = -1;\n"
        "void *region = aligned_alloc(32 << 20, @capacity);\n"
        "if (region == NULL || !mi_manage_os_memory_ex(region, @capacity, true, false, false,\n"
        "                                              -1, true, &arena)) {\n"
        "    return 2;\n"
        "}\n"
        "void *heap = mi_heap_new_in_arena(arena);",
    .alloc = "void *@block = mi_heap_malloc(heap, @size);",
    .alloc_aligned = "void *@block = mi_heap_malloc_aligned(heap, @size, @align);",
    .free = "mi_free(@block);",
    .destroy = "mi_heap_destroy(heap);",
    .bytes = "mi_usable_size(@block)",
};

ADAPTER_TARGET(mimalloc, "malloc:mimalloc", "mimalloc 2 in an exclusive arena over one region",
               NULL,
               .limits = {.smallest_capacity_bytes = UINT64_C(64) << 20,
                          .largest_capacity_bytes = UINT64_C(1) << 30,
                          .capacity_step_bytes = SEGMENT_BYTES},
               .api = &api);
