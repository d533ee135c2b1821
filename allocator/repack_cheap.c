#include "allocator/private/packing.h"

#include <string.h>

static bool place_item_below(const struct hbm_packing *packing, const struct hbm_span *span,
                             uint32_t item, uint64_t *limit)
{
    HBM_CHECK(item <= packing->plan->item_count);
    const uint64_t size_bytes = packing_item_bytes(packing, item);
    if (*limit < span->low || *limit - span->low < size_bytes) {
        return false;
    }
    const uint64_t address = hbm_align_down(*limit - size_bytes, packing_item_shift(packing, item));
    if (address < span->low) {
        return false;
    }
    if (item < packing->plan->item_count) {
        packing->plan->items[item].target = address;
    }
    *limit = address;
    HBM_CHECK_COSTLY(address + size_bytes <= span->high);
    return true;
}

/* Blocks that stay keep their order at the top; arrivals lie below them, largest alignment first.
 */
static bool lay_span_out_in_order(struct hbm_packing *packing, uint32_t s)
{
    HBM_CHECK(s < packing->span_count);
    const struct hbm_span *span = &packing->spans[s];
    uint64_t limit = span->high;
    for (size_t i = span->end; i-- > span->first;) {
        if (packing->assigned[i] == s && !place_item_below(packing, span, (uint32_t)i, &limit)) {
            return false;
        }
    }
    for (int shift = 63; shift >= 0; shift--) {
        for (uint32_t i = packing->arrival_first[s]; i != NOWHERE; i = packing->arrival_next[i]) {
            if (packing_item_shift(packing, i) == shift &&
                !place_item_below(packing, span, i, &limit)) {
                return false;
            }
        }
    }
    HBM_CHECK(limit >= span->low);
    return true;
}

/* Does the same, but sorts blocks that stay by alignment also: least is wasted between them. */
static bool lay_span_out_by_align(struct hbm_packing *packing, uint32_t s)
{
    HBM_CHECK(s < packing->span_count);
    const struct hbm_span *span = &packing->spans[s];
    uint64_t limit = span->high;
    for (int shift = 63; shift >= 0; shift--) {
        for (size_t i = span->first; i < span->end; i++) {
            const bool here = packing->assigned[i] == s &&
                              packing_item_shift(packing, (uint32_t)i) == shift;
            if (here && !place_item_below(packing, span, (uint32_t)i, &limit)) {
                return false;
            }
        }
        for (uint32_t i = packing->arrival_first[s]; i != NOWHERE; i = packing->arrival_next[i]) {
            if (packing_item_shift(packing, i) == shift &&
                !place_item_below(packing, span, i, &limit)) {
                return false;
            }
        }
    }
    HBM_CHECK(limit >= span->low);
    return true;
}

static bool is_span_untouched(const struct hbm_packing *packing, uint32_t s)
{
    const struct hbm_span *span = &packing->spans[s];
    if (packing->arrival_first[s] != NOWHERE) {
        return false;
    }
    for (size_t i = span->first; i < span->end; i++) {
        if (packing->assigned[i] == s && packing->plan->items[i].address < span->low) {
            return false;
        }
    }
    return true;
}

static void find_arrivals(struct hbm_packing *packing)
{
    for (size_t s = 0; s < packing->span_count; s++) {
        packing->arrival_first[s] = NOWHERE;
    }
    for (size_t k = packing->count; k-- > 0;) {
        uint32_t item = packing->items[k], s = packing->assigned[item];
        HBM_CHECK(s < packing->span_count);
        HBM_CHECK(item <= packing->plan->item_count);
        if (s == packing->home[item]) {
            continue;
        }
        packing->arrival_next[item] = packing->arrival_first[s];
        packing->arrival_first[s] = item;
    }
}

bool hbm_packing_layout(struct hbm_packing *packing)
{
    HBM_CHECK(packing->count != 0);
    HBM_CHECK(packing->span_count != 0);
    struct hbm_plan *plan = packing->plan;
    for (size_t i = 0; i < plan->item_count; i++) {
        plan->items[i].target = plan->items[i].address;
    }
    find_arrivals(packing);
    for (uint32_t s = 0; s < packing->span_count; s++) {
        if (is_span_untouched(packing, s) || lay_span_out_in_order(packing, s)) {
            continue;
        }
        if (!lay_span_out_by_align(packing, s)) {
            return false;
        }
    }
    return true;
}

/* ---- cheap: make room in one span ---- */

/* The span with the least sufficient room, except `not_here`; NOWHERE if there is none. */
static uint32_t find_tightest_span(struct hbm_packing *packing, uint64_t size_bytes,
                                   uint32_t not_here)
{
    HBM_CHECK(size_bytes != 0);
    uint32_t best = NOWHERE;
    packing->steps += packing->span_count;
    for (uint32_t s = 0; s < packing->span_count; s++) {
        if (s == not_here || (int64_t)packing->room[s] < 0 || packing->room[s] < size_bytes) {
            continue;
        }
        if (best == NOWHERE || packing->room[s] < packing->room[best]) {
            best = s;
        }
    }
    HBM_CHECK_COSTLY(best == NOWHERE || packing->room[best] >= size_bytes);
    return best;
}

static void move_item_to_span(struct hbm_packing *packing, uint32_t item, uint32_t to)
{
    HBM_CHECK(to < packing->span_count);
    HBM_CHECK(item <= packing->plan->item_count);
    const uint32_t from = packing->assigned[item];
    if (from != NOWHERE) {
        packing->room[from] += packing_item_bytes(packing, item);
    }
    packing->room[to] -= packing_item_bytes(packing, item);
    packing->assigned[item] = to;
}

static int64_t count_room_lacking(const struct hbm_packing *packing, uint32_t s,
                                  uint64_t want_bytes)
{
    return (int64_t)(want_bytes - packing->room[s]);
}

/* Sends blocks of span s elsewhere until it has want_bytes of room: first the smallest block that
 * is enough alone, else the largest that has a place.  Returns false when it cannot. */
static bool make_room_in_span(struct hbm_packing *packing, uint32_t s, uint64_t want_bytes,
                              uint64_t *cost_bytes)
{
    HBM_CHECK(s < packing->span_count);
    const struct hbm_span *span = &packing->spans[s];
    while (count_room_lacking(packing, s, want_bytes) > 0) {
        uint64_t lacking = (uint64_t)count_room_lacking(packing, s, want_bytes), chosen_bytes = 0;
        uint32_t chosen = NOWHERE, to = NOWHERE;
        for (size_t i = span->first; i < span->end; i++) {
            const uint64_t size_bytes = packing->plan->items[i].size_bytes;
            const bool better = chosen_bytes < lacking
                                    ? size_bytes > chosen_bytes
                                    : size_bytes >= lacking && size_bytes < chosen_bytes;
            if (packing->assigned[i] != s || !better || packing->steps > GREEDY_STEPS_MAX) {
                continue;
            }
            const uint32_t place = find_tightest_span(packing, size_bytes, s);
            if (place == NOWHERE) {
                continue;
            }
            chosen = (uint32_t)i;
            chosen_bytes = size_bytes;
            to = place;
        }
        if (chosen == NOWHERE) {
            return false;
        }
        packing->steps += span->end - span->first;
        HBM_CHECK(to < packing->span_count);
        HBM_CHECK(to != s);
        move_item_to_span(packing, chosen, to);
        *cost_bytes += chosen_bytes;
    }
    return true;
}

static void restart_packing(struct hbm_packing *packing)
{
    HBM_CHECK(packing->span_count != 0);
    HBM_CHECK(packing->span_count <= packing->plan->item_count + 1);
    memcpy(packing->assigned, packing->home,
           (packing->plan->item_count + 1) * sizeof *packing->home);
    memcpy(packing->room, packing->room_start, packing->span_count * sizeof *packing->room);
    packing->steps += packing->span_count;
}

static bool try_host_span(struct hbm_packing *packing, uint32_t s, uint64_t *cost_bytes)
{
    HBM_CHECK(s < packing->span_count);
    const uint64_t want_bytes = packing->plan->demand.size_bytes;
    restart_packing(packing);
    *cost_bytes = 0;
    /* Only the first span can be overfull: by the stack that the demand raises. */
    if ((int64_t)packing->room[0] < 0 && s != 0 && !make_room_in_span(packing, 0, 0, cost_bytes)) {
        return false;
    }
    if (!make_room_in_span(packing, s, want_bytes, cost_bytes)) {
        return false;
    }
    if (want_bytes != 0) {
        move_item_to_span(packing, (uint32_t)packing->plan->item_count, s);
    }
    HBM_CHECK_COSTLY((int64_t)packing->room[s] >= 0);
    return true;
}

bool hbm_packing_keep_most(struct hbm_packing *packing)
{
    HBM_CHECK(packing->span_count != 0);
    uint64_t best_bytes = UINT64_MAX, cost_bytes;
    const size_t bytes = (packing->plan->item_count + 1) * sizeof *packing->best;
    for (uint32_t s = 0; s < packing->span_count && packing->steps < GREEDY_STEPS_MAX; s++) {
        const bool large = packing->spans[s].high - packing->spans[s].low >=
                           packing->plan->demand.size_bytes;
        if (!large || !try_host_span(packing, s, &cost_bytes) || cost_bytes >= best_bytes) {
            continue;
        }
        best_bytes = cost_bytes;
        memcpy(packing->best, packing->assigned, bytes);
    }
    if (best_bytes == UINT64_MAX) {
        return false;
    }
    memcpy(packing->assigned, packing->best, bytes);
    HBM_CHECK(best_bytes != UINT64_MAX);
    return hbm_packing_layout(packing);
}

/* ---- cheap: largest first ---- */

static uint32_t choose_span(struct hbm_packing *packing, uint64_t size_bytes, enum span_rule rule)
{
    HBM_CHECK(rule < SPAN_RULE_COUNT);
    if (rule == SPAN_TIGHTEST) {
        return find_tightest_span(packing, size_bytes, NOWHERE);
    }
    uint32_t best = NOWHERE;
    packing->steps += packing->span_count;
    for (size_t i = packing->span_count; i-- > 0;) {
        const uint32_t s = packing->bin_spans[i];
        if (packing->room[s] < size_bytes) {
            continue;
        }
        if (rule == SPAN_LARGEST) {
            return s;
        }
        if (best == NOWHERE || packing->room[s] > packing->room[best]) {
            best = s;
        }
    }
    HBM_CHECK_COSTLY(best == NOWHERE || packing->room[best] >= size_bytes);
    return best;
}

bool hbm_packing_largest_first(struct hbm_packing *packing, enum span_rule rule)
{
    HBM_CHECK(packing->count != 0);
    HBM_CHECK(rule < SPAN_RULE_COUNT);
    packing->steps = 0;
    for (size_t s = 0; s < packing->span_count; s++) {
        packing->room[s] = packing->spans[s].high - packing->spans[s].low;
    }
    for (size_t k = 0; k < packing->count; k++) {
        packing->assigned[packing->items[k]] = NOWHERE;
    }
    for (size_t k = 0; k < packing->count; k++) {
        const uint32_t s = choose_span(packing, packing_item_bytes(packing, packing->items[k]),
                                       rule);
        if (s == NOWHERE || packing->steps > 16u * GREEDY_STEPS_MAX) {
            return false;
        }
        move_item_to_span(packing, packing->items[k], s);
    }
    return hbm_packing_layout(packing);
}

/* ---- item by item ---- */

#define SPANS_PER_STEP 64

/* Room in spans that even the smallest item cannot use is lost. */
static bool has_lost_too_much(const struct hbm_packing *packing, uint64_t spare_bytes)
{
    uint64_t smallest = packing->sizes[packing->count - 1], lost = 0;
    for (size_t s = 0; s < packing->span_count; s++) {
        lost += packing->room[s] < smallest ? packing->room[s] : 0;
    }
    return lost > spare_bytes;
}

/* The next place in bin_spans, from `from` on, whose span takes the item; spans of equal room are
 * the same to it.  span_count when there is none. */
static uint32_t find_next_place(const struct hbm_packing *packing, uint32_t from,
                                uint64_t size_bytes)
{
    for (uint32_t i = from; i < packing->span_count; i++) {
        const uint64_t room = packing->room[packing->bin_spans[i]];
        bool seen = room < size_bytes;
        for (uint32_t k = 0; k < i && !seen; k++) {
            seen = packing->room[packing->bin_spans[k]] == room;
        }
        if (!seen) {
            return i;
        }
    }
    return (uint32_t)packing->span_count;
}

/* Largest first with a change of mind: what no rule places is often found after a few hundred
 * steps.  It is strong where a few large items decide, which is where filling span by span is weak.
 * `best` keeps by item the place after the one taken. */
bool hbm_packing_item_by_item(struct hbm_packing *packing)
{
    HBM_CHECK(packing->count != 0);
    uint64_t spare_bytes = 0, steps = packing->plan->search_nodes_max / QUICK_SHARE;
    for (size_t s = 0; s < packing->span_count; s++) {
        spare_bytes += packing->room[s] = packing->spans[s].high - packing->spans[s].low;
    }
    for (size_t k = 0; k < packing->count; k++) {
        spare_bytes -= packing->sizes[k];
    }
    size_t k = 0;
    packing->best[0] = 0;
    /* Each step looks at all spans: with thousands of them it counts for more. */
    for (uint64_t cost = 1 + packing->span_count / SPANS_PER_STEP; steps >= cost; steps -= cost) {
        const uint64_t size_bytes = packing->sizes[k];
        HBM_CHECK_COSTLY(k < packing->count);
        const uint32_t place = find_next_place(packing, packing->best[k], size_bytes);
        const bool placed = place != packing->span_count;
        if (placed) {
            packing->best[k] = place + 1;
            packing->assigned[packing->items[k]] = packing->bin_spans[place];
            packing->room[packing->bin_spans[place]] -= size_bytes;
        }
        if (placed && k + 1 == packing->count) {
            return hbm_packing_layout(packing);
        }
        if (placed && !has_lost_too_much(packing, spare_bytes)) {
            const bool repeats = packing->sizes[k + 1] == size_bytes;
            packing->best[++k] = repeats ? place : 0;
            continue;
        }
        if (!placed && k-- == 0) {
            return false;
        }
        packing->room[packing->assigned[packing->items[k]]] += packing->sizes[k];
    }
    return false;
}
