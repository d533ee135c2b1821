#include "tests/harness/packing/packing_proof.h"

#include "harness/base/check.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

enum { TYPES_MAX = 64, BINS_MAX = 64, SETS_MAX = 1 << 16 };

/* How many of each type, and where they end at best: in which span, at which address. */
struct reached {
    unsigned short counts[TYPES_MAX];
    size_t span;
    uint64_t at;
};
struct sets {
    const struct packing_problem *problem;
    struct packing_bin spans[BINS_MAX];
    struct packing_item types[TYPES_MAX];
    unsigned short counts[TYPES_MAX];
    size_t type_count;
    uint64_t slack;
    struct reached *reached[SETS_MAX]; /* fewer items first */
    size_t reached_count;
    void *tree; /* the same, by counts */
};

static int compare_reached(const void *a, const void *b)
{
    return memcmp(a, b, sizeof((struct reached *)NULL)->counts);
}

static void add_item(struct sets *sets, const struct packing_item *item)
{
    size_t i = 0;
    while (i < sets->type_count && (sets->types[i].size_bytes != item->size_bytes ||
                                    sets->types[i].align_bytes != item->align_bytes)) {
        i++;
    }
    CHECK(i < TYPES_MAX);
    sets->types[i] = *item;
    sets->counts[i]++;
    sets->type_count += i == sets->type_count;
}

static void begin_sets(struct sets *sets, const struct packing_problem *problem)
{
    CHECK(problem->bin_count <= BINS_MAX);
    *sets = (struct sets){.problem = problem};
    memcpy(sets->spans, problem->bins, problem->bin_count * sizeof *problem->bins);
    qsort(sets->spans, problem->bin_count, sizeof *sets->spans, packing_compare_spans);
    for (size_t i = 0; i < problem->bin_count; i++) {
        sets->slack += problem->bins[i].end - problem->bins[i].start;
    }
    for (size_t i = 0; i < problem->item_count; i++) {
        sets->slack -= problem->items[i].size_bytes;
        add_item(sets, &problem->items[i]);
    }
}

static void end_sets(struct sets *sets)
{
    for (size_t i = 0; i < sets->reached_count; i++) {
        tdelete(sets->reached[i], &sets->tree, compare_reached);
    }
    for (size_t i = 0; i < sets->reached_count; i++) {
        free(sets->reached[i]);
    }
}

static void reach_set(struct sets *sets, const struct reached *set)
{
    struct reached *copy = malloc(sizeof *copy);
    CHECK(copy != NULL);
    *copy = *set;
    struct reached **found = tsearch(copy, &sets->tree, compare_reached);
    CHECK(found != NULL);
    if (*found == copy) {
        CHECK(sets->reached_count < SETS_MAX);
        sets->reached[sets->reached_count++] = copy;
        return;
    }
    free(copy);
    const bool is_lower = set->span != (*found)->span ? set->span < (*found)->span
                                                      : set->at < (*found)->at;
    if (is_lower) {
        (*found)->span = set->span;
        (*found)->at = set->at;
    }
}

static uint64_t lost_by(const struct sets *sets, const struct reached *set)
{
    uint64_t lost = set->at - sets->spans[set->span].start;
    for (size_t i = 0; i < set->span; i++) {
        lost += sets->spans[i].end - sets->spans[i].start;
    }
    for (size_t i = 0; i < sets->type_count; i++) {
        lost -= set->counts[i] * sets->types[i].size_bytes;
    }
    return lost;
}

/* Reaches the sets with one item more in this span; false: no type fits. */
static bool follow_in_span(struct sets *sets, const struct reached *set, uint64_t lost)
{
    bool has_fitting = false;
    for (size_t i = 0; i < sets->type_count; i++) {
        const struct packing_item *type = &sets->types[i];
        const uint64_t start = (set->at + type->align_bytes - 1) / type->align_bytes *
                               type->align_bytes;
        if (set->counts[i] == sets->counts[i] ||
            start + type->size_bytes > sets->spans[set->span].end) {
            continue;
        }
        has_fitting = true;
        if (lost + (start - set->at) <= sets->slack) {
            struct reached next = *set;
            next.counts[i]++;
            next.at = start + type->size_bytes;
            reach_set(sets, &next);
        }
    }
    return has_fitting;
}

static void follow_set(struct sets *sets, struct reached set)
{
    for (;;) {
        const uint64_t lost = lost_by(sets, &set);
        if (lost > sets->slack || follow_in_span(sets, &set, lost) ||
            set.span + 1 == sets->problem->bin_count) {
            return;
        }
        set.span++;
        set.at = sets->spans[set.span].start;
    }
}

bool packing_table_holds(const struct packing_problem *problem, uint64_t set_count)
{
    static struct sets sets;
    begin_sets(&sets, problem);
    bool is_whole = false;
    struct reached set = {.at = sets.spans[0].start};
    reach_set(&sets, &set);
    for (size_t i = 0; i < sets.reached_count; i++) {
        is_whole = is_whole ||
                   memcmp(sets.reached[i]->counts, sets.counts, sizeof sets.counts) == 0;
        follow_set(&sets, *sets.reached[i]);
    }
    const bool holds = !is_whole && sets.reached_count == set_count;
    end_sets(&sets);
    return holds;
}
