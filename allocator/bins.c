#include "allocator/private/bins.h"

/* The bit of the size that the trie's root branches on: the highest one that a bin leaves open. */
static inline uint32_t find_root_bit(uint64_t size)
{
    return hbm_highest_bit(size) - HBM_BIN_SHIFT - 1u;
}

static inline uint32_t *find_root(const struct hbm_heap *heap, const struct hbm_bin *bin)
{
    return &heap->roots[bin - heap->bins];
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

void hbm_bins_insert_in_trie(struct hbm_heap *heap, struct hbm_bin *bin, uint32_t number,
                             struct hbm_block *hole)
{
    HBM_CHECK(bin->count == HBM_BIN_LIST_MAX);
    const uint64_t size = hbm_hole_granules(heap, hole);
    uint32_t bit = size < HBM_BIN_EXACT_GRANULES ? 0 : find_root_bit(size);
    uint32_t parent = HBM_POOL_NONE;
    uint32_t *link = find_root(heap, bin);
    while (*link != HBM_POOL_NONE) {
        struct hbm_block *node = hbm_heap_at(heap, *link);
        HBM_CHECK(node->place == HBM_PLACE_TREE);
        if (node->size_bytes == hole->size_bytes) {
            join_ring(heap, number, hole, *link);
            return;
        }
        parent = *link;
        link = &hbm_heap_cold(heap, *link)->hole.child[(size >> bit) & 1u];
        bit--;
    }
    *link = number;
    hole->place = HBM_PLACE_TREE;
    struct hbm_block_cold *cold = hbm_heap_cold(heap, number);
    cold->hole.parent = parent;
    cold->hole.child[0] = cold->hole.child[1] = HBM_POOL_NONE;
    hole->hole.previous = hole->hole.next = number;
}

static void point_parent(struct hbm_heap *heap, struct hbm_bin *bin, uint32_t parent, uint32_t from,
                         uint32_t to)
{
    HBM_CHECK(from != HBM_POOL_NONE);
    HBM_CHECK(from != to);
    if (parent == HBM_POOL_NONE) {
        *find_root(heap, bin) = to;
        return;
    }
    struct hbm_block_cold *node = hbm_heap_cold(heap, parent);
    HBM_CHECK(node->hole.child[0] == from || node->hole.child[1] == from);
    node->hole.child[node->hole.child[1] == from] = to;
}

/* Lets `heir` stand where the tree node `number` stood. */
static void replace_node(struct hbm_heap *heap, struct hbm_bin *bin, uint32_t number, uint32_t heir)
{
    HBM_CHECK(number != heir);
    HBM_CHECK(hbm_heap_at(heap, number)->place == HBM_PLACE_TREE);
    hbm_heap_at(heap, heir)->place = HBM_PLACE_TREE;
    const struct hbm_block_cold *node = hbm_heap_cold(heap, number);
    struct hbm_block_cold *next = hbm_heap_cold(heap, heir);
    next->hole.parent = node->hole.parent;
    point_parent(heap, bin, node->hole.parent, number, heir);
    for (int i = 0; i < 2; i++) {
        next->hole.child[i] = node->hole.child[i];
        if (next->hole.child[i] != HBM_POOL_NONE) {
            hbm_heap_cold(heap, next->hole.child[i])->hole.parent = heir;
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
        const struct hbm_block_cold *node = hbm_heap_cold(heap, number);
        const uint32_t child = node->hole.child[1] != HBM_POOL_NONE ? node->hole.child[1]
                                                                    : node->hole.child[0];
        if (child == HBM_POOL_NONE) {
            return number;
        }
        number = child;
    }
}

void hbm_bins_remove_from_trie(struct hbm_heap *heap, struct hbm_bin *bin, uint32_t number,
                               struct hbm_block *hole)
{
    HBM_CHECK(hole->place == HBM_PLACE_TREE || hole->place == HBM_PLACE_RING);
    HBM_CHECK(*find_root(heap, bin) != HBM_POOL_NONE);
    if (hole->place == HBM_PLACE_TREE) {
        if (hole->hole.next != number) {
            replace_node(heap, bin, number, hole->hole.next);
        } else {
            const uint32_t leaf = find_leaf_below(heap, number);
            point_parent(heap, bin, hbm_heap_cold(heap, leaf)->hole.parent, leaf, HBM_POOL_NONE);
            if (leaf != number) {
                replace_node(heap, bin, number, leaf);
            }
            return;
        }
    }
    leave_ring(heap, hole);
}

uint32_t hbm_bins_find_in_trie(const struct hbm_heap *heap, const struct hbm_bin *bin,
                               uint64_t size)
{
    uint32_t best = HBM_POOL_NONE, rest = HBM_POOL_NONE;
    uint64_t best_size = UINT64_MAX;
    uint32_t bit = size < HBM_BIN_EXACT_GRANULES ? 0 : find_root_bit(size);
    for (uint32_t number = *find_root(heap, bin); number != HBM_POOL_NONE; bit--) {
        const struct hbm_block_cold *node = hbm_heap_cold(heap, number);
        const uint64_t found = hbm_hole_granules(heap, hbm_heap_at(heap, number));
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
        const struct hbm_block_cold *node = hbm_heap_cold(heap, number);
        const uint64_t found = hbm_hole_granules(heap, hbm_heap_at(heap, number));
        if (found < best_size) {
            best = number;
            best_size = found;
        }
        number = node->hole.child[0] != HBM_POOL_NONE ? node->hole.child[0] : node->hole.child[1];
    }
    return best;
}

/* ---- bins ---- */

uint32_t hbm_bins_find(const struct hbm_heap *heap, uint64_t size_bytes)
{
    const uint32_t own = hbm_bin_index(size_bytes >> heap->granule_shift);
    struct hbm_found found;
    const bool has_bin = own >> HBM_BIN_SHIFT < heap->row_count;
    return has_bin && hbm_bins_search(heap, size_bytes, &found) ? found.number : HBM_POOL_NONE;
}

struct bins_scan {
    uint64_t size_bytes;
    uint64_t limit_bytes;
    bool (*accepts)(const struct hbm_block *hole, const void *context);
    const void *context;
};

static bool is_accepted(const struct bins_scan *scan, const struct hbm_block *hole)
{
    return hole->size_bytes >= scan->size_bytes && hole->size_bytes < scan->limit_bytes &&
           scan->accepts(hole, scan->context);
}

/* The trie is at most 64 deep, and so is this recursion. */
static uint32_t scan_trie(const struct hbm_heap *heap, uint32_t root, const struct bins_scan *scan)
{
    if (root == HBM_POOL_NONE) {
        return HBM_POOL_NONE;
    }
    uint32_t number = root;
    do {
        const struct hbm_block *node = hbm_heap_at(heap, number);
        if (is_accepted(scan, node)) {
            return number;
        }
        number = node->hole.next;
    } while (number != root);
    const struct hbm_block_cold *cold = hbm_heap_cold(heap, root);
    const uint32_t found = scan_trie(heap, cold->hole.child[0], scan);
    return found != HBM_POOL_NONE ? found : scan_trie(heap, cold->hole.child[1], scan);
}

static uint32_t scan_bin(const struct hbm_heap *heap, const struct hbm_bin *bin,
                         const struct bins_scan *scan)
{
    for (uint32_t number = bin->head; number != HBM_POOL_NONE;) {
        const struct hbm_block *hole = hbm_heap_at(heap, number);
        if (is_accepted(scan, hole)) {
            return number;
        }
        number = hole->hole.next;
    }
    return scan_trie(heap, *find_root(heap, bin), scan);
}

uint32_t hbm_bins_scan(const struct hbm_heap *heap, uint64_t size_bytes, uint64_t limit_bytes,
                       bool (*accepts)(const struct hbm_block *hole, const void *context),
                       const void *context)
{
    HBM_CHECK(size_bytes < limit_bytes);
    const struct bins_scan scan = {size_bytes, limit_bytes, accepts, context};
    const uint32_t last = hbm_bin_index((limit_bytes - 1) >> heap->granule_shift);
    for (uint32_t bin = hbm_bins_next(heap, hbm_bin_index(size_bytes >> heap->granule_shift));
         bin <= last; bin = hbm_bins_next(heap, bin + 1)) {
        const uint32_t found = scan_bin(heap, &heap->bins[bin], &scan);
        if (found != HBM_POOL_NONE) {
            return found;
        }
    }
    return HBM_POOL_NONE;
}

/* The largest hole of a list from its hole `number` on. */
static uint32_t find_largest_listed(const struct hbm_heap *heap, uint32_t number)
{
    const struct hbm_block *largest = hbm_heap_at(heap, number);
    uint32_t best = number;
    for (number = largest->hole.next; number != HBM_POOL_NONE;) {
        const struct hbm_block *hole = hbm_heap_at(heap, number);
        if (hole->size_bytes > largest->size_bytes) {
            best = number;
            largest = hole;
        }
        number = hole->hole.next;
    }
    return best;
}

/* The larger of the hole `best` and the largest of a trie, which is on the way to its upper end. */
static uint32_t find_largest_in_trie(const struct hbm_heap *heap, uint32_t number, uint32_t best)
{
    uint64_t best_bytes = hbm_heap_at(heap, best)->size_bytes;
    while (number != HBM_POOL_NONE) {
        const uint64_t size_bytes = hbm_heap_at(heap, number)->size_bytes;
        const uint32_t *child = hbm_heap_cold(heap, number)->hole.child;
        best = size_bytes > best_bytes ? number : best;
        best_bytes = size_bytes > best_bytes ? size_bytes : best_bytes;
        number = child[1] != HBM_POOL_NONE ? child[1] : child[0];
    }
    return best;
}

uint32_t hbm_bins_largest(const struct hbm_heap *heap)
{
    if (heap->rows == 0) {
        return HBM_POOL_NONE;
    }
    const uint32_t row = hbm_highest_bit(heap->rows);
    const uint32_t bin = (row << HBM_BIN_SHIFT) + hbm_highest_bit(heap->columns[row]);
    const uint32_t head = heap->bins[bin].head, root = heap->roots[bin];
    const uint32_t best = head != HBM_POOL_NONE ? find_largest_listed(heap, head) : root;
    return root == HBM_POOL_NONE ? best : find_largest_in_trie(heap, root, best);
}

struct largest_ones {
    const struct hbm_heap *heap;
    uint32_t *numbers;
    size_t count, count_max;
};

/* True, which ends the scan, once there are enough. */
static bool note_largest(const struct hbm_block *hole, const void *context)
{
    struct largest_ones *ones = *(struct largest_ones *const *)context;
    HBM_CHECK(ones->count < ones->count_max);
    ones->numbers[ones->count++] = hbm_heap_number(ones->heap, hole);
    return ones->count == ones->count_max;
}

size_t hbm_bins_largest_ones(const struct hbm_heap *heap, uint32_t *numbers, size_t count_max)
{
    struct largest_ones ones = {heap, numbers, 0, count_max};
    struct largest_ones *pointer = &ones;
    const struct bins_scan scan = {0, UINT64_MAX, note_largest, &pointer};
    uint64_t rows = heap->rows;
    while (rows != 0 && ones.count < count_max) {
        const uint32_t row = hbm_highest_bit(rows);
        uint32_t columns = heap->columns[row];
        while (columns != 0 && ones.count < count_max) {
            const uint32_t column = hbm_highest_bit(columns);
            (void)scan_bin(heap, &heap->bins[(row << HBM_BIN_SHIFT) + column], &scan);
            columns &= ~(1u << column);
        }
        rows &= ~((uint64_t)1 << row);
    }
    return ones.count;
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
                    hbm_bin_index(hbm_hole_granules(audit->heap, hole)) == audit->bin;
    return false;
}

bool hbm_bins_invariants_hold(const struct hbm_heap *heap, uint64_t hole_count)
{
    struct hole_audit audit = {heap, 0, 0, true};
    struct hole_audit *pointer = &audit;
    const struct bins_scan scan = {0, UINT64_MAX, count_hole, &pointer};
    for (uint32_t bin = 0; bin < heap->row_count << HBM_BIN_SHIFT; bin++) {
        const uint64_t before = audit.count;
        audit.bin = bin;
        (void)scan_bin(heap, &heap->bins[bin], &scan);
        const bool marked = (heap->columns[bin >> HBM_BIN_SHIFT] >>
                             (bin & (HBM_BIN_COLUMNS - 1u))) &
                            1u;
        audit.right &= marked == (audit.count != before);
    }
    return audit.right && audit.count == hole_count;
}
