#include "allocator/private/search.h"

#include <string.h>

#define NO_GAP SIZE_MAX
/* An order that was begun ends as if a block had no gap once this many times the budget was used
 * up: of a hundred thousand blocks each would be compared with as many gaps. */
#define ORDER_OVERRUN 64

/* [low, high) is free; never empty. */
struct free_gap {
    uint64_t low;
    uint64_t high;
};

/* The rule by which a gap suits a block best; the rules take turns. */
enum gap_rule {
    GAP_SMALLEST,    /* the smallest that has room */
    GAP_LEAST_WASTE, /* the one where alignment costs least; of these the smallest */
    GAP_RULE_COUNT
};

struct gaps_state {
    const struct hbm_aligned *search;
    struct free_gap *gaps; /* [gap_count] of at most span_count + 2 * item_count + 2 */
    size_t gap_count;
    uint32_t *order;  /* [item_count]: items in the order in which they are placed */
    uint64_t *places; /* [item_count]: addresses of an attempt */
    enum gap_rule rule;
    uint64_t steps;
};

/* ---- gaps ---- */

/* A place in a gap: at its low end or at its high one, whichever wastes less by alignment. */
static bool find_place_in_gap(const struct free_gap *gap, uint64_t size_bytes, uint8_t shift,
                              uint64_t *address, uint64_t *waste_bytes)
{
    if (gap->high - gap->low < size_bytes) {
        return false;
    }
    uint64_t low = hbm_align_up(gap->low, shift),
             high = hbm_align_down(gap->high - size_bytes, shift);
    if (low > high) {
        return false;
    }
    uint64_t below = low - gap->low, above = gap->high - size_bytes - high;
    *address = below < above ? low : high;
    *waste_bytes = below < above ? below : above;
    return true;
}

static size_t choose_gap(struct gaps_state *state, uint32_t item, uint64_t *address)
{
    HBM_CHECK_COSTLY(item < state->search->item_count);
    const struct hbm_aligned *search = state->search;
    uint64_t best_bytes = UINT64_MAX, best_waste = UINT64_MAX, place, waste;
    size_t best = NO_GAP;
    state->steps += state->gap_count;
    for (size_t i = 0; i < state->gap_count; i++) {
        const struct free_gap *gap = &state->gaps[i];
        const uint64_t bytes = gap->high - gap->low;
        if (!find_place_in_gap(gap, search->sizes[item], search->shifts[item], &place, &waste)) {
            continue;
        }
        const uint64_t counted = state->rule == GAP_LEAST_WASTE ? waste : 0;
        if (counted > best_waste || (counted == best_waste && bytes >= best_bytes)) {
            continue;
        }
        best_waste = counted;
        best_bytes = bytes;
        best = i;
        *address = place;
    }
    HBM_CHECK_COSTLY(best == NO_GAP || best < state->gap_count);
    return best;
}

static void add_gap(struct gaps_state *state, uint64_t low, uint64_t high)
{
    if (low < high) {
        HBM_CHECK(state->gap_count < state->search->span_count + 2 * state->search->item_count + 2);
        state->gaps[state->gap_count++] = (struct free_gap){low, high};
    }
}

/* Places one item after the other; count when all have a place, else the position in the order that
 * had none. */
static size_t place_in_order(struct gaps_state *state, size_t count)
{
    HBM_CHECK(count <= state->search->item_count);
    for (size_t k = 0; k < count; k++) {
        if (state->steps / ORDER_OVERRUN > state->search->nodes_max) {
            return k;
        }
        const uint32_t item = state->order[k];
        const size_t number = choose_gap(state, item, &state->places[item]);
        if (number == NO_GAP) {
            return k;
        }
        const struct free_gap gap = state->gaps[number];
        HBM_CHECK_COSTLY(state->places[item] + state->search->sizes[item] <= gap.high);
        HBM_CHECK_COSTLY(gap.low <= state->places[item]);
        state->gaps[number] = state->gaps[--state->gap_count];
        add_gap(state, gap.low, state->places[item]);
        add_gap(state, state->places[item] + state->search->sizes[item], gap.high);
    }
    return count;
}

/* ---- from nothing ---- */

/* The item comes earlier next time: half as late, so that many that fail do not push each other
 * from the first place. */
static void advance_in_order(struct gaps_state *state, size_t position)
{
    HBM_CHECK(position < state->search->item_count);
    const uint32_t item = state->order[position];
    memmove(&state->order[position / 2 + 1], &state->order[position / 2],
            (position - position / 2) * sizeof item);
    state->order[position / 2] = item;
}

static enum hbm_search_result fill_gaps(struct gaps_state *state)
{
    const struct hbm_aligned *search = state->search;
    for (uint32_t i = 0; i < search->item_count; i++) {
        state->order[i] = i;
    }
    for (uint32_t round = 0; state->steps < search->nodes_max; round++) {
        state->rule = (enum gap_rule)(round % GAP_RULE_COUNT);
        state->gap_count = 0;
        for (size_t s = 0; s < search->span_count; s++) {
            add_gap(state, search->spans[s].low, search->spans[s].high);
        }
        HBM_CHECK(state->gap_count <= search->span_count);
        const size_t failed = place_in_order(state, search->item_count);
        HBM_CHECK(failed <= search->item_count);
        if (failed == search->item_count) {
            memcpy(search->addresses, state->places, search->item_count * sizeof *state->places);
            return HBM_SEARCH_FOUND;
        }
        if (state->rule == GAP_RULE_COUNT - 1) {
            advance_in_order(state, failed);
        }
    }
    return HBM_SEARCH_UNKNOWN;
}

/* ---- by clearing a window ---- */

/* The attempt: [low, high) is for the demand; empty where there is none. */
struct clearing {
    struct gaps_state *state;
    const struct hbm_gaps_now *now;
    uint32_t demand; /* item; item_count = none */
    struct free_gap window;
    uint64_t best_bytes; /* of the blocks that move, in the best window so far */
};

static bool is_overlapping(uint64_t low, uint64_t high, const struct free_gap *window)
{
    return low < window->high && window->low < high;
}

/* Free memory of one span with the window taken out. */
static void add_free_range(struct clearing *clearing, uint64_t low, uint64_t high)
{
    const struct free_gap *window = &clearing->window;
    if (!is_overlapping(low, high, window)) {
        add_gap(clearing->state, low, high);
        return;
    }
    add_gap(clearing->state, low, window->low < low ? low : window->low);
    add_gap(clearing->state, window->high > high ? high : window->high, high);
}

static bool is_item_first(const void *context, uint32_t left, uint32_t right)
{
    const struct clearing *clearing = context;
    const uint64_t *sizes = clearing->state->search->sizes, *addresses = clearing->now->addresses;
    return sizes[left] != sizes[right] ? sizes[left] > sizes[right]
                                       : addresses[left] < addresses[right];
}

/* Puts what must move into the order, by descending size, and what is free outside the window into
 * the gaps.  Returns how many must move. */
static size_t start_clearing(struct clearing *clearing, uint64_t *moved_bytes)
{
    struct gaps_state *state = clearing->state;
    const struct hbm_aligned *search = state->search;
    size_t moving = 0, s = 0;
    uint64_t end = search->spans[0].low;
    *moved_bytes = 0;
    state->gap_count = 0;
    for (size_t i = 0; i < clearing->now->count; i++) {
        const uint32_t item = clearing->now->places[i];
        HBM_CHECK(item < search->item_count);
        uint64_t low = clearing->now->addresses[item], high = low + search->sizes[item];
        while (low >= search->spans[s].high) {
            add_free_range(clearing, end, search->spans[s].high);
            end = search->spans[++s].low;
        }
        if (low < search->spans[s].low || is_overlapping(low, high, &clearing->window)) {
            state->order[moving++] = item;
            state->steps += moving;
            *moved_bytes += search->sizes[item];
            continue;
        }
        add_free_range(clearing, end, low);
        end = high;
        state->places[item] = low;
    }
    for (; s < search->span_count; s++) {
        add_free_range(clearing, end, search->spans[s].high);
        end = s + 1 < search->span_count ? search->spans[s + 1].low : 0;
    }
    state->steps += clearing->now->count + search->span_count;
    HBM_CHECK(moving <= clearing->now->count);
    hbm_sort(state->order, moving, is_item_first, clearing);
    return moving;
}

static void try_window(struct clearing *clearing, uint64_t address)
{
    struct gaps_state *state = clearing->state;
    const struct hbm_aligned *search = state->search;
    uint64_t moved_bytes,
        size_bytes = clearing->demand < search->item_count ? search->sizes[clearing->demand] : 0;
    HBM_CHECK(address <= UINT64_MAX - size_bytes);
    clearing->window = (struct free_gap){address, address + size_bytes};
    for (int rule = 0; rule < GAP_RULE_COUNT && state->steps < search->nodes_max; rule++) {
        const size_t moving = start_clearing(clearing, &moved_bytes);
        HBM_CHECK(moving <= search->item_count);
        state->rule = (enum gap_rule)rule;
        if (moved_bytes >= clearing->best_bytes || place_in_order(state, moving) < moving) {
            continue;
        }
        clearing->best_bytes = moved_bytes;
        if (clearing->demand < search->item_count) {
            state->places[clearing->demand] = address;
        }
        memcpy(search->addresses, state->places, search->item_count * sizeof *state->places);
    }
}

/* A window that begins or ends at this border, inside the span. */
static void try_border(struct clearing *clearing, const struct hbm_span *span, uint64_t border)
{
    HBM_CHECK(span->low <= span->high);
    HBM_CHECK(clearing->demand < clearing->state->search->item_count);
    const struct hbm_aligned *search = clearing->state->search;
    const uint64_t size_bytes = search->sizes[clearing->demand];
    const uint8_t shift = search->shifts[clearing->demand];
    const uint64_t above = hbm_align_up(border, shift);
    if (above >= span->low && above < span->high && size_bytes <= span->high - above) {
        try_window(clearing, above);
    }
    if (border < span->low || border > span->high || border - span->low < size_bytes) {
        return;
    }
    const uint64_t below = hbm_align_down(border - size_bytes, shift);
    if (below >= span->low && below != above) {
        try_window(clearing, below);
    }
}

/* Windows begin or end at a border of a span or a block. */
static enum hbm_search_result clear_window(struct clearing *clearing)
{
    HBM_CHECK(clearing->demand <= clearing->state->search->item_count);
    HBM_CHECK(clearing->now != NULL);
    const struct hbm_aligned *search = clearing->state->search;
    const struct hbm_gaps_now *now = clearing->now;
    clearing->best_bytes = UINT64_MAX;
    if (clearing->demand == search->item_count) {
        try_window(clearing, 0);
    }
    size_t i = 0;
    for (size_t s = 0; s < search->span_count && clearing->demand < search->item_count; s++) {
        const struct hbm_span *span = &search->spans[s];
        try_border(clearing, span, span->low);
        try_border(clearing, span, span->high);
        for (; i < now->count && now->addresses[now->places[i]] < span->high; i++) {
            const uint64_t low = now->addresses[now->places[i]];
            try_border(clearing, span, low);
            try_border(clearing, span, low + search->sizes[now->places[i]]);
        }
    }
    return clearing->best_bytes == UINT64_MAX ? HBM_SEARCH_UNKNOWN : HBM_SEARCH_FOUND;
}

/* ---- all ---- */

static enum hbm_search_result run_gap_search(const struct hbm_aligned *search,
                                             const struct hbm_gaps_now *now)
{
    HBM_CHECK(search->addresses != NULL);
    HBM_CHECK(now == NULL || now->count <= search->item_count);
    struct gaps_state state = {.search = search};
    /* Between and beside the blocks of each span; a window and a block that is placed add one each.
     */
    const size_t gap_max = search->span_count + 2 * search->item_count + 2;
    state.gaps = hbm_host_array(search->host, gap_max, sizeof *state.gaps);
    state.order = hbm_host_array(search->host, search->item_count, sizeof *state.order);
    state.places = hbm_host_array(search->host, search->item_count, sizeof *state.places);
    struct clearing clearing = {
        .state = &state, .now = now, .demand = (uint32_t)search->item_count};
    if (now != NULL && now->count < search->item_count) {
        clearing.demand = now->places[now->count];
    }
    enum hbm_search_result result = HBM_SEARCH_REFUSED;
    if (state.gaps != NULL && state.order != NULL && state.places != NULL) {
        result = now == NULL ? fill_gaps(&state) : clear_window(&clearing);
    }
    hbm_host_free(search->host, state.places, search->item_count, sizeof *state.places);
    hbm_host_free(search->host, state.order, search->item_count, sizeof *state.order);
    hbm_host_free(search->host, state.gaps, gap_max, sizeof *state.gaps);
    return result;
}

enum hbm_search_result hbm_gaps_clear(const struct hbm_aligned *search,
                                      const struct hbm_gaps_now *now)
{
    return run_gap_search(search, now);
}

enum hbm_search_result hbm_gaps_fill(const struct hbm_aligned *search)
{
    return run_gap_search(search, NULL);
}
