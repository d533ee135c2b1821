/* Prints how far harness/packing gets, and how fast, on a grid of random states: unmovable blocks
 * at random places of a full device, movable blocks and one request to pack into the spans between.
 * Prints only. */
#include "harness/base/check.h"
#include "harness/base/order.h"
#include "harness/base/random.h"
#include "harness/oracle/packing/packing.h"
#include "measure/clock.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIXED_COUNT_MAX = 16, ITEM_COUNT_MAX = 100001, GRANULE_BYTES = 512 };
static const uint64_t capacity_granules = (UINT64_C(16) << 30) / GRANULE_BYTES;

static const uint32_t fixed_counts[] = {0, 2, 4, 8, FIXED_COUNT_MAX};
static const uint32_t movable_counts[] = {20, 100, 400};
static const uint32_t large_counts[] = {1000, 10000, ITEM_COUNT_MAX - 1};
/* The share of the device that blocks and request take, in hundredths of a percent. */
static const uint32_t fills[] = {9500, 9900, 9990, 9999};
enum { FILL_WHOLE = 10000 };

struct grid_cell {
    uint32_t fixed_count, movable_count, fill;
};

enum distribution {
    SIZES_LOG_UNIFORM = 0,
    SIZES_FEW,
    SIZES_POWERS_OF_TWO,
    SIZES_UNIFORM,
    SIZES_COUNT
};

struct packing_state {
    struct packing_bin bins[FIXED_COUNT_MAX + 1];
    struct packing_item items[ITEM_COUNT_MAX];
    size_t bin_count, item_count;
};

struct grid_options {
    uint64_t states, seed, nodes_max;
    bool wants_proof, is_large;
};

enum { METHOD_COUNT = PACKING_BY_PATTERNS + 1 };
struct cell_tally {
    uint64_t count, results[3], methods[METHOD_COUNT], nodes;
    uint64_t *times_ns; /* count of them */
};

/* --- states --- */

/* Sizes in an arbitrary unit, one for each block and, as the last one, the request. */
static void draw_weights(struct random *random, enum distribution distribution, uint64_t *weights,
                         size_t count)
{
    enum { FEW_MAX = 8 };
    const uint64_t few_count = random_between(random, 2, FEW_MAX);
    uint64_t few[FEW_MAX];
    for (size_t i = 0; i < FEW_MAX; i++) {
        few[i] = random_log_uniform(random, 64, 1 << 16);
    }
    for (size_t i = 0; i < count; i++) {
        weights[i] = distribution == SIZES_LOG_UNIFORM ? random_log_uniform(random, 16, 1 << 20)
                     : distribution == SIZES_FEW       ? few[random_below(random, few_count)]
                     : distribution == SIZES_POWERS_OF_TWO
                         ? UINT64_C(1) << random_between(random, 0, 12)
                         : random_between(random, 1, 1 << 20);
    }
}

/* Sizes in granules that add up to used; what rounding leaves over goes to the last one. */
static void scale_weights(enum distribution distribution, uint64_t *weights, size_t count,
                          uint64_t used)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += weights[i];
    }
    uint64_t left = used;
    for (size_t i = 0; i < count; i++) {
        /* Whole multiples of one unit keep powers of two apart by factors of two. */
        const uint64_t scaled = distribution == SIZES_POWERS_OF_TWO ? weights[i] * (used / sum)
                                                                    : weights[i] * used / sum;
        weights[i] = i + 1 == count ? left : scaled > 0 ? scaled : 1;
        CHECK(weights[i] > 0);
        CHECK(weights[i] <= left);
        left -= weights[i];
    }
}

/* The unmovable blocks cut the rest of the device at uniform places. */
static void draw_bins(struct random *random, const uint64_t *fixed, size_t fixed_count,
                      struct packing_state *state)
{
    uint64_t free_granules = capacity_granules;
    uint64_t cuts[FIXED_COUNT_MAX + 1];
    for (size_t i = 0; i < fixed_count; i++) {
        free_granules -= fixed[i];
    }
    for (size_t i = 0; i < fixed_count; i++) {
        cuts[i] = random_between(random, 0, free_granules);
    }
    cuts[fixed_count] = free_granules;
    sort_numbers(cuts, fixed_count);
    uint64_t at = 0;
    uint64_t last = 0;
    state->bin_count = 0;
    for (size_t i = 0; i <= fixed_count; i++) {
        const uint64_t end = at + (cuts[i] - last);
        if (end > at) {
            state->bins[state->bin_count++] = (struct packing_bin){at * GRANULE_BYTES,
                                                                   end * GRANULE_BYTES};
        }
        at = i < fixed_count ? end + fixed[i] : end;
        last = cuts[i];
    }
    CHECK(at == capacity_granules);
}

static void draw_state(struct random *random, const struct grid_cell *cell,
                       struct packing_state *state)
{
    static uint64_t weights[FIXED_COUNT_MAX + ITEM_COUNT_MAX];
    const size_t count = cell->fixed_count + cell->movable_count + 1;
    const enum distribution distribution = (enum distribution)random_below(random, SIZES_COUNT);
    draw_weights(random, distribution, weights, count);
    scale_weights(distribution, weights, count, capacity_granules / FILL_WHOLE * cell->fill);
    draw_bins(random, weights, cell->fixed_count, state);
    state->item_count = cell->movable_count + 1;
    for (size_t i = 0; i < state->item_count; i++) {
        state->items[i] = (struct packing_item){weights[cell->fixed_count + i] * GRANULE_BYTES,
                                                GRANULE_BYTES};
    }
}

/* --- measuring --- */

static void measure_cell(struct packing *packing, const struct grid_options *options,
                         const struct grid_cell *cell, uint64_t index, struct cell_tally *tally)
{
    struct random random;
    static struct packing_state state;
    random_init(&random, random_derive(options->seed, index));
    for (uint64_t i = 0; i < options->states; i++) {
        draw_state(&random, cell, &state);
        const struct packing_problem problem = {.bins = state.bins,
                                                .bin_count = state.bin_count,
                                                .items = state.items,
                                                .item_count = state.item_count,
                                                .granule_bytes = GRANULE_BYTES,
                                                .nodes_max = options->nodes_max,
                                                .wants_proof = options->wants_proof};
        struct packing_answer answer;
        const uint64_t start = read_clock_ns(CLOCK_MONOTONIC);
        packing_solve(packing, &problem, &answer);
        tally->times_ns[tally->count++] = read_clock_ns(CLOCK_MONOTONIC) - start;
        tally->results[answer.result]++;
        tally->methods[answer.method]++;
        tally->nodes += answer.nodes;
    }
    sort_numbers(tally->times_ns, tally->count);
}

static double compute_decided_percent(const struct cell_tally *tally)
{
    return 100.0 * (double)(tally->count - tally->results[PACKING_UNKNOWN]) / (double)tally->count;
}

/* The time that `hundredths` of the states need at most, in microseconds; times are sorted. */
static double find_percentile_us(const struct cell_tally *tally, uint64_t hundredths)
{
    return (double)tally->times_ns[(tally->count - 1) * hundredths / 100] / 1000.0;
}

static void print_tally(const struct cell_tally *tally)
{
    printf("%7.1f %5" PRIu64 " %5" PRIu64 " %5" PRIu64 " %10.1f %10.1f ",
           compute_decided_percent(tally), tally->results[PACKING_FITS],
           tally->results[PACKING_NONE], tally->results[PACKING_UNKNOWN],
           find_percentile_us(tally, 50), find_percentile_us(tally, 99));
    for (int i = 0; i < METHOD_COUNT; i++) {
        if (tally->methods[i] > 0) {
            printf(" %s %" PRIu64, packing_method_name((enum packing_method)i), tally->methods[i]);
        }
    }
    printf("\n");
}

static void add_tally(struct cell_tally *all, const struct cell_tally *tally)
{
    memcpy(&all->times_ns[all->count], tally->times_ns, tally->count * sizeof *all->times_ns);
    all->count += tally->count;
    all->nodes += tally->nodes;
    for (size_t i = 0; i < 3; i++) {
        all->results[i] += tally->results[i];
    }
    for (size_t i = 0; i < METHOD_COUNT; i++) {
        all->methods[i] += tally->methods[i];
    }
    sort_numbers(all->times_ns, all->count);
}

/* --- the grid --- */

enum {
    FIXED_KINDS = 5,
    MOVABLE_KINDS = 3,
    FILL_KINDS = 4,
    CELL_COUNT = FIXED_KINDS * MOVABLE_KINDS * FILL_KINDS
};
static_assert(sizeof fixed_counts / sizeof *fixed_counts == FIXED_KINDS, "one per kind");
static_assert(sizeof movable_counts / sizeof *movable_counts == MOVABLE_KINDS, "one per kind");
static_assert(sizeof large_counts / sizeof *large_counts == MOVABLE_KINDS, "one per kind");
static_assert(sizeof fills / sizeof *fills == FILL_KINDS, "one per kind");

static struct grid_cell make_cell(const struct grid_options *options, uint32_t index)
{
    const uint32_t *counts = options->is_large ? large_counts : movable_counts;
    return (struct grid_cell){fixed_counts[index / (MOVABLE_KINDS * FILL_KINDS)],
                              counts[index / FILL_KINDS % MOVABLE_KINDS],
                              fills[index % FILL_KINDS]};
}

/* The hardest cell has the most unknown states, then the longest p99. */
static bool is_harder(const struct cell_tally *one, const struct cell_tally *other)
{
    if (one->results[PACKING_UNKNOWN] != other->results[PACKING_UNKNOWN]) {
        return one->results[PACKING_UNKNOWN] > other->results[PACKING_UNKNOWN];
    }
    return find_percentile_us(one, 99) > find_percentile_us(other, 99);
}

static struct cell_tally tally_create(uint64_t count_max)
{
    struct cell_tally tally = {.times_ns = malloc(count_max * sizeof *tally.times_ns)};
    CHECK(tally.times_ns != NULL);
    return tally;
}

static void print_summary(const struct grid_options *options, const struct cell_tally *tallies,
                          uint32_t hardest)
{
    const uint64_t count = tallies[hardest].count * CELL_COUNT;
    struct cell_tally all = tally_create(count);
    struct cell_tally others = tally_create(count);
    for (uint32_t i = 0; i < CELL_COUNT; i++) {
        add_tally(&all, &tallies[i]);
        if (i != hardest) {
            add_tally(&others, &tallies[i]);
        }
    }
    printf("%27s", "all");
    print_tally(&all);
    const struct grid_cell cell = make_cell(options, hardest);
    printf(
        "summary: %.2f %% decided, median %.1f us, p99 outside the hardest cell %.1f us, %" PRIu64
        " nodes; "
        "hardest: %u unmovable, %u movable, %u.%02u %% full\n",
        compute_decided_percent(&all), find_percentile_us(&all, 50),
        find_percentile_us(&others, 99), all.nodes, cell.fixed_count, cell.movable_count,
        cell.fill / 100, cell.fill % 100);
    free(all.times_ns);
    free(others.times_ns);
}

static void run_grid(const struct grid_options *options)
{
    struct cell_tally tallies[CELL_COUNT];
    struct packing *packing = packing_create();
    uint32_t hardest = 0;
    printf("%" PRIu64 " states per cell, seed %" PRIu64 ", at most %" PRIu64 " nodes per state\n",
           options->states, options->seed, options->nodes_max);
    printf("%9s %7s %8s %8s %5s %5s %5s %10s %10s  %s\n", "unmovable", "movable", "full %",
           "decided", "fits", "none", "unkn", "median us", "p99 us", "settled by");
    for (uint32_t i = 0; i < CELL_COUNT; i++) {
        const struct grid_cell cell = make_cell(options, i);
        tallies[i] = tally_create(options->states);
        measure_cell(packing, options, &cell, i, &tallies[i]);
        hardest = is_harder(&tallies[i], &tallies[hardest]) ? i : hardest;
        printf("%9u %7u  %3u.%02u", cell.fixed_count, cell.movable_count, cell.fill / 100,
               cell.fill % 100);
        print_tally(&tallies[i]);
        fflush(stdout);
    }
    print_summary(options, tallies, hardest);
    for (uint32_t i = 0; i < CELL_COUNT; i++) {
        free(tallies[i].times_ns);
    }
    packing_destroy(packing);
}

static bool read_options(int argument_count, char **arguments, struct grid_options *options)
{
    for (int i = 1; i < argument_count; i++) {
        bool *const is_wanted = strcmp(arguments[i], "--proof") == 0   ? &options->wants_proof
                                : strcmp(arguments[i], "--large") == 0 ? &options->is_large
                                                                       : NULL;
        if (is_wanted != NULL) {
            *is_wanted = true;
            continue;
        }
        uint64_t *value = strcmp(arguments[i], "--states") == 0  ? &options->states
                          : strcmp(arguments[i], "--seed") == 0  ? &options->seed
                          : strcmp(arguments[i], "--nodes") == 0 ? &options->nodes_max
                                                                 : NULL;
        char *end = NULL;
        if (value == NULL || i + 1 == argument_count) {
            return false;
        }
        *value = strtoull(arguments[++i], &end, 10);
        if (end == arguments[i] || *end != '\0') {
            return false;
        }
    }
    return options->states > 0;
}

int main(int argument_count, char **arguments)
{
    struct grid_options options = {.states = 200, .seed = 1, .nodes_max = 2000000};
    if (!read_options(argument_count, arguments, &options)) {
        fprintf(stderr, "usage: %s [--states N] [--seed N] [--nodes N] [--proof] [--large]\n",
                arguments[0]);
        return 2;
    }
    run_grid(&options);
    return 0;
}
