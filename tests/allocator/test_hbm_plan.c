/* Plans of which block goes where, on snapshots made by hand: which blocks make room, and what is
 * known without planning. */
#include <check.h>
#include <string.h>

#include "allocator/private/call.h"
#include "allocator/private/packing.h"
#include "allocator/private/search.h"
#include "tests/allocator/hbm_rig.h"
#include "tests/helpers/suite.h"

enum { ITEM_COUNT_MAX = 32, NODES_MAX = 10000, DRAW_COUNT = 4000 };

/* A heap of one-byte granules. */
struct snapshot {
    struct hbm_item items[ITEM_COUNT_MAX];
    struct hbm_device device;
    struct hbm_host host;
    struct hbm_plan plan;
};

static void snapshot_begin(struct snapshot *snapshot, uint64_t capacity_bytes,
                           uint64_t demand_bytes)
{
    *snapshot = (struct snapshot){0};
    snapshot->host = rig_host(&snapshot->device);
    snapshot->plan = (struct hbm_plan){.items = snapshot->items,
                                       .item_room = ITEM_COUNT_MAX,
                                       .capacity_bytes = capacity_bytes,
                                       .demand = {.size_bytes = demand_bytes},
                                       .search_nodes_max = NODES_MAX,
                                       .host = &snapshot->host};
}

static struct hbm_item *snapshot_add(struct snapshot *snapshot, uint64_t address,
                                     uint64_t size_bytes, bool is_movable)
{
    ck_assert_uint_lt(snapshot->plan.item_count, ITEM_COUNT_MAX);
    struct hbm_item *item = &snapshot->items[snapshot->plan.item_count++];
    *item = (struct hbm_item){
        .address = address, .target = address, .size_bytes = size_bytes, .movable = is_movable};
    return item;
}

static void snapshot_end(struct snapshot *snapshot)
{
    ck_assert_uint_eq(snapshot->host.bytes, 0);
    hbm_device_deinit(&snapshot->device);
}

/* ---- which blocks make room ---- */

/* Three blocks from address 0 up, and spans of more room behind blocks that stay. */
struct crowded {
    uint64_t sizes[3], span_bytes, demand_bytes;
    uint64_t others[2]; /* lengths of the other spans; 0 = none */
    bool leaves[3];
};

static void check_who_leaves(const struct crowded *row)
{
    struct snapshot snapshot;
    uint64_t end = 0;
    snapshot_begin(&snapshot, 0, row->demand_bytes);
    for (size_t i = 0; i < 3; i++) {
        snapshot_add(&snapshot, end, row->sizes[i], true);
        end += row->sizes[i];
    }
    end = row->span_bytes;
    for (size_t i = 0; i < 2 && row->others[i] > 0; i++) {
        snapshot_add(&snapshot, end, 1, false);
        end += 1 + row->others[i];
    }
    snapshot.plan.capacity_bytes = end;
    ck_assert(hbm_plan_repack(&snapshot.plan));
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(snapshot.items[i].target > row->span_bytes, row->leaves[i]);
    }
    snapshot_end(&snapshot);
}

TEST(the_smallest_block_that_is_enough_leaves_or_else_the_largest_that_has_a_place)
{
    static const struct crowded rows[] = {
        {{5, 4, 3}, 15, 6, {5, 0}, {false, false, true}},
        {{5, 4, 3}, 14, 6, {5, 0}, {false, true, false}},
        {{5, 4, 3}, 13, 7, {6, 3}, {true, false, true}},
        {{5, 3, 3}, 14, 6, {5, 0}, {false, true, false}}, /* the first of equal ones */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_who_leaves(&rows[i]);
    }
}

/* Three spans of 6 with a block of 3 each, at the bottom.  That of the first goes to the second. */
TEST(of_equal_spans_the_first_makes_room_and_others_keep_their_blocks)
{
    struct snapshot snapshot;
    snapshot_begin(&snapshot, 20, 5);
    snapshot_add(&snapshot, 0, 3, true);
    snapshot_add(&snapshot, 6, 1, false);
    snapshot_add(&snapshot, 7, 3, true);
    snapshot_add(&snapshot, 13, 1, false);
    snapshot_add(&snapshot, 14, 3, true);
    ck_assert(hbm_plan_repack(&snapshot.plan));
    ck_assert_uint_gt(snapshot.items[0].target, 6);
    ck_assert_uint_eq(snapshot.items[4].target, 14);
    snapshot_end(&snapshot);
}

/* Three spans of 4, 5 and 6, and only that of 5 has a place that is aligned; the others are the
 * first that each rule tries.  There are as many spans as there can be. */
TEST(an_aligned_demand_finds_the_one_span_that_has_a_place)
{
    struct snapshot snapshot;
    snapshot_begin(&snapshot, 23, 4);
    snapshot.plan.demand.align_shift = 2;
    snapshot.plan.demand.stack_bytes = 1;
    snapshot_add(&snapshot, 5, 3, false);
    snapshot_add(&snapshot, 13, 4, false);
    ck_assert(hbm_plan_repack(&snapshot.plan));
    snapshot_end(&snapshot);
}

/* ---- what is known without planning ---- */

static bool room_is_planned(uint64_t absent_bytes, uint64_t demand_bytes, bool *is_refused)
{
    struct hbm_rig rig;
    struct snapshot snapshot;
    rig_start(&rig, 16, HBM_DEFRAG_REPACK);
    snapshot_begin(&snapshot, 10, demand_bytes);
    snapshot_add(&snapshot, 1, 3, true);
    snapshot_add(&snapshot, 5, 1, true);
    snapshot.plan.absent_bytes = absent_bytes;
    snapshot.device.host_allocs_until_refusal = 1;
    const bool is_planned = hbm_room_plan(rig.hbm, &snapshot.plan);
    *is_refused = snapshot.plan.host_refused;
    snapshot_end(&snapshot);
    rig_stop(&rig);
    return is_planned;
}

/* Blocks of 4 bytes in 10: what they, the demand and the blocks without a place come to is looked
 * at before any host memory is needed. */
TEST(what_sums_rule_out_is_not_planned)
{
    bool is_refused = false;
    ck_assert(room_is_planned(0, 6, &is_refused));
    ck_assert(room_is_planned(1, 5, &is_refused));
    ck_assert(!room_is_planned(0, 7, &is_refused));
    ck_assert(!is_refused);
    ck_assert(!room_is_planned(2, 5, &is_refused));
    ck_assert(!is_refused);
    ck_assert(!room_is_planned(7, 4, &is_refused));
    ck_assert(!is_refused);
    ck_assert(!room_is_planned(0, 11, &is_refused));
    ck_assert(!is_refused);
}

/* ---- sliding ---- */

enum { SLIDE_GRANULES = 16, SLIDE_ITEM_COUNT = 4 };

/* A drawn heap, and whether some block or the demand wants more than the granule. */
static void draw_slide(struct snapshot *snapshot, bool is_aligned)
{
    uint64_t end = draw_below(3);
    snapshot_begin(snapshot, SLIDE_GRANULES, 1 + draw_below(6));
    snapshot->plan.demand.align_shift = is_aligned ? (uint32_t)draw_below(3) : 0;
    snapshot->plan.demand.stack_bytes = draw_below(4) == 0 ? draw_below(4) : 0;
    for (size_t i = 0; i < SLIDE_ITEM_COUNT; i++) {
        const uint8_t shift = is_aligned ? (uint8_t)draw_below(3) : 0;
        const uint64_t size_bytes = 1 + draw_below(4);
        end = hbm_align_up(end + (draw_below(2) == 0 ? draw_below(4) : 0), shift);
        if (end + size_bytes <= SLIDE_GRANULES) {
            snapshot_add(snapshot, end, size_bytes, draw_below(5) != 0)->align_shift = shift;
            end += size_bytes;
        }
    }
}

/* The fewest bytes that move when items from i on lie above low, in their order; UINT64_MAX: they
 * do not fit.  is_placed: the demand has its place. */
static uint64_t find_fewest(const struct hbm_plan *plan, size_t i, uint64_t low, bool is_placed)
{
    uint64_t fewest = UINT64_MAX;
    const uint64_t need = plan->demand.size_bytes;
    for (uint64_t at = hbm_align_up(low, plan->demand.align_shift);
         !is_placed && at + need <= plan->capacity_bytes;
         at += (uint64_t)1 << plan->demand.align_shift) {
        const uint64_t bytes = find_fewest(plan, i, at + need, true);
        fewest = bytes < fewest ? bytes : fewest;
    }
    if (i == plan->item_count) {
        return is_placed ? 0 : fewest;
    }
    const struct hbm_item *item = &plan->items[i];
    for (uint64_t at = low; at + item->size_bytes <= plan->capacity_bytes; at++) {
        const bool may_lie = item->movable ? at == hbm_align_down(at, item->align_shift)
                                           : at == item->address;
        const uint64_t rest = may_lie ? find_fewest(plan, i + 1, at + item->size_bytes, is_placed)
                                      : UINT64_MAX;
        const uint64_t bytes = rest == UINT64_MAX
                                   ? rest
                                   : rest + (at == item->address ? 0 : item->size_bytes);
        fewest = bytes < fewest ? bytes : fewest;
    }
    return fewest;
}

/* 0: with granules alone; 1: with alignments. */
TEST(sliding_moves_the_fewest_bytes_there_are, .to = 2)
{
    int fits_count = 0;
    random_state = 6;
    for (int i = 0; i < DRAW_COUNT; i++) {
        struct snapshot snapshot;
        uint64_t moved_bytes = 0;
        draw_slide(&snapshot, _i == 1);
        const uint64_t fewest = find_fewest(&snapshot.plan, 0, snapshot.plan.demand.stack_bytes,
                                            false);
        ck_assert_int_eq(hbm_plan_slide(&snapshot.plan), fewest != UINT64_MAX);
        for (size_t k = 0; k < snapshot.plan.item_count && fewest != UINT64_MAX; k++) {
            const struct hbm_item *item = &snapshot.items[k];
            moved_bytes += item->target != item->address ? item->size_bytes : 0;
        }
        ck_assert(fewest == UINT64_MAX || moved_bytes == fewest);
        fits_count += fewest != UINT64_MAX;
        for (size_t k = 0; k < snapshot.plan.item_count; k++) {
            snapshot.items[k].address = snapshot.items[k].target;
        }
        ck_assert(fewest == UINT64_MAX || hbm_plan_direct(&snapshot.plan));
        snapshot_end(&snapshot);
    }
    ck_assert_int_gt(fits_count, DRAW_COUNT / 4);
}

/* Two spans with a block between a free granule and another one each; an alignment of what stays in
 * its place makes it look at each place in turn. */
TEST(of_equally_cheap_places_the_lowest_is_taken)
{
    for (uint8_t shift = 0; shift < 2; shift++) {
        struct snapshot snapshot;
        snapshot_begin(&snapshot, 9, 2);
        snapshot_add(&snapshot, 1, 1, true);
        snapshot_add(&snapshot, 3, 1, false);
        snapshot_add(&snapshot, 5, 1, true);
        snapshot_add(&snapshot, 7, 1, false);
        snapshot_add(&snapshot, 8, 1, false)->align_shift = shift;
        ck_assert(hbm_plan_slide(&snapshot.plan));
        ck_assert_uint_ne(snapshot.items[0].target, 1);
        ck_assert_uint_eq(snapshot.items[2].target, 5);
        snapshot_end(&snapshot);
    }
}

/* ---- compaction ---- */

/* Three spans of 6, 4 and 5: blocks of 2 and 3, of 2, and of last_bytes. */
TEST(compaction_fills_spans_from_the_top_and_holes_of_higher_ones_first_if_it_may)
{
    static const struct {
        uint64_t last_bytes;
        bool is_anywhere;
        uint64_t targets[4];
    } rows[] = {
        {3, false, {1, 3, 9, 14}},
        {3, true, {12, 3, 9, 14}},
        {4, true, {7, 3, 9, 13}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct snapshot snapshot;
        snapshot_begin(&snapshot, 17, 0);
        snapshot_add(&snapshot, 0, 2, true);
        snapshot_add(&snapshot, 2, 3, true);
        snapshot_add(&snapshot, 6, 1, false);
        snapshot_add(&snapshot, 8, 2, true);
        snapshot_add(&snapshot, 11, 1, false);
        snapshot_add(&snapshot, 12, rows[i].last_bytes, true);
        hbm_plan_compact(&snapshot.plan, rows[i].is_anywhere);
        ck_assert_uint_eq(snapshot.items[0].target, rows[i].targets[0]);
        ck_assert_uint_eq(snapshot.items[1].target, rows[i].targets[1]);
        ck_assert_uint_eq(snapshot.items[3].target, rows[i].targets[2]);
        ck_assert_uint_eq(snapshot.items[5].target, rows[i].targets[3]);
        snapshot_end(&snapshot);
    }
}

/* ---- item by item ---- */

enum { SPAN_COUNT_MAX = 4, LOOSE_COUNT_MAX = 7 };

/* Items without a place, and empty spans. */
struct loose {
    struct hbm_item items[LOOSE_COUNT_MAX + 1];
    struct hbm_plan plan;
    struct hbm_span spans[SPAN_COUNT_MAX];
    uint64_t room[SPAN_COUNT_MAX], sizes[LOOSE_COUNT_MAX];
    uint32_t numbers[LOOSE_COUNT_MAX], home[LOOSE_COUNT_MAX + 1], assigned[LOOSE_COUNT_MAX + 1],
        best[LOOSE_COUNT_MAX + 1], bin_spans[SPAN_COUNT_MAX], arrival_next[LOOSE_COUNT_MAX + 1],
        arrival_first[SPAN_COUNT_MAX];
    struct hbm_packing packing;
};

/* As many bytes as the spans have, or a few less; sizes descend. */
static void draw_loose(struct loose *loose)
{
    const size_t count = 2 + draw_below(LOOSE_COUNT_MAX - 1), span_count = 2 + draw_below(3);
    uint64_t sum = 0, end = 0;
    *loose = (struct loose){.plan = {.items = loose->items,
                                     .item_count = count,
                                     .item_room = count,
                                     .search_nodes_max = UINT64_C(1) << 30}};
    for (size_t i = 0; i < count; i++) {
        uint64_t size_bytes = 1 + draw_below(9);
        size_t at = i;
        for (; at > 0 && loose->sizes[at - 1] < size_bytes; at--) {
            loose->sizes[at] = loose->sizes[at - 1];
        }
        loose->sizes[at] = size_bytes;
        sum += size_bytes;
    }
    sum += draw_below(3);
    for (size_t s = 0; s < span_count; s++) {
        const uint64_t share = sum / (span_count - s) + draw_below(4);
        const uint64_t bytes = s + 1 == span_count ? sum : share < sum ? share : sum;
        loose->spans[s] = (struct hbm_span){.low = end, .high = end + bytes};
        loose->bin_spans[s] = (uint32_t)s;
        end += bytes + 1;
        sum -= bytes;
    }
    for (uint32_t i = 0; i < count; i++) {
        loose->items[i] = (struct hbm_item){.size_bytes = loose->sizes[i], .movable = true};
        loose->numbers[i] = i;
        loose->home[i] = NOWHERE;
    }
    loose->packing = (struct hbm_packing){.plan = &loose->plan,
                                          .spans = loose->spans,
                                          .span_count = span_count,
                                          .count = count,
                                          .items = loose->numbers,
                                          .home = loose->home,
                                          .assigned = loose->assigned,
                                          .best = loose->best,
                                          .room = loose->room,
                                          .bin_spans = loose->bin_spans,
                                          .sizes = loose->sizes,
                                          .arrival_next = loose->arrival_next,
                                          .arrival_first = loose->arrival_first};
}

TEST(item_by_item_finds_a_packing_wherever_there_is_one)
{
    int fits_count = 0;
    random_state = 1;
    for (int i = 0; i < DRAW_COUNT; i++) {
        struct loose loose;
        uint64_t room[SPAN_COUNT_MAX];
        draw_loose(&loose);
        for (size_t s = 0; s < loose.packing.span_count; s++) {
            room[s] = loose.spans[s].high - loose.spans[s].low;
        }
        const bool fits = can_be_packed(loose.sizes, loose.packing.count, room,
                                        loose.packing.span_count);
        ck_assert_int_eq(hbm_packing_item_by_item(&loose.packing), fits);
        for (size_t k = 0; k < loose.packing.count && fits; k++) {
            ck_assert_uint_ge(room[loose.assigned[k]], loose.sizes[k]);
            room[loose.assigned[k]] -= loose.sizes[k];
        }
        fits_count += fits;
    }
    ck_assert_int_gt(fits_count, DRAW_COUNT / 4);
    ck_assert_int_lt(fits_count, DRAW_COUNT * 3 / 4);
}

/* ---- largest first ---- */

/* The span by the rule, of those that have room; SPAN_COUNT_MAX: none has. */
static size_t choose_plainly(const struct loose *loose, const uint64_t *room, uint64_t size_bytes,
                             enum span_rule rule)
{
    size_t chosen = SPAN_COUNT_MAX;
    for (size_t i = 0; i < loose->packing.span_count; i++) {
        /* Of equal ones the first is the tightest, and the last has the most room. */
        const bool is_better = chosen == SPAN_COUNT_MAX || rule == SPAN_LARGEST ||
                               (rule == SPAN_TIGHTEST ? room[i] < room[chosen]
                                                      : room[i] >= room[chosen]);
        chosen = room[i] >= size_bytes && is_better ? i : chosen;
    }
    return chosen;
}

TEST(each_item_goes_to_the_span_that_the_rule_names)
{
    int packed_count = 0;
    random_state = 4;
    for (int i = 0; i < DRAW_COUNT; i++) {
        const enum span_rule rule = (enum span_rule)(i % SPAN_RULE_COUNT);
        struct loose loose;
        uint64_t room[SPAN_COUNT_MAX];
        size_t chosen[LOOSE_COUNT_MAX];
        bool fits = true;
        draw_loose(&loose);
        for (size_t s = 0; s < loose.packing.span_count; s++) {
            room[s] = loose.spans[s].high - loose.spans[s].low;
        }
        for (size_t k = 0; k < loose.packing.count && fits; k++) {
            chosen[k] = choose_plainly(&loose, room, loose.sizes[k], rule);
            fits = chosen[k] != SPAN_COUNT_MAX;
            room[fits ? chosen[k] : 0] -= fits ? loose.sizes[k] : 0;
        }
        ck_assert_int_eq(hbm_packing_largest_first(&loose.packing, rule), fits);
        for (size_t k = 0; k < loose.packing.count && fits; k++) {
            ck_assert_uint_eq(loose.assigned[k], chosen[k]);
        }
        packed_count += fits;
    }
    ck_assert_int_gt(packed_count, DRAW_COUNT / 8);
}

/* ---- the exact search ---- */

struct found {
    uint32_t bins[LOOSE_COUNT_MAX];
    size_t count;
    bool is_told;
};

static void keep_found(void *context, const uint32_t *bins)
{
    struct found *found = context;
    memcpy(found->bins, bins, found->count * sizeof *bins);
    found->is_told = true;
}

static struct hbm_search search_of(const struct loose *loose, const uint64_t *capacities,
                                   struct found *found, struct hbm_host *host)
{
    return (struct hbm_search){.sizes = loose->sizes,
                               .item_count = loose->packing.count,
                               .capacities = capacities,
                               .bin_count = loose->packing.span_count,
                               .nodes_max = UINT64_C(1) << 30,
                               .found = keep_found,
                               .context = found,
                               .host = host};
}

/* Ascending: the spans' lengths, which are as many bytes as the items or a few more, or (is_apart)
 * lengths that have nothing to do with each other, which may be far more or less. */
static void draw_capacities(const struct loose *loose, bool is_apart,
                            uint64_t capacities[SPAN_COUNT_MAX])
{
    for (size_t s = 0; s < loose->packing.span_count; s++) {
        const uint64_t bytes = is_apart ? 1 + draw_below(2 * loose->sizes[0] + 8)
                                        : loose->spans[s].high - loose->spans[s].low;
        size_t at = s;
        for (; at > 0 && capacities[at - 1] > bytes; at--) {
            capacities[at] = capacities[at - 1];
        }
        capacities[at] = bytes;
    }
}

TEST(the_search_by_sums_finds_a_packing_exactly_where_there_is_one, .to = 2)
{
    struct hbm_device device;
    int fits_count = 0;
    struct hbm_host host = rig_host(&device);
    random_state = 3;
    for (int i = 0; i < DRAW_COUNT * 5; i++) {
        struct loose loose;
        uint64_t capacities[SPAN_COUNT_MAX];
        draw_loose(&loose);
        loose.packing.span_count -= _i == 1 ? draw_below(loose.packing.span_count) : 0;
        draw_capacities(&loose, _i == 1, capacities);
        struct found found = {.count = loose.packing.count};
        const struct hbm_search search = search_of(&loose, capacities, &found, &host);
        const enum hbm_search_result result = hbm_search_run(&search);
        const bool fits = can_be_packed(loose.sizes, loose.packing.count, capacities,
                                        loose.packing.span_count);
        ck_assert_int_eq(result, fits ? HBM_SEARCH_FOUND : HBM_SEARCH_NONE);
        ck_assert_int_eq(found.is_told, fits);
        for (size_t k = 0; k < found.count && fits; k++) {
            ck_assert_uint_ge(capacities[found.bins[k]], loose.sizes[k]);
            capacities[found.bins[k]] -= loose.sizes[k];
        }
        ck_assert_uint_eq(host.bytes, 0);
        fits_count += fits;
    }
    ck_assert_int_gt(fits_count, DRAW_COUNT / 2);
    ck_assert_int_lt(fits_count, DRAW_COUNT * 5 - DRAW_COUNT / 2);
    hbm_device_deinit(&device);
}

/* Many equal items and few bytes to spare: the same ways to fill the first bin come up again and
 * again. */
TEST(the_search_by_sums_does_not_try_the_same_fillings_again)
{
    static const uint64_t sizes[] = {
        8102565, 4441763, 2027764, 1806110, 1032063, 1032063, 1032063, 1032063, 1032063, 1032063,
        1032063, 774047,  774047,  774047,  774047,  516031,  516031,  516031,  516031,  516031,
        516031,  275216,  275216,  275216,  275216,  258015,  258015,  258015,  258015,  258015,
        133182,  132632,  81047,   68665,   66436,   64595,   49377,   43926,   33704,   31940,
        30451,   17975,   14931,   8982,    8187,    7115,    6484,
    };
    static const uint64_t capacities[] = {3267586, 29718018};
    struct hbm_device device;
    struct hbm_host host = rig_host(&device);
    struct found found = {.count = 0};
    const struct hbm_search search = {.sizes = sizes,
                                      .item_count = sizeof sizes / sizeof *sizes,
                                      .capacities = capacities,
                                      .bin_count = 2,
                                      .nodes_max = HBM_SEARCH_NODES_DEFAULT,
                                      .found = keep_found,
                                      .context = &found,
                                      .host = &host};
    ck_assert_int_eq(hbm_search_run(&search), HBM_SEARCH_FOUND);
    ck_assert(found.is_told);
    ck_assert_uint_eq(host.bytes, 0);
    hbm_device_deinit(&device);
}

/* An item that has a place takes one step. */
TEST(item_by_item_takes_a_64th_of_the_steps)
{
    struct loose loose;
    random_state = 1;
    draw_loose(&loose);
    loose.packing.count = 1;
    loose.plan.search_nodes_max = QUICK_SHARE;
    ck_assert(hbm_packing_item_by_item(&loose.packing));
    loose.plan.search_nodes_max--;
    ck_assert(!hbm_packing_item_by_item(&loose.packing));
}
