/* pmemobj: libpmemobj, an allocator of persistent memory, with a pool in memory that has no name.
 *
 * The part of the pool that blocks lie in is the device.  With defrag=oom blocks move, which the
 * contract cannot say by size, so nobody is told then where they lie. */
#include "targets/adapters/private/adapter.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- libpmemobj's interface --- */

struct oid {
    uint64_t pool, offset;
};
struct defrag_result {
    size_t looked_at, moved;
};

/* A header stands before each block.  A block of more than a few pages is alone in whole chunks;
 * smaller ones share chunks with others of their class. */
enum { HEADER_BYTES = 16, CHUNK_BYTES = 256 << 10, SMALLEST_BYTES = 128 };
/* The first chunk begins here in version 6 of the layout, behind the records of the pool. */
#define CHUNKS_OFFSET UINT64_C(0x382400)
/* The record is whole pages, as the pool is. */
#define RECORD_BYTES UINT64_C(0x383000)
#define CAPACITY_BYTES_MIN (UINT64_C(8) << 20)
#define CAPACITY_BYTES_MAX (UINT64_C(1) << 30)

static struct {
    void *(*create)(const char *path, const char *layout, size_t bytes, unsigned mode);
    void (*close)(void *pool);
    int (*allocate)(void *pool, struct oid *oid, size_t bytes, uint64_t type,
                    int (*construct)(void *pool, void *memory, void *argument), void *argument);
    void (*free)(struct oid *oid);
    size_t (*usable)(struct oid oid);
    int (*defragment)(void *pool, struct oid **oids, size_t count, struct defrag_result *result);
} pmem;

static const struct library_call calls[] = {{"pmemobj_create", &pmem.create},
                                            {"pmemobj_close", &pmem.close},
                                            {"pmemobj_alloc", &pmem.allocate},
                                            {"pmemobj_free", &pmem.free},
                                            {"pmemobj_alloc_usable_size", &pmem.usable},
                                            {"pmemobj_defrag", &pmem.defragment},
                                            {NULL, NULL}};

/* Without the variable each write to memory that is not persistent is synchronised with a file. */
const struct library library_pmemobj = {.file = "libpmemobj.so.1",
                                        .package = "libpmemobj1",
                                        .variable = "PMEM_IS_PMEM_FORCE",
                                        .value = "1",
                                        .calls = calls};

/* --- an instance --- */

/* The record of a block that may move; its address is the place that the kit knows. */
struct pmem_cell {
    struct oid oid;
    struct pmem_cell *next, **link; /* *link points here */
};

struct pmemobj {
    struct kit_host *host;
    void *pool;
    uint64_t pool_id; /* which every block of the pool names */
    struct pmem_cell *cells;
    size_t cell_count;
    bool moves;
};

/* Creates the pool in memory that only its descriptor names: a killed process leaves nothing. */
static void *create_pool(uint64_t bytes)
{
    char path[64];
    const int memory = memfd_create("hbmstress-pmemobj", MFD_CLOEXEC);
    if (memory < 0) {
        return NULL;
    }
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    void *pool = ftruncate(memory, (off_t)bytes) == 0 ? pmem.create(path, "hbmstress", 0, 0600)
                                                      : NULL;
    (void)close(memory);
    return pool;
}

/* One block of all chunks: the pool has as many as it should, where they should be. */
static bool check_layout(struct pmemobj *pmemobj, uint64_t capacity_bytes)
{
    struct oid whole = {0};
    if (pmem.allocate(pmemobj->pool, &whole, capacity_bytes - HEADER_BYTES, 0, NULL, NULL) != 0) {
        return false;
    }
    const bool is_known = whole.offset == CHUNKS_OFFSET + HEADER_BYTES;
    pmemobj->pool_id = whole.pool;
    pmem.free(&whole);
    return is_known;
}

static const char *open_pool(void *state, const struct kit_setup *setup)
{
    struct pmemobj *const pmemobj = state;
    const char *reason = library_load(&library_pmemobj);
    if (reason != NULL) {
        return reason;
    }
    pmemobj->host = setup->host;
    pmemobj->moves = kit_option_is(setup, "defrag", "oom");
    pmemobj->pool = create_pool(RECORD_BYTES + setup->capacity_bytes);
    if (pmemobj->pool == NULL) {
        return "libpmemobj cannot make a pool: is there memory for it?";
    }
    if (!check_layout(pmemobj, setup->capacity_bytes)) {
        pmem.close(pmemobj->pool);
        return "this version of libpmemobj lays out its pool in another way";
    }
    if (pmemobj->moves) {
        setup->contract->placement = PLACEMENT_HIDDEN;
        setup->contract->header_bytes = 0;
    }
    return NULL;
}

static void close_pool(void *state)
{
    const struct pmemobj *const pmemobj = state;
    pmem.close(pmemobj->pool);
}

/* --- blocks --- */

static struct pmem_cell *cell_at(uint64_t place)
{
    return (struct pmem_cell *)(uintptr_t)place;
}

static struct oid find_oid(const struct pmemobj *pmemobj, uint64_t place)
{
    if (pmemobj->moves) {
        return cell_at(place)->oid;
    }
    return (struct oid){.pool = pmemobj->pool_id, .offset = CHUNKS_OFFSET + place};
}

static void add_cell(struct pmemobj *pmemobj, struct pmem_cell *cell, struct oid oid)
{
    *cell = (struct pmem_cell){.oid = oid, .next = pmemobj->cells, .link = &pmemobj->cells};
    if (cell->next != NULL) {
        cell->next->link = &cell->next;
    }
    pmemobj->cells = cell;
    pmemobj->cell_count++;
}

static void destroy_cell(struct pmemobj *pmemobj, struct pmem_cell *cell)
{
    *cell->link = cell->next;
    if (cell->next != NULL) {
        cell->next->link = cell->link;
    }
    pmemobj->cell_count--;
    kit_host_free(pmemobj->host, cell, sizeof *cell);
}

/* Moves what may move: small blocks out of chunks that are nearly empty. */
static void defragment(void *state)
{
    struct pmemobj *const pmemobj = state;
    const size_t bytes = (pmemobj->cell_count + 1) * sizeof(struct oid *);
    struct oid **const oids = kit_host_alloc(pmemobj->host, bytes);
    struct defrag_result result;
    size_t count = 0;
    if (oids == NULL) {
        return;
    }
    for (struct pmem_cell *cell = pmemobj->cells; cell != NULL; cell = cell->next) {
        if (kit_may_move(pmemobj->host, (uint64_t)(uintptr_t)cell)) {
            oids[count++] = &cell->oid;
        }
    }
    if (count > 0) {
        (void)pmem.defragment(pmemobj->pool, oids, count, &result);
    }
    kit_host_free(pmemobj->host, oids, bytes);
}

static bool allocate_oid(const struct pmemobj *pmemobj, uint64_t size_bytes, struct oid *oid)
{
    return pmem.allocate(pmemobj->pool, oid, size_bytes, 0, NULL, NULL) == 0;
}

static uint64_t allocate_movable(struct pmemobj *pmemobj, uint64_t size_bytes)
{
    struct oid oid = {0};
    struct pmem_cell *const cell = kit_host_alloc(pmemobj->host, sizeof *cell);
    if (cell == NULL) {
        return KIT_NOTHING;
    }
    bool is_there = allocate_oid(pmemobj, size_bytes, &oid);
    if (!is_there) {
        defragment(pmemobj);
        is_there = allocate_oid(pmemobj, size_bytes, &oid);
    }
    if (!is_there) {
        kit_host_free(pmemobj->host, cell, sizeof *cell);
        return KIT_NOTHING;
    }
    add_cell(pmemobj, cell, oid);
    return (uint64_t)(uintptr_t)cell;
}

static uint64_t allocate_block(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
    struct pmemobj *const pmemobj = state;
    struct oid oid = {0};
    (void)align_bytes; /* every block is aligned to a granule, and more is not asked for */
    if (pmemobj->moves) {
        return allocate_movable(pmemobj, size_bytes);
    }
    return allocate_oid(pmemobj, size_bytes, &oid) ? oid.offset - CHUNKS_OFFSET : KIT_NOTHING;
}

static void free_block(void *state, uint64_t place, uint64_t size_bytes)
{
    struct pmemobj *const pmemobj = state;
    struct oid oid = find_oid(pmemobj, place);
    (void)size_bytes;
    pmem.free(&oid);
    if (pmemobj->moves) {
        destroy_cell(pmemobj, cell_at(place));
    }
}

static uint64_t find_block_bytes(void *state, uint64_t place, uint64_t size_bytes)
{
    const struct pmemobj *const pmemobj = state;
    (void)size_bytes;
    /* Under a contract without headers a donation may use all that a block has. */
    return pmem.usable(find_oid(state, place)) + (pmemobj->moves ? 0 : HEADER_BYTES);
}

static char *find_memory(const struct pmemobj *pmemobj, uint64_t place, uint64_t offset)
{
    return (char *)pmemobj->pool + find_oid(pmemobj, place).offset + offset;
}

static void read_block(void *state, const void *place, uint64_t offset, void *to, size_t bytes)
{
    memcpy(to, find_memory(state, (uintptr_t)place, offset), bytes);
}

static void write_block(void *state, void *place, uint64_t offset, const void *from, size_t bytes)
{
    memcpy(find_memory(state, (uintptr_t)place, offset), from, bytes);
}

/* --- the target --- */

static const struct target_option_row option_rows[] = {
    {"defrag", TARGET_OPTION_WORD, .values = "none|oom"}, {.key = NULL}};

const struct kit_allocator allocator_pmemobj = {
    .options = option_rows,
    .state_bytes = sizeof(struct pmemobj),
    .granule_bytes = ADAPTER_GRANULE_BYTES,
    .is_granule_fixed = true,
    .header_bytes = HEADER_BYTES,
    .rounding = {.kind = ROUNDING_CLASSES,
                 .steps = 8,
                 .smallest_bytes = SMALLEST_BYTES,
                 .overhead_bytes = CHUNK_BYTES},
    .open = open_pool,
    .close = close_pool,
    .allocate_offset = allocate_block,
    .free_offset = free_block,
    .block_bytes = find_block_bytes,
    .defragment = defragment,
    .read = read_block,
    .write = write_block,
};

/* The program's blocks do not move. */
static const struct target_api api = {
    .language = "c",
    .build = "cc -std=gnu17 @source -o @program -lpmemobj",
    .head = "#define _GNU_SOURCE\n"
            "#include <libpmemobj.h>\n"
            "#include <stdint.h>\n"
            "#include <stdio.h>\n"
            "#include <stdlib.h>\n"
            "#include <sys/mman.h>\n"
            "#include <unistd.h>\n"
            "\n"
            "static PMEMobjpool *pool;\n"
            "\n"
            "/* The pool has this before its first chunk, and is of whole pages. */\n"
            "static const uint64_t records = 0x382400;\n"
            "\n"
            "static void make_pool(uint64_t capacity)\n"
            "{\n"
            "    char path[64];\n"
            "    const int memory = memfd_create(\"pool\", 0);\n"
            "    snprintf(path, sizeof path, \"/proc/self/fd/%d\", memory);\n"
            "    if (ftruncate(memory, (off_t)(records + 0xc00 + capacity)) != 0 ||\n"
            "        (pool = pmemobj_create(path, \"report\", 0, 0600)) == NULL) {\n"
            "        exit(2);\n"
            "    }\n"
            "}\n"
            "\n"
            "static PMEMoid allocate(uint64_t size)\n"
            "{\n"
            "    PMEMoid oid = OID_NULL;\n"
            "    return pmemobj_alloc(pool, &oid, (size + 15) / 16 * 16, 0, NULL, NULL) == 0\n"
            "               ? oid : OID_NULL;\n"
            "}\n",
    .version = "printf(\"libpmemobj %d.%d\\n\", PMEMOBJ_MAJOR_VERSION, PMEMOBJ_MINOR_VERSION);\n",
    .create = "make_pool(@capacity);\n",
    .alloc = "PMEMoid @block = allocate(@size);\n",
    .failed = "OID_IS_NULL(@block)",
    .address = "@block.off - records",
    .memory = "pmemobj_direct(@block)",
    .free = "pmemobj_free(&@block);\n",
    .destroy = "pmemobj_close(pool);\n",
};

ADAPTER_TARGET(pmemobj, "pmemobj", "libpmemobj, which can defragment, in a pool that is memory",
               option_rows,
               .limits = {.smallest_capacity_bytes = CAPACITY_BYTES_MIN,
                          .largest_capacity_bytes = CAPACITY_BYTES_MAX,
                          .capacity_step_bytes = CHUNK_BYTES,
                          .largest_align_bytes = ADAPTER_GRANULE_BYTES},
               .defragment = kit_defragment, .read = kit_read, .write = kit_write, .api = &api);
