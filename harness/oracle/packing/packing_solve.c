#include "harness/oracle/packing/private/packing_search.h"

#include "harness/base/array.h"
#include "harness/base/check.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const method_names[] = {
    [PACKING_BY_NOTHING] = "nothing to place",
    [PACKING_BY_VOLUME] = "volume",
    [PACKING_BY_LARGEST_ITEM] = "largest item",
    [PACKING_BY_ROUNDING] = "rounding",
    [PACKING_BY_GREEDY] = "greedy",
    [PACKING_BY_SEARCH] = "search",
    [PACKING_BY_SEARCH_ALIGNED] = "search with alignments",
    [PACKING_BY_TABLE] = "table",
    [PACKING_BY_FILLS] = "fills",
    [PACKING_BY_PATTERNS] = "patterns",
};

const char *packing_method_name(enum packing_method method)
{
    CHECK((size_t)method < sizeof method_names / sizeof method_names[0]);
    return method_names[method];
}

const char *packing_effort_name(enum packing_effort effort)
{
    static const char *const names[] = {"greedy", "search", "fills", "table"};
    static_assert(sizeof names / sizeof names[0] == PACKING_EFFORT_COUNT, "one each");
    CHECK(effort < PACKING_EFFORT_COUNT);
    return names[effort];
}

struct packing *packing_create(void)
{
    struct packing *packing = array_zeroed(1, sizeof *packing);
    packing->table_rows_max = PACKING_TABLE_ROWS_MAX;
    return packing;
}

void packing_destroy(struct packing *packing)
{
    if (packing == NULL) {
        return;
    }
    packing_memory_deinit(&packing->memory);
    packing_rows_deinit(&packing->rows);
    free(packing->sum_words);
    free(packing->log);
    free(packing);
}

uint64_t packing_address(const struct packing *packing, size_t item)
{
    return packing->addresses[item];
}

const char *packing_log(const struct packing *packing, size_t *length)
{
    CHECK(packing->log_length > 0);
    *length = packing->log_length - 1;
    return packing->log;
}

/* --- the question in granules --- */

static uint64_t sum_values(const uint64_t *values, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return sum;
}

/* is_padded: as if each aligned item might need the most room that alignment can cost.  False: the
 * items are more than the bins. */
static bool fill_sizes(struct packing *packing, const struct packing_problem *problem,
                       bool is_padded)
{
    struct packing_sizes *sizes = &packing->sizes;
    const uint64_t granule = problem->granule_bytes;
    const size_t larger = problem->item_count > problem->bin_count ? problem->item_count
                                                                   : problem->bin_count;
    sizes->item_count = problem->item_count;
    sizes->bin_count = problem->bin_count;
    sizes->items = packing_take(packing, problem->item_count, sizeof *sizes->items);
    sizes->bins = packing_take(packing, problem->bin_count, sizeof *sizes->bins);
    sizes->bin_of = packing_take(packing, problem->item_count, sizeof *sizes->bin_of);
    uint64_t *spare = packing_take(packing, larger, sizeof *spare);
    for (size_t i = 0; i < problem->item_count; i++) {
        const struct packing_item *item = &problem->items[i];
        const uint64_t padding = is_padded ? item->align_bytes - granule : 0;
        sizes->items[i] = (item->size_bytes + padding) / granule;
    }
    for (size_t i = 0; i < problem->bin_count; i++) {
        CHECK(problem->bins[i].start < problem->bins[i].end);
        sizes->bins[i] = (problem->bins[i].end - problem->bins[i].start) / granule;
    }
    const uint64_t need = sum_values(sizes->items, sizes->item_count);
    const uint64_t have = sum_values(sizes->bins, sizes->bin_count);
    if (need > have) {
        return false;
    }
    sizes->slack = have - need;
    packing_sort(sizes->items, spare, sizes->item_count);
    packing_sort(sizes->bins, spare, sizes->bin_count);
    return true;
}

/* --- cheapest first --- */

/* These say which attempts to fill come before the searches, and how the budget is shared. */
enum {
    ATTEMPTS_FIRST = 4,
    SHARE_FIRST = 64,
    SHARE_FILL = 8,
    SHARE_FILLS = 2,
    SHARE_PATTERNS_FIRST = 8,
    SHARE_TABLE = 4,
    SHARE_PATTERNS = 2,
    SHARE_LARGE = 2,
    SHARE_PLACES = 2,
    SHARE_NARROW = 4
};
/* A narrow look at patterns keeps so many choices. */
enum { PATTERNS_WIDTH = 128 };
/* So many of the largest items are tried alone, twice as many each time, in so many steps. */
enum { LARGE_ITEMS_MIN = 4, LARGE_ITEMS_MAX = 64, LARGE_ITEMS_STEPS = 1 << 13 };

static enum packing_result settle_answer(struct packing_answer *answer, enum packing_result result,
                                         enum packing_method method, uint64_t number)
{
    answer->result = result;
    answer->method = method;
    answer->number = number;
    return result;
}

static enum packing_result try_bins(struct packing *packing, uint64_t limit,
                                    struct packing_answer *answer)
{
    return settle_answer(answer, packing_search_bins(packing, limit), PACKING_BY_SEARCH, 0);
}

/* Often a few large items alone do not fit, and the many ways to place the small ones only hide it.
 */
static bool large_items_refute(struct packing *packing, struct packing_answer *answer)
{
    size_t used_count = 0;
    for (size_t count = LARGE_ITEMS_MIN;
         count <= LARGE_ITEMS_MAX && count < packing->sizes.item_count; count *= 2) {
        if (packing_search_largest(packing, count, LARGE_ITEMS_STEPS, &used_count) ==
            PACKING_NONE) {
            settle_answer(answer, PACKING_NONE, PACKING_BY_SEARCH,
                          packing->sizes.items[used_count - 1]);
            return true;
        }
    }
    return false;
}

/* With more of them and in more steps; what is found to fit is completed. */
static enum packing_result try_large_items(struct packing *packing, uint64_t limit,
                                           struct packing_answer *answer)
{
    size_t used_count = 0;
    const enum packing_result result = packing_try_largest(packing, limit, &used_count);
    return settle_answer(answer, result, PACKING_BY_SEARCH,
                         result == PACKING_NONE ? packing->sizes.items[used_count - 1] : 0);
}

static enum packing_result try_table(struct packing *packing, const struct packing_problem *problem,
                                     uint64_t limit, struct packing_answer *answer)
{
    /* Narrow tables cost some hundred thousand steps, and find a packing if there are many. */
    static const size_t widths[] = {256, 2048, PACKING_TABLE_ROWS_MAX};
    enum packing_result result = PACKING_UNKNOWN;
    uint64_t row_count = 0;
    const uint64_t nodes_end = packing->nodes + limit;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0] && result == PACKING_UNKNOWN; i++) {
        const uint64_t left = nodes_end > packing->nodes ? nodes_end - packing->nodes : 0;
        const bool is_last = widths[i] == PACKING_TABLE_ROWS_MAX;
        result = packing_search_table(packing, problem, widths[i],
                                      is_last ? left : left / SHARE_NARROW, &row_count);
    }
    return settle_answer(answer, result, PACKING_BY_TABLE, row_count);
}

static enum packing_result try_patterns(struct packing *packing, size_t width, uint64_t limit,
                                        struct packing_answer *answer)
{
    uint64_t row_count = 0;
    const enum packing_result result = packing_search_patterns(packing, width, limit, &row_count);
    return settle_answer(answer, result, PACKING_BY_PATTERNS, row_count);
}

/* Two bins are settled by it; of more bins it mostly says nothing, and takes as long. */
static enum packing_result try_fills(struct packing *packing, bool are_two,
                                     struct packing_answer *answer)
{
    if (are_two != (packing->sizes.bin_count == 2)) {
        return PACKING_UNKNOWN;
    }
    const uint64_t limit = (packing->nodes_max - packing->nodes) / SHARE_FILLS;
    const enum packing_result result = packing_search_fills(packing, limit, &answer->fills);
    return settle_answer(answer, result, PACKING_BY_FILLS, 0);
}

/* A first look settles most questions; before a long one, more ways to find a packing without it.
 */
static enum packing_result search_sizes(struct packing *packing, struct packing_answer *answer)
{
    const uint64_t budget = packing->nodes_max - packing->nodes;
    if (try_bins(packing, budget / SHARE_FIRST, answer) != PACKING_UNKNOWN ||
        try_fills(packing, true, answer) != PACKING_UNKNOWN) {
        return answer->result;
    }
    if (packing_fill(packing, ATTEMPTS_FIRST, UINT32_MAX - ATTEMPTS_FIRST, budget / SHARE_FILL)) {
        return settle_answer(answer, PACKING_FITS, PACKING_BY_GREEDY, 0);
    }
    if (try_fills(packing, false, answer) != PACKING_UNKNOWN) {
        return answer->result;
    }
    if (try_patterns(packing, PATTERNS_WIDTH, budget / SHARE_PATTERNS_FIRST, answer) !=
        PACKING_UNKNOWN) {
        return answer->result;
    }
    if (packing->exact != NULL &&
        try_table(packing, packing->exact, budget / SHARE_TABLE, answer) != PACKING_UNKNOWN) {
        return answer->result;
    }
    if (try_patterns(packing, PACKING_TABLE_ROWS_MAX, budget / SHARE_PATTERNS, answer) !=
        PACKING_UNKNOWN) {
        return answer->result;
    }
    const uint64_t left = packing->nodes_max - packing->nodes;
    if (try_large_items(packing, left / SHARE_LARGE, answer) != PACKING_UNKNOWN) {
        return answer->result;
    }
    return try_bins(packing, UINT64_MAX, answer);
}

static enum packing_result solve_sizes(struct packing *packing, struct packing_answer *answer)
{
    const struct packing_sizes *sizes = &packing->sizes;
    uint64_t number = 0;
    if (sizes->item_count == 0) {
        return settle_answer(answer, PACKING_FITS, PACKING_BY_NOTHING, 0);
    }
    if (sizes->items[0] > sizes->bins[0]) {
        return settle_answer(answer, PACKING_NONE, PACKING_BY_LARGEST_ITEM, 0);
    }
    const uint64_t fill_limit = (packing->nodes_max - packing->nodes) / SHARE_FILL;
    if (packing_greedy(packing) || packing_fill(packing, 0, 1, fill_limit)) {
        return settle_answer(answer, PACKING_FITS, PACKING_BY_GREEDY, 0);
    }
    if (packing_rounding_refutes(sizes, &number)) {
        return settle_answer(answer, PACKING_NONE, PACKING_BY_ROUNDING, number);
    }
    if (large_items_refute(packing, answer)) {
        return PACKING_NONE;
    }
    if (packing_fill(packing, 1, ATTEMPTS_FIRST - 1, fill_limit)) {
        return settle_answer(answer, PACKING_FITS, PACKING_BY_GREEDY, 0);
    }
    return search_sizes(packing, answer);
}

/* --- alignments --- */

static bool has_alignments(const struct packing_problem *problem)
{
    for (size_t i = 0; i < problem->item_count; i++) {
        if (problem->items[i].align_bytes > problem->granule_bytes) {
            return true;
        }
    }
    return false;
}

/* Solves without alignments, in at most `share` steps. */
static enum packing_result solve_relaxed(struct packing *packing,
                                         const struct packing_problem *problem, bool is_padded,
                                         uint64_t share, struct packing_answer *answer)
{
    if (!fill_sizes(packing, problem, is_padded)) {
        return settle_answer(answer, PACKING_NONE, PACKING_BY_VOLUME, 0);
    }
    const uint64_t left = problem->nodes_max - packing->nodes;
    packing->nodes_max = packing->nodes + (share < left ? share : left);
    const enum packing_result result = solve_sizes(packing, answer);
    packing->nodes_max = problem->nodes_max;
    return result;
}

static enum packing_result try_aligned(struct packing *packing,
                                       const struct packing_problem *problem, uint64_t limit,
                                       struct packing_answer *answer)
{
    const enum packing_result result = packing_search_aligned(packing, problem, limit);
    return settle_answer(answer, result, PACKING_BY_SEARCH_ALIGNED, 0);
}

/* The search finds a packing sooner than the table where there are many, and says so in a log; the
 * table refutes what the search would try in one order after the other. */
static void search_places(struct packing *packing, const struct packing_problem *problem,
                          struct packing_answer *answer)
{
    const uint64_t budget = packing->nodes_max - packing->nodes;
    if (try_aligned(packing, problem, budget / SHARE_FIRST, answer) == PACKING_UNKNOWN &&
        try_table(packing, problem, budget / SHARE_PLACES, answer) == PACKING_UNKNOWN) {
        try_aligned(packing, problem, UINT64_MAX, answer);
    }
}

/* Without alignments the question is only relaxed.  What fits with room to align anywhere fits
 * truly, and what lies between is searched place by place. */
static void solve_aligned(struct packing *packing, const struct packing_problem *problem,
                          struct packing_answer *answer)
{
    const enum packing_result relaxed = solve_relaxed(packing, problem, false,
                                                      problem->nodes_max / 2, answer);
    if (relaxed == PACKING_NONE ||
        (relaxed == PACKING_FITS && packing_place(packing, problem, false))) {
        return;
    }
    const bool logs = packing->logs;
    packing->logs = false;
    const enum packing_result padded = solve_relaxed(packing, problem, true, problem->nodes_max / 4,
                                                     answer);
    packing->logs = logs;
    if (padded == PACKING_FITS) {
        CHECK(packing_place(packing, problem, true));
        return;
    }
    answer->fills = (struct packing_fills){0};
    search_places(packing, problem, answer);
}

static void solve_plain(struct packing *packing, const struct packing_problem *problem,
                        struct packing_answer *answer)
{
    packing->exact = problem;
    if (solve_relaxed(packing, problem, false, problem->nodes_max, answer) == PACKING_FITS &&
        problem->wants_proof && answer->method != PACKING_BY_TABLE) {
        CHECK(packing_place(packing, problem, false));
    }
}

void packing_solve(struct packing *packing, const struct packing_problem *problem,
                   struct packing_answer *answer)
{
    CHECK(problem->item_count < UINT32_MAX);
    CHECK(problem->bin_count < UINT32_MAX);
    *answer = (struct packing_answer){.result = PACKING_UNKNOWN};
    packing_take_back(packing);
    packing_log_clear(packing);
    packing->nodes = packing->nodes_before = 0;
    packing->nodes_max = problem->nodes_max;
    memset(packing->spent, 0, sizeof packing->spent);
    packing->logs = problem->wants_proof;
    packing->addresses = packing_take(packing, problem->item_count, sizeof *packing->addresses);
    packing->exact = NULL;
    if (has_alignments(problem)) {
        solve_aligned(packing, problem, answer);
    } else {
        solve_plain(packing, problem, answer);
    }
    if (answer->result != PACKING_NONE || answer->method >= PACKING_BY_TABLE) {
        packing_log_clear(packing);
    }
    answer->fills.unit_bytes *= problem->granule_bytes;
    answer->fills.lost_bytes *= problem->granule_bytes;
    if (answer->method != PACKING_BY_TABLE && answer->method != PACKING_BY_PATTERNS) {
        answer->number *= problem->granule_bytes;
    }
    packing_spend_on(packing, PACKING_EFFORT_GREEDY); /* nothing more */
    memcpy(answer->effort, packing->spent, sizeof answer->effort);
    answer->nodes = packing->nodes;
    packing_log_add(packing, '\0');
}
