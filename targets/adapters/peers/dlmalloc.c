/* dlmalloc 2.7.2 (Doug Lea): best fit over bins, and a size before each block.  It has one state,
 * which each instance makes anew, and gets its arena in one piece. */
#include "kit/kit.h"

static void *extend(ptrdiff_t bytes);

#define USE_DL_PREFIX
#define HAVE_MMAP 0
#define MORECORE extend
#define MORECORE_CANNOT_TRIM
#define malloc_getpagesize 16 /* so that the arena is taken to its end */
#include <malloc.c>

/* A block is counted from its pointer: its size is in the 8 bytes before it, and the last 8 bytes
 * of what it takes are those before the next one.  The smallest chunk always stays at the end. */
enum {
    GRANULE_BYTES = 16,
    CHUNK_BYTES_MIN = 32,
    SIZE_BYTES = 8,
    FRONT_BYTES = 16,
    BACK_BYTES = 16
};

static struct {
    char *arena;
    size_t bytes, given;
} source;

static void *extend(ptrdiff_t bytes)
{
    if (bytes < 0 || (size_t)bytes > source.bytes - source.given) {
        return (void *)MORECORE_FAILURE;
    }
    char *start = source.arena + source.given;
    source.given += (size_t)bytes;
    return start;
}

static struct malloc_state *create(const struct kit_setup *setup)
{
    enum { FIRST_BYTES = 512 };
    source.arena = setup->arena;
    source.bytes = (size_t)setup->arena_bytes;
    source.given = 0;
    memset(&av_, 0, sizeof av_);
    malloc_consolidate(&av_); /* sets the parameters */
    av_.top_pad = source.bytes - FIRST_BYTES - CHUNK_BYTES_MIN;
    void *first = dlmalloc(FIRST_BYTES - SIZE_BYTES);
    av_.top_pad = 0;
    dlfree(first);
    return first == NULL ? NULL : &av_;
}

static void *allocate(struct malloc_state *state, size_t size_bytes)
{
    (void)state;
    return dlmalloc(size_bytes - SIZE_BYTES);
}

static void release(struct malloc_state *state, void *pointer)
{
    (void)state;
    dlfree(pointer);
}

static uint64_t find_block_bytes(void *state, uint64_t place, uint64_t size_bytes)
{
    (void)state, (void)size_bytes;
    return dlmalloc_usable_size((void *)(uintptr_t)place) + SIZE_BYTES;
}

static const struct target_api api = {
    .language = "c",
    .build = "cc -g -w @source $DLMALLOC -o @program",
    .head = "#include <stddef.h>\n"
            "static char *arena_next, *arena_end;\n"
            "static void *extend(ptrdiff_t bytes)\n"
            "{\n"
            "    if (bytes > arena_end - arena_next) {\n"
            "        return (void *)-1;\n"
            "    }\n"
            "    arena_next += bytes;\n"
            "    return arena_next - bytes;\n"
            "}\n"
            "#define USE_DL_PREFIX\n#define HAVE_MMAP 0\n#define MORECORE extend\n"
            "#define MORECORE_CANNOT_TRIM\n#define malloc_getpagesize 16\n#include <malloc.c>\n"
            "#include <stdint.h>\n#include <sys/mman.h>",
    .create = "arena_next = mmap(NULL, @capacity + 32, PROT_READ | PROT_WRITE,\n"
              "                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);\n"
              "arena_end = arena_next + @capacity + 32;\n"
              "malloc_consolidate(&av_); /* sets the parameters */\n"
              "av_.top_pad = @capacity + 32 - 512 - 32;\n"
              "void *first = dlmalloc(512 - 8); /* takes all of the arena */\n"
              "av_.top_pad = 0;\n"
              "dlfree(first);",
    .alloc = "void *@block = dlmalloc(@size - 8);",
    .free = "dlfree(@block);",
};

KIT_HEAP(create, allocate, release);
KIT_TARGET_WITH("dlmalloc", "dlmalloc 2.7.2 over one arena", NULL,
                (.limits = {.smallest_capacity_bytes = 4096,
                            .capacity_step_bytes = GRANULE_BYTES,
                            .largest_capacity_bytes = UINT64_C(1) << 40,
                            .largest_align_bytes = GRANULE_BYTES},
                 .api = &api),
                KIT_HEAP_CALLS, .granule_bytes = GRANULE_BYTES, .is_granule_fixed = true,
                .rounding = {.overhead_bytes = CHUNK_BYTES_MIN},
                .arena = {.front_bytes = FRONT_BYTES, .back_bytes = BACK_BYTES},
                .block_bytes = find_block_bytes);
