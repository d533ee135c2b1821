#include "tests/harness/packing/packing_proof.h"

#include "harness/base/check.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

enum { TYPES_MAX = 64, BINS_MAX = 64, SETS_MAX = 1 << 16 };

struct set {
    unsigned short counts[TYPES_MAX];
};
struct choices {
    uint64_t sizes[TYPES_MAX], lengths[BINS_MAX];
    unsigned short counts[TYPES_MAX];
    size_t type_count, span_count;
    struct set *sets[2 * SETS_MAX]; /* of the layer before and of this one */
    size_t count;
    void *tree; /* those of this layer */
    uint64_t filled, slack, total;
};

static int compare_sets(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct set));
}

static int compare_lengths(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static void add_item(struct choices *choices, uint64_t size)
{
    size_t i = 0;
    while (i < choices->type_count && choices->sizes[i] != size) {
        i++;
    }
    CHECK(i < TYPES_MAX);
    choices->sizes[i] = size;
    choices->counts[i]++;
    choices->type_count += i == choices->type_count;
}

static void begin_choices(struct choices *choices, const struct packing_problem *problem)
{
    CHECK(problem->bin_count <= BINS_MAX);
    for (size_t i = 0; i < problem->bin_count; i++) {
        choices->lengths[i] = problem->bins[i].end - problem->bins[i].start;
        choices->slack += choices->lengths[i];
    }
    choices->span_count = problem->bin_count;
    qsort(choices->lengths, choices->span_count, sizeof choices->lengths[0], compare_lengths);
    for (size_t i = 0; i < problem->item_count; i++) {
        add_item(choices, problem->items[i].size_bytes);
        choices->slack -= problem->items[i].size_bytes;
    }
}

static void reach_set(struct choices *choices, const struct set *set)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < choices->type_count; i++) {
        sum += set->counts[i] * choices->sizes[i];
    }
    if (choices->filled - sum > choices->slack ||
        tfind(set, &choices->tree, compare_sets) != NULL) {
        return;
    }
    struct set *kept = malloc(sizeof *kept);
    CHECK(kept != NULL);
    CHECK(choices->count < 2 * SETS_MAX);
    *kept = *set;
    choices->sets[choices->count++] = kept;
    CHECK(tsearch(kept, &choices->tree, compare_sets) != NULL);
}

static void add_types(struct choices *choices, size_t type, uint64_t room, struct set *set)
{
    if (type == choices->type_count) {
        reach_set(choices, set);
        return;
    }
    const unsigned short had = set->counts[type];
    for (uint64_t left = room;; left -= choices->sizes[type], set->counts[type]++) {
        add_types(choices, type + 1, left, set);
        if (set->counts[type] == choices->counts[type] || left < choices->sizes[type]) {
            break;
        }
    }
    set->counts[type] = had;
}

static void forget_nothing(void *set)
{
    (void)set;
}

/* before: how many sets the layer before has. */
static void end_layer(struct choices *choices, size_t before)
{
    tdestroy(choices->tree, forget_nothing);
    choices->tree = NULL;
    for (size_t i = 0; i < before; i++) {
        free(choices->sets[i]);
    }
    choices->count -= before;
    memmove(choices->sets, &choices->sets[before], choices->count * sizeof choices->sets[0]);
    choices->total += choices->count;
}

bool packing_patterns_hold(const struct packing_problem *problem, uint64_t sets)
{
    static const struct set none;
    struct choices *choices = calloc(1, sizeof *choices);
    CHECK(choices != NULL);
    begin_choices(choices, problem);
    reach_set(choices, &none);
    end_layer(choices, 0);
    for (size_t i = 0; i < choices->span_count && choices->count > 0; i++) {
        const size_t end = choices->count;
        choices->filled += choices->lengths[i];
        for (size_t k = 0; k < end; k++) {
            struct set set = *choices->sets[k];
            add_types(choices, 0, choices->lengths[i], &set);
        }
        end_layer(choices, end);
    }
    const bool holds = choices->count == 0 && choices->total == sets;
    for (size_t i = 0; i < choices->count; i++) {
        free(choices->sets[i]);
    }
    free(choices);
    return holds;
}
