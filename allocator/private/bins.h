/* Holes by size: insertion, removal and search in the bins of a heap.  What nearly every call does
 * is inline; the tries, for holes beyond the first HBM_BIN_LIST_MAX of one bin, are not. */
#ifndef ALLOCATOR_PRIVATE_BINS_H
#define ALLOCATOR_PRIVATE_BINS_H

#include "allocator/private/block.h"

/* Row 0 has one bin for each size below 2^HBM_BIN_SHIFT granules, row 1 one for each size up to
 * twice that; row r+1 covers the sizes whose highest bit is HBM_BIN_SHIFT + r. */
#define HBM_BIN_COLUMNS (1u << HBM_BIN_SHIFT)
#define HBM_BIN_EXACT_GRANULES ((uint64_t)2 << HBM_BIN_SHIFT)

static inline uint64_t hbm_hole_granules(const struct hbm_heap *heap, const struct hbm_block *hole)
{
    return hole->size_bytes >> heap->granule_shift;
}

static inline uint32_t hbm_highest_bit(uint64_t value)
{
    return 63u - (uint32_t)__builtin_clzll(value);
}

/* The bin of holes of so many granules. */
static inline uint32_t hbm_bin_index(uint64_t size)
{
    if (size < HBM_BIN_COLUMNS) {
        return (uint32_t)size;
    }
    const uint32_t shift = hbm_highest_bit(size) - HBM_BIN_SHIFT;
    return (shift << HBM_BIN_SHIFT) + (uint32_t)(size >> shift);
}

/* These change the trie of a bin. */
HBM_APART void hbm_bins_insert_in_trie(struct hbm_heap *heap, struct hbm_bin *bin, uint32_t number,
                                       struct hbm_block *hole);
HBM_APART void hbm_bins_remove_from_trie(struct hbm_heap *heap, struct hbm_bin *bin,
                                         uint32_t number, struct hbm_block *hole);

/* Returns the bin's smallest hole of at least `size` granules, or HBM_POOL_NONE. */
HBM_APART uint32_t hbm_bins_find_in_trie(const struct hbm_heap *heap, const struct hbm_bin *bin,
                                         uint64_t size);

static inline void hbm_bins_unmark(struct hbm_heap *heap, uint32_t index)
{
    const uint32_t row = index >> HBM_BIN_SHIFT;
    heap->columns[row] &= ~(1u << (index & (HBM_BIN_COLUMNS - 1u)));
    if (heap->columns[row] == 0) {
        heap->rows &= ~((uint64_t)1 << row);
    }
}

/* Into the bin `index`; its place is HBM_PLACE_LIST, as that of each hole in no bin. */
HBM_HOT void hbm_bins_insert_into(struct hbm_heap *heap, uint32_t index, uint32_t number,
                                  struct hbm_block *hole)
{
    HBM_CHECK_COSTLY(hole->size_bytes != 0);
    HBM_CHECK_COSTLY(hole->role == HBM_ROLE_HOLE && hole->place == HBM_PLACE_LIST);
    HBM_CHECK_COSTLY(hbm_heap_at(heap, number) == hole);
    HBM_CHECK_COSTLY(index == hbm_bin_index(hbm_hole_granules(heap, hole)));
    struct hbm_bin *bin = &heap->bins[index];
    const uint32_t head = bin->head;
    if (__builtin_expect(bin->count >= HBM_BIN_LIST_MAX, 0)) {
        hbm_bins_insert_in_trie(heap, bin, number, hole);
        return;
    }
    bin->count++;
    bin->head = number;
    hole->hole.previous = HBM_POOL_NONE;
    hole->hole.next = head;
    if (head != HBM_POOL_NONE) {
        hbm_heap_at(heap, head)->hole.previous = number;
        return;
    }
    heap->columns[index >> HBM_BIN_SHIFT] |= 1u << (index & (HBM_BIN_COLUMNS - 1u));
    heap->rows |= (uint64_t)1 << (index >> HBM_BIN_SHIFT);
}

HBM_HOT void hbm_bins_insert(struct hbm_heap *heap, uint32_t number, struct hbm_block *hole)
{
    hbm_bins_insert_into(heap, hbm_bin_index(hbm_hole_granules(heap, hole)), number, hole);
}

/* Removes a hole from the list of the bin `index`. */
HBM_HOT void hbm_bins_remove_listed(struct hbm_heap *heap, uint32_t index,
                                    const struct hbm_block *hole)
{
    struct hbm_bin *bin = &heap->bins[index];
    HBM_CHECK_COSTLY(bin->count != 0);
    const uint32_t previous = hole->hole.previous, next = hole->hole.next;
    bin->count--;
    if (next != HBM_POOL_NONE) {
        hbm_heap_at(heap, next)->hole.previous = previous;
    }
    if (previous != HBM_POOL_NONE) {
        hbm_heap_at(heap, previous)->hole.next = next;
        return;
    }
    bin->head = next;
    if (next == HBM_POOL_NONE && heap->roots[index] == HBM_POOL_NONE) {
        hbm_bins_unmark(heap, index);
    }
}

HBM_HOT void hbm_bins_remove_from(struct hbm_heap *heap, uint32_t index, uint32_t number,
                                  struct hbm_block *hole)
{
    HBM_CHECK_COSTLY(hole->role == HBM_ROLE_HOLE);
    HBM_CHECK_COSTLY(hbm_heap_at(heap, number) == hole);
    if (hole->place == HBM_PLACE_LIST) {
        hbm_bins_remove_listed(heap, index, hole);
        return;
    }
    hbm_bins_remove_from_trie(heap, &heap->bins[index], number, hole);
    hole->place = HBM_PLACE_LIST;
    if (heap->bins[index].head == HBM_POOL_NONE && heap->roots[index] == HBM_POOL_NONE) {
        hbm_bins_unmark(heap, index);
    }
}

HBM_HOT void hbm_bins_remove(struct hbm_heap *heap, uint32_t number, struct hbm_block *hole)
{
    hbm_bins_remove_from(heap, hbm_bin_index(hbm_hole_granules(heap, hole)), number, hole);
}

/* A hole of the bin `index` grows or shrinks to size_bytes. */
HBM_HOT void hbm_bins_resize(struct hbm_heap *heap, uint32_t index, uint32_t number,
                             struct hbm_block *hole, uint64_t size_bytes)
{
    const uint32_t index_then = hbm_bin_index(size_bytes >> heap->granule_shift);
    if (index == index_then && heap->bins[index].head == number) {
        hole->size_bytes = size_bytes; /* it would come back to where it is */
        return;
    }
    hbm_bins_remove_from(heap, index, number, hole);
    hole->size_bytes = size_bytes;
    hbm_bins_insert_into(heap, index_then, number, hole);
}

/* The first bin from `bin` on that has a hole, or UINT32_MAX. */
static inline uint32_t hbm_bins_next(const struct hbm_heap *heap, uint32_t bin)
{
    uint32_t row = bin >> HBM_BIN_SHIFT;
    if (row >= heap->row_count) {
        return UINT32_MAX;
    }
    uint32_t columns = heap->columns[row] & (~0u << (bin & (HBM_BIN_COLUMNS - 1u)));
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

/* A hole, and the bin that it is in. */
struct hbm_found {
    struct hbm_block *hole;
    uint32_t number;
    uint32_t bin;
};

/* A hole of the request's own bin wastes least. */
HBM_HOT bool hbm_bins_search_own(const struct hbm_heap *heap, uint64_t size_bytes,
                                 struct hbm_found *found)
{
    const uint64_t size = size_bytes >> heap->granule_shift;
    found->bin = hbm_bin_index(size);
    for (found->number = heap->bins[found->bin].head; found->number != HBM_POOL_NONE;
         found->number = found->hole->hole.next) {
        found->hole = hbm_heap_at(heap, found->number);
        if (found->hole->size_bytes >= size_bytes) {
            return true;
        }
    }
    if (__builtin_expect(heap->roots[found->bin] != HBM_POOL_NONE, 0)) {
        found->number = hbm_bins_find_in_trie(heap, &heap->bins[found->bin], size);
        found->hole = hbm_heap_at(heap, found->number);
        return found->number != HBM_POOL_NONE;
    }
    return false;
}

/* Every hole of a bin later than found->bin is large enough. */
HBM_HOT bool hbm_bins_search_later(const struct hbm_heap *heap, struct hbm_found *found)
{
    found->bin = hbm_bins_next(heap, found->bin + 1);
    if (found->bin == UINT32_MAX) {
        return false;
    }
    const uint32_t head = heap->bins[found->bin].head;
    found->number = head != HBM_POOL_NONE ? head : heap->roots[found->bin];
    found->hole = hbm_heap_at(heap, found->number);
    return true;
}

/* Searches as hbm_bins_find does, for a size of at most the capacity.  False: there is none. */
HBM_HOT bool hbm_bins_search(const struct hbm_heap *heap, uint64_t size_bytes,
                             struct hbm_found *found)
{
    return hbm_bins_search_own(heap, size_bytes, found) || hbm_bins_search_later(heap, found);
}

/* A hole of at least size_bytes (good fit), or HBM_POOL_NONE if there is none.  O(log holes). */
uint32_t hbm_bins_find(const struct hbm_heap *heap, uint64_t size_bytes);

/* The first hole for which accepts() holds among those of at least size_bytes and less than
 * limit_bytes, or HBM_POOL_NONE.  Linear in those holes. */
uint32_t hbm_bins_scan(const struct hbm_heap *heap, uint64_t size_bytes, uint64_t limit_bytes,
                       bool (*accepts)(const struct hbm_block *hole, const void *context),
                       const void *context);

/* The largest hole, or HBM_POOL_NONE. */
uint32_t hbm_bins_largest(const struct hbm_heap *heap);

/* The largest holes, bin by bin: at most count_max of them, and how many they are. */
size_t hbm_bins_largest_ones(const struct hbm_heap *heap, uint32_t *numbers, size_t count_max);

/* The number of holes in all bins, and whether each is where its size says. */
bool hbm_bins_invariants_hold(const struct hbm_heap *heap, uint64_t hole_count);

#endif
