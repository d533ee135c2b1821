#include "harness/oracle/packing/private/packing_search.h"

#include "harness/base/random.h"

#include <string.h>

/* Bins are filled one after the other, the smallest first, each as well as a few tries allow and
 * with no more than its share of the slack wasted, if it can be; the largest bin takes what is
 * left.  Each attempt passes over others of the large items, by a generator of its own with a seed
 * that is always the same. */
struct filling {
    struct packing *packing;
    uint64_t *values; /* the items left, descending */
    uint32_t *items;  /* which they are */
    uint32_t *chosen;
    bool *is_chosen;
    size_t count;
    struct random random;
};

enum { TRIPLE_STEPS_FIRST = 1000, TRIPLE_STEPS_LATER = 4000 };

static void begin_attempt(struct filling *filling)
{
    const struct packing_sizes *sizes = &filling->packing->sizes;
    filling->count = sizes->item_count;
    memcpy(filling->values, sizes->items, sizes->item_count * sizeof *sizes->items);
    for (size_t i = 0; i < sizes->item_count; i++) {
        filling->items[i] = (uint32_t)i;
    }
}

/* The chosen items go into the bin, the others close ranks. */
static void put_chosen(struct filling *filling, size_t chosen_count, size_t bin)
{
    const struct packing_sizes *sizes = &filling->packing->sizes;
    memset(filling->is_chosen, 0, filling->count * sizeof *filling->is_chosen);
    for (size_t i = 0; i < chosen_count; i++) {
        filling->is_chosen[filling->chosen[i]] = true;
    }
    size_t count_left = 0;
    for (size_t i = 0; i < filling->count; i++) {
        if (filling->is_chosen[i]) {
            sizes->bin_of[filling->items[i]] = (uint32_t)bin;
            continue;
        }
        filling->values[count_left] = filling->values[i];
        filling->items[count_left] = filling->items[i];
        count_left++;
    }
    filling->count = count_left;
}

static bool attempt_fits(struct filling *filling, uint32_t attempt, uint64_t *limit)
{
    struct packing *packing = filling->packing;
    const struct packing_sizes *sizes = &packing->sizes;
    uint64_t slack = sizes->slack;
    begin_attempt(filling);
    for (size_t bin = sizes->bin_count - 1; bin > 0; bin--) {
        struct packing_subset subset = {.values = filling->values,
                                        .count = filling->count,
                                        .room = sizes->bins[bin],
                                        .tolerance = slack / bin,
                                        .triple_steps = attempt == 0 ? TRIPLE_STEPS_FIRST
                                                                     : TRIPLE_STEPS_LATER,
                                        .random = attempt == 0 ? NULL : &filling->random,
                                        .chosen = filling->chosen};
        packing_subset_choose(&subset);
        if (!packing_step(packing, subset.steps, limit) || subset.left > slack) {
            return false;
        }
        slack -= subset.left;
        put_chosen(filling, subset.chosen_count, bin);
    }
    for (size_t i = 0; i < filling->count; i++) {
        sizes->bin_of[filling->items[i]] = 0;
    }
    return true;
}

bool packing_fill(struct packing *packing, uint32_t first_attempt, uint32_t attempts,
                  uint64_t limit)
{
    const size_t count = packing->sizes.item_count;
    struct filling filling = {.packing = packing};
    filling.values = packing_take(packing, count, sizeof *filling.values);
    filling.items = packing_take(packing, count, sizeof *filling.items);
    filling.chosen = packing_take(packing, count, sizeof *filling.chosen);
    filling.is_chosen = packing_take(packing, count, sizeof *filling.is_chosen);
    packing_spend_on(packing, PACKING_EFFORT_GREEDY);
    /* An attempt is a step, even if no item fits into the first bin. */
    for (uint32_t i = 0; i < attempts && packing_step(packing, 1, &limit); i++) {
        random_init(&filling.random, first_attempt + i);
        if (attempt_fits(&filling, first_attempt + i, &limit)) {
            return true;
        }
    }
    return false;
}
