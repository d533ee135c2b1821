/* Each probe has a case (tests/cases/run/probes.case), and the scenarios reach the states. */
#include "harness/device/timeline.h"
#include "harness/run/probe_watch.h"
#include "harness/run/run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { G = 512, SEED_COUNT = 20, WORDS_BYTES = 64 << 10 };

/* --- what is told of a probe --- */

EVERY_TEST(.timeout_s = 1200);

/* What became of an op is told without a target: the driver alone decides whether memory may go
 * bad. */
static uint64_t hits_of_granted(enum op_kind kind)
{
    struct timeline *timeline = timeline_create();
    struct probe_watch watch = {0};
    const struct host host = {.device = device_create(4 * G, timeline), .timeline = timeline};
    const struct call call = {.op = op_make(kind), .slot = SLOT_NONE, .result = TARGET_OK};
    const struct observation seen = {0};
    const struct judge judge = {0};
    const struct probe_sight sight = {.host = &host, .call = &call, .seen = &seen, .judge = &judge};
    const uint64_t hits = probes_hit(&watch, &sight);
    device_destroy(host.device);
    timeline_destroy(timeline);
    return hits;
}

TEST(memory_that_is_retired_is_seen)
{
    ck_assert_uint_eq(hits_of_granted(OP_RETIRE), UINT64_C(1) << PROBE_RETIRED_MEMORY);
    ck_assert_uint_eq(hits_of_granted(OP_ADVANCE), 0);
}

TEST(every_probe_has_a_case_a_name_of_its_own_and_a_summary)
{
    char words[WORDS_BYTES];
    FILE *stream = fopen(HBMSTRESS_SOURCE_DIR "/tests/cases/run/probes.case", "r");
    ck_assert_ptr_nonnull(stream);
    words[fread(words, 1, sizeof words - 1, stream)] = '\0';
    ck_assert_int_ne(feof(stream), 0);
    fclose(stream);
    for (unsigned i = 0; i < PROBE_COUNT; i++) {
        const struct probe_info *info = probe_info((enum probe)i);
        ck_assert_ptr_nonnull(info->name);
        char title[64];
        (void)snprintf(title, sizeof title, "\ntest %s\n", info->name);
        ck_assert_msg(i == PROBE_RETIRED_MEMORY || strstr(words, title) != NULL, "%s has no case",
                      info->name); /* that one has the test above */
        ck_assert_ptr_nonnull(info->summary);
        ck_assert(info->summary[0] != '\0' && info->summary[strlen(info->summary) - 1] != '.');
        for (unsigned other = 0; other < i; other++) {
            ck_assert_str_ne(info->name, probe_info((enum probe)other)->name);
        }
    }
}

TEST(an_op_counts_each_of_its_probes)
{
    uint64_t probes[PROBE_COUNT] = {0};
    const enum probe last = (enum probe)(PROBE_COUNT - 1);
    probe_count(UINT64_C(1) << 0 | UINT64_C(1) << 3 | UINT64_C(1) << last, probes);
    probe_count(UINT64_C(1) << 3, probes);
    ck_assert_uint_eq(probes_ever_hit(probes), 3);
    ck_assert_uint_eq(probes[0], 1);
    ck_assert_uint_eq(probes[3], 2);
    ck_assert_uint_eq(probes[last], 1);
}

/* --- what the scenarios reach --- */

/* What no scenario reaches by itself: memory goes bad in campaigns with faults alone. */
static bool is_out_of_reach(enum probe probe)
{
    return probe == PROBE_RETIRED_MEMORY;
}

static void run_seed(const struct scenario *scenario, uint64_t seed, struct run_totals *totals)
{
    struct trial trial;
    wish_play(&(struct trial_wish){"hbm", scenario, .seed = seed}, &trial);
    run_totals_add(totals, &trial.totals);
    trial_deinit(&trial);
}

static bool reaches_all(const struct run_totals *totals)
{
    bool is_reached = true;
    for (unsigned i = 0; i < PROBE_COUNT; i++) {
        is_reached = is_reached && (totals->probes[i] > 0 || is_out_of_reach((enum probe)i));
    }
    return is_reached;
}

/* Where faults strike what is rare: in a short run later seeds are those of these alone. */
static bool is_struck_late(const struct scenario *scenario)
{
    return strcmp(scenario->name, "fragmentation_storm") == 0 ||
           strcmp(scenario->name, "eviction_pressure") == 0;
}

/* A short run ends with the first seed by which all are reached; a full one prints how often. */
TEST(the_scenarios_reach_every_probe_in_their_reach)
{
    static struct run_totals totals[32];
    struct run_totals all = {0};
    size_t scenario_count = 0;
    while (scenarios[scenario_count] != NULL) {
        scenario_count++;
    }
    ck_assert_uint_le(scenario_count, sizeof totals / sizeof totals[0]);
    for (uint64_t seed = 1; seed <= SEED_COUNT && (draws_period() == 1 || !reaches_all(&all));
         seed++) {
        memset(&all, 0, sizeof all);
        for (size_t i = 0; i < scenario_count; i++) {
            if (seed <= 2 || draws_period() == 1 || is_struck_late(scenarios[i])) {
                run_seed(scenarios[i], seed, &totals[i]);
            }
            run_totals_add(&all, &totals[i]);
        }
    }
    printf("%-34s", "ops that hit the probe");
    for (size_t scenario = 0; scenario < scenario_count; scenario++) {
        printf(" %10.10s", scenarios[scenario]->name);
    }
    for (unsigned i = 0; i < PROBE_COUNT; i++) {
        printf("\n%-34s", probe_info((enum probe)i)->name);
        for (size_t scenario = 0; scenario < scenario_count; scenario++) {
            printf(" %10" PRIu64, totals[scenario].probes[i]);
        }
    }
    for (unsigned i = 0; i < PROBE_COUNT; i++) {
        if (all.probes[i] == 0) {
            printf("\nnever: %s", probe_info((enum probe)i)->name);
        }
    }
    printf("\n");
    fflush(stdout);
    for (unsigned i = 0; i < PROBE_COUNT; i++) {
        ck_assert_msg(all.probes[i] > 0 || is_out_of_reach((enum probe)i), "no scenario reaches %s",
                      probe_info((enum probe)i)->name);
    }
}
