#include "allocator/private/search.h"

#include <string.h>

#define STEP_CLOSE UINT32_MAX
/* The search counts so many classes passed over as one more node. */
#define CLASSES_PER_NODE 16
/* 1 MiB of host memory, taken only when a search gets long. */
#define SEEN_COUNT 131072u
#define SEEN_AFTER_NODES 1000u

struct class_of_items {
    uint64_t size_bytes;
    uint64_t hash;
    size_t first; /* the class is items first .. first + total - 1 */
    uint32_t total;
    uint32_t left; /* not yet in a bin */
};

/* One decision on the path: an item of a class was put into the current bin, or the bin was closed.
 */
struct search_step {
    uint32_t class_index; /* or STEP_CLOSE */
    uint32_t bin_first;   /* before the step: the first class put into the current bin */
    uint32_t from;        /* of a close: the first class that the next bin may take */
    uint64_t residual;    /* before the step: what the current bin had left */
    uint64_t rest;        /* before the step */
    uint64_t bin_hash;    /* before the step */
    bool closable;        /* before the step */
};

struct hbm_search_state {
    const struct hbm_search *search;
    struct class_of_items *classes; /* [item_count] at most, sizes descending */
    struct search_step *steps;      /* [item_count + bin_count] */
    uint32_t *bins;                 /* [item_count] */
    size_t class_count;
    size_t step_count;
    size_t items_left;
    size_t bin;
    uint32_t from;      /* classes before this one are not tried at this node */
    uint32_t bin_first; /* the first class put into the current bin, or class_count */
    uint64_t residual;
    uint64_t spare; /* bytes that bins may still leave unused */
    uint64_t rest;  /* bytes of items left in classes from `from` on: all that may still come into
                       the bin */
    uint64_t left_bytes;
    uint64_t hash;     /* of the items in bins */
    uint64_t bin_hash; /* the same when the current bin was begun */
    bool closable;     /* since the last step forward, the bin was once full enough to be closed */
    uint64_t *seen;    /* [SEEN_COUNT] or NULL: hashes of states that were tried in vain */
    bool seen_asked;
    uint64_t nodes;
};

static void make_classes(struct hbm_search_state *state)
{
    HBM_CHECK(state->class_count == 0);
    const struct hbm_search *search = state->search;
    for (size_t i = 0; i < search->item_count; i++) {
        struct class_of_items *last = state->class_count == 0
                                          ? NULL
                                          : &state->classes[state->class_count - 1];
        if (last == NULL || last->size_bytes != search->sizes[i]) {
            last = &state->classes[state->class_count++];
            *last = (struct class_of_items){
                .size_bytes = search->sizes[i],
                .first = i,
                .hash = hbm_hash_mix(0x9E3779B97F4A7C15u * state->class_count)};
        }
        last->total++;
        last->left++;
    }
    HBM_CHECK(state->class_count <= search->item_count);
}

/* ---- what was tried in vain ---- */

/* Everything that the rest of the search depends on when a bin has just been begun. */
static uint64_t make_bin_key(const struct hbm_search_state *state, uint32_t from)
{
    return hbm_hash_mix(hbm_hash_mix(state->hash + 0xD1B54A32D192ED03u * (state->bin + 1)) + from);
}

/* Everything that decides whether the current bin can still be made full enough, after a step. */
static uint64_t make_fill_key(const struct hbm_search_state *state)
{
    const uint64_t key = hbm_hash_mix(state->bin_hash + 0xD1B54A32D192ED03u * (state->bin + 1)) ^
                         state->residual;
    return hbm_hash_mix(hbm_hash_mix(key) +
                        ((uint64_t)state->from << 32 | state->classes[state->from].left) + 1);
}

static bool is_key_in_vain(const struct hbm_search_state *state, uint64_t key)
{
    return state->seen != NULL && state->seen[key % SEEN_COUNT] == key;
}

static void note_key_in_vain(struct hbm_search_state *state, uint64_t key)
{
    if (state->seen != NULL) {
        state->seen[key % SEEN_COUNT] = key;
    }
}

/* Without host memory for it the search is slower, not wrong. */
static void start_seen_keys(struct hbm_search_state *state)
{
    HBM_CHECK(!state->seen_asked);
    HBM_CHECK(state->seen == NULL);
    state->seen_asked = true;
    state->seen = hbm_host_zeroed(state->search->host, SEEN_COUNT, sizeof *state->seen);
}

/* ---- steps ---- */

/* Goes on to the first class that has an item left and fits, or to class_count. */
static void advance_class(struct hbm_search_state *state)
{
    HBM_CHECK_COSTLY(state->from <= state->class_count);
    const uint32_t start = state->from;
    while (state->from < state->class_count) {
        const struct class_of_items *next = &state->classes[state->from];
        if (next->left != 0 && next->size_bytes <= state->residual) {
            break;
        }
        state->rest -= next->size_bytes * next->left;
        state->from++;
    }
    state->nodes += (state->from - start) / CLASSES_PER_NODE;
    HBM_CHECK_COSTLY(state->from <= state->class_count);
}

/* True if any item left fits in the bin. */
static bool has_fitting_class(const struct hbm_search_state *state)
{
    for (size_t i = state->class_count;
         i-- > 0 && state->classes[i].size_bytes <= state->residual;) {
        if (state->classes[i].left != 0) {
            return true;
        }
    }
    return false;
}

static struct search_step make_step(const struct hbm_search_state *state, uint32_t class_index)
{
    return (struct search_step){.class_index = class_index,
                                .bin_first = state->bin_first,
                                .residual = state->residual,
                                .rest = state->rest,
                                .bin_hash = state->bin_hash,
                                .closable = state->closable};
}

static void place_item_of_class(struct hbm_search_state *state, uint32_t class_index)
{
    HBM_CHECK_COSTLY(class_index < state->class_count);
    HBM_CHECK_COSTLY(state->step_count < state->search->item_count + state->search->bin_count);
    struct class_of_items *taken = &state->classes[class_index];
    HBM_CHECK_COSTLY(taken->size_bytes <= state->residual);
    HBM_CHECK_COSTLY(taken->left != 0);
    state->steps[state->step_count++] = make_step(state, class_index);
    if (state->bin_first == state->class_count) {
        state->bin_first = class_index;
    }
    taken->left--;
    state->items_left--;
    state->residual -= taken->size_bytes;
    state->rest -= taken->size_bytes;
    state->left_bytes -= taken->size_bytes;
    state->hash += taken->hash;
    state->closable = false;
}

static void begin_bin(struct hbm_search_state *state, uint32_t from)
{
    HBM_CHECK(state->bin < state->search->bin_count);
    HBM_CHECK(from <= state->class_count);
    state->residual = state->search->capacities[state->bin];
    state->bin_first = (uint32_t)state->class_count;
    state->bin_hash = state->hash;
    state->closable = false;
    state->rest = state->left_bytes;
    for (state->from = 0; state->from < from; state->from++) {
        state->rest -= state->classes[state->from].size_bytes * state->classes[state->from].left;
    }
}

static bool undo_search_steps(struct hbm_search_state *state);

/* True when a step was taken, be it this one or, for what was tried before, one back. */
static bool close_bin(struct hbm_search_state *state)
{
    const struct hbm_search *search = state->search;
    if (state->bin + 1 >= search->bin_count || state->residual > state->spare) {
        return false;
    }
    state->closable = true;
    if (has_fitting_class(state)) {
        return false;
    }
    HBM_CHECK(state->residual <= state->spare);
    HBM_CHECK(state->step_count < search->item_count + search->bin_count);
    const bool equal = search->capacities[state->bin] == search->capacities[state->bin + 1];
    const uint32_t from = equal && state->bin_first != state->class_count ? state->bin_first : 0;
    state->steps[state->step_count] = make_step(state, STEP_CLOSE);
    state->steps[state->step_count++].from = from;
    state->spare -= state->residual;
    state->bin++;
    begin_bin(state, from);
    return !is_key_in_vain(state, make_bin_key(state, from)) || undo_search_steps(state);
}

static void undo_item(struct hbm_search_state *state, const struct search_step *step)
{
    HBM_CHECK_COSTLY(step->class_index < state->class_count);
    struct class_of_items *taken = &state->classes[step->class_index];
    state->from = step->class_index;
    if (!state->closable) {
        note_key_in_vain(state, make_fill_key(state));
    }
    taken->left++;
    HBM_CHECK_COSTLY(taken->left <= taken->total);
    state->items_left++;
    state->hash -= taken->hash;
    state->left_bytes += taken->size_bytes;
    state->closable |= step->closable;
    /* No more of this class comes into the bin on this path. */
    state->rest = step->rest - taken->size_bytes * taken->left;
    state->from++;
}

/* Undoes decisions up to and with the last item put; false when there is none. */
static bool undo_search_steps(struct hbm_search_state *state)
{
    while (state->step_count != 0) {
        const struct search_step step = state->steps[--state->step_count];
        if (step.class_index == STEP_CLOSE) {
            note_key_in_vain(state, make_bin_key(state, step.from));
            HBM_CHECK_COSTLY(state->bin != 0);
            state->bin--;
            state->spare += step.residual;
            state->closable = true;
        } else {
            undo_item(state, &step);
            HBM_CHECK_COSTLY(state->items_left <= state->search->item_count);
        }
        state->residual = step.residual;
        state->bin_first = step.bin_first;
        state->bin_hash = step.bin_hash;
        if (step.class_index != STEP_CLOSE) {
            return true;
        }
    }
    return false;
}

static void report_solution(struct hbm_search_state *state)
{
    HBM_CHECK(state->items_left == 0);
    uint32_t bin = 0;
    for (size_t i = 0; i < state->class_count; i++) {
        state->classes[i].left = state->classes[i].total;
    }
    for (size_t i = 0; i < state->step_count; i++) {
        if (state->steps[i].class_index == STEP_CLOSE) {
            bin++;
            continue;
        }
        struct class_of_items *taken = &state->classes[state->steps[i].class_index];
        HBM_CHECK(taken->left != 0);
        state->bins[taken->first + --taken->left] = bin;
    }
    state->search->found(state->search->context, state->bins);
    HBM_CHECK(bin < state->search->bin_count);
}

/* One step forward, or one back; false when there is none left. */
static bool run_step(struct hbm_search_state *state)
{
    advance_class(state);
    /* Even with all that may still come the bin would stay too empty. */
    if (state->residual > state->rest && state->residual - state->rest > state->spare) {
        return undo_search_steps(state);
    }
    if (state->from == state->class_count) {
        return close_bin(state) || undo_search_steps(state);
    }
    place_item_of_class(state, state->from);
    if (state->items_left != 0 && is_key_in_vain(state, make_fill_key(state))) {
        return undo_search_steps(state);
    }
    return true;
}

static enum hbm_search_result run_steps(struct hbm_search_state *state)
{
    HBM_CHECK(state->class_count != 0);
    HBM_CHECK(state->items_left != 0);
    while (state->nodes++ < state->search->nodes_max) {
        if (!state->seen_asked && state->nodes >= SEEN_AFTER_NODES) {
            start_seen_keys(state);
        }
        if (!run_step(state)) {
            return HBM_SEARCH_NONE;
        }
        if (state->items_left == 0) {
            report_solution(state);
            return HBM_SEARCH_FOUND;
        }
    }
    return HBM_SEARCH_UNKNOWN;
}

static bool count_spare_of_bins(const struct hbm_search *search, uint64_t *spare)
{
    uint64_t room = 0, need = 0;
    for (size_t i = 0; i < search->bin_count; i++) {
        room += search->capacities[i];
    }
    for (size_t i = 0; i < search->item_count; i++) {
        need += search->sizes[i];
    }
    *spare = room - need;
    return need <= room;
}

enum hbm_search_result hbm_search_run(const struct hbm_search *search)
{
    uint64_t spare;
    if (search->item_count == 0 || search->bin_count == 0 || !count_spare_of_bins(search, &spare)) {
        return HBM_SEARCH_NONE;
    }
    const size_t step_max = search->item_count + search->bin_count;
    struct hbm_search_state state = {
        .search = search,
        .classes = hbm_host_array(search->host, search->item_count, sizeof *state.classes),
        .steps = hbm_host_array(search->host, step_max, sizeof *state.steps),
        .bins = hbm_host_array(search->host, search->item_count, sizeof *state.bins),
        .items_left = search->item_count,
        .spare = spare,
    };
    enum hbm_search_result result = HBM_SEARCH_REFUSED;
    if (state.classes != NULL && state.steps != NULL && state.bins != NULL) {
        make_classes(&state);
        for (size_t i = 0; i < search->item_count; i++) {
            state.left_bytes += search->sizes[i];
        }
        begin_bin(&state, 0);
        result = run_steps(&state);
    }
    hbm_host_free(search->host, state.seen, SEEN_COUNT, sizeof *state.seen);
    hbm_host_free(search->host, state.bins, search->item_count, sizeof *state.bins);
    hbm_host_free(search->host, state.steps, step_max, sizeof *state.steps);
    hbm_host_free(search->host, state.classes, search->item_count, sizeof *state.classes);
    return result;
}
