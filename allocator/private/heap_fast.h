/* Nearly every allocation and free does this in the heap, inline: the upper end of a hole becomes a
 * block, and a block becomes one hole with those around it. */
#ifndef ALLOCATOR_PRIVATE_HEAP_FAST_H
#define ALLOCATOR_PRIVATE_HEAP_FAST_H

#include "allocator/private/bins.h"

/* A stack that shrinks may need a record for the hole it leaves, and must not fail: one record is
 * always kept free beyond those that a call needs itself. */
#define HBM_SPARE_RECORDS 1u
/* A block in the middle of a hole, and the hole above it. */
#define HBM_CARVE_RECORDS (2u + HBM_SPARE_RECORDS)

/* Takes a record as the pool's own call does; the pool has other users. */
HBM_HOT uint32_t hbm_heap_take_record(struct hbm_heap *heap)
{
    struct hbm_pool *pool = &heap->pool;
    const uint32_t number = pool->free_head;
    if (__builtin_expect(number == HBM_POOL_NONE, 0)) {
        return hbm_pool_take(pool);
    }
    HBM_CHECK_COSTLY(pool->free_count != 0);
    pool->free_count--;
    pool->free_head = *(const uint32_t *)(const void *)hbm_heap_at(heap, number);
    return number;
}

HBM_HOT void hbm_heap_give_record(struct hbm_heap *heap, uint32_t number, struct hbm_block *block)
{
    HBM_CHECK_COSTLY(hbm_heap_at(heap, number) == block);
    *(uint32_t *)(void *)block = heap->pool.free_head;
    heap->pool.free_head = number;
    heap->pool.free_count++;
}

HBM_HOT void hbm_block_set_previous(struct hbm_block *block, uint32_t number)
{
    block->previous = number & HBM_NUMBER_MAX;
}

HBM_HOT void hbm_block_set_next(struct hbm_block *block, uint32_t number)
{
    block->next = number & HBM_NUMBER_MAX;
}

/* Makes a hole of a record that is in no bin. */
HBM_HOT void hbm_block_set_hole(struct hbm_block *block, uint64_t size_bytes, uint32_t previous,
                                uint32_t next)
{
    block->size_bytes = size_bytes;
    block->previous = previous & HBM_NUMBER_MAX;
    block->role = HBM_ROLE_HOLE;
    block->dying = false;
    block->next = next & HBM_NUMBER_MAX;
    block->place = HBM_PLACE_LIST;
    block->in_use = false;
}

/* The block that is made of a hole. */
struct hbm_carving {
    struct hbm_block *hole;
    uint64_t below_bytes; /* of the hole, which stay one; less than all */
    uint64_t size_bytes;
    uint32_t number; /* of the hole */
    uint32_t bin;    /* it is in */
    enum hbm_role role;
    uint32_t align_shift;
    uint64_t padding_bytes; /* beyond HBM_PADDING_MAX: will be described elsewhere */
};

/* Sets all but the address and the links. */
HBM_HOT void hbm_block_set(struct hbm_block *block, const struct hbm_carving *carving)
{
    block->size_bytes = carving->size_bytes;
    block->role = carving->role & HBM_ROLE_MAX;
    block->dying = false;
    block->place = HBM_PLACE_DEVICE;
    block->in_use = false;
    block->hold_count = 0;
    block->padding_bytes = carving->padding_bytes & HBM_PADDING_MAX;
    block->align_shift = carving->align_shift & HBM_ALIGN_SHIFT_MAX;
    block->described = false;
    block->shaped = false;
    block->unused = 0;
}

/* Makes a block of size_bytes of the hole, without flags, references and description, and links it
 * as if it ended where the hole does; the hole keeps what is below, if anything.  HBM_CARVE_RECORDS
 * are reserved. */
HBM_HOT struct hbm_block *hbm_heap_carve(struct hbm_heap *heap, const struct hbm_carving *carving)
{
    struct hbm_block *hole = carving->hole;
    HBM_CHECK(carving->below_bytes < hole->size_bytes);
    heap->used_bytes += carving->size_bytes;
    heap->used_count++;
    if (carving->below_bytes == 0) {
        hbm_bins_remove_from(heap, carving->bin, carving->number, hole);
        hbm_block_set(hole, carving);
        return hole;
    }
    const uint32_t number = hbm_heap_take_record(heap), next = hole->next;
    struct hbm_block *block = hbm_heap_at(heap, number);
    hbm_bins_resize(heap, carving->bin, carving->number, hole, carving->below_bytes);
    hbm_block_set_next(hole, number);
    hbm_block_set_previous(hbm_heap_at(heap, next), number);
    block->address = hole->address + carving->below_bytes;
    hbm_block_set_previous(block, carving->number);
    hbm_block_set_next(block, next);
    hbm_block_set(block, carving);
    return block;
}

/* hbm_heap_take for granule alignment, where records are there, of a block with so many bytes that
 * were not asked for.  NULL: no hole, or no records, and nothing changed. */
HBM_HOT struct hbm_block *hbm_heap_take_plain(struct hbm_heap *heap, uint64_t size_bytes,
                                              enum hbm_role role, uint64_t padding_bytes)
{
    /* Holes may come to more: bytes of a block that is stranded on the host stay its own, wherever
     * they are. */
    if (size_bytes > heap->above_stack_bytes - heap->used_bytes ||
        heap->pool.free_count < HBM_CARVE_RECORDS) {
        return NULL;
    }
    struct hbm_found found;
    if (!hbm_bins_search(heap, size_bytes, &found)) {
        return NULL;
    }
    const struct hbm_carving carving = {.hole = found.hole,
                                        .below_bytes = found.hole->size_bytes - size_bytes,
                                        .size_bytes = size_bytes,
                                        .number = found.number,
                                        .bin = found.bin,
                                        .role = role,
                                        .align_shift = heap->granule_shift,
                                        .padding_bytes = padding_bytes};
    return hbm_heap_carve(heap, &carving);
}

/* Memory for records goes back when the last block does. */
HBM_RARE void hbm_heap_shrink_records(struct hbm_heap *heap);

/* hbm_heap_give, for a block with a range. */
HBM_HOT void hbm_heap_give_block(struct hbm_heap *heap, struct hbm_block *block)
{
    const uint32_t previous_number = block->previous, next_number = block->next;
    struct hbm_block *previous = hbm_heap_at(heap, previous_number);
    struct hbm_block *next = hbm_heap_at(heap, next_number);
    uint64_t size_bytes = block->size_bytes;
    uint32_t number = previous->next, beyond = next_number;
    HBM_CHECK_COSTLY(hbm_heap_at(heap, number) == block);
    HBM_CHECK(heap->used_bytes >= size_bytes);
    heap->used_bytes -= size_bytes;
    if (next->role == HBM_ROLE_HOLE) {
        hbm_bins_remove(heap, next_number, next);
        size_bytes += next->size_bytes;
        beyond = next->next;
        hbm_heap_give_record(heap, next_number, next);
        next = hbm_heap_at(heap, beyond);
    }
    if (previous->role == HBM_ROLE_HOLE) {
        hbm_heap_give_record(heap, number, block);
        hbm_bins_resize(heap, hbm_bin_index(hbm_hole_granules(heap, previous)), previous_number,
                        previous, previous->size_bytes + size_bytes);
        number = previous_number;
        hbm_block_set_next(previous, beyond);
    } else {
        hbm_block_set_hole(block, size_bytes, previous_number, beyond);
        hbm_bins_insert(heap, number, block);
    }
    hbm_block_set_previous(next, number);
    if (__builtin_expect(--heap->used_count == 0, 0)) {
        hbm_heap_shrink_records(heap);
    }
}

#endif
