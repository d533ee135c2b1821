/* A table of pages, as a cache of keys and values has one, or a pool of mapped memory: a block is
 * any pages, in the order of a chain, so nothing is ever too scattered to be given out.  The option
 * placement changes only what it declares; ranges is a lie.
 *
 * Its plants are the same allocator with one defect each. */
#include "kit/kit.h"

#include <string.h>

#define PAGE_BYTES_DEFAULT 4096u
#define PAGE_BYTES_MAX (UINT64_C(16) << 10)
#define CAPACITY_BYTES_MAX (UINT64_C(64) << 20)
#define PAGE_NONE UINT32_MAX

enum paged_defect {
    DEFECT_NONE = 0,
    DEFECT_NEIGHBOURS, /* wants pages that are neighbours */
    DEFECT_MISMAPPED,  /* now and then a write goes to the page behind */
    DEFECT_LEAKING     /* now and then a free loses the pages of a block but one */
};
enum { DEFECT_PERIOD = 16 };

struct paged {
    char *region;
    uint64_t page_bytes;
    uint32_t *next; /* by page: the next one of its block, or of the free ones */
    bool *is_free;
    uint32_t page_count, free_count, first_free;
    uint32_t call_count; /* of allocate or free, as the defect counts */
    enum paged_defect defect;
};

/* --- life --- */

static const struct target_option_row option_rows[] = {
    {"placement", TARGET_OPTION_WORD, .values = "pages|ranges|hidden"}, {.key = NULL}};

/* Reads the options.  The harness has checked that each value is one that the rows list.  A plant
 * has none, and its placement is that of its allocator. */
static void read_options(const struct kit_setup *setup)
{
    setup->contract->placement = kit_option_is(setup, "placement", "pages")    ? PLACEMENT_PAGES
                                 : kit_option_is(setup, "placement", "ranges") ? PLACEMENT_RANGES
                                                                               : PLACEMENT_HIDDEN;
}

static const char *open_paged(void *state, const struct kit_setup *setup)
{
    struct paged *paged = state;
    const uint32_t count = (uint32_t)(setup->capacity_bytes / setup->granule_bytes);
    *paged = (struct paged){.region = setup->arena,
                            .page_bytes = setup->granule_bytes,
                            .next = kit_records(setup, count * sizeof *paged->next),
                            .is_free = kit_records(setup, count * sizeof *paged->is_free),
                            .page_count = count,
                            .free_count = count,
                            .defect = (enum paged_defect)setup->variant};
    if (paged->defect == DEFECT_NONE) {
        read_options(setup);
    }
    if (paged->next == NULL || paged->is_free == NULL) {
        return "no host memory for the table of pages";
    }
    for (uint32_t i = 0; i < count; i++) {
        paged->next[i] = i + 1 < count ? i + 1 : PAGE_NONE;
        paged->is_free[i] = true;
    }
    return NULL;
}

/* --- pages --- */

static uint32_t page_of(const struct paged *paged, const void *place)
{
    return (uint32_t)((uint64_t)((const char *)place - paged->region) / paged->page_bytes);
}

static bool is_due(struct paged *paged, enum paged_defect defect)
{
    return paged->defect == defect && ++paged->call_count % DEFECT_PERIOD == 0;
}

static bool has_neighbours(const struct paged *paged, uint32_t count)
{
    uint32_t run = 0;
    for (uint32_t i = 0; i < paged->page_count && run < count; i++) {
        run = paged->is_free[i] ? run + 1 : 0;
    }
    return run >= count;
}

static void *allocate(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
    struct paged *paged = state;
    (void)align_bytes; /* mappings are aligned to anything */
    const uint64_t count = size_bytes / paged->page_bytes;
    if (count > paged->free_count ||
        (paged->defect == DEFECT_NEIGHBOURS && !has_neighbours(paged, (uint32_t)count))) {
        return NULL;
    }
    const uint32_t first = paged->first_free;
    uint32_t last = first;
    paged->is_free[first] = false;
    for (uint64_t i = 1; i < count; i++) {
        last = paged->next[last];
        paged->is_free[last] = false;
    }
    paged->free_count -= (uint32_t)count;
    paged->first_free = paged->next[last];
    paged->next[last] = PAGE_NONE;
    return paged->region + first * paged->page_bytes;
}

/* The last page is the first to be given out again, so blocks soon lie everywhere. */
static void free_block(void *state, void *place, uint64_t size_bytes)
{
    struct paged *paged = state;
    uint64_t count = size_bytes / paged->page_bytes;
    uint32_t page = page_of(paged, place);
    count = is_due(paged, DEFECT_LEAKING) ? 1 : count;
    while (count-- > 0 && page != PAGE_NONE) {
        const uint32_t behind = paged->next[page];
        paged->next[page] = paged->first_free;
        paged->first_free = page;
        paged->is_free[page] = true;
        paged->free_count++;
        page = behind;
    }
}

/* --- contents --- */

/* The part of [offset, offset + *bytes) that is in one page: where, and in *bytes how many. */
static char *find_part(const struct paged *paged, const void *place, uint64_t offset, size_t *bytes)
{
    const uint64_t at = offset % paged->page_bytes;
    uint32_t page = page_of(paged, place);
    for (uint64_t i = 0; i < offset / paged->page_bytes; i++) {
        page = paged->next[page];
    }
    *bytes = *bytes > paged->page_bytes - at ? (size_t)(paged->page_bytes - at) : *bytes;
    return paged->region + page * paged->page_bytes + at;
}

static void read_block(void *state, const void *place, uint64_t offset, void *to, size_t bytes)
{
    size_t part;
    for (size_t done = 0; done < bytes; done += part) {
        part = bytes - done;
        const char *from = find_part(state, place, offset + done, &part);
        memcpy((char *)to + done, from, part);
    }
}

static void write_block(void *state, void *place, uint64_t offset, const void *from, size_t bytes)
{
    struct paged *paged = state;
    const uint64_t shift = is_due(paged, DEFECT_MISMAPPED) ? paged->page_bytes : 0;
    size_t part;
    for (size_t done = 0; done < bytes; done += part) {
        part = bytes - done;
        const char *to = find_part(paged, place, offset + done, &part);
        const uint64_t at = (uint64_t)(to - paged->region) + shift;
        memcpy(paged->region + at % (paged->page_count * paged->page_bytes),
               (const char *)from + done, part);
    }
}

/* --- the targets --- */

/* The table target_`name_` or plant_`name_`, with what it breaks after its summary. */
#define PAGED_TARGET(table_, defect_, placement_, options_, name_, summary_, breaks_)          \
    KIT_OPEN(open_##table_, NULL, .options = options_, .state_bytes = sizeof(struct paged),    \
             .granule_bytes = PAGE_BYTES_DEFAULT, .placement = placement_, .variant = defect_, \
             .open = open_paged, .allocate = allocate, .free = free_block, .read = read_block, \
             .write = write_block)                                                             \
    const struct target table_ = {KIT_TABLE(name_, summary_, NULL, open_##table_),             \
                                  .options = options_,                                         \
                                  .limits = {.smallest_capacity_bytes = PAGE_BYTES_MAX,        \
                                             .largest_capacity_bytes = CAPACITY_BYTES_MAX,     \
                                             .capacity_step_bytes = PAGE_BYTES_MAX},           \
                                  .read = kit_read,                                            \
                                  .write = kit_write,                                          \
                                  .breaks = breaks_}

PAGED_TARGET(target_paged, DEFECT_NONE, PLACEMENT_RANGES, option_rows, "paged",
             "a table of pages: a block is any free ones, wherever they are", NULL);

#define PAGED_PLANT(name_, defect_, placement_, summary_, breaks_) \
    PAGED_TARGET(plant_##name_, defect_, placement_, NULL, "plant_" #name_, summary_, breaks_)

PAGED_PLANT(paged_neighbours, DEFECT_NEIGHBOURS, PLACEMENT_PAGES,
            "paged, but refuses where no neighbouring pages are free", "premature");
PAGED_PLANT(paged_mismapped, DEFECT_MISMAPPED, PLACEMENT_PAGES,
            "paged, but now and then a write goes to the page behind", "contents");
PAGED_PLANT(paged_leaking, DEFECT_LEAKING, PLACEMENT_PAGES,
            "paged, but now and then a free loses all pages of a block but one", "premature");
PAGED_PLANT(hidden_leaking, DEFECT_LEAKING, PLACEMENT_HIDDEN,
            "plant_paged_leaking that tells of no pages", "premature");
