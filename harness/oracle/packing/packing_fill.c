#include "harness/oracle/packing/private/packing_search.h"

#include "harness/base/random.h"
#include "harness/base/search.h"

#include <string.h>

/* --- one choice of values --- */

/* Large values are taken one after the other while they fit.  After each of them one, two or (if
 * that does not fill the room) three of the values that follow are tried as the last ones: among
 * hundreds of values so many sums lie close to the room that one of them fills it nearly always. */
enum { EXTRA_MAX = 3 };
struct closing {
    size_t prefix; /* chosen values before it */
    uint32_t extra[EXTRA_MAX];
    size_t extra_count;
    uint64_t left;
};
struct chooser {
    struct packing_subset *subset;
    struct closing best;
};

static void offer_choice(struct chooser *chooser, uint64_t left, size_t prefix,
                         const uint32_t *extra, size_t extra_count)
{
    if (left >= chooser->best.left) {
        return;
    }
    chooser->best.left = left;
    chooser->best.prefix = prefix;
    chooser->best.extra_count = extra_count;
    memcpy(chooser->best.extra, extra, extra_count * sizeof *extra);
}

/* The first index from `from` on whose value is at most room. */
static size_t first_within(const struct packing_subset *subset, size_t from, uint64_t room)
{
    size_t first;
    SEARCH_FIRST(first, from, subset->count, subset->values[first] <= room);
    return first;
}

/* Offers the one or two values from `from` on that leave the least of room; extra[0 .. fixed) come
 * before them. */
static void close_with_pair(struct chooser *chooser, size_t prefix, size_t from, uint64_t room,
                            uint32_t *extra, size_t fixed)
{
    struct packing_subset *subset = chooser->subset;
    const uint64_t *values = subset->values;
    size_t larger = first_within(subset, from, room);
    if (larger == subset->count) {
        offer_choice(chooser, room, prefix, extra, fixed);
        return;
    }
    extra[fixed] = (uint32_t)larger;
    offer_choice(chooser, room - values[larger], prefix, extra, fixed + 1);
    size_t smaller = subset->count - 1;
    subset->steps += (smaller - larger) / 16 + 1;
    while (larger < smaller) {
        const uint64_t sum = values[larger] + values[smaller];
        if (sum > room) {
            larger++;
            continue;
        }
        if (room - sum < chooser->best.left) {
            extra[fixed] = (uint32_t)larger;
            extra[fixed + 1] = (uint32_t)smaller;
            offer_choice(chooser, room - sum, prefix, extra, fixed + 2);
        }
        smaller--;
    }
}

static bool is_good(const struct chooser *chooser)
{
    return chooser->best.left <= chooser->subset->tolerance;
}

/* Takes large values first; sets the room that is left at the end. */
static void take_prefix(struct chooser *chooser)
{
    struct packing_subset *subset = chooser->subset;
    uint64_t room = subset->room;
    uint32_t extra[EXTRA_MAX];
    close_with_pair(chooser, 0, 0, room, extra, 0);
    for (size_t i = first_within(subset, 0, room); i < subset->count && !is_good(chooser);
         i = first_within(subset, i + 1, room)) {
        if (subset->random != NULL && random_chance(subset->random, 1, 3)) {
            continue;
        }
        subset->chosen[subset->chosen_count++] = (uint32_t)i;
        room -= subset->values[i];
        close_with_pair(chooser, subset->chosen_count, i + 1, room, extra, 0);
    }
}

/* Gives chosen values back, the last one first, and closes with three others. */
static void close_with_triples(struct chooser *chooser)
{
    struct packing_subset *subset = chooser->subset;
    const uint64_t steps_max = subset->steps + subset->triple_steps;
    uint64_t room = subset->room;
    for (size_t i = 0; i < subset->chosen_count; i++) {
        room -= subset->values[subset->chosen[i]];
    }
    for (size_t prefix = subset->chosen_count;; prefix--) {
        const size_t from = prefix == 0 ? 0 : subset->chosen[prefix - 1] + 1;
        for (size_t i = first_within(subset, from, room); i < subset->count; i++) {
            if (is_good(chooser) || subset->steps >= steps_max) {
                return;
            }
            uint32_t extra[EXTRA_MAX] = {(uint32_t)i};
            close_with_pair(chooser, prefix, i + 1, room - subset->values[i], extra, 1);
        }
        if (prefix == 0) {
            return;
        }
        room += subset->values[subset->chosen[prefix - 1]];
    }
}

void packing_subset_choose(struct packing_subset *subset)
{
    struct chooser chooser = {.subset = subset, .best = {.left = UINT64_MAX}};
    subset->steps = 0;
    subset->chosen_count = 0;
    take_prefix(&chooser);
    if (!is_good(&chooser)) {
        close_with_triples(&chooser);
    }
    subset->left = chooser.best.left;
    subset->chosen_count = chooser.best.prefix + chooser.best.extra_count;
    memcpy(&subset->chosen[chooser.best.prefix], chooser.best.extra,
           chooser.best.extra_count * sizeof *subset->chosen);
}

/* --- bin after bin --- */

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
