/* malloc:jemalloc: version 5 of jemalloc, with an arena whose hooks give it one region.
 *
 * The hooks never take anything back: jemalloc keeps what it does not need, splits it and merges
 * it. Records of its own it keeps elsewhere. */
#include "targets/adapters/private/adapter.h"

#include <stdio.h>

/* --- jemalloc's interface --- */

enum { FLAG_TCACHE_NONE = 0x100, FLAG_ARENA_SHIFT = 20 };

/* Returns the flags of the arena itself, without a cache of the thread in front of it. */
static int arena_flags(unsigned arena)
{
    return (int)((arena + 1) << FLAG_ARENA_SHIFT) | FLAG_TCACHE_NONE;
}

static int align_flags(uint64_t align_bytes)
{
    return __builtin_ctzll(align_bytes);
}

struct extent_hooks {
    void *(*alloc)(struct extent_hooks *hooks, void *wanted, size_t bytes, size_t align, bool *zero,
                   bool *commit, unsigned arena);
    bool (*dalloc)(struct extent_hooks *hooks, void *start, size_t bytes, bool committed,
                   unsigned arena);
    void (*destroy)(struct extent_hooks *hooks, void *start, size_t bytes, bool committed,
                    unsigned arena);
    bool (*commit)(struct extent_hooks *hooks, void *start, size_t bytes, size_t offset,
                   size_t length, unsigned arena);
    bool (*decommit)(struct extent_hooks *hooks, void *start, size_t bytes, size_t offset,
                     size_t length, unsigned arena);
    bool (*purge_lazy)(struct extent_hooks *hooks, void *start, size_t bytes, size_t offset,
                       size_t length, unsigned arena);
    bool (*purge_forced)(struct extent_hooks *hooks, void *start, size_t bytes, size_t offset,
                         size_t length, unsigned arena);
    bool (*split)(struct extent_hooks *hooks, void *start, size_t bytes, size_t bytes_a,
                  size_t bytes_b, bool committed, unsigned arena);
    bool (*merge)(struct extent_hooks *hooks, void *a, size_t bytes_a, void *b, size_t bytes_b,
                  bool committed, unsigned arena);
};
struct arena_config {
    struct extent_hooks *hooks;
    bool metadata_use_hooks;
};

/* A block above SMALL_BYTES_MAX has extents of its own.  It takes one page more than its size
 * class, because it begins at a random place of its first page, unless it is aligned to pages. */
enum { SMALL_BYTES_MAX = 14336, PAGE_BYTES = 4096 };

/* Pages are of one size class each, so that a smaller region is full at once. */
#define CAPACITY_BYTES_MIN (UINT64_C(2) << 20)

static struct {
    int (*mallctl)(const char *name, void *old, size_t *old_bytes, void *new, size_t new_bytes);
    void *(*mallocx)(size_t bytes, int flags);
    void (*dallocx)(void *memory, int flags);
    size_t (*sallocx)(const void *memory, int flags);
} je;

static const struct library_call calls[] = {{"mallctl", &je.mallctl},
                                            {"mallocx", &je.mallocx},
                                            {"dallocx", &je.dallocx},
                                            {"sallocx", &je.sallocx},
                                            {NULL, NULL}};

/* Freed memory waits for a clock unless it decays at once: addresses would differ from run to
 * run. */
const struct library library_jemalloc = {
    .file = "libjemalloc.so.2",
    .package = "libjemalloc2",
    .wants = "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=8192",
    .variable = "MALLOC_CONF",
    .value = "background_thread:false,dirty_decay_ms:0,muzzy_decay_ms:0",
    .calls = calls,
};

struct jemalloc {
    struct extent_hooks hooks; /* first: a hook gets its address */
    char *region;
    uint64_t capacity_bytes, given_bytes; /* [0, given_bytes) of the region is jemalloc's */
    unsigned arena;
};

/* --- hooks --- */

static void *give_extent(struct extent_hooks *hooks, void *wanted, size_t bytes, size_t align,
                         bool *zero, bool *commit, unsigned arena)
{
    struct jemalloc *const jemalloc = (struct jemalloc *)hooks;
    (void)arena;
    const uint64_t start = (jemalloc->given_bytes + (align - 1)) & ~(uint64_t)(align - 1);
    if (start > jemalloc->capacity_bytes || bytes > jemalloc->capacity_bytes - start ||
        (wanted != NULL && wanted != jemalloc->region + start)) {
        return NULL;
    }
    jemalloc->given_bytes = start + bytes;
    *zero = true; /* nothing was there before */
    *commit = true;
    return jemalloc->region + start;
}

/* True refuses: jemalloc keeps the extent. */
static bool refuse_return(struct extent_hooks *hooks, void *start, size_t bytes, bool committed,
                          unsigned arena)
{
    (void)hooks, (void)start, (void)bytes, (void)committed, (void)arena;
    return true;
}

static bool allow_split(struct extent_hooks *hooks, void *start, size_t bytes, size_t bytes_a,
                        size_t bytes_b, bool committed, unsigned arena)
{
    (void)hooks, (void)start, (void)bytes, (void)bytes_a, (void)bytes_b, (void)committed;
    (void)arena;
    return false;
}

static bool allow_merge(struct extent_hooks *hooks, void *a, size_t bytes_a, void *b,
                        size_t bytes_b, bool committed, unsigned arena)
{
    (void)hooks, (void)a, (void)bytes_a, (void)b, (void)bytes_b, (void)committed, (void)arena;
    return false;
}

/* --- the arena --- */

/* The largest size class up to bytes, which are at least a page. */
static uint64_t find_class_below(uint64_t bytes)
{
    const uint64_t power = UINT64_C(1) << (63 - __builtin_clzll(bytes));
    const uint64_t step = power / 4;
    return bytes / step * step;
}

/* Takes the whole region and gives it back, so that jemalloc has it as one extent from which it
 * cuts.  Otherwise it would ask for pieces, and alignments would leave gaps between them that are
 * nobody's. */
static void take_region(struct jemalloc *jemalloc)
{
    enum { PIECE_COUNT_MAX = 128, PIECE_BYTES_MIN = 16384 };
    void *pieces[PIECE_COUNT_MAX];
    size_t count = 0;
    for (uint64_t left = jemalloc->capacity_bytes;
         left >= PIECE_BYTES_MIN + PAGE_BYTES && count < PIECE_COUNT_MAX;
         left = jemalloc->capacity_bytes - jemalloc->given_bytes) {
        void *piece = je.mallocx(find_class_below(left - PAGE_BYTES),
                                 arena_flags(jemalloc->arena) | align_flags(PAGE_BYTES));
        if (piece == NULL) {
            break;
        }
        pieces[count++] = piece;
    }
    while (count > 0) {
        je.dallocx(pieces[--count], FLAG_TCACHE_NONE);
    }
}

static const char *open_arena(void *state, const struct kit_setup *setup)
{
    struct jemalloc *const jemalloc = state;
    if (setup->capacity_bytes < CAPACITY_BYTES_MIN || setup->capacity_bytes % PAGE_BYTES != 0) {
        return "a capacity of malloc:jemalloc is a multiple of 4K and at least 2M";
    }
    const char *reason = library_load(&library_jemalloc);
    if (reason != NULL) {
        return reason;
    }
    *jemalloc = (struct jemalloc){.hooks = {.alloc = give_extent,
                                            .dalloc = refuse_return,
                                            .split = allow_split,
                                            .merge = allow_merge},
                                  .region = setup->arena,
                                  .capacity_bytes = setup->capacity_bytes};
    struct arena_config config = {.hooks = &jemalloc->hooks, .metadata_use_hooks = false};
    size_t bytes = sizeof jemalloc->arena;
    if (je.mallctl("experimental.arenas_create_ext", &jemalloc->arena, &bytes, &config,
                   sizeof config) != 0) {
        return "jemalloc cannot make an arena that keeps its records outside of the region";
    }
    take_region(jemalloc);
    return NULL;
}

static void close_arena(void *state)
{
    const struct jemalloc *const jemalloc = state;
    char name[64];
    (void)snprintf(name, sizeof name, "arena.%u.destroy", jemalloc->arena);
    (void)je.mallctl(name, NULL, NULL, NULL, 0);
}

static void *allocate(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
    const struct jemalloc *const jemalloc = state;
    if (size_bytes > jemalloc->capacity_bytes) {
        return NULL;
    }
    const uint64_t align = size_bytes > SMALL_BYTES_MAX && align_bytes < PAGE_BYTES ? PAGE_BYTES
                                                                                    : align_bytes;
    return je.mallocx(size_bytes, arena_flags(jemalloc->arena) | align_flags(align));
}

static void free_block(void *state, void *memory, uint64_t size_bytes)
{
    (void)state, (void)size_bytes;
    je.dallocx(memory, FLAG_TCACHE_NONE);
}

static uint64_t find_block_bytes(void *state, uint64_t place, uint64_t size_bytes)
{
    (void)state, (void)size_bytes;
    const uint64_t usable = je.sallocx((void *)(uintptr_t)place, FLAG_TCACHE_NONE);
    return usable > SMALL_BYTES_MAX ? usable + PAGE_BYTES : usable;
}

const struct kit_allocator allocator_jemalloc = {
    .state_bytes = sizeof(struct jemalloc),
    .granule_bytes = ADAPTER_GRANULE_BYTES,
    .is_granule_fixed = true,
    .rounding = {.kind = ROUNDING_CLASSES, .steps = 4, .overhead_bytes = PAGE_BYTES},
    .open = open_arena,
    .close = close_arena,
    .allocate = allocate,
    .free = free_block,
    .block_bytes = find_block_bytes,
};

/* A program uses the same arena: hooks over one region, which jemalloc first takes whole. */
static const struct target_api api = {
    .language = "c",
    .build = "cc -g @source -l:libjemalloc.so.2 -o @program",
    .head =
        "#include <stdbool.h>\n"
        "#include <stddef.h>\n"
        "#include <stdint.h>\n"
        "#include <stdio.h>\n"
        "#include <stdlib.h>\n"
        "\n"
        "/* of <jemalloc/jemalloc.h> */\n"
        "int mallctl(const char *name, void *old, size_t *old_bytes, void *with, size_t bytes);\n"
        "void *mallocx(size_t bytes, int flags);\n"
        "void dallocx(void *memory, int flags);\n"
        "size_t sallocx(const void *memory, int flags);\n"
        "const char *malloc_conf =\n"
        "    \"background_thread:false,dirty_decay_ms:0,muzzy_decay_ms:0\";\n"
        "enum { TCACHE_NONE = 0x100, PAGE = 4096, SMALL_MAX = 14336 };\n"
        "#define ALIGN(bytes) __builtin_ctzll(bytes)\n"
        "#define FLAGS (((int)(arena + 1) << 20) | TCACHE_NONE)\n"
        "\n"
        "/* The hooks give one region, and take nothing back. */\n"
        "typedef struct extent_hooks hooks_t;\n"
        "static char *region;\n"
        "static size_t given;\n"
        "static void *hook_alloc(hooks_t *hooks, void *wanted, size_t bytes, size_t align,\n"
        "                        bool *zero, bool *commit, unsigned number)\n"
        "{\n"
        "    const size_t start = (given + align - 1) & ~(align - 1);\n"
        "    (void)hooks, (void)number;\n"
        "    if (start > @capacity || bytes > @capacity - start ||\n"
        "        (wanted != NULL && wanted != region + start)) {\n"
        "        return NULL;\n"
        "    }\n"
        "    given = start + bytes;\n"
        "    *zero = *commit = true;\n"
        "    return region + start;\n"
        "}\n"
        "static bool hook_dalloc(hooks_t *hooks, void *start, size_t bytes, bool committed,\n"
        "                        unsigned number)\n"
        "{\n"
        "    (void)hooks, (void)start, (void)bytes, (void)committed, (void)number;\n"
        "    return true;\n"
        "}\n"
        "static bool hook_split(hooks_t *hooks, void *start, size_t bytes, size_t a, size_t b,\n"
        "                       bool committed, unsigned number)\n"
        "{\n"
        "    (void)hooks, (void)start, (void)bytes, (void)a, (void)b, (void)committed, (void)number;\n"
        "    return false;\n"
        "}\n"
        "static bool hook_merge(hooks_t *hooks, void *a, size_t a_bytes, void *b, size_t b_bytes,\n"
        "                       bool committed, unsigned number)\n"
        "{\n"
        "    (void)hooks, (void)a, (void)a_bytes, (void)b, (void)b_bytes, (void)committed;\n"
        "    (void)number;\n"
        "    return false;\n"
        "}\n"
        "struct extent_hooks {\n"
        "    void *(*alloc)(hooks_t *, void *, size_t, size_t, bool *, bool *, unsigned);\n"
        "    bool (*dalloc)(hooks_t *, void *, size_t, bool, unsigned);\n"
        "    void (*unused[4])(void); /* destroy, commit, decommit, purge_lazy */\n"
        "    void (*purge_forced)(void);\n"
        "    bool (*split)(hooks_t *, void *, size_t, size_t, size_t, bool, unsigned);\n"
        "    bool (*merge)(hooks_t *, void *, size_t, void *, size_t, bool, unsigned);\n"
        "};\n"
        "static struct extent_hooks hooks = {\n"
        "    .alloc = hook_alloc, .dalloc = hook_dalloc, .split = hook_split, .merge = hook_merge};\n"
        "static struct { struct extent_hooks *hooks; bool metadata_use_hooks; } config = {&hooks, 0};\n"
        "\n"
        "/* Takes the largest classes that fit and gives them back: one extent of the region. */\n"
        "static void take_region(unsigned arena)\n"
        "{\n"
        "    void *pieces[128];\n"
        "    int count = 0;\n"
        "    while (@capacity - given >= 16384 + PAGE && count < 128) {\n"
        "        const size_t left = @capacity - given - PAGE;\n"
        "        const size_t step = ((size_t)1 << (63 - __builtin_clzll(left))) / 4;\n"
        "        pieces[count] = mallocx(left / step * step, FLAGS | ALIGN(PAGE));\n"
        "        if (pieces[count] == NULL) {\n"
        "            break;\n"
        "        }\n"
        "        count++;\n"
        "    }\n"
        "    while (count > 0) {\n"
        "        dallocx(pieces[--count], TCACHE_NONE);\n"
        "    }\n"
        "}\n",
    .version = "const char *version = NULL;\n"
               "size_t version_bytes = sizeof version;\n"
               "mallctl(\"version\", &version, &version_bytes, NULL, 0);\n"
               "printf(\"jemalloc %s\\n\", version);",
    .create =
        "unsigned arena = 0;\n"
        "size_t arena_bytes = sizeof arena;\n"
        "region = aligned_alloc(2 << 20, (@capacity + (2 << 20) - 1) / (2 << 20) * (2 << 20));\n"
        "if (mallctl(\"experimental.arenas_create_ext\", &arena, &arena_bytes, &config,\n"
        "            sizeof config) != 0) {\n"
        "    return 2;\n"
        "}\n"
        "take_region(arena);",
    .alloc = "void *@block = mallocx(@size, FLAGS | ALIGN(@size > SMALL_MAX ? PAGE : 16));",
    .alloc_aligned =
        "void *@block = mallocx(@size, FLAGS | ALIGN(@size > SMALL_MAX && @align < PAGE\n"
        "                                                ? PAGE : @align));",
    .free = "dallocx(@block, TCACHE_NONE);",
    .bytes = "sallocx(@block, TCACHE_NONE) + (sallocx(@block, TCACHE_NONE) > SMALL_MAX ? PAGE : 0)",
};

ADAPTER_TARGET(jemalloc, "malloc:jemalloc", "jemalloc 5 in an arena of its own over one region",
               NULL,
               .limits = {.smallest_capacity_bytes = CAPACITY_BYTES_MIN,
                          .largest_capacity_bytes = UINT64_C(64) << 30,
                          .capacity_step_bytes = PAGE_BYTES},
               .api = &api);
