/* Prints how soon each planted race is found: by PCT under the scheduler, and by threads that run
 * freely for at least as long.  No test: it takes a minute, and its times are those of the machine.
 *
 *     build/release/tests/targets/races_measure [SECONDS that the threads get for each race;
 * default 1] */
#include "explore/strategies/strategies.h"
#include "harness/lanes/lanes_search.h"
#include "harness/op/ops_file.h"
#include "harness/run/trial.h"
#include "targets/targets.h"
#include "tests/helpers/races.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SEED_COUNT = 9, SCHEDULE_COUNT_MAX = 50000, FREE_BATCH = 20 };

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct measured {
    const struct target *target;
    struct setup setup;
    struct op_list ops;
};

/* Runs tried; is_found: the last one broke a promise. */
static uint64_t search_race(const struct measured *race, const struct lanes_search *how,
                            struct lanes_found *found, bool *is_found)
{
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    if (!lanes_search(race->target, &race->setup, &race->ops, how, NULL, &trial, found, reason)) {
        fprintf(stderr, "%s\n", reason);
        exit(4);
    }
    *is_found = trial.first.kind != VERDICT_NONE;
    trial_deinit(&trial);
    return found->schedule_count;
}

static int compare_counts(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static void measure_race(const struct measured *race, double seconds)
{
    uint64_t counts[SEED_COUNT];
    struct lanes_found found;
    bool is_found = false;
    const double began = now_seconds();
    for (uint64_t seed = 0; seed < SEED_COUNT; seed++) {
        counts[seed] = search_race(race,
                                   &(struct lanes_search){.strategy = &strategy_pct,
                                                          .seed = seed,
                                                          .argument = 3,
                                                          .schedule_count_max = SCHEDULE_COUNT_MAX},
                                   &found, &is_found);
        counts[seed] = is_found ? counts[seed] : UINT64_MAX;
    }
    const double each = (now_seconds() - began) / SEED_COUNT;
    qsort(counts, SEED_COUNT, sizeof counts[0], compare_counts);
    uint64_t runs = 0;
    uint64_t findings = 0;
    const double begun = now_seconds();
    while (now_seconds() - begun < (each > seconds ? each : seconds)) {
        struct lanes_found freely;
        runs += search_race(race,
                            &(struct lanes_search){.strategy = &strategy_pct,
                                                   .seed = runs,
                                                   .is_free_running = true,
                                                   .schedule_count_max = FREE_BATCH},
                            &freely, &is_found);
        findings += is_found;
    }
    printf("%-22s %8" PRId64 " %10.0f %9.1f ms %9" PRIu64 " %9" PRIu64 "\n", race->target->name,
           counts[SEED_COUNT / 2], 1 / found.probability, 1e3 * each, runs, findings);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
    printf("%-22s %8s %10s %12s %9s %9s\n", "race", "median", "1/bound", "mean time", "free runs",
           "found");
    for (size_t i = 0; i < sizeof race_lists / sizeof race_lists[0]; i++) {
        struct measured race = {.target = target_find(race_lists[i].target)};
        struct ops_file_error error;
        op_list_init(&race.ops);
        const bool is_spinning = strcmp(race.target->breaks, "livelock") == 0 ||
                                 strcmp(race.target->breaks, "lost_wakeup") == 0 ||
                                 strcmp(race.target->breaks, "deadlock") == 0 ||
                                 strcmp(race.target->breaks, "misuse") == 0;
        if (is_spinning || strcmp(race.target->breaks, "race") == 0) {
            continue; /* threads that run freely would not come back from it */
        }
        if (ops_file_parse(race_lists[i].ops, strlen(race_lists[i].ops), &race.setup, &race.ops,
                           &error) == OPS_FILE_OK) {
            measure_race(&race, seconds);
        }
        op_list_deinit(&race.ops);
    }
    return 0;
}
