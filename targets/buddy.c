/* A binary buddy allocator: blocks are powers of two, each at a multiple of its size, and a free
 * block becomes one with its buddy at once.  A device of any capacity is cut into the largest such
 * blocks.  The option declares changes only what it declares.
 *
 * Its plants are the same allocator with one defect each. */
#include "kit/kit.h"

enum buddy_defect {
    DEFECT_NONE = 0,
    DEFECT_MIDDLE,   /* now and then a block is the middle of one of twice its size */
    DEFECT_UNMERGED, /* blocks of 16 granules become one with no buddy */
    DEFECT_LATE      /* buddies become one at every eighth free alone */
};
enum { MIDDLE_PERIOD = 16, LATE_PERIOD = 8, UNMERGED_GRANULES = 16 };
enum { ORDER_COUNT = 64, BUCKET_COUNT = 4096 };

/* A range that is free or a block; its size is a power of two, its offset a multiple of that. */
struct buddy_node {
    struct buddy_node *below, *above;   /* by offset: all of the device */
    struct buddy_node *previous, *next; /* free: those of its size */
    struct buddy_node *behind;          /* in its bucket */
    uint64_t offset, size_bytes;
    bool is_free;
};

struct buddy {
    struct kit_host *host;
    uint64_t capacity_bytes, granule_bytes;
    enum buddy_defect defect;
    uint32_t call_count; /* of allocate or free, as the defect counts */
    struct buddy_node *lowest;
    struct buddy_node *free[ORDER_COUNT];     /* by the logarithm of the size */
    struct buddy_node *buckets[BUCKET_COUNT]; /* by the offset */
};

static struct buddy_node **free_list(struct buddy *buddy, uint64_t size_bytes)
{
    return &buddy->free[__builtin_ctzll(size_bytes)];
}

static void link_free(struct buddy *buddy, struct buddy_node *node)
{
    struct buddy_node **first = free_list(buddy, node->size_bytes);
    node->is_free = true;
    node->previous = NULL;
    node->next = *first;
    if (*first != NULL) {
        (*first)->previous = node;
    }
    *first = node;
}

static void unlink_free(struct buddy *buddy, struct buddy_node *node)
{
    struct buddy_node **link = node->previous != NULL ? &node->previous->next
                                                      : free_list(buddy, node->size_bytes);
    *link = node->next;
    if (node->next != NULL) {
        node->next->previous = node->previous;
    }
    node->is_free = false;
}

static struct buddy_node **find_bucket(struct buddy *buddy, uint64_t offset)
{
    return &buddy->buckets[offset / buddy->granule_bytes % BUCKET_COUNT];
}

static void drop_node(struct buddy *buddy, struct buddy_node *node)
{
    struct buddy_node **link = find_bucket(buddy, node->offset);
    while (*link != node) {
        link = &(*link)->behind;
    }
    *link = node->behind;
    kit_host_free(buddy->host, node, sizeof *node);
}

/* Right above `below`; NULL: at the bottom.  NULL: host memory was refused. */
static struct buddy_node *add_node(struct buddy *buddy, struct buddy_node *below, uint64_t offset,
                                   uint64_t size_bytes)
{
    struct buddy_node *node = kit_host_alloc(buddy->host, sizeof *node);
    if (node == NULL) {
        return NULL;
    }
    struct buddy_node **link = below != NULL ? &below->above : &buddy->lowest;
    struct buddy_node **bucket = find_bucket(buddy, offset);
    *node = (struct buddy_node){.below = below,
                                .above = *link,
                                .behind = *bucket,
                                .offset = offset,
                                .size_bytes = size_bytes};
    *link = *bucket = node;
    if (node->above != NULL) {
        node->above->below = node;
    }
    link_free(buddy, node);
    return node;
}

/* --- life --- */

static void close_buddy(void *state)
{
    struct buddy *buddy = state;
    while (buddy->lowest != NULL) {
        struct buddy_node *node = buddy->lowest;
        buddy->lowest = node->above;
        drop_node(buddy, node);
    }
}

static const char *open_buddy(void *state, const struct kit_setup *setup)
{
    struct buddy *buddy = state;
    struct buddy_node *highest = NULL;
    uint64_t left_bytes = setup->capacity_bytes;
    *buddy = (struct buddy){.host = setup->host,
                            .capacity_bytes = setup->capacity_bytes,
                            .granule_bytes = setup->granule_bytes,
                            .defect = (enum buddy_defect)setup->variant};
    if (buddy->defect == DEFECT_NONE) {
        setup->contract->aligns_naturally = kit_option_is(setup, "declares", "yes");
    }
    while (left_bytes > 0) {
        const uint64_t size = UINT64_C(1) << (63 - __builtin_clzll(left_bytes));
        highest = add_node(buddy, highest, setup->capacity_bytes - left_bytes, size);
        if (highest == NULL) {
            close_buddy(buddy);
            return "no host memory for the first blocks";
        }
        left_bytes -= size;
    }
    return NULL;
}

/* --- one into two, two into one --- */

/* The node keeps its lower half.  False: host memory was refused. */
static bool split_node(struct buddy *buddy, struct buddy_node *node)
{
    const uint64_t half = node->size_bytes / 2;
    if (add_node(buddy, node, node->offset + half, half) == NULL) {
        return false;
    }
    node->size_bytes = half;
    return true;
}

/* NULL: its buddy is not free, or not whole. */
static struct buddy_node *find_free_buddy(const struct buddy *buddy, const struct buddy_node *node)
{
    const uint64_t offset = node->offset ^ node->size_bytes;
    struct buddy_node *other = offset > node->offset ? node->above : node->below;
    if (buddy->defect == DEFECT_UNMERGED &&
        node->size_bytes == UNMERGED_GRANULES * buddy->granule_bytes) {
        return NULL;
    }
    return other != NULL && other->is_free && other->offset == offset &&
                   other->size_bytes == node->size_bytes
               ? other
               : NULL;
}

/* Frees a node that is in no list, as one with its buddy, and that with its own, and so on. */
static void free_node(struct buddy *buddy, struct buddy_node *node)
{
    struct buddy_node *other = NULL;
    while ((other = find_free_buddy(buddy, node)) != NULL) {
        struct buddy_node *upper = other->offset > node->offset ? other : node;
        unlink_free(buddy, other);
        node = upper->below;
        node->size_bytes *= 2;
        node->above = upper->above;
        if (node->above != NULL) {
            node->above->below = node;
        }
        drop_node(buddy, upper);
    }
    link_free(buddy, node);
}

/* Merges the nodes whose merge DEFECT_LATE put off. */
static void merge_all(struct buddy *buddy)
{
    struct buddy_node *node = buddy->lowest;
    while (node != NULL) {
        struct buddy_node *other = node->is_free ? find_free_buddy(buddy, node) : NULL;
        if (other == NULL) {
            node = node->above;
            continue;
        }
        unlink_free(buddy, node);
        free_node(buddy, node);
        node = buddy->lowest;
    }
}

/* --- blocks --- */

static uint64_t round_to_power(uint64_t bytes)
{
    return bytes <= 1 ? 1 : UINT64_C(2) << (63 - __builtin_clzll(bytes - 1));
}

static struct buddy_node *find_aligned(const struct buddy *buddy, int order, int end,
                                       uint64_t align_bytes)
{
    for (; order < end; order++) {
        for (struct buddy_node *node = buddy->free[order]; node != NULL; node = node->next) {
            if (node->offset % align_bytes == 0) {
                return node;
            }
        }
    }
    return NULL;
}

/* A free node of at least so many bytes that is aligned.  Of those that are as large as the
 * alignment each is, so the smallest is found at once; the others are looked at one by one. */
static struct buddy_node *find_node(const struct buddy *buddy, uint64_t size_bytes,
                                    uint64_t align_bytes)
{
    const int order = __builtin_ctzll(size_bytes);
    const int surely = __builtin_ctzll(align_bytes) > order ? __builtin_ctzll(align_bytes) : order;
    struct buddy_node *node = find_aligned(buddy, surely, ORDER_COUNT, align_bytes);
    return node != NULL ? node : find_aligned(buddy, order, surely, align_bytes);
}

static struct buddy_node *take_node(struct buddy *buddy, uint64_t size_bytes, uint64_t align_bytes)
{
    struct buddy_node *node = find_node(buddy, size_bytes, align_bytes);
    if (node == NULL) {
        return NULL;
    }
    unlink_free(buddy, node);
    while (node->size_bytes > size_bytes) {
        if (!split_node(buddy, node)) {
            free_node(buddy, node);
            return NULL;
        }
    }
    return node;
}

static uint64_t allocate(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
    struct buddy *buddy = state;
    if (size_bytes > buddy->capacity_bytes) {
        return KIT_NOTHING;
    }
    const uint64_t size = round_to_power(size_bytes);
    if (buddy->defect == DEFECT_MIDDLE && size > buddy->granule_bytes &&
        ++buddy->call_count % MIDDLE_PERIOD == 0) {
        const struct buddy_node *twice = take_node(buddy, 2 * size, 2 * size);
        if (twice != NULL) {
            return twice->offset + size / 2;
        }
    }
    const struct buddy_node *node = take_node(buddy, size, align_bytes);
    return node == NULL ? KIT_NOTHING : node->offset;
}

static void free_block(void *state, uint64_t offset, uint64_t size_bytes)
{
    struct buddy *buddy = state;
    struct buddy_node *node = *find_bucket(buddy, offset);
    (void)size_bytes;
    while (node != NULL && node->offset != offset) {
        node = node->behind;
    }
    if (node == NULL || node->is_free) {
        return; /* DEFECT_MIDDLE */
    }
    if (buddy->defect != DEFECT_LATE) {
        free_node(buddy, node);
        return;
    }
    link_free(buddy, node);
    if (++buddy->call_count % LATE_PERIOD == 0) {
        merge_all(buddy);
    }
}

static uint64_t block_bytes(void *state, uint64_t offset, uint64_t size_bytes)
{
    (void)state, (void)offset;
    return round_to_power(size_bytes);
}

/* --- the targets --- */

/* The table target_`name_` or plant_`name_`, with what it breaks after its summary. */
#define BUDDY_TARGET(table_, defect_, options_, name_, summary_, breaks_)                        \
    KIT_OPEN(open_##table_, NULL, .options = options_, .state_bytes = sizeof(struct buddy),      \
             .rounding = {ROUNDING_CLASSES, .steps = 1}, .aligns_naturally = true,               \
             .variant = defect_, .open = open_buddy, .close = close_buddy,                       \
             .allocate_offset = allocate, .free_offset = free_block, .block_bytes = block_bytes) \
    const struct target table_ = {KIT_TABLE(name_, summary_, NULL, open_##table_),               \
                                  .options = options_, .breaks = breaks_}

static const struct target_option_row option_rows[] = {
    {"declares", TARGET_OPTION_FLAG, .values = "yes|no"}, {.key = NULL}};

BUDDY_TARGET(target_buddy, DEFECT_NONE, option_rows, "buddy",
             "a binary buddy allocator: each block lies at a multiple of its size", NULL);

#define BUDDY_PLANT(name_, defect_, summary_, breaks_) \
    BUDDY_TARGET(plant_##name_, defect_, NULL, "plant_" #name_, summary_, breaks_)

BUDDY_PLANT(buddy_middle, DEFECT_MIDDLE,
            "buddy, but now and then a block is the middle of one of twice its size", "misaligned");
BUDDY_PLANT(buddy_unmerged, DEFECT_UNMERGED,
            "buddy, but blocks of 16 granules never become one with their buddies", "premature");
BUDDY_PLANT(buddy_late, DEFECT_LATE,
            "buddy, but buddies become one at every eighth free, and at no out-of-memory",
            "premature");
