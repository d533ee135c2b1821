#include <string.h>

#include "allocator/aligned.h"
#include "allocator/check.h"
#include "allocator/exchange.h"
#include "allocator/plan.h"
#include "allocator/search.h"
#include "allocator/sort.h"

/* Repacking decides in which span each movable block and the demanded one go; within a span they
 * then lie one against the other, so that only sums matter unless some want more than granule
 * alignment.  Cheap attempts come first: keep all blocks but those that must make room; then largest
 * first by a few rules, then with a change of mind; then the exact search by sums and, with alignments,
 * place by place, and by exchanges where it ends without an answer: for a short time, then for a long one. */

#define NOWHERE UINT32_MAX
/* Bounds the cheap attempts, which are quadratic in spans, to a few milliseconds. */
#define GREEDY_STEPS_MAX 4000000u

struct packing {
    struct hbm_plan *plan;
    struct hbm_span *spans;   /* [span_count], address order */
    size_t span_count;
    size_t count;             /* movable items, and the demanded block if any */
    uint32_t *items;          /* [count]: item of each, sizes descending; item_count is the demanded block */
    uint32_t *home;           /* [item_count + 1]: span now, NOWHERE for unmovable ones and the demanded block */
    uint32_t *assigned;       /* [item_count + 1]: span wanted */
    uint32_t *best;           /* [item_count + 1] */
    uint64_t *room;           /* [span_count]: bytes not yet assigned; may wrap below 0 while overfull */
    uint64_t *room_start;     /* [span_count] with everything at home */
    uint32_t *bin_spans;      /* [span_count]: spans, smallest first */
    size_t bin_first;         /* the first of them that is a bin of the exact search */
    uint64_t *sizes;          /* [count], of items */
    uint64_t *capacities;     /* [span_count], of bin_spans */
    uint64_t *addresses;      /* [count], of items */
    uint8_t *shifts;          /* [count], of items */
    bool aligned;             /* some item wants more than granule alignment */
    bool laid_out;            /* what the search by sums found could be laid out */
    uint32_t *arrival_next;   /* [item_count + 1] */
    uint32_t *arrival_first;  /* [span_count] */
    uint64_t steps;
};

static uint64_t size_of(const struct packing *packing, uint32_t item)
{
    const struct hbm_plan *plan = packing->plan;
    return item == plan->item_count ? plan->demand.size_bytes : plan->items[item].size_bytes;
}

static uint8_t align_of(const struct packing *packing, uint32_t item)
{
    const struct hbm_plan *plan = packing->plan;
    return item == plan->item_count ? (uint8_t)plan->demand.align_shift : plan->items[item].align_shift;
}

static uint64_t span_bytes(const struct packing *packing, uint32_t s)
{
    return packing->spans[s].high - packing->spans[s].low;
}

/* ---- layout: from spans to addresses ---- */

static bool place_below(const struct packing *packing, const struct hbm_span *span, uint32_t item, uint64_t *limit)
{
    uint64_t size_bytes = size_of(packing, item);
    if (*limit < span->low || *limit - span->low < size_bytes)
        return false;
    uint64_t address = hbm_align_down(*limit - size_bytes, align_of(packing, item));
    if (address < span->low)
        return false;
    if (item < packing->plan->item_count)
        packing->plan->items[item].target = address;
    *limit = address;
    return true;
}

/* Blocks that stay keep their order at the top; arrivals lie below them, largest alignment first. */
static bool span_layout_in_order(struct packing *packing, uint32_t s)
{
    const struct hbm_span *span = &packing->spans[s];
    uint64_t limit = span->high;
    for (size_t i = span->end; i-- > span->first;) {
        if (packing->assigned[i] == s && !place_below(packing, span, (uint32_t)i, &limit))
            return false;
    }
    for (int shift = 63; shift >= 0; shift--) {
        for (uint32_t i = packing->arrival_first[s]; i != NOWHERE; i = packing->arrival_next[i]) {
            if (align_of(packing, i) == shift && !place_below(packing, span, i, &limit))
                return false;
        }
    }
    return true;
}

/* The same with blocks that stay also sorted by alignment, which wastes least between them. */
static bool span_layout_by_align(struct packing *packing, uint32_t s)
{
    const struct hbm_span *span = &packing->spans[s];
    uint64_t limit = span->high;
    for (int shift = 63; shift >= 0; shift--) {
        for (size_t i = span->first; i < span->end; i++) {
            bool here = packing->assigned[i] == s && align_of(packing, (uint32_t)i) == shift;
            if (here && !place_below(packing, span, (uint32_t)i, &limit))
                return false;
        }
        for (uint32_t i = packing->arrival_first[s]; i != NOWHERE; i = packing->arrival_next[i]) {
            if (align_of(packing, i) == shift && !place_below(packing, span, i, &limit))
                return false;
        }
    }
    return true;
}

static bool span_is_untouched(const struct packing *packing, uint32_t s)
{
    const struct hbm_span *span = &packing->spans[s];
    if (packing->arrival_first[s] != NOWHERE)
        return false;
    for (size_t i = span->first; i < span->end; i++) {
        if (packing->assigned[i] == s && packing->plan->items[i].address < span->low)
            return false;
    }
    return true;
}

static void arrivals_find(struct packing *packing)
{
    for (size_t s = 0; s < packing->span_count; s++)
        packing->arrival_first[s] = NOWHERE;
    for (size_t k = packing->count; k-- > 0;) {
        uint32_t item = packing->items[k], s = packing->assigned[item];
        if (s == packing->home[item])
            continue;
        packing->arrival_next[item] = packing->arrival_first[s];
        packing->arrival_first[s] = item;
    }
}

static bool packing_layout(struct packing *packing)
{
    struct hbm_plan *plan = packing->plan;
    for (size_t i = 0; i < plan->item_count; i++)
        plan->items[i].target = plan->items[i].address;
    arrivals_find(packing);
    for (uint32_t s = 0; s < packing->span_count; s++) {
        if (span_is_untouched(packing, s) || span_layout_in_order(packing, s))
            continue;
        if (!span_layout_by_align(packing, s))
            return false;
    }
    return true;
}

/* ---- cheap: make room in one span ---- */

/* The span with the least sufficient room, except `not_here`; NOWHERE if there is none. */
static uint32_t span_tightest(struct packing *packing, uint64_t size_bytes, uint32_t not_here)
{
    uint32_t best = NOWHERE;
    packing->steps += packing->span_count;
    for (uint32_t s = 0; s < packing->span_count; s++) {
        if (s == not_here || (int64_t)packing->room[s] < 0 || packing->room[s] < size_bytes)
            continue;
        if (best == NOWHERE || packing->room[s] < packing->room[best])
            best = s;
    }
    return best;
}

static void item_move(struct packing *packing, uint32_t item, uint32_t to)
{
    uint32_t from = packing->assigned[item];
    if (from != NOWHERE)
        packing->room[from] += size_of(packing, item);
    packing->room[to] -= size_of(packing, item);
    packing->assigned[item] = to;
}

static int64_t room_lacking(const struct packing *packing, uint32_t s, uint64_t want_bytes)
{
    return (int64_t)(want_bytes - packing->room[s]);
}

/* Sends blocks of span s elsewhere until it has want_bytes of room: first the smallest block that is
 * enough alone, else the largest that has a place.  Returns false when it cannot. */
static bool room_make(struct packing *packing, uint32_t s, uint64_t want_bytes, uint64_t *cost_bytes)
{
    const struct hbm_span *span = &packing->spans[s];
    while (room_lacking(packing, s, want_bytes) > 0) {
        uint64_t lacking = (uint64_t)room_lacking(packing, s, want_bytes), chosen_bytes = 0;
        uint32_t chosen = NOWHERE, to = NOWHERE;
        for (size_t i = span->first; i < span->end; i++) {
            uint64_t size_bytes = packing->plan->items[i].size_bytes;
            bool better = chosen_bytes < lacking ? size_bytes > chosen_bytes
                                                 : size_bytes >= lacking && size_bytes < chosen_bytes;
            if (packing->assigned[i] != s || !better || packing->steps > GREEDY_STEPS_MAX)
                continue;
            uint32_t place = span_tightest(packing, size_bytes, s);
            if (place == NOWHERE)
                continue;
            chosen = (uint32_t)i;
            chosen_bytes = size_bytes;
            to = place;
        }
        if (chosen == NOWHERE)
            return false;
        packing->steps += span->end - span->first;
        item_move(packing, chosen, to);
        *cost_bytes += chosen_bytes;
    }
    return true;
}

static void packing_restart(struct packing *packing)
{
    memcpy(packing->assigned, packing->home, (packing->plan->item_count + 1) * sizeof *packing->home);
    memcpy(packing->room, packing->room_start, packing->span_count * sizeof *packing->room);
    packing->steps += packing->span_count;
}

static bool host_span_try(struct packing *packing, uint32_t s, uint64_t *cost_bytes)
{
    uint64_t want_bytes = packing->plan->demand.size_bytes;
    packing_restart(packing);
    *cost_bytes = 0;
    /* Only the first span can be overfull: by the stack that the demand raises. */
    if ((int64_t)packing->room[0] < 0 && s != 0 && !room_make(packing, 0, 0, cost_bytes))
        return false;
    if (!room_make(packing, s, want_bytes, cost_bytes))
        return false;
    if (want_bytes != 0)
        item_move(packing, (uint32_t)packing->plan->item_count, s);
    return true;
}

static bool packing_keep_most(struct packing *packing)
{
    uint64_t best_bytes = UINT64_MAX, cost_bytes;
    size_t bytes = (packing->plan->item_count + 1) * sizeof *packing->best;
    for (uint32_t s = 0; s < packing->span_count && packing->steps < GREEDY_STEPS_MAX; s++) {
        bool large = packing->spans[s].high - packing->spans[s].low >= packing->plan->demand.size_bytes;
        if (!large || !host_span_try(packing, s, &cost_bytes) || cost_bytes >= best_bytes)
            continue;
        best_bytes = cost_bytes;
        memcpy(packing->best, packing->assigned, bytes);
    }
    if (best_bytes == UINT64_MAX)
        return false;
    memcpy(packing->assigned, packing->best, bytes);
    return packing_layout(packing);
}

/* ---- cheap: largest first ---- */

/* Which span takes the next item: each rule finds packings that the others miss. */
enum span_rule {
    SPAN_TIGHTEST, /* the least sufficient room */
    SPAN_ROOMIEST, /* the most room */
    SPAN_LARGEST,  /* the largest span with sufficient room */
    SPAN_RULE_COUNT
};

static uint32_t span_choose(struct packing *packing, uint64_t size_bytes, enum span_rule rule)
{
    if (rule == SPAN_TIGHTEST)
        return span_tightest(packing, size_bytes, NOWHERE);
    uint32_t best = NOWHERE;
    packing->steps += packing->span_count;
    for (size_t i = packing->span_count; i-- > 0;) {
        uint32_t s = packing->bin_spans[i];
        if (packing->room[s] < size_bytes)
            continue;
        if (rule == SPAN_LARGEST)
            return s;
        if (best == NOWHERE || packing->room[s] > packing->room[best])
            best = s;
    }
    return best;
}

static bool packing_largest_first(struct packing *packing, enum span_rule rule)
{
    packing->steps = 0;
    for (size_t s = 0; s < packing->span_count; s++)
        packing->room[s] = packing->spans[s].high - packing->spans[s].low;
    for (size_t k = 0; k < packing->count; k++)
        packing->assigned[packing->items[k]] = NOWHERE;
    for (size_t k = 0; k < packing->count; k++) {
        uint32_t s = span_choose(packing, size_of(packing, packing->items[k]), rule);
        if (s == NOWHERE || packing->steps > 16u * GREEDY_STEPS_MAX)
            return false;
        item_move(packing, packing->items[k], s);
    }
    return packing_layout(packing);
}

/* ---- item by item ---- */

/* What comes before the long searches has a 64th of their steps: a few milliseconds. */
#define QUICK_SHARE 64
#define SPANS_PER_STEP 64

/* Room in spans that even the smallest item cannot use is lost. */
static bool loses_too_much(const struct packing *packing, uint64_t spare_bytes)
{
    uint64_t smallest = packing->sizes[packing->count - 1], lost = 0;
    for (size_t s = 0; s < packing->span_count; s++)
        lost += packing->room[s] < smallest ? packing->room[s] : 0;
    return lost > spare_bytes;
}

/* The next place in bin_spans, from `from` on, whose span takes the item; spans of equal room are the
 * same to it.  span_count when there is none. */
static uint32_t place_next(const struct packing *packing, uint32_t from, uint64_t size_bytes)
{
    for (uint32_t i = from; i < packing->span_count; i++) {
        uint64_t room = packing->room[packing->bin_spans[i]];
        bool seen = room < size_bytes;
        for (uint32_t k = 0; k < i && !seen; k++)
            seen = packing->room[packing->bin_spans[k]] == room;
        if (!seen)
            return i;
    }
    return (uint32_t)packing->span_count;
}

/* Largest first with a change of mind: what no rule places is often found after a few hundred steps.  It is
 * strong where a few large items decide, which is where filling span by span is weak.  `best` keeps by item
 * the place after the one taken. */
static bool packing_item_by_item(struct packing *packing)
{
    uint64_t spare_bytes = 0, steps = packing->plan->search_nodes_max / QUICK_SHARE;
    for (size_t s = 0; s < packing->span_count; s++)
        spare_bytes += packing->room[s] = packing->spans[s].high - packing->spans[s].low;
    for (size_t k = 0; k < packing->count; k++)
        spare_bytes -= packing->sizes[k];
    size_t k = 0;
    packing->best[0] = 0;
    /* Each step looks at all spans: with thousands of them it counts for more. */
    for (uint64_t cost = 1 + packing->span_count / SPANS_PER_STEP; steps >= cost; steps -= cost) {
        uint64_t size_bytes = packing->sizes[k];
        uint32_t place = place_next(packing, packing->best[k], size_bytes);
        bool placed = place != packing->span_count;
        if (placed) {
            packing->best[k] = place + 1;
            packing->assigned[packing->items[k]] = packing->bin_spans[place];
            packing->room[packing->bin_spans[place]] -= size_bytes;
        }
        if (placed && k + 1 == packing->count)
            return packing_layout(packing);
        if (placed && !loses_too_much(packing, spare_bytes)) {
            bool repeats = packing->sizes[k + 1] == size_bytes;
            packing->best[++k] = repeats ? place : 0;
            continue;
        }
        if (!placed && k-- == 0)
            return false;
        packing->room[packing->assigned[packing->items[k]]] += packing->sizes[k];
    }
    return false;
}

/* ---- exact ---- */

static void search_found(void *context, const uint32_t *bins)
{
    struct packing *packing = context;
    for (size_t k = 0; k < packing->count; k++)
        packing->assigned[packing->items[k]] = packing->bin_spans[packing->bin_first + bins[k]];
    packing->laid_out = packing_layout(packing);
    HBM_CHECK(packing->laid_out || packing->aligned);
}

/* By sums: a proof that nothing fits whatever the alignments, and the answer when there are none. */
static enum hbm_search_result packing_by_sums(struct packing *packing, uint64_t nodes_max)
{
    size_t first = 0;
    while (span_bytes(packing, packing->bin_spans[first]) < packing->sizes[packing->count - 1])
        first++;
    packing->bin_first = first;
    struct hbm_search search = {
        .sizes = packing->sizes, .item_count = packing->count,
        .capacities = packing->capacities + first, .bin_count = packing->span_count - first,
        .nodes_max = nodes_max,
        .found = search_found, .context = packing, .host = packing->plan->host,
    };
    return hbm_search_run(&search);
}

static enum hbm_search_result packing_by_places(struct packing *packing, uint64_t nodes_max)
{
    struct hbm_plan *plan = packing->plan;
    struct hbm_aligned search = {
        .sizes = packing->sizes, .shifts = packing->shifts, .item_count = packing->count,
        .spans = packing->spans, .span_order = packing->bin_spans, .span_count = packing->span_count,
        .nodes_max = nodes_max, .addresses = packing->addresses, .host = plan->host,
    };
    enum hbm_search_result result = hbm_aligned_run(&search);
    for (size_t k = 0; k < packing->count && result == HBM_SEARCH_FOUND; k++) {
        if (packing->items[k] < plan->item_count)
            plan->items[packing->items[k]].target = packing->addresses[k];
    }
    return result;
}

static enum hbm_search_result packing_exact(struct packing *packing, uint64_t nodes_max)
{
    enum hbm_search_result result = packing_by_sums(packing, nodes_max);
    if (packing->aligned && !packing->laid_out && result != HBM_SEARCH_NONE && result != HBM_SEARCH_REFUSED)
        result = packing_by_places(packing, nodes_max);
    packing->plan->host_refused |= result == HBM_SEARCH_REFUSED;
    return result;
}

/* ---- by exchange ---- */

static bool packing_by_exchange(struct packing *packing, uint64_t steps_max)
{
    /* One span has nothing to change places with, and is the only one that can be of 2^63 bytes. */
    if (packing->span_count == 1)
        return false;
    struct hbm_exchange_list *lists = hbm_host_array(packing->plan->host, 2, sizeof *lists);
    if (lists == NULL) {
        packing->plan->host_refused = true;
        return false;
    }
    struct hbm_exchange exchange = {
        .sizes = packing->sizes, .item_count = packing->count,
        .capacities = packing->capacities, .bin_count = packing->span_count,
        .bins = packing->best, .room = (int64_t *)packing->room,
        .first = packing->arrival_first, .next = packing->arrival_next, .lists = lists,
        .steps_max = steps_max,
    };
    bool fits = false;
    while (!fits && hbm_exchange_next(&exchange)) {
        for (size_t k = 0; k < packing->count; k++)
            packing->assigned[packing->items[k]] = packing->bin_spans[packing->best[k]];
        fits = packing_layout(packing);
        /* Only alignments make a layout fail: it compares the items of a span with each other. */
        exchange.steps += 8 * packing->count * packing->count;
    }
    hbm_host_free(packing->plan->host, lists, 2, sizeof *lists);
    return fits;
}

/* ---- all ---- */

static int span_is_smaller(const void *context, uint32_t left, uint32_t right)
{
    uint64_t left_bytes = span_bytes(context, left), right_bytes = span_bytes(context, right);
    return left_bytes != right_bytes ? left_bytes < right_bytes : left < right;
}

static int item_is_larger(const void *context, uint32_t left, uint32_t right)
{
    uint64_t left_bytes = size_of(context, left), right_bytes = size_of(context, right);
    if (left_bytes != right_bytes)
        return left_bytes > right_bytes;
    uint8_t left_shift = align_of(context, left), right_shift = align_of(context, right);
    return left_shift != right_shift ? left_shift > right_shift : left < right;
}

static void homes_find(struct packing *packing)
{
    const struct hbm_plan *plan = packing->plan;
    for (size_t i = 0; i <= plan->item_count; i++)
        packing->home[i] = NOWHERE;
    for (uint32_t s = 0; s < packing->span_count; s++) {
        const struct hbm_span *span = &packing->spans[s];
        packing->room_start[s] = span->high - span->low;
        for (size_t i = span->first; i < span->end; i++) {
            packing->home[i] = s;
            packing->room_start[s] -= plan->items[i].size_bytes;
            packing->items[packing->count++] = (uint32_t)i;
        }
    }
    if (plan->demand.size_bytes != 0)
        packing->items[packing->count++] = (uint32_t)plan->item_count;
    hbm_sort(packing->items, packing->count, item_is_larger, packing);
    for (size_t k = 0; k < packing->count; k++) {
        packing->sizes[k] = size_of(packing, packing->items[k]);
        packing->shifts[k] = align_of(packing, packing->items[k]);
        packing->aligned = packing->aligned || packing->shifts[k] > plan->granule_shift;
    }
    for (uint32_t s = 0; s < packing->span_count; s++)
        packing->bin_spans[s] = s;
    hbm_sort(packing->bin_spans, packing->span_count, span_is_smaller, packing);
    for (size_t i = 0; i < packing->span_count; i++)
        packing->capacities[i] = span_bytes(packing, packing->bin_spans[i]);
}

/* How many of the distinct sizes are also checked by number, which costs a pass over the spans each. */
#define COUNTED_SIZES_MAX 32

/* Whether `count` items of at least `size_bytes` each could have places, seen alone. */
static bool count_allows(const struct packing *packing, size_t count, uint64_t size_bytes)
{
    uint64_t places = 0;
    for (size_t i = packing->span_count; i-- > 0 && places < count;)
        places += packing->capacities[i] / size_bytes;
    return places >= count;
}

/* Items of at least some size can only be in spans of at least that size: their sum and their number
 * must have room there.  This proves most hopeless cases without a search. */
static bool bounds_allow(const struct packing *packing)
{
    uint64_t room = 0, need = 0;
    size_t spans_left = packing->span_count;
    unsigned counted = 0;
    for (size_t k = 0; k < packing->count; k++) {
        uint64_t size_bytes = packing->sizes[k];
        while (spans_left != 0 && packing->capacities[spans_left - 1] >= size_bytes)
            room += packing->capacities[--spans_left];
        need += size_bytes;
        if (need > room)
            return false;
        bool last_of_size = k + 1 == packing->count || packing->sizes[k + 1] != size_bytes;
        if (last_of_size && counted++ < COUNTED_SIZES_MAX && !count_allows(packing, k + 1, size_bytes))
            return false;
    }
    return true;
}

static bool packing_solve(struct packing *packing)
{
    homes_find(packing);
    if (packing->count == 0)
        return true;
    if (!bounds_allow(packing))
        return false;
    if (packing_keep_most(packing))
        return true;
    for (int rule = 0; rule < SPAN_RULE_COUNT; rule++) {
        if (packing_largest_first(packing, (enum span_rule)rule))
            return true;
    }
    if (packing_item_by_item(packing))
        return true;
    /* A short search decides most; where it does not, exchanges are far cheaper than a long one. */
    uint64_t most = packing->plan->search_nodes_max;
    const uint64_t nodes_max[] = {most / QUICK_SHARE, most}; /* a step of an exchange takes a fraction of its time */
    const uint64_t steps_max[] = {most / 2, most > UINT64_MAX / 2 ? UINT64_MAX : most * 2};
    enum hbm_search_result result = HBM_SEARCH_UNKNOWN;
    for (unsigned i = 0; i < 2 && result == HBM_SEARCH_UNKNOWN; i++) {
        result = packing_exact(packing, nodes_max[i]);
        if (result == HBM_SEARCH_UNKNOWN && packing_by_exchange(packing, steps_max[i]))
            return true;
    }
    return result == HBM_SEARCH_FOUND;
}

/* One allocation for all arrays: 8-byte ones first, so that each is aligned. */
static void *arrays_split(struct packing *packing, size_t count, char *memory)
{
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
    struct packing packing = {.plan = plan};
    size_t count = plan->item_count + 1;
    size_t element_bytes = sizeof *packing.spans + 5 * sizeof(uint64_t) + 7 * sizeof(uint32_t) + 1;
    char *memory = hbm_host_array(plan->host, count, element_bytes);
    if (memory == NULL) {
        plan->host_refused = true;
        return false;
    }
    void *end = arrays_split(&packing, count, memory);
    HBM_CHECK((char *)end <= memory + count * element_bytes);
    bool fits = hbm_plan_spans(plan, packing.spans, &packing.span_count) && packing.span_count != 0 &&
                packing_solve(&packing);
    hbm_host_free(plan->host, memory, count, element_bytes);
    return fits;
}
