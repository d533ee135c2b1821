#include "allocator/private/heap.h"

#include <string.h>

#include "allocator/private/heap_fast.h"

/* The host memory of each bin. */
#define BIN_BYTES (sizeof(struct hbm_bin) + sizeof(uint32_t))

static uint32_t count_rows(uint64_t granule_count)
{
    const uint32_t bits = 64u - (uint32_t)__builtin_clzll(granule_count);
    return bits <= HBM_BIN_SHIFT ? 1u : bits - HBM_BIN_SHIFT + 1u;
}

static void make_heap_empty(struct hbm_heap *heap, uint64_t stack_bytes)
{
    HBM_CHECK(heap->used_count == 0);
    HBM_CHECK(stack_bytes <= heap->capacity_bytes);
    *hbm_heap_at(heap, HBM_POOL_NONE) = (struct hbm_block){.role = HBM_ROLE_STACK};
    heap->stack = hbm_pool_take(&heap->pool);
    *hbm_heap_at(heap, heap->stack) = (struct hbm_block){.size_bytes = stack_bytes,
                                                         .role = HBM_ROLE_STACK};
    heap->above_stack_bytes = heap->capacity_bytes - stack_bytes;
    hbm_heap_relink(heap, NULL, 0);
}

bool hbm_heap_init(struct hbm_heap *heap, struct hbm_host *host, uint64_t capacity_bytes,
                   uint32_t granule_shift)
{
    HBM_CHECK(capacity_bytes >> granule_shift != 0);
    *heap = (struct hbm_heap){.capacity_bytes = capacity_bytes, .granule_shift = granule_shift};
    heap->row_count = count_rows(capacity_bytes >> granule_shift);
    HBM_CHECK(heap->row_count <= HBM_BIN_ROWS);
    const size_t bin_count = (size_t)heap->row_count << HBM_BIN_SHIFT;
    heap->bins = hbm_host_array(host, bin_count, BIN_BYTES);
    if (heap->bins == NULL) {
        return false;
    }
    heap->roots = (uint32_t *)(void *)(heap->bins + bin_count);
    if (!hbm_pool_init_split(&heap->pool, host, sizeof(struct hbm_block),
                             sizeof(struct hbm_block_cold), HBM_BLOCK_SLAB_SHIFT)) {
        hbm_host_free(host, heap->bins, bin_count, BIN_BYTES);
        return false;
    }
    make_heap_empty(heap, 0);
    HBM_CHECK_COSTLY(hbm_heap_invariants_hold(heap));
    return true;
}

void hbm_heap_deinit(struct hbm_heap *heap)
{
    HBM_CHECK(heap->bins != NULL);
    HBM_CHECK(heap->pool.slab_count != 0);
    struct hbm_host *host = heap->pool.host;
    hbm_pool_deinit(&heap->pool);
    hbm_host_free(host, heap->bins, (size_t)heap->row_count << HBM_BIN_SHIFT, BIN_BYTES);
    heap->bins = NULL;
}

/* ---- links ---- */

static inline void link_block_after(struct hbm_heap *heap, uint32_t number, struct hbm_block *block,
                                    uint32_t before)
{
    HBM_CHECK(number != before);
    HBM_CHECK_COSTLY(hbm_heap_at(heap, number) == block);
    struct hbm_block *previous = hbm_heap_at(heap, before);
    const uint32_t next = previous->next;
    hbm_block_set_previous(block, before);
    hbm_block_set_next(block, next);
    hbm_block_set_previous(hbm_heap_at(heap, next), number);
    hbm_block_set_next(previous, number);
}

static inline void unlink_block(struct hbm_heap *heap, const struct hbm_block *block)
{
    HBM_CHECK(block->previous != HBM_POOL_NONE);
    HBM_CHECK_COSTLY(hbm_heap_at(heap, hbm_heap_at(heap, block->previous)->next) == block);
    const uint32_t previous = block->previous, next = block->next;
    hbm_block_set_next(hbm_heap_at(heap, previous), next);
    hbm_block_set_previous(hbm_heap_at(heap, next), previous);
}

static uint32_t make_hole(struct hbm_heap *heap, uint64_t address, uint64_t size_bytes,
                          uint32_t before)
{
    HBM_CHECK(size_bytes != 0);
    HBM_CHECK(before != HBM_POOL_NONE);
    HBM_CHECK(address + size_bytes <= heap->capacity_bytes);
    const uint32_t number = hbm_pool_take(&heap->pool);
    struct hbm_block *hole = hbm_heap_at(heap, number);
    hole->address = address;
    hbm_block_set_hole(hole, size_bytes, HBM_POOL_NONE, HBM_POOL_NONE);
    link_block_after(heap, number, hole, before);
    hbm_bins_insert(heap, number, hole);
    return number;
}

/* ---- take ---- */

struct heap_fit {
    uint64_t size_bytes;
    uint32_t align_shift;
};

static bool has_room_aligned(const struct hbm_block *hole, const void *context)
{
    const struct heap_fit *fit = context;
    return hbm_align_down(hole->address + hole->size_bytes - fit->size_bytes, fit->align_shift) >=
           hole->address;
}

/* A hole with room for the worst shift is found at once; only if there is none must the smaller
 * ones be tried one by one. */
static uint32_t find_aligned_hole(const struct hbm_heap *heap, uint64_t size_bytes,
                                  uint32_t align_shift)
{
    const uint64_t slack = ((uint64_t)1 << align_shift) - ((uint64_t)1 << heap->granule_shift);
    const uint64_t enough = size_bytes + slack;
    const uint32_t number = hbm_bins_find(heap, enough);
    if (number != HBM_POOL_NONE) {
        return number;
    }
    const struct heap_fit fit = {size_bytes, align_shift};
    return hbm_bins_scan(heap, size_bytes, enough, has_room_aligned, &fit);
}

/* HBM_POOL_NONE: no host memory. */
static uint32_t take_of_hole(struct hbm_heap *heap, struct hbm_carving *carving)
{
    if (!hbm_pool_reserve(&heap->pool, HBM_CARVE_RECORDS)) {
        return HBM_POOL_NONE;
    }
    carving->hole = hbm_heap_at(heap, carving->number);
    carving->bin = hbm_bin_index(hbm_hole_granules(heap, carving->hole));
    const uint64_t hole_end = carving->hole->address + carving->hole->size_bytes;
    const struct hbm_block *block = hbm_heap_carve(heap, carving);
    const uint64_t end = block->address + block->size_bytes;
    const uint32_t number = hbm_heap_number(heap, block);
    HBM_CHECK(end <= hole_end);
    if (end != hole_end) {
        (void)make_hole(heap, end, hole_end - end, number);
    }
    return number;
}

uint32_t hbm_heap_take(struct hbm_heap *heap, uint64_t size_bytes, uint32_t align_shift,
                       enum hbm_role role, bool *host_refused)
{
    HBM_CHECK(size_bytes != 0);
    HBM_CHECK(align_shift >= heap->granule_shift);
    if (size_bytes > heap->above_stack_bytes - heap->used_bytes) {
        return HBM_POOL_NONE;
    }
    struct hbm_carving carving = {
        .size_bytes = size_bytes, .role = role, .align_shift = align_shift};
    carving.number = align_shift == heap->granule_shift
                         ? hbm_bins_find(heap, size_bytes)
                         : find_aligned_hole(heap, size_bytes, align_shift);
    if (carving.number == HBM_POOL_NONE) {
        return HBM_POOL_NONE;
    }
    const struct hbm_block *hole = hbm_heap_at(heap, carving.number);
    const uint64_t highest = hole->address + hole->size_bytes - size_bytes;
    carving.below_bytes = hbm_align_down(highest, align_shift) - hole->address;
    const uint32_t number = take_of_hole(heap, &carving);
    *host_refused |= number == HBM_POOL_NONE;
    return number;
}

uint32_t hbm_heap_hole_around(const struct hbm_heap *heap, uint64_t address, uint64_t size_bytes)
{
    HBM_CHECK(size_bytes != 0);
    for (uint32_t number = hbm_heap_at(heap, heap->stack)->next; number != HBM_POOL_NONE;) {
        const struct hbm_block *block = hbm_heap_at(heap, number);
        if (address - block->address < block->size_bytes) {
            const bool inside = size_bytes <= block->size_bytes - (address - block->address);
            return inside && block->role == HBM_ROLE_HOLE ? number : HBM_POOL_NONE;
        }
        number = block->next;
    }
    return HBM_POOL_NONE;
}

uint32_t hbm_heap_take_at(struct hbm_heap *heap, uint32_t hole_number, uint64_t address,
                          uint64_t size_bytes, enum hbm_role role)
{
    HBM_CHECK(size_bytes != 0);
    HBM_CHECK(hbm_heap_at(heap, hole_number)->role == HBM_ROLE_HOLE);
    struct hbm_carving carving = {.below_bytes = address - hbm_heap_at(heap, hole_number)->address,
                                  .size_bytes = size_bytes,
                                  .number = hole_number,
                                  .role = role,
                                  .align_shift = heap->granule_shift};
    return take_of_hole(heap, &carving);
}

/* ---- give ---- */

void hbm_heap_shrink_records(struct hbm_heap *heap)
{
    HBM_CHECK(heap->used_count == 0);
    if (heap->pool.slab_count > 1) {
        const uint64_t stack_bytes = hbm_heap_reserved(heap);
        hbm_pool_reset(&heap->pool);
        make_heap_empty(heap, stack_bytes);
    }
}

void hbm_heap_give(struct hbm_heap *heap, uint32_t number)
{
    struct hbm_block *block = hbm_heap_at(heap, number);
    HBM_CHECK(block->role >= HBM_ROLE_BUFFER);
    HBM_CHECK(heap->used_count != 0);
    hbm_heap_give_block(heap, block);
}

/* ---- the stack ---- */

static void shrink_stack(struct hbm_heap *heap, struct hbm_block *stack, uint64_t size_bytes)
{
    HBM_CHECK(size_bytes < stack->size_bytes);
    const uint64_t freed_bytes = stack->size_bytes - size_bytes;
    struct hbm_block *above = stack->next == HBM_POOL_NONE ? NULL : hbm_heap_at(heap, stack->next);
    stack->size_bytes = size_bytes;
    heap->above_stack_bytes = heap->capacity_bytes - size_bytes;
    if (above == NULL || above->role != HBM_ROLE_HOLE) {
        (void)make_hole(heap, size_bytes, freed_bytes, heap->stack);
        return;
    }
    HBM_CHECK(above->address == size_bytes + freed_bytes);
    hbm_bins_remove(heap, stack->next, above);
    above->address = size_bytes;
    above->size_bytes += freed_bytes;
    hbm_bins_insert(heap, stack->next, above);
}

static bool grow_stack(struct hbm_heap *heap, struct hbm_block *stack, uint64_t size_bytes)
{
    HBM_CHECK(size_bytes > stack->size_bytes);
    const uint64_t more_bytes = size_bytes - stack->size_bytes;
    const uint32_t number = stack->next;
    if (number == HBM_POOL_NONE || size_bytes > heap->capacity_bytes - heap->used_bytes) {
        return false;
    }
    struct hbm_block *above = hbm_heap_at(heap, number);
    if (above->role != HBM_ROLE_HOLE || above->size_bytes < more_bytes) {
        return false;
    }
    HBM_CHECK(above->address == stack->size_bytes);
    hbm_bins_remove(heap, number, above);
    stack->size_bytes = size_bytes;
    heap->above_stack_bytes = heap->capacity_bytes - size_bytes;
    if (above->size_bytes == more_bytes) {
        unlink_block(heap, above);
        hbm_pool_give(&heap->pool, number);
        return true;
    }
    above->address += more_bytes;
    above->size_bytes -= more_bytes;
    hbm_bins_insert(heap, number, above);
    return true;
}

bool hbm_heap_stack_set(struct hbm_heap *heap, uint64_t size_bytes)
{
    HBM_CHECK((size_bytes & (((uint64_t)1 << heap->granule_shift) - 1)) == 0);
    struct hbm_block *stack = hbm_heap_at(heap, heap->stack);
    HBM_CHECK(stack->role == HBM_ROLE_STACK);
    if (size_bytes == stack->size_bytes) {
        return true;
    }
    if (size_bytes > stack->size_bytes) {
        return grow_stack(heap, stack, size_bytes);
    }
    shrink_stack(heap, stack, size_bytes);
    return true;
}

uint64_t hbm_heap_largest(const struct hbm_heap *heap)
{
    const uint32_t number = hbm_bins_largest(heap);
    return number == HBM_POOL_NONE ? 0 : hbm_heap_at(heap, number)->size_bytes;
}

/* ---- relinking after moves ---- */

static void drop_holes(struct hbm_heap *heap)
{
    HBM_CHECK(heap->bins != NULL);
    uint32_t next;
    for (uint32_t number = hbm_heap_at(heap, heap->stack)->next; number != HBM_POOL_NONE;
         number = next) {
        const struct hbm_block *block = hbm_heap_at(heap, number);
        next = block->next;
        if (block->role == HBM_ROLE_HOLE) {
            HBM_CHECK_COSTLY(block->address + block->size_bytes <= heap->capacity_bytes);
            hbm_pool_give(&heap->pool, number);
        }
    }
    heap->rows = 0;
    memset(heap->columns, 0, sizeof heap->columns);
    memset(heap->bins, 0, ((size_t)heap->row_count << HBM_BIN_SHIFT) * BIN_BYTES);
}

void hbm_heap_relink(struct hbm_heap *heap, const uint32_t *numbers, size_t count)
{
    drop_holes(heap);
    struct hbm_block *stack = hbm_heap_at(heap, heap->stack);
    hbm_block_set_next(stack, HBM_POOL_NONE);
    uint32_t last = heap->stack;
    uint64_t end = stack->size_bytes;
    for (size_t i = 0; i < count; i++) {
        struct hbm_block *block = hbm_heap_at(heap, numbers[i]);
        HBM_CHECK(block->address >= end);
        if (block->address != end) {
            last = make_hole(heap, end, block->address - end, last);
        }
        link_block_after(heap, numbers[i], block, last);
        last = numbers[i];
        end = block->address + block->size_bytes;
    }
    HBM_CHECK(end <= heap->capacity_bytes);
    if (end != heap->capacity_bytes) {
        (void)make_hole(heap, end, heap->capacity_bytes - end, last);
    }
    HBM_CHECK_COSTLY(hbm_heap_invariants_hold(heap));
}

/* Gives the holes between two ranges back, and links their other neighbours with each other. */
static void drop_holes_between(struct hbm_heap *heap, uint32_t before, uint32_t after)
{
    for (uint32_t number = hbm_heap_at(heap, before)->next; number != after;) {
        struct hbm_block *block = hbm_heap_at(heap, number);
        const uint32_t next = block->next;
        if (block->role == HBM_ROLE_HOLE) {
            hbm_bins_remove(heap, number, block);
            unlink_block(heap, block);
            hbm_pool_give(&heap->pool, number);
        }
        number = next;
    }
}

void hbm_heap_relink_between(struct hbm_heap *heap, uint32_t before, uint32_t after)
{
    HBM_CHECK(before != HBM_POOL_NONE);
    HBM_CHECK(before != after);
    drop_holes_between(heap, before, after);
    for (uint32_t last = before; last != after;) {
        const struct hbm_block *block = hbm_heap_at(heap, last);
        const uint64_t end = block->address + block->size_bytes;
        const uint32_t next = block->next;
        const uint64_t start = next == HBM_POOL_NONE ? heap->capacity_bytes
                                                     : hbm_heap_at(heap, next)->address;
        HBM_CHECK(start >= end);
        if (start != end) {
            (void)make_hole(heap, end, start - end, last);
        }
        last = next;
    }
}

void hbm_heap_swap_places(struct hbm_heap *heap, uint32_t left_number, uint32_t right_number)
{
    struct hbm_block *left = hbm_heap_at(heap, left_number);
    struct hbm_block *right = hbm_heap_at(heap, right_number);
    HBM_CHECK(left->size_bytes == right->size_bytes);
    HBM_CHECK(left->next != right_number && right->next != left_number);
    const uint32_t left_before = left->previous, right_before = right->previous;
    const uint64_t left_address = left->address;
    unlink_block(heap, left);
    unlink_block(heap, right);
    left->address = right->address;
    right->address = left_address;
    link_block_after(heap, left_number, left, right_before);
    link_block_after(heap, right_number, right, left_before);
}

bool hbm_heap_relink_reserve(struct hbm_heap *heap, size_t count)
{
    HBM_CHECK(count != 0);
    return count < UINT32_MAX / 2 &&
           hbm_pool_reserve(&heap->pool, (uint32_t)count + 1 + HBM_SPARE_RECORDS);
}

/* ---- blocks whose contents are on the host ---- */

void hbm_heap_strand(struct hbm_heap *heap, uint32_t number)
{
    struct hbm_block *block = hbm_heap_at(heap, number);
    HBM_CHECK(hbm_block_is_stranded(block));
    HBM_CHECK(block->role >= HBM_ROLE_BUFFER);
    block->address = HBM_ADDRESS_NONE;
    hbm_block_set_previous(block, HBM_POOL_NONE);
    hbm_block_set_next(block, number);
}

bool hbm_heap_return(struct hbm_heap *heap, uint32_t number)
{
    struct hbm_block *block = hbm_heap_at(heap, number);
    HBM_CHECK(hbm_block_is_stranded(block));
    HBM_CHECK(block->address == HBM_ADDRESS_NONE);
    bool host_refused = false;
    heap->used_bytes -= block->size_bytes;
    heap->used_count--;
    const uint32_t taken_number = hbm_heap_take(heap, block->size_bytes, block->align_shift,
                                                HBM_ROLE_BUFFER, &host_refused);
    if (taken_number == HBM_POOL_NONE) {
        heap->used_bytes += block->size_bytes;
        heap->used_count++;
        return false;
    }
    const struct hbm_block *taken = hbm_heap_at(heap, taken_number);
    const uint32_t before = taken->previous;
    block->address = taken->address;
    unlink_block(heap, taken);
    hbm_pool_give(&heap->pool, taken_number);
    link_block_after(heap, number, block, before);
    HBM_CHECK((block->address & (((uint64_t)1 << block->align_shift) - 1)) == 0);
    return true;
}

void hbm_heap_stranded_give(struct hbm_heap *heap, uint32_t number)
{
    HBM_CHECK(hbm_heap_at(heap, number)->address == HBM_ADDRESS_NONE);
    HBM_CHECK(heap->used_count != 0);
    HBM_CHECK(heap->used_bytes >= hbm_heap_at(heap, number)->size_bytes);
    heap->used_bytes -= hbm_heap_at(heap, number)->size_bytes;
    heap->used_count--;
    hbm_pool_give(&heap->pool, number);
}

/* ---- invariants ---- */

static bool is_range_sound(const struct hbm_heap *heap, uint32_t number,
                           const struct hbm_block *block, const struct hbm_block *previous)
{
    const uint64_t granule_mask = ((uint64_t)1 << heap->granule_shift) - 1;
    if (block->address != previous->address + previous->size_bytes ||
        hbm_heap_number(heap, block) != number) {
        return false;
    }
    if (block->size_bytes == 0 || ((block->address | block->size_bytes) & granule_mask) != 0) {
        return false;
    }
    if (block->role == HBM_ROLE_HOLE) {
        return previous->role != HBM_ROLE_HOLE;
    }
    return block->role >= HBM_ROLE_BUFFER &&
           (block->address & (((uint64_t)1 << block->align_shift) - 1)) == 0;
}

bool hbm_heap_invariants_hold(const struct hbm_heap *heap)
{
    uint64_t hole_count = 0, used_bytes = 0;
    const struct hbm_block *previous = hbm_heap_at(heap, heap->stack);
    if (hbm_heap_at(heap, HBM_POOL_NONE)->role == HBM_ROLE_HOLE) {
        return false;
    }
    if (previous->role != HBM_ROLE_STACK || previous->address != 0 ||
        previous->size_bytes != hbm_heap_reserved(heap)) {
        return false;
    }
    for (uint32_t number = previous->next; number != HBM_POOL_NONE;) {
        const struct hbm_block *block = hbm_heap_at(heap, number);
        if (!is_range_sound(heap, number, block, previous)) {
            return false;
        }
        if (block->role == HBM_ROLE_HOLE) {
            hole_count++;
        } else {
            used_bytes += block->size_bytes;
        }
        previous = block;
        number = block->next;
    }
    if (previous->address + previous->size_bytes != heap->capacity_bytes) {
        return false;
    }
    return used_bytes <= heap->used_bytes && hbm_bins_invariants_hold(heap, hole_count);
}
