#include "allocator/private/bins.h"

#include "allocator/private/check.h"

/* Row 0 has one bin for each size below 2^HBM_BIN_SHIFT granules, row 1 one for each size up to
 * twice that; row r+1 covers the sizes whose highest bit is HBM_BIN_SHIFT + r. */
#define BIN_COLUMNS (1u << HBM_BIN_SHIFT)
#define EXACT_GRANULES ((uint64_t)2 << HBM_BIN_SHIFT)

static inline uint64_t count_granules(const struct hbm_heap *heap, const struct hbm_block *hole)
{
    return hole->size_bytes >> heap->granule_shift;
}

static inline uint32_t find_highest_bit(uint64_t value)
{
    return 63u - (uint32_t)__builtin_clzll(value);
}

static inline uint32_t find_bin_index(uint64_t size)
{
    if (size < BIN_COLUMNS) {
        return (uint32_t)size;
    }
    const uint32_t shift = find_highest_bit(size) - HBM_BIN_SHIFT;
    return ((shift + 1u) << HBM_BIN_SHIFT) + ((uint32_t)(size >> shift) & (BIN_COLUMNS - 1u));
}

/* The bit of the size that the trie's root branches on: the highest one that a bin leaves open. */
static inline uint32_t find_root_bit(uint64_t size)
{
    return find_highest_bit(size) - HBM_BIN_SHIFT - 1u;
}

static inline void mark_bin(struct hbm_heap *heap, uint32_t bin)
{
    HBM_CHECK(bin >> HBM_BIN_SHIFT < heap->row_count);
    heap->columns[bin >> HBM_BIN_SHIFT] |= 1u << (bin & (BIN_COLUMNS - 1u));
    heap->rows |= (uint64_t)1 << (bin >> HBM_BIN_SHIFT);
}

static inline void unmark_bin(struct hbm_heap *heap, uint32_t bin)
{
    HBM_CHECK(bin >> HBM_BIN_SHIFT < heap->row_count);
    const uint32_t row = bin >> HBM_BIN_SHIFT;
    HBM_CHECK((heap->columns[row] >> (bin & (BIN_COLUMNS - 1u)) & 1u) != 0);
    heap->columns[row] &= ~(1u << (bin & (BIN_COLUMNS - 1u)));
    if (heap->columns[row] == 0) {
        heap->rows &= ~((uint64_t)1 << row);
    }
}

/* The first bin from `bin` on that has a hole, or UINT32_MAX. */
static inline uint32_t find_next_bin(const struct hbm_heap *heap, uint32_t bin)
{
    uint32_t row = bin >> HBM_BIN_SHIFT;
    if (row >= heap->row_count) {
        return UINT32_MAX;
    }
    uint32_t columns = heap->columns[row] & (~0u << (bin & (BIN_COLUMNS - 1u)));
    if (columns == 0) {
        const uint64_t rows = heap->rows & (~(uint64_t)1 << row);
        if (rows == 0) {
            return UINT32_MAX;
        }
        row = (uint32_t)__builtin_ctzll(rows);
        columns = heap->columns[row];
    }
    return (row << HBM_BIN_SHIFT) + (uint32_t)__builtin_ctz(columns);
}

/* ---- the trie ---- */

static void join_ring(struct hbm_heap *heap, uint32_t number, struct hbm_block *hole,
                      uint32_t member)
{
    struct hbm_block *before = hbm_heap_at(heap, member);
    HBM_CHECK(before->size_bytes == hole->size_bytes);
    HBM_CHECK(before->place == HBM_PLACE_TREE);
    hole->place = HBM_PLACE_RING;
    hole->hole.previous = member;
    hole->hole.next = before->hole.next;
    hbm_heap_at(heap, before->hole.next)->hole.previous = number;
    before->hole.next = number;
}

static void insert_in_trie(struct hbm_heap *heap, struct hbm_bin *bin, uint32_t number,
                           struct hbm_block *hole)
{
    HBM_CHECK(bin->count == HBM_BIN_LIST_MAX);
    const uint64_t size = count_granules(heap, hole);
    uint32_t bit = size < EXACT_GRANULES ? 0 : find_root_bit(size);
    uint32_t parent = HBM_POOL_NONE;
    uint32_t *link = &bin->root;
    while (*link != HBM_POOL_NONE) {
        struct hbm_block *node = hbm_heap_at(heap, *link);
        HBM_CHECK(node->place == HBM_PLACE_TREE);
        if (node->size_bytes == hole->size_bytes) {
            join_ring(heap, number, hole, *link);
            return;
        }
        parent = *link;
        link = &node->hole.child[(size >> bit) & 1u];
        bit--;
    }
    *link = number;
    hole->place = HBM_PLACE_TREE;
    hole->hole.parent = parent;
    hole->hole.child[0] = hole->hole.child[1] = HBM_POOL_NONE;
    hole->hole.previous = hole->hole.next = number;
}

static void point_parent(struct hbm_heap *heap, struct hbm_bin *bin, uint32_t parent, uint32_t from,
                         uint32_t to)
{
    HBM_CHECK(from != HBM_POOL_NONE);
    HBM_CHECK(from != to);
    if (parent == HBM_POOL_NONE) {
        bin->root = to;
        return;
    }
    struct hbm_block *node = hbm_heap_at(heap, parent);
    HBM_CHECK(node->hole.child[0] == from || node->hole.child[1] == from);
    node->hole.child[node->hole.child[1] == from] = to;
}

/* Lets `heir` stand where the tree node `number` stood. */
static void replace_node(struct hbm_heap *heap, struct hbm_bin *bin, uint32_t number, uint32_t heir)
{
    HBM_CHECK(number != heir);
    struct hbm_block *node = hbm_heap_at(heap, number);
    HBM_CHECK(node->place == HBM_PLACE_TREE);
    struct hbm_block *next = hbm_heap_at(heap, heir);
    next->place = HBM_PLACE_TREE;
    next->hole.parent = node->hole.parent;
    point_parent(heap, bin, node->hole.parent, number, heir);
    for (int i = 0; i < 2; i++) {
        next->hole.child[i] = node->hole.child[i];
        if (next->hole.child[i] != HBM_POOL_NONE) {
            hbm_heap_at(heap, next->hole.child[i])->hole.parent = heir;
        }
    }
}

static void leave_ring(struct hbm_heap *heap, const struct hbm_block *hole)
{
    HBM_CHECK(hole->place != HBM_PLACE_LIST);
    HBM_CHECK_COSTLY(hbm_heap_at(heap, hole->hole.previous)->size_bytes == hole->size_bytes);
    hbm_heap_at(heap, hole->hole.previous)->hole.next = hole->hole.next;
    hbm_heap_at(heap, hole->hole.next)->hole.previous = hole->hole.previous;
}

/* Any leaf below a node keeps the prefix of the node's place, so it can take that place. */
static uint32_t find_leaf_below(const struct hbm_heap *heap, uint32_t number)
{
    for (;;) {
        const struct hbm_block *node = hbm_heap_at(heap, number);
        const uint32_t child = node->hole.child[1] != HBM_POOL_NONE ? node->hole.child[1]
                                                                    : node->hole.child[0];
        if (child == HBM_POOL_NONE) {
            return number;
        }
        number = child;
    }
}

static void remove_from_trie(struct hbm_heap *heap, struct hbm_bin *bin, uint32_t number,
                             struct hbm_block *hole)
{
    HBM_CHECK(hole->place == HBM_PLACE_TREE || hole->place == HBM_PLACE_RING);
    HBM_CHECK(bin->root != HBM_POOL_NONE);
    if (hole->place == HBM_PLACE_TREE) {
        if (hole->hole.next != number) {
            replace_node(heap, bin, number, hole->hole.next);
        } else {
            const uint32_t leaf = find_leaf_below(heap, number);
            point_parent(heap, bin, hbm_heap_at(heap, leaf)->hole.parent, leaf, HBM_POOL_NONE);
            if (leaf != number) {
                replace_node(heap, bin, number, leaf);
            }
            return;
        }
    }
    leave_ring(heap, hole);
}

/* The smallest hole of the trie of at least `size` granules. */
static uint32_t find_in_trie(const struct hbm_heap *heap, uint32_t root, uint64_t size)
{
    uint32_t best = HBM_POOL_NONE, rest = HBM_POOL_NONE;
    uint64_t best_size = UINT64_MAX;
    uint32_t bit = size < EXACT_GRANULES ? 0 : find_root_bit(size);
    for (uint32_t number = root; number != HBM_POOL_NONE; bit--) {
        const struct hbm_block *node = hbm_heap_at(heap, number);
        const uint64_t found = count_granules(heap, node);
        if (found >= size && found < best_size) {
            best = number;
            best_size = found;
        }
        if (found == size) {
            return number;
        }
        const uint32_t side = (uint32_t)(size >> bit) & 1u;
        if (side == 0 && node->hole.child[1] != HBM_POOL_NONE) {
            rest = node->hole.child[1];
        }
        number = node->hole.child[side];
    }
    for (uint32_t number = rest; number != HBM_POOL_NONE;) {
        const struct hbm_block *node = hbm_heap_at(heap, number);
        if (count_granules(heap, node) < best_size) {
            best = number;
            best_size = count_granules(heap, node);
        }
        number = node->hole.child[0] != HBM_POOL_NONE ? node->hole.child[0] : node->hole.child[1];
    }
    return best;
}

/* ---- bins ---- */

void hbm_bins_insert(struct hbm_heap *heap, uint32_t number, struct hbm_block *hole)
{
    HBM_CHECK(hole->role == HBM_ROLE_HOLE);
    HBM_CHECK(hole->size_bytes != 0);
    HBM_CHECK_COSTLY(hbm_heap_at(heap, number) == hole);
    const uint32_t index = find_bin_index(count_granules(heap, hole));
    struct hbm_bin *bin = &heap->bins[index];
    mark_bin(heap, index);
    if (bin->count >= HBM_BIN_LIST_MAX) {
        insert_in_trie(heap, bin, number, hole);
        return;
    }
    bin->count++;
    hole->place = HBM_PLACE_LIST;
    hole->hole.previous = HBM_POOL_NONE;
    hole->hole.next = bin->head;
    if (bin->head != HBM_POOL_NONE) {
        hbm_heap_at(heap, bin->head)->hole.previous = number;
    }
    bin->head = number;
}

static void remove_from_list(struct hbm_heap *heap, struct hbm_bin *bin,
                             const struct hbm_block *hole)
{
    HBM_CHECK(bin->count != 0);
    HBM_CHECK(bin->head != HBM_POOL_NONE);
    HBM_CHECK_COSTLY(hole->hole.previous != HBM_POOL_NONE || hbm_heap_at(heap, bin->head) == hole);
    bin->count--;
    if (hole->hole.previous == HBM_POOL_NONE) {
        bin->head = hole->hole.next;
    } else {
        hbm_heap_at(heap, hole->hole.previous)->hole.next = hole->hole.next;
    }
    if (hole->hole.next != HBM_POOL_NONE) {
        hbm_heap_at(heap, hole->hole.next)->hole.previous = hole->hole.previous;
    }
}

void hbm_bins_remove(struct hbm_heap *heap, uint32_t number, struct hbm_block *hole)
{
    HBM_CHECK(hole->role == HBM_ROLE_HOLE);
    HBM_CHECK(hole->place <= HBM_PLACE_RING);
    HBM_CHECK_COSTLY(hbm_heap_at(heap, number) == hole);
    const uint32_t index = find_bin_index(count_granules(heap, hole));
    struct hbm_bin *bin = &heap->bins[index];
    if (hole->place == HBM_PLACE_LIST) {
        remove_from_list(heap, bin, hole);
    } else {
        remove_from_trie(heap, bin, number, hole);
    }
    if (bin->head == HBM_POOL_NONE && bin->root == HBM_POOL_NONE) {
        unmark_bin(heap, index);
    }
}

static uint32_t find_in_own_bin(const struct hbm_heap *heap, const struct hbm_bin *bin,
                                uint64_t size)
{
    for (uint32_t number = bin->head; number != HBM_POOL_NONE;) {
        const struct hbm_block *hole = hbm_heap_at(heap, number);
        if (count_granules(heap, hole) >= size) {
            return number;
        }
        number = hole->hole.next;
    }
    return find_in_trie(heap, bin->root, size);
}

uint32_t hbm_bins_find(const struct hbm_heap *heap, uint64_t size_bytes)
{
    const uint64_t size = size_bytes >> heap->granule_shift;
    const uint32_t own = find_bin_index(size);
    if (own >> HBM_BIN_SHIFT >= heap->row_count) {
        return HBM_POOL_NONE;
    }
    /* A hole of the request's own bin wastes least; every hole of a later one is large enough. */
    const uint32_t near = find_in_own_bin(heap, &heap->bins[own], size);
    if (near != HBM_POOL_NONE) {
        return near;
    }
    const uint32_t found = find_next_bin(heap, own + 1);
    if (found == UINT32_MAX) {
        return HBM_POOL_NONE;
    }
    const struct hbm_bin *bin = &heap->bins[found];
    return bin->head != HBM_POOL_NONE ? bin->head : bin->root;
}

struct scan {
    uint64_t size_bytes;
    uint64_t limit_bytes;
    bool (*accepts)(const struct hbm_block *hole, const void *context);
    const void *context;
};

static bool is_accepted(const struct scan *scan, const struct hbm_block *hole)
{
    return hole->size_bytes >= scan->size_bytes && hole->size_bytes < scan->limit_bytes &&
           scan->accepts(hole, scan->context);
}

/* The trie is at most 64 deep, and so is this recursion. */
static uint32_t scan_trie(const struct hbm_heap *heap, uint32_t root, const struct scan *scan)
{
    if (root == HBM_POOL_NONE) {
        return HBM_POOL_NONE;
    }
    uint32_t number = root;
    const struct hbm_block *node;
    do {
        node = hbm_heap_at(heap, number);
        if (is_accepted(scan, node)) {
            return number;
        }
        number = node->hole.next;
    } while (number != root);
    node = hbm_heap_at(heap, root);
    const uint32_t found = scan_trie(heap, node->hole.child[0], scan);
    return found != HBM_POOL_NONE ? found : scan_trie(heap, node->hole.child[1], scan);
}

static uint32_t scan_bin(const struct hbm_heap *heap, const struct hbm_bin *bin,
                         const struct scan *scan)
{
    for (uint32_t number = bin->head; number != HBM_POOL_NONE;) {
        const struct hbm_block *hole = hbm_heap_at(heap, number);
        if (is_accepted(scan, hole)) {
            return number;
        }
        number = hole->hole.next;
    }
    return scan_trie(heap, bin->root, scan);
}

uint32_t hbm_bins_scan(const struct hbm_heap *heap, uint64_t size_bytes, uint64_t limit_bytes,
                       bool (*accepts)(const struct hbm_block *hole, const void *context),
                       const void *context)
{
    HBM_CHECK(size_bytes < limit_bytes);
    const struct scan scan = {size_bytes, limit_bytes, accepts, context};
    const uint32_t last = find_bin_index((limit_bytes - 1) >> heap->granule_shift);
    for (uint32_t bin = find_next_bin(heap, find_bin_index(size_bytes >> heap->granule_shift));
         bin <= last; bin = find_next_bin(heap, bin + 1)) {
        const uint32_t found = scan_bin(heap, &heap->bins[bin], &scan);
        if (found != HBM_POOL_NONE) {
            return found;
        }
    }
    return HBM_POOL_NONE;
}

uint32_t hbm_bins_largest(const struct hbm_heap *heap)
{
    if (heap->rows == 0) {
        return HBM_POOL_NONE;
    }
    const uint32_t row = find_highest_bit(heap->rows);
    const struct hbm_bin
        *bin = &heap->bins[(row << HBM_BIN_SHIFT) + find_highest_bit(heap->columns[row])];
    uint32_t best = bin->head != HBM_POOL_NONE ? bin->head : bin->root;
    uint64_t best_bytes = hbm_heap_at(heap, best)->size_bytes;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t number = pass == 0 ? bin->head : bin->root; number != HBM_POOL_NONE;) {
            const struct hbm_block *hole = hbm_heap_at(heap, number);
            if (hole->size_bytes > best_bytes) {
                best = number;
                best_bytes = hole->size_bytes;
            }
            const uint32_t larger = hole->hole.child[1] != HBM_POOL_NONE ? hole->hole.child[1]
                                                                         : hole->hole.child[0];
            number = pass == 0 ? hole->hole.next : larger;
        }
    }
    return best;
}

/* ---- invariants ---- */

struct hole_audit {
    const struct hbm_heap *heap;
    uint32_t bin;
    uint64_t count;
    bool right;
};

static bool count_hole(const struct hbm_block *hole, const void *context)
{
    struct hole_audit *audit = *(struct hole_audit *const *)context;
    audit->count++;
    audit->right &= hole->role == HBM_ROLE_HOLE &&
                    find_bin_index(count_granules(audit->heap, hole)) == audit->bin;
    return false;
}

bool hbm_bins_invariants_hold(const struct hbm_heap *heap, uint64_t hole_count)
{
    struct hole_audit audit = {heap, 0, 0, true};
    struct hole_audit *pointer = &audit;
    const struct scan scan = {0, UINT64_MAX, count_hole, &pointer};
    for (uint32_t bin = 0; bin < heap->row_count << HBM_BIN_SHIFT; bin++) {
        const uint64_t before = audit.count;
        audit.bin = bin;
        (void)scan_bin(heap, &heap->bins[bin], &scan);
        const bool marked = (heap->columns[bin >> HBM_BIN_SHIFT] >> (bin & (BIN_COLUMNS - 1u))) &
                            1u;
        audit.right &= marked == (audit.count != before);
    }
    return audit.right && audit.count == hole_count;
}
