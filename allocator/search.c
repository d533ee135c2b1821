#include "allocator/search.h"

#include <string.h>

#define STEP_CLOSE UINT32_MAX

struct class_of_items {
    uint64_t size_bytes;
    size_t first; /* the class is items first .. first + total - 1 */
    uint32_t total;
    uint32_t left; /* not yet in a bin */
};

/* One decision on the path: an item of a class was put into the current bin, or the bin was closed. */
struct step {
    uint32_t class_index;   /* or STEP_CLOSE */
    uint32_t bin_first;     /* before a close: the first class of the bin that it closed */
    uint64_t residual;      /* before a close: what the bin had left */
};

struct state {
    const struct hbm_search *search;
    struct class_of_items *classes; /* [item_count] at most, sizes descending */
    struct step *steps;             /* [item_count + bin_count] */
    uint32_t *bins;                 /* [item_count] */
    size_t class_count;
    size_t step_count;
    size_t items_left;
    size_t bin;
    uint32_t from;      /* classes before this one are not tried at this node */
    uint32_t bin_first; /* the first class put into the current bin, or class_count */
    uint64_t residual;
    uint64_t spare;     /* bytes that bins may still leave unused */
    uint64_t nodes;
};

static void classes_make(struct state *state)
{
    const struct hbm_search *search = state->search;
    for (size_t i = 0; i < search->item_count; i++) {
        struct class_of_items *last = state->class_count == 0 ? NULL : &state->classes[state->class_count - 1];
        if (last == NULL || last->size_bytes != search->sizes[i]) {
            last = &state->classes[state->class_count++];
            *last = (struct class_of_items){.size_bytes = search->sizes[i], .first = i};
        }
        last->total++;
        last->left++;
    }
}

/* The first class from `from` on that has an item left and fits, or class_count. */
static uint32_t class_fitting(const struct state *state, uint32_t from, uint64_t residual)
{
    size_t low = from, high = state->class_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (state->classes[middle].size_bytes <= residual)
            high = middle;
        else
            low = middle + 1;
    }
    while (low < state->class_count && state->classes[low].left == 0)
        low++;
    return (uint32_t)low;
}

static void step_take(struct state *state, uint32_t class_index)
{
    struct class_of_items *taken = &state->classes[class_index];
    state->steps[state->step_count++] = (struct step){.class_index = class_index};
    if (state->bin_first == state->class_count)
        state->bin_first = class_index;
    taken->left--;
    state->items_left--;
    state->residual -= taken->size_bytes;
    state->from = class_index;
}

static bool step_close(struct state *state)
{
    const struct hbm_search *search = state->search;
    if (state->bin + 1 >= search->bin_count || state->residual > state->spare)
        return false;
    if (class_fitting(state, 0, state->residual) != state->class_count)
        return false;
    bool equal = search->capacities[state->bin] == search->capacities[state->bin + 1];
    state->steps[state->step_count++] = (struct step){STEP_CLOSE, state->bin_first, state->residual};
    state->spare -= state->residual;
    state->bin++;
    state->from = equal ? state->bin_first : 0;
    state->bin_first = (uint32_t)state->class_count;
    state->residual = search->capacities[state->bin];
    return true;
}

/* Undoes decisions up to and with the last item put; false when there is none. */
static bool step_back(struct state *state)
{
    while (state->step_count != 0) {
        struct step step = state->steps[--state->step_count];
        if (step.class_index == STEP_CLOSE) {
            state->bin--;
            state->residual = step.residual;
            state->spare += step.residual;
            state->bin_first = step.bin_first;
            continue;
        }
        struct class_of_items *taken = &state->classes[step.class_index];
        taken->left++;
        state->items_left++;
        state->residual += taken->size_bytes;
        state->from = step.class_index + 1;
        if (state->step_count == 0 || state->steps[state->step_count - 1].class_index == STEP_CLOSE)
            state->bin_first = (uint32_t)state->class_count;
        return true;
    }
    return false;
}

static bool solution_accepted(struct state *state)
{
    uint32_t bin = 0;
    for (size_t i = 0; i < state->class_count; i++)
        state->classes[i].left = state->classes[i].total;
    for (size_t i = 0; i < state->step_count; i++) {
        if (state->steps[i].class_index == STEP_CLOSE) {
            bin++;
            continue;
        }
        struct class_of_items *taken = &state->classes[state->steps[i].class_index];
        state->bins[taken->first + --taken->left] = bin;
    }
    return state->search->accept(state->search->context, state->bins);
}

static enum hbm_search_result state_run(struct state *state)
{
    while (state->nodes++ < state->search->nodes_max) {
        uint32_t class_index = class_fitting(state, state->from, state->residual);
        if (class_index != state->class_count) {
            step_take(state, class_index);
            if (state->items_left == 0) {
                if (solution_accepted(state))
                    return HBM_SEARCH_FOUND;
                if (!step_back(state))
                    return HBM_SEARCH_NONE;
            }
            continue;
        }
        if (!step_close(state) && !step_back(state))
            return HBM_SEARCH_NONE;
    }
    return HBM_SEARCH_UNKNOWN;
}

static bool spare_bytes(const struct hbm_search *search, uint64_t *spare)
{
    uint64_t room = 0, need = 0;
    for (size_t i = 0; i < search->bin_count; i++)
        room += search->capacities[i];
    for (size_t i = 0; i < search->item_count; i++)
        need += search->sizes[i];
    *spare = room - need;
    return need <= room;
}

enum hbm_search_result hbm_search_run(const struct hbm_search *search)
{
    uint64_t spare;
    if (search->item_count == 0 || search->bin_count == 0 || !spare_bytes(search, &spare))
        return HBM_SEARCH_NONE;
    size_t step_max = search->item_count + search->bin_count;
    struct state state = {
        .search = search,
        .classes = hbm_host_array(search->host, search->item_count, sizeof *state.classes),
        .steps = hbm_host_array(search->host, step_max, sizeof *state.steps),
        .bins = hbm_host_array(search->host, search->item_count, sizeof *state.bins),
        .items_left = search->item_count,
        .residual = search->capacities[0],
        .spare = spare,
    };
    enum hbm_search_result result = HBM_SEARCH_REFUSED;
    if (state.classes != NULL && state.steps != NULL && state.bins != NULL) {
        classes_make(&state);
        state.bin_first = (uint32_t)state.class_count;
        result = state_run(&state);
    }
    hbm_host_free(search->host, state.bins, search->item_count, sizeof *state.bins);
    hbm_host_free(search->host, state.steps, step_max, sizeof *state.steps);
    hbm_host_free(search->host, state.classes, search->item_count, sizeof *state.classes);
    return result;
}
