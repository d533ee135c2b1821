/* Layouts found gap by gap: what is found is a layout, most drawn heaps with a little to spare have
 * one found, clearing a window moves few blocks, and no plan puts a block over another. */
#include "allocator/private/search.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/allocator/hbm_rig.h"
#include "tests/helpers/suite.h"

enum { ITEM_COUNT = 24, CAPACITY = 2048, SPAN_COUNT = 2 };

/* A heap whose layout is known: blocks from the bottom up, a few of them at large alignments, with
 * gaps between. */
struct heap {
    uint64_t sizes[ITEM_COUNT], addresses[ITEM_COUNT], found[ITEM_COUNT];
    uint8_t shifts[ITEM_COUNT];
    uint32_t places[ITEM_COUNT], order[SPAN_COUNT];
    size_t count;
    struct hbm_span spans[SPAN_COUNT];
    struct hbm_host host;
    struct hbm_device device;
};

static void swap_items(struct heap *heap, size_t a, size_t b)
{
    uint64_t size_bytes = heap->sizes[a], address = heap->addresses[a];
    uint8_t shift = heap->shifts[a];
    heap->sizes[a] = heap->sizes[b], heap->addresses[a] = heap->addresses[b],
    heap->shifts[a] = heap->shifts[b];
    heap->sizes[b] = size_bytes, heap->addresses[b] = address, heap->shifts[b] = shift;
}

/* Largest first, and places[] in address order. */
static void heap_sort(struct heap *heap)
{
    for (size_t i = 1; i < heap->count; i++) {
        for (size_t k = i; k > 0 && heap->sizes[k] > heap->sizes[k - 1]; k--) {
            swap_items(heap, k, k - 1);
        }
    }
    for (uint32_t i = 0; i < heap->count; i++) {
        size_t k = i;
        for (; k > 0 && heap->addresses[heap->places[k - 1]] > heap->addresses[i]; k--) {
            heap->places[k] = heap->places[k - 1];
        }
        heap->places[k] = i;
    }
}

static void heap_draw(struct heap *heap)
{
    uint64_t end = 0;
    *heap = (struct heap){.spans = {{.low = 0, .high = 700}, {.low = 720, .high = CAPACITY}},
                          .order = {0, 1}};
    heap->host = rig_host(&heap->device);
    for (size_t i = 0, s = 0; i < ITEM_COUNT; i++) {
        heap->shifts[i] = draw_below(4) == 0 ? 8 : 0;
        heap->sizes[i] = draw_below(3) == 0 ? 60 + draw_below(140) : 1 + draw_below(40);
        end = hbm_align_up(end, heap->shifts[i]);
        if (end + heap->sizes[i] > heap->spans[s].high) {
            if (++s == SPAN_COUNT) {
                break;
            }
            end = hbm_align_up(heap->spans[s].low, heap->shifts[i]);
        }
        heap->addresses[i] = end;
        end += heap->sizes[i] + (draw_below(4) == 0 ? draw_below(12) : 0);
        heap->count++;
    }
    heap_sort(heap);
}

static struct hbm_aligned search_of(struct heap *heap)
{
    return (struct hbm_aligned){.sizes = heap->sizes,
                                .shifts = heap->shifts,
                                .item_count = heap->count,
                                .spans = heap->spans,
                                .span_order = heap->order,
                                .span_count = SPAN_COUNT,
                                .nodes_max = 100000,
                                .addresses = heap->found,
                                .host = &heap->host};
}

TEST(drawn_heaps_are_laid_out_from_nothing)
{
    static struct heap heap;
    int found = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        random_state = seed;
        heap_draw(&heap);
        struct hbm_aligned search = search_of(&heap);
        if (hbm_gaps_fill(&search) == HBM_SEARCH_FOUND) {
            check_layout(&search);
            found++;
        }
        ck_assert_uint_eq(heap.host.bytes, 0);
        hbm_device_deinit(&heap.device);
    }
    printf("%d of 100 are laid out\n", found);
    ck_assert_int_ge(found, 90);
}

/* Each block in turn is taken out and asked for again: its own place is free, so nothing else may
 * move. */
TEST(window_that_is_free_moves_nothing)
{
    static struct heap heap;
    random_state = 7;
    heap_draw(&heap);
    for (size_t out = 0; out < heap.count; out++) {
        uint32_t demand = heap.places[out], places[ITEM_COUNT];
        memcpy(places, heap.places, sizeof places);
        memmove(&places[out], &places[out + 1], (heap.count - 1 - out) * sizeof *places);
        places[heap.count - 1] = demand;
        struct hbm_gaps_now now = {
            .addresses = heap.addresses, .places = places, .count = heap.count - 1};
        struct hbm_aligned search = search_of(&heap);
        ck_assert_int_eq(hbm_gaps_clear(&search, &now), HBM_SEARCH_FOUND);
        check_layout(&search);
        for (size_t i = 0; i < heap.count; i++) {
            ck_assert(i == demand || heap.found[i] == heap.addresses[i]);
        }
    }
    hbm_device_deinit(&heap.device);
}

/* 256 at a multiple of 256 has no place but where 30 and 20 lie, and each of them has one gap that
 * it fits in. */
TEST(window_is_cleared_into_what_alignment_left)
{
    struct heap heap = {.sizes = {256, 200, 190, 30, 20},
                        .shifts = {8, 8, 8, 0, 0},
                        .count = 5,
                        .addresses = {0, 0, 512, 260, 400},
                        .order = {0, 1},
                        .spans = {{.low = 0, .high = 702}, {.low = 760, .high = 790}}};
    const uint32_t places[] = {1, 3, 4, 2, 0};
    heap.host = rig_host(&heap.device);
    struct hbm_gaps_now now = {.addresses = heap.addresses, .places = places, .count = 4};
    struct hbm_aligned search = search_of(&heap);
    ck_assert_int_eq(hbm_gaps_clear(&search, &now), HBM_SEARCH_FOUND);
    check_layout(&search);
    ck_assert_uint_eq(heap.found[0], 256);
    ck_assert_uint_eq(heap.found[1], 0);
    ck_assert_uint_eq(heap.found[2], 512);
    heap.sizes[3] = 57; /* one more than the largest gap outside the window */
    ck_assert_int_eq(hbm_gaps_clear(&search, &now), HBM_SEARCH_UNKNOWN);
    hbm_device_deinit(&heap.device);
}

/* 10 at a multiple of 16 has one place, below a window that ends where the span does. */
TEST(window_at_the_end_of_a_span_leaves_what_lies_below_it)
{
    struct heap heap = {.sizes = {45, 10},
                        .shifts = {0, 4},
                        .count = 2,
                        .addresses = {0, 80},
                        .order = {0, 1},
                        .spans = {{.low = 64, .high = 119}, {.low = 200, .high = 201}}};
    const uint32_t places[] = {1, 0};
    heap.host = rig_host(&heap.device);
    struct hbm_gaps_now now = {.addresses = heap.addresses, .places = places, .count = 1};
    struct hbm_aligned search = search_of(&heap);
    ck_assert_int_eq(hbm_gaps_clear(&search, &now), HBM_SEARCH_FOUND);
    ck_assert_uint_eq(heap.found[0], 74);
    ck_assert_uint_eq(heap.found[1], 64);
    hbm_device_deinit(&heap.device);
}

/* Where the only item goes. */
static uint64_t fill_with_one(uint64_t size_bytes, uint8_t shift, struct hbm_span first,
                              struct hbm_span second)
{
    struct heap heap = {.sizes = {size_bytes},
                        .shifts = {shift},
                        .count = 1,
                        .order = {0, 1},
                        .spans = {first, second}};
    heap.host = rig_host(&heap.device);
    struct hbm_aligned search = search_of(&heap);
    ck_assert_int_eq(hbm_gaps_fill(&search), HBM_SEARCH_FOUND);
    hbm_device_deinit(&heap.device);
    return heap.found[0];
}

TEST(smallest_gap_is_taken_at_the_end_that_wastes_less)
{
    const struct hbm_span small = {.low = 7, .high = 30}, large = {.low = 33, .high = 70},
                          other = {.low = 33, .high = 56};
    ck_assert_uint_eq(fill_with_one(4, 3, small, large), 8);
    ck_assert_uint_eq(fill_with_one(6, 3, small, large), 24);
    ck_assert_uint_eq(fill_with_one(4, 3, other, large), 48);
    ck_assert_uint_eq(fill_with_one(24, 0, small, large), 46);
    ck_assert_uint_lt(fill_with_one(4, 0, small, other), 30); /* the first of equal ones */
}

TEST(refused_host_memory_is_told)
{
    static struct heap heap;
    random_state = 3;
    heap_draw(&heap);
    heap.device.host_allocs_until_refusal = 1;
    struct hbm_aligned search = search_of(&heap);
    ck_assert_int_eq(hbm_gaps_fill(&search), HBM_SEARCH_REFUSED);
    hbm_device_deinit(&heap.device);
}

/* Two blocks, and as many gaps to look at for each: of a heap with as many blocks as gaps that
 * takes minutes. */
TEST(order_that_is_far_beyond_its_budget_is_given_up)
{
    enum { MANY = 1000 };
    static struct hbm_span spans[MANY];
    const uint64_t sizes[] = {8, 8};
    const uint8_t shifts[] = {4, 0};
    uint64_t found[2];
    struct hbm_device device;
    for (size_t i = 0; i < MANY; i++) {
        spans[i] = (struct hbm_span){.low = 100 * i + 4, .high = 100 * i + 20};
    }
    struct hbm_host host = rig_host(&device);
    struct hbm_aligned search = {.sizes = sizes,
                                 .shifts = shifts,
                                 .item_count = 2,
                                 .spans = spans,
                                 .span_count = MANY,
                                 .nodes_max = 1000,
                                 .addresses = found,
                                 .host = &host};
    ck_assert_int_eq(hbm_gaps_fill(&search), HBM_SEARCH_FOUND);
    search.nodes_max = 10;
    ck_assert_int_eq(hbm_gaps_fill(&search), HBM_SEARCH_UNKNOWN);
    hbm_device_deinit(&device);
}

/* ---- plans ---- */

enum { PLAN_ITEM_COUNT = 20, PLAN_GRANULE_SHIFT = 8 };

/* A plan over a heap that is nearly full: some blocks want large alignments, some cannot move. */
struct drawn_plan {
    struct hbm_item items[PLAN_ITEM_COUNT];
    struct hbm_plan plan;
    struct hbm_host host;
    struct hbm_device device;
};

static uint8_t draw_shift(void)
{
    return (uint8_t)(PLAN_GRANULE_SHIFT + (draw_below(3) == 0 ? draw_below(5) : 0));
}

/* The heap is [base, base + granules) and something below it that stays. */
static void plan_draw(struct drawn_plan *drawn, uint64_t base, uint64_t granules)
{
    uint64_t end = base, capacity_bytes = base + (granules << PLAN_GRANULE_SHIFT);
    size_t count = 0;
    *drawn = (struct drawn_plan){0};
    if (base != 0) {
        drawn->items[count++] = (struct hbm_item){.size_bytes = base,
                                                  .align_shift = PLAN_GRANULE_SHIFT};
    }
    while (count < PLAN_ITEM_COUNT) {
        struct hbm_item item = {.size_bytes = (1 + draw_below(granules / 10)) << PLAN_GRANULE_SHIFT,
                                .align_shift = draw_shift(),
                                .movable = draw_below(8) != 0,
                                .block = (uint32_t)count};
        end += draw_below(4) == 0 ? draw_below(granules / 12) << PLAN_GRANULE_SHIFT : 0;
        item.address = item.target = hbm_align_up(end, item.align_shift);
        end = item.address + item.size_bytes;
        if (end > capacity_bytes) {
            break;
        }
        drawn->items[count++] = item;
    }
    drawn->host = rig_host(&drawn->device);
    drawn->plan = (struct hbm_plan){.items = drawn->items,
                                    .item_count = count,
                                    .item_room = PLAN_ITEM_COUNT,
                                    .capacity_bytes = capacity_bytes,
                                    .granule_shift = PLAN_GRANULE_SHIFT,
                                    .search_nodes_max = 20000,
                                    .host = &drawn->host};
    if (draw_below(4) != 0) {
        drawn->plan.demand.size_bytes = (1 + draw_below(granules / 4)) << PLAN_GRANULE_SHIFT;
        drawn->plan.demand.align_shift = draw_shift();
    }
    if (base == 0 && draw_below(3) == 0) {
        drawn->plan.demand.stack_bytes = (1 + draw_below(granules / 6)) << PLAN_GRANULE_SHIFT;
    }
}

/* In address order of their targets, moved there. */
static void plan_carry_out(struct drawn_plan *drawn)
{
    struct hbm_item *items = drawn->items;
    for (size_t i = 0; i < drawn->plan.item_count; i++) {
        ck_assert(items[i].movable || items[i].target == items[i].address);
        items[i].address = items[i].target;
        for (size_t k = i; k > 0 && items[k - 1].address > items[k].address; k--) {
            struct hbm_item item = items[k];
            items[k] = items[k - 1], items[k - 1] = item;
        }
    }
}

/* Every block aligned, none over another, none in the stack or behind the end, and room for the
 * demand. */
static void assert_plan(struct drawn_plan *drawn)
{
    uint64_t end = drawn->plan.demand.stack_bytes;
    plan_carry_out(drawn);
    for (size_t i = 0; i < drawn->plan.item_count; i++) {
        const struct hbm_item *item = &drawn->items[i];
        ck_assert_uint_eq(item->address, hbm_align_down(item->address, item->align_shift));
        ck_assert_uint_ge(item->address, end);
        ck_assert_uint_le(item->size_bytes, drawn->plan.capacity_bytes - item->address);
        end = item->address + item->size_bytes;
    }
    ck_assert(hbm_plan_direct(&drawn->plan));
}

/* The ends of the largest heaps that there are, too. */
static const uint64_t bases[] = {
    0, (uint64_t)1 << 50, ((uint64_t)1 << 63) - (400u << PLAN_GRANULE_SHIFT), (uint64_t)1 << 62};

TEST(plans_put_no_block_over_another, .to = sizeof bases / sizeof *bases)
{
    static struct drawn_plan drawn;
    int found = 0, drawn_count = 0;
    for (uint64_t seed = 0; seed < 1500; seed++) {
        random_state = seed;
        plan_draw(&drawn, bases[_i], 60 + draw_below(300));
        if (!hbm_plan_direct(&drawn.plan)) {
            drawn_count++;
            if (hbm_plan_repack(&drawn.plan)) {
                found++;
                assert_plan(&drawn);
            }
            ck_assert(!drawn.plan.host_refused);
        }
        ck_assert_uint_eq(drawn.host.bytes, 0);
        hbm_device_deinit(&drawn.device);
    }
    printf("base %" PRIx64 ": %d of %d fit\n", bases[_i], found, drawn_count);
    ck_assert_int_ge(found, 100);
}

/* Each allocation of a plan in turn is refused. */
TEST(refused_plan_is_no_proof)
{
    static struct drawn_plan drawn;
    int refused_count = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        bool is_refused = true;
        for (uint64_t at = 1; is_refused; at++) {
            random_state = seed;
            plan_draw(&drawn, 0, 60 + draw_below(300));
            drawn.plan.search_nodes_max = 200;
            drawn.device.host_allocs_until_refusal = at;
            const bool fits = hbm_plan_repack(&drawn.plan);
            is_refused = drawn.device.host_allocs_until_refusal == 0;
            ck_assert(fits || drawn.plan.host_refused == is_refused);
            refused_count += !fits && is_refused;
            ck_assert_uint_eq(drawn.host.bytes, 0);
            hbm_device_deinit(&drawn.device);
        }
    }
    ck_assert_int_gt(refused_count, 300);
}
