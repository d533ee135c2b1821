#include "allocator/private/search.h"

#include <string.h>

#define STEP_CLOSE UINT32_MAX
/* A node looks at every type; so many of them count as one more node. */
#define TYPES_PER_NODE 32
/* 1 MiB of host memory, taken only when a search gets long. */
#define SEEN_COUNT 65536u
#define SEEN_AFTER_NODES 1000u
/* The orders in which types are tried take turns, each time with this many times the nodes. */
#define ORDER_COUNT 2
#define TURN_NODES 4000u
#define TURN_GROWTH 4u

struct type {
    uint64_t size_bytes;
    uint64_t hash;
    size_t first; /* the type is items first .. first + total - 1 */
    uint32_t total;
    uint32_t left; /* not yet laid out */
    uint8_t align_shift;
};

/* One decision on the path: a block of a type was put at the end, or the span was closed. */
struct aligned_step {
    uint32_t type;     /* or STEP_CLOSE */
    uint32_t position; /* in the order of trying: where to go on after taking it back */
    uint64_t end;      /* before the step */
};

/* A state that was tried in vain: `key` names blocks left and span, from `end` on or higher. */
struct seen {
    uint64_t key;
    uint64_t end;
};

struct aligned_state {
    const struct hbm_aligned *search;
    struct type *types;            /* [type_count], by size and alignment, descending */
    uint32_t *orders[ORDER_COUNT]; /* [type_count] each: types in the order of trying */
    struct aligned_step *steps;    /* [item_count + span_count] */
    struct seen *seen;             /* [SEEN_COUNT] or NULL */
    bool seen_asked;
    const uint32_t *order;
    size_t type_count;
    size_t step_count;
    size_t items_left;
    size_t span;
    uint64_t end;      /* where the current span is filled up to */
    uint64_t spare;    /* bytes that may still be lost */
    uint64_t hash;     /* of the blocks that are laid out */
    uint32_t position; /* the next to try: twice through `order`, without and with a gap below the
                          block */
    uint64_t nodes;
};

static void make_types(struct aligned_state *state)
{
    HBM_CHECK(state->type_count == 0);
    HBM_CHECK(state->search->item_count != 0);
    const struct hbm_aligned *search = state->search;
    for (size_t i = 0; i < search->item_count; i++) {
        struct type *last = state->type_count == 0 ? NULL : &state->types[state->type_count - 1];
        if (last == NULL || last->size_bytes != search->sizes[i] ||
            last->align_shift != search->shifts[i]) {
            last = &state->types[state->type_count++];
            *last = (struct type){.size_bytes = search->sizes[i],
                                  .align_shift = search->shifts[i],
                                  .first = i,
                                  .hash = hbm_hash_mix(0x9E3779B97F4A7C15u * state->type_count)};
        }
        last->total++;
        last->left++;
    }
    HBM_CHECK(state->type_count <= search->item_count);
}

static bool is_more_aligned(const void *context, uint32_t left, uint32_t right)
{
    const struct type *types = context;
    if (types[left].align_shift != types[right].align_shift) {
        return types[left].align_shift > types[right].align_shift;
    }
    return left < right;
}

static void make_orders(struct aligned_state *state)
{
    HBM_CHECK(state->type_count != 0);
    for (int k = 0; k < ORDER_COUNT; k++) {
        for (uint32_t i = 0; i < state->type_count; i++) {
            state->orders[k][i] = i;
        }
    }
    hbm_sort(state->orders[0], state->type_count, is_more_aligned, state->types);
    HBM_CHECK(state->orders[0][0] < state->type_count);
}

static const struct hbm_span *get_span(const struct aligned_state *state)
{
    return &state->search->spans[state->search->span_order[state->span]];
}

static uint64_t end_after_type(const struct type *type, uint64_t end)
{
    return hbm_align_up(end, type->align_shift) + type->size_bytes;
}

/* ---- what was tried in vain ---- */

static uint64_t make_layout_key(const struct aligned_state *state)
{
    return hbm_hash_mix(state->hash + 0xD1B54A32D192ED03u * (state->span + 1));
}

static bool is_layout_in_vain(const struct aligned_state *state)
{
    if (state->seen == NULL) {
        return false;
    }
    const uint64_t key = make_layout_key(state);
    const struct seen *seen = &state->seen[key % SEEN_COUNT];
    return seen->key == key && seen->end <= state->end;
}

static void note_layout_in_vain(struct aligned_state *state)
{
    HBM_CHECK_COSTLY(state->span < state->search->span_count);
    HBM_CHECK_COSTLY(state->end <= get_span(state)->high);
    if (state->seen == NULL) {
        return;
    }
    const uint64_t key = make_layout_key(state);
    struct seen *seen = &state->seen[key % SEEN_COUNT];
    if (seen->key != key || seen->end > state->end) {
        *seen = (struct seen){key, state->end};
    }
}

/* Without host memory for it the search is slower, not wrong. */
static void start_seen_layouts(struct aligned_state *state)
{
    HBM_CHECK(!state->seen_asked);
    HBM_CHECK(state->seen == NULL);
    state->seen_asked = true;
    state->seen = hbm_host_zeroed(state->search->host, SEEN_COUNT, sizeof *state->seen);
}

/* ---- steps ---- */

/* True if the last block and a next one of this type are at least as good in the other order. */
static bool is_other_order_better(const struct aligned_state *state, uint32_t type)
{
    if (state->step_count == 0 || state->steps[state->step_count - 1].type == STEP_CLOSE) {
        return false;
    }
    const struct aligned_step *last = &state->steps[state->step_count - 1];
    if (last->type == type) {
        return false;
    }
    const uint64_t this_end = end_after_type(&state->types[type], state->end);
    const uint64_t other_end = end_after_type(&state->types[last->type],
                                              end_after_type(&state->types[type], last->end));
    return other_end < this_end || (other_end == this_end && type < last->type);
}

static void place_type(struct aligned_state *state, uint32_t type)
{
    HBM_CHECK_COSTLY(type < state->type_count);
    HBM_CHECK_COSTLY(state->types[type].left != 0);
    HBM_CHECK_COSTLY(state->step_count < state->search->item_count + state->search->span_count);
    struct type *taken = &state->types[type];
    state->steps[state->step_count++] = (struct aligned_step){type, state->position + 1,
                                                              state->end};
    state->spare -= hbm_align_up(state->end, taken->align_shift) - state->end;
    state->end = end_after_type(taken, state->end);
    state->hash += taken->hash;
    state->items_left--;
    taken->left--;
    state->position = 0;
    HBM_CHECK_COSTLY(state->end <= get_span(state)->high);
}

/* Puts the next block in the order of trying at the end; false when there is none. */
static bool place_next_type(struct aligned_state *state)
{
    HBM_CHECK_COSTLY(state->items_left != 0);
    HBM_CHECK_COSTLY(state->position <= 2 * state->type_count);
    const uint64_t room = get_span(state)->high - state->end;
    const uint32_t count = (uint32_t)state->type_count;
    const uint32_t start = state->position;
    for (; state->position < 2 * count; state->position++) {
        const bool gap_turn = state->position >= count;
        const uint32_t number = state->order[gap_turn ? state->position - count : state->position];
        const struct type *type = &state->types[number];
        if (type->left == 0 || type->size_bytes > room) {
            continue;
        }
        const uint64_t gap = hbm_align_up(state->end, type->align_shift) - state->end;
        if (gap > room - type->size_bytes) {
            continue;
        }
        if ((gap != 0) != gap_turn || gap > state->spare || is_other_order_better(state, number)) {
            continue;
        }
        state->nodes += (state->position - start) / TYPES_PER_NODE;
        place_type(state, number);
        return true;
    }
    state->nodes += (2 * count - start) / TYPES_PER_NODE;
    return false;
}

static bool has_fitting_type(const struct aligned_state *state)
{
    const uint64_t high = get_span(state)->high;
    for (size_t i = 0; i < state->type_count; i++) {
        const struct type *type = &state->types[i];
        if (type->left != 0 && type->size_bytes <= high - state->end &&
            end_after_type(type, state->end) <= high) {
            return true;
        }
    }
    return false;
}

static bool close_span(struct aligned_state *state)
{
    const uint64_t lost = get_span(state)->high - state->end;
    if (state->span + 1 >= state->search->span_count || lost > state->spare ||
        has_fitting_type(state)) {
        return false;
    }
    HBM_CHECK(state->step_count < state->search->item_count + state->search->span_count);
    state->steps[state->step_count++] = (struct aligned_step){STEP_CLOSE, 0, state->end};
    state->spare -= lost;
    state->span++;
    state->end = get_span(state)->low;
    state->position = 0;
    HBM_CHECK_COSTLY(state->span < state->search->span_count);
    return true;
}

/* Takes back decisions up to and with the last block; false when there is none. */
static bool undo_layout_steps(struct aligned_state *state, bool in_vain)
{
    while (state->step_count != 0) {
        if (in_vain) {
            note_layout_in_vain(state);
        }
        const struct aligned_step step = state->steps[--state->step_count];
        state->end = step.end;
        if (step.type == STEP_CLOSE) {
            HBM_CHECK_COSTLY(state->span != 0);
            state->span--;
            state->spare += get_span(state)->high - state->end;
            continue;
        }
        struct type *taken = &state->types[step.type];
        state->spare += hbm_align_up(state->end, taken->align_shift) - state->end;
        state->hash -= taken->hash;
        state->items_left++;
        HBM_CHECK_COSTLY(state->items_left <= state->search->item_count);
        taken->left++;
        HBM_CHECK_COSTLY(taken->left <= taken->total);
        state->position = step.position;
        return true;
    }
    return false;
}

static void write_addresses(struct aligned_state *state)
{
    HBM_CHECK(state->items_left == 0);
    for (size_t i = 0; i < state->type_count; i++) {
        state->types[i].left = state->types[i].total;
    }
    for (size_t i = 0; i < state->step_count; i++) {
        if (state->steps[i].type == STEP_CLOSE) {
            continue;
        }
        struct type *type = &state->types[state->steps[i].type];
        HBM_CHECK(type->left != 0);
        state->search->addresses[type->first + --type->left] = hbm_align_up(state->steps[i].end,
                                                                            type->align_shift);
    }
}

/* ---- all ---- */

/* One turn with one order of trying, from the start. */
static enum hbm_search_result run_turn(struct aligned_state *state, uint64_t nodes_end)
{
    HBM_CHECK(state->step_count == 0);
    HBM_CHECK(state->span == 0);
    state->position = 0;
    while (state->nodes++ < nodes_end) {
        if (!state->seen_asked && state->nodes >= SEEN_AFTER_NODES) {
            start_seen_layouts(state);
        }
        if (place_next_type(state)) {
            if (state->items_left == 0) {
                write_addresses(state);
                return HBM_SEARCH_FOUND;
            }
            if (is_layout_in_vain(state) && !undo_layout_steps(state, false)) {
                return HBM_SEARCH_NONE;
            }
            continue;
        }
        if (!close_span(state) && !undo_layout_steps(state, true)) {
            return HBM_SEARCH_NONE;
        }
    }
    return HBM_SEARCH_UNKNOWN;
}

static enum hbm_search_result run_turns(struct aligned_state *state)
{
    HBM_CHECK(state->type_count != 0);
    uint64_t nodes_max = state->search->nodes_max, turn_nodes = TURN_NODES;
    for (int turn = 0; state->nodes < nodes_max; turn++) {
        const uint64_t left = nodes_max - state->nodes;
        state->order = state->orders[turn % ORDER_COUNT];
        const enum hbm_search_result result = run_turn(
            state, state->nodes + (turn_nodes < left ? turn_nodes : left));
        if (result != HBM_SEARCH_UNKNOWN) {
            return result;
        }
        while (undo_layout_steps(state, false)) {
        }
        HBM_CHECK(state->step_count == 0);
        turn_nodes *= turn % ORDER_COUNT == ORDER_COUNT - 1 ? TURN_GROWTH : 1;
    }
    return HBM_SEARCH_UNKNOWN;
}

static bool count_spare_bytes(const struct hbm_aligned *search, uint64_t *spare)
{
    uint64_t room = 0, need = 0;
    for (size_t i = 0; i < search->span_count; i++) {
        room += search->spans[search->span_order[i]].high -
                search->spans[search->span_order[i]].low;
    }
    for (size_t i = 0; i < search->item_count; i++) {
        need += search->sizes[i];
    }
    *spare = room - need;
    return need <= room;
}

enum hbm_search_result hbm_aligned_run(const struct hbm_aligned *search)
{
    HBM_CHECK(search->addresses != NULL);
    HBM_CHECK(search->host != NULL);
    struct aligned_state state = {.search = search, .items_left = search->item_count};
    if (search->item_count == 0 || search->span_count == 0 ||
        !count_spare_bytes(search, &state.spare)) {
        return HBM_SEARCH_NONE;
    }
    size_t step_max = search->item_count + search->span_count,
           order_max = ORDER_COUNT * search->item_count;
    state.types = hbm_host_array(search->host, search->item_count, sizeof *state.types);
    state.steps = hbm_host_array(search->host, step_max, sizeof *state.steps);
    uint32_t *orders = hbm_host_array(search->host, order_max, sizeof *orders);
    enum hbm_search_result result = HBM_SEARCH_REFUSED;
    if (state.types != NULL && state.steps != NULL && orders != NULL) {
        for (size_t k = 0; k < ORDER_COUNT; k++) {
            state.orders[k] = orders + k * search->item_count;
        }
        make_types(&state);
        make_orders(&state);
        state.end = get_span(&state)->low;
        result = run_turns(&state);
    }
    hbm_host_free(search->host, state.seen, SEEN_COUNT, sizeof *state.seen);
    hbm_host_free(search->host, orders, order_max, sizeof *orders);
    hbm_host_free(search->host, state.steps, step_max, sizeof *state.steps);
    hbm_host_free(search->host, state.types, search->item_count, sizeof *state.types);
    return result;
}
