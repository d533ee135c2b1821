#include "allocator/private/packing.h"
#include "allocator/private/search.h"

/* Repacking decides in which span each movable block and the demanded one go; within a span they
 * then lie one against the other, so that only sums matter unless some want more than granule
 * alignment.  Cheap attempts come first: keep all blocks but those that must make room; then
 * largest first by a few rules, then with a change of mind; then the exact search by sums and, with
 * alignments, place by place, and gap by gap and by exchanges where it ends without an answer: for
 * a short time, then for a long one. */

/* ---- exact ---- */

static void note_found_packing(void *context, const uint32_t *bins)
{
    struct hbm_packing *packing = context;
    for (size_t k = 0; k < packing->count; k++) {
        HBM_CHECK(bins[k] < packing->span_count - packing->bin_first);
        packing->assigned[packing->items[k]] = packing->bin_spans[packing->bin_first + bins[k]];
    }
    packing->laid_out = hbm_packing_layout(packing);
    HBM_CHECK(packing->laid_out || packing->aligned);
}

/* Packs by sums: proves that nothing fits whatever the alignments, and answers when there are
 * none. */
static enum hbm_search_result pack_by_sums(struct hbm_packing *packing, uint64_t nodes_max)
{
    HBM_CHECK(packing->count != 0);
    size_t first = 0;
    while (packing_span_bytes(packing, packing->bin_spans[first]) <
           packing->sizes[packing->count - 1]) {
        first++;
    }
    HBM_CHECK(first < packing->span_count);
    packing->bin_first = first;
    const struct hbm_search search = {
        .sizes = packing->sizes,
        .item_count = packing->count,
        .capacities = packing->capacities + first,
        .bin_count = packing->span_count - first,
        .nodes_max = nodes_max,
        .found = note_found_packing,
        .context = packing,
        .host = packing->plan->host,
    };
    return hbm_search_run(&search);
}

static struct hbm_aligned make_place_search(const struct hbm_packing *packing, uint64_t nodes_max)
{
    return (struct hbm_aligned){
        .sizes = packing->sizes,
        .shifts = packing->shifts,
        .item_count = packing->count,
        .spans = packing->spans,
        .span_order = packing->bin_spans,
        .span_count = packing->span_count,
        .nodes_max = nodes_max,
        .addresses = packing->addresses,
        .host = packing->plan->host,
    };
}

static void take_found_places(struct hbm_packing *packing)
{
    HBM_CHECK(packing->count <= packing->plan->item_count + 1);
    struct hbm_plan *plan = packing->plan;
    for (size_t k = 0; k < packing->count; k++) {
        if (packing->items[k] < plan->item_count) {
            HBM_CHECK_COSTLY((packing->addresses[k] & (((uint64_t)1 << packing->shifts[k]) - 1)) ==
                             0);
            plan->items[packing->items[k]].target = packing->addresses[k];
        }
    }
}

static enum hbm_search_result pack_by_places(struct hbm_packing *packing, uint64_t nodes_max)
{
    const struct hbm_aligned search = make_place_search(packing, nodes_max);
    const enum hbm_search_result result = hbm_aligned_run(&search);
    if (result == HBM_SEARCH_FOUND) {
        take_found_places(packing);
    }
    return result;
}

static enum hbm_search_result pack_exactly(struct hbm_packing *packing, uint64_t nodes_max)
{
    HBM_CHECK(packing->count != 0);
    HBM_CHECK(packing->span_count != 0);
    enum hbm_search_result result = pack_by_sums(packing, nodes_max);
    if (packing->aligned && !packing->laid_out && result != HBM_SEARCH_NONE &&
        result != HBM_SEARCH_REFUSED) {
        result = pack_by_places(packing, nodes_max);
    }
    packing->plan->host_refused |= result == HBM_SEARCH_REFUSED;
    return result;
}

/* ---- gap by gap ---- */

/* A gap is looked at in far less time than a step of the exact search takes. */
#define GAPS_PER_NODE 16

/* Returns where the items are now, by address: uses room, assigned and arrival_next. */
static struct hbm_gaps_now find_present_places(struct hbm_packing *packing)
{
    const struct hbm_plan *plan = packing->plan;
    uint32_t *number = packing->arrival_next;
    struct hbm_gaps_now now = {.addresses = packing->room, .places = packing->assigned};
    for (uint32_t k = 0; k < packing->count; k++) {
        number[packing->items[k]] = k;
        packing->room[k] = packing->items[k] < plan->item_count
                               ? plan->items[packing->items[k]].address
                               : 0;
    }
    for (size_t i = 0; i < plan->item_count; i++) {
        if (packing->home[i] != NOWHERE) {
            packing->assigned[now.count++] = number[i];
        }
    }
    HBM_CHECK(now.count <= packing->count);
    HBM_CHECK(now.count + (plan->demand.size_bytes != 0) == packing->count);
    if (plan->demand.size_bytes != 0) {
        packing->assigned[now.count] = number[plan->item_count];
    }
    return now;
}

static struct hbm_aligned make_gap_search(struct hbm_packing *packing, uint64_t nodes_max)
{
    const bool many = nodes_max > GREEDY_STEPS_MAX / GAPS_PER_NODE;
    return make_place_search(packing, many ? GREEDY_STEPS_MAX : nodes_max * GAPS_PER_NODE);
}

static bool end_gap_search(struct hbm_packing *packing, enum hbm_search_result result)
{
    HBM_CHECK(result != HBM_SEARCH_NONE);
    HBM_CHECK(packing->aligned);
    packing->plan->host_refused |= result == HBM_SEARCH_REFUSED;
    if (result == HBM_SEARCH_FOUND) {
        take_found_places(packing);
    }
    return result == HBM_SEARCH_FOUND;
}

/* Moves few blocks.  Without alignments above the granule hbm_packing_keep_most() does that. */
static bool pack_by_clearing(struct hbm_packing *packing)
{
    if (!packing->aligned) {
        return false;
    }
    const struct hbm_aligned search = make_gap_search(packing, packing->plan->search_nodes_max);
    const struct hbm_gaps_now now = find_present_places(packing);
    return end_gap_search(packing, hbm_gaps_clear(&search, &now));
}

static bool pack_by_filling(struct hbm_packing *packing, uint64_t nodes_max)
{
    if (!packing->aligned) {
        return false;
    }
    const struct hbm_aligned search = make_gap_search(packing, nodes_max);
    return end_gap_search(packing, hbm_gaps_fill(&search));
}

/* ---- by exchange ---- */

static bool pack_by_exchange(struct hbm_packing *packing, uint64_t steps_max)
{
    HBM_CHECK(packing->count != 0);
    HBM_CHECK(packing->span_count != 0);
    /* One span has nothing to change places with, and is the only one that can be of 2^63 bytes. */
    if (packing->span_count == 1) {
        return false;
    }
    struct hbm_exchange_list *lists = hbm_host_array(packing->plan->host, 2, sizeof *lists);
    if (lists == NULL) {
        packing->plan->host_refused = true;
        return false;
    }
    struct hbm_exchange exchange = {
        .sizes = packing->sizes,
        .item_count = packing->count,
        .capacities = packing->capacities,
        .bin_count = packing->span_count,
        .bins = packing->best,
        .room = (int64_t *)packing->room,
        .first = packing->arrival_first,
        .next = packing->arrival_next,
        .lists = lists,
        .steps_max = steps_max,
    };
    bool fits = false;
    while (!fits && hbm_exchange_next(&exchange)) {
        for (size_t k = 0; k < packing->count; k++) {
            packing->assigned[packing->items[k]] = packing->bin_spans[packing->best[k]];
        }
        fits = hbm_packing_layout(packing);
        /* Only alignments make a layout fail: it compares the items of a span with each other. */
        exchange.steps += 8 * packing->count * packing->count;
    }
    hbm_host_free(packing->plan->host, lists, 2, sizeof *lists);
    return fits;
}

/* ---- all ---- */

static bool is_span_smaller(const void *context, uint32_t left, uint32_t right)
{
    uint64_t left_bytes = packing_span_bytes(context, left),
             right_bytes = packing_span_bytes(context, right);
    return left_bytes != right_bytes ? left_bytes < right_bytes : left < right;
}

static bool is_item_larger(const void *context, uint32_t left, uint32_t right)
{
    uint64_t left_bytes = packing_item_bytes(context, left),
             right_bytes = packing_item_bytes(context, right);
    if (left_bytes != right_bytes) {
        return left_bytes > right_bytes;
    }
    uint8_t left_shift = packing_item_shift(context, left),
            right_shift = packing_item_shift(context, right);
    return left_shift != right_shift ? left_shift > right_shift : left < right;
}

static void find_homes(struct hbm_packing *packing)
{
    HBM_CHECK(packing->count == 0);
    const struct hbm_plan *plan = packing->plan;
    for (size_t i = 0; i <= plan->item_count; i++) {
        packing->home[i] = NOWHERE;
    }
    for (uint32_t s = 0; s < packing->span_count; s++) {
        const struct hbm_span *span = &packing->spans[s];
        packing->room_start[s] = span->high - span->low;
        for (size_t i = span->first; i < span->end; i++) {
            packing->home[i] = s;
            packing->room_start[s] -= plan->items[i].size_bytes;
            packing->items[packing->count++] = (uint32_t)i;
        }
    }
    if (plan->demand.size_bytes != 0) {
        packing->items[packing->count++] = (uint32_t)plan->item_count;
    }
    HBM_CHECK(packing->count <= plan->item_count + 1);
    hbm_sort(packing->items, packing->count, is_item_larger, packing);
    for (size_t k = 0; k < packing->count; k++) {
        packing->sizes[k] = packing_item_bytes(packing, packing->items[k]);
        packing->shifts[k] = packing_item_shift(packing, packing->items[k]);
        packing->aligned = packing->aligned || packing->shifts[k] > plan->granule_shift;
    }
    for (uint32_t s = 0; s < packing->span_count; s++) {
        packing->bin_spans[s] = s;
    }
    hbm_sort(packing->bin_spans, packing->span_count, is_span_smaller, packing);
    for (size_t i = 0; i < packing->span_count; i++) {
        packing->capacities[i] = packing_span_bytes(packing, packing->bin_spans[i]);
    }
}

/* This many of the distinct sizes are also checked by number, which costs a pass over the spans
 * each. */
#define COUNTED_SIZES_MAX 32

/* True if `count` items of at least `size_bytes` each could have places, seen alone. */
static bool has_enough_places(const struct hbm_packing *packing, size_t count, uint64_t size_bytes)
{
    uint64_t places = 0;
    for (size_t i = packing->span_count; i-- > 0 && places < count;) {
        places += packing->capacities[i] / size_bytes;
    }
    return places >= count;
}

/* Items of at least some size can only be in spans of at least that size: their sum and their
 * number must have room there.  This proves most hopeless cases without a search. */
static bool may_fit_by_bounds(const struct hbm_packing *packing)
{
    uint64_t room = 0, need = 0;
    size_t spans_left = packing->span_count;
    unsigned counted = 0;
    for (size_t k = 0; k < packing->count; k++) {
        const uint64_t size_bytes = packing->sizes[k];
        while (spans_left != 0 && packing->capacities[spans_left - 1] >= size_bytes) {
            room += packing->capacities[--spans_left];
        }
        need += size_bytes;
        if (need > room) {
            return false;
        }
        const bool last_of_size = k + 1 == packing->count || packing->sizes[k + 1] != size_bytes;
        if (last_of_size && counted++ < COUNTED_SIZES_MAX &&
            !has_enough_places(packing, k + 1, size_bytes)) {
            return false;
        }
    }
    return true;
}

static bool solve_packing(struct hbm_packing *packing)
{
    HBM_CHECK(packing->span_count != 0);
    HBM_CHECK(packing->plan->item_count < UINT32_MAX);
    find_homes(packing);
    if (packing->count == 0) {
        return true;
    }
    if (!may_fit_by_bounds(packing)) {
        return false;
    }
    if (hbm_packing_keep_most(packing) || pack_by_clearing(packing)) {
        return true;
    }
    for (int rule = 0; rule < SPAN_RULE_COUNT; rule++) {
        if (hbm_packing_largest_first(packing, (enum span_rule)rule)) {
            return true;
        }
    }
    if (hbm_packing_item_by_item(packing)) {
        return true;
    }
    /* A short search decides most; where it does not, exchanges are far cheaper than a long one. */
    const uint64_t most = packing->plan->search_nodes_max;
    const uint64_t nodes_max[] = {most / QUICK_SHARE,
                                  most}; /* a step of an exchange takes a fraction of its time */
    const uint64_t steps_max[] = {most / 2, most > UINT64_MAX / 2 ? UINT64_MAX : most * 2};
    enum hbm_search_result result = HBM_SEARCH_UNKNOWN;
    for (unsigned i = 0; i < 2 && result == HBM_SEARCH_UNKNOWN; i++) {
        result = pack_exactly(packing, nodes_max[i]);
        if (result == HBM_SEARCH_UNKNOWN && pack_by_filling(packing, nodes_max[i])) {
            return true;
        }
        if (result == HBM_SEARCH_UNKNOWN && pack_by_exchange(packing, steps_max[i])) {
            return true;
        }
    }
    return result == HBM_SEARCH_FOUND;
}

/* One allocation for all arrays: 8-byte ones first, so that each is aligned. */
static void *split_arrays(struct hbm_packing *packing, size_t count, char *memory)
{
    HBM_CHECK(count != 0);
    HBM_CHECK((uintptr_t)memory % sizeof(uint64_t) == 0);
    packing->spans = (void *)memory, memory += count * sizeof *packing->spans;
    packing->room = (void *)memory, memory += count * sizeof *packing->room;
    packing->room_start = (void *)memory, memory += count * sizeof *packing->room_start;
    packing->sizes = (void *)memory, memory += count * sizeof *packing->sizes;
    packing->capacities = (void *)memory, memory += count * sizeof *packing->capacities;
    packing->addresses = (void *)memory, memory += count * sizeof *packing->addresses;
    packing->items = (void *)memory, memory += count * sizeof *packing->items;
    packing->home = (void *)memory, memory += count * sizeof *packing->home;
    packing->assigned = (void *)memory, memory += count * sizeof *packing->assigned;
    packing->best = (void *)memory, memory += count * sizeof *packing->best;
    packing->bin_spans = (void *)memory, memory += count * sizeof *packing->bin_spans;
    packing->arrival_next = (void *)memory, memory += count * sizeof *packing->arrival_next;
    packing->arrival_first = (void *)memory, memory += count * sizeof *packing->arrival_first;
    packing->shifts = (void *)memory;
    return memory + count * sizeof *packing->shifts;
}

bool hbm_plan_repack(struct hbm_plan *plan)
{
    struct hbm_packing packing = {.plan = plan};
    const size_t count = plan->item_count + 1;
    const size_t element_bytes = sizeof *packing.spans + 5 * sizeof(uint64_t) +
                                 7 * sizeof(uint32_t) + 1;
    char *memory = hbm_host_array(plan->host, count, element_bytes);
    if (memory == NULL) {
        plan->host_refused = true;
        return false;
    }
    void *end = split_arrays(&packing, count, memory);
    HBM_CHECK((char *)end <= memory + count * element_bytes);
    const bool fits = hbm_plan_spans(plan, packing.spans, &packing.span_count) &&
                      packing.span_count != 0 && solve_packing(&packing);
    hbm_host_free(plan->host, memory, count, element_bytes);
    return fits;
}
