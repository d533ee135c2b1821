/* Calls that linger: libhbm has done what it was asked, and the call returns only later.  So the
 * order in which calls return says little of the order of their effects, and libhbm, which is
 * sound, must not be accused in any.  HBMSTRESS_SEEDS (3 by default) says how many lists of each
 * scenario. */
#include "explore/strategies/strategies.h"
#include "harness/lanes/lanes_search.h"
#include "harness/op/ops_file.h"
#include "harness/run/trial.h"
#include "harness/trial/lane_trial.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/scenario_count.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWN_SCHEDULE_COUNT = 60 };

/* --- the target --- */

static const struct target *quick; /* libhbm */
static pthread_mutex_t doorway = PTHREAD_MUTEX_INITIALIZER;

/* Two more points, at which others may go on.  The text of a failed call is asked for before. */
static enum target_result linger(enum target_result result)
{
    if (result == TARGET_OK) {
        (void)pthread_mutex_lock(&doorway);
        (void)pthread_mutex_unlock(&doorway);
    }
    return result;
}

static enum target_result alloc_slowly(struct target_instance *instance,
                                       const struct target_request *request,
                                       struct target_block *block)
{
    return linger(quick->alloc(instance, request, block));
}

static enum target_result free_slowly(struct target_instance *instance, uint64_t handle,
                                      uint64_t event)
{
    return linger(quick->free(instance, handle, event));
}

static enum target_result release_slowly(struct target_instance *instance, uint64_t handle)
{
    return linger(quick->release(instance, handle));
}

static enum target_result load_slowly(struct target_instance *instance,
                                      const struct target_program *program,
                                      struct target_block *image)
{
    return linger(quick->load(instance, program, image));
}

static enum target_result execute_slowly(struct target_instance *instance, uint64_t handle,
                                         uint64_t event, struct target_block *image)
{
    return linger(quick->execute(instance, handle, event, image));
}

static enum target_result unload_slowly(struct target_instance *instance, uint64_t handle)
{
    return linger(quick->unload(instance, handle));
}

static struct target lingering_target(void)
{
    quick = target_find("hbm");
    struct target target = *quick;
    target.name = "lingering";
    target.alloc = alloc_slowly;
    target.free = free_slowly;
    target.release = release_slowly;
    target.load = load_slowly;
    target.execute = execute_slowly;
    target.unload = unload_slowly;
    return target;
}

/* --- every interleaving of short lists --- */

#define HEAD "hbmstress-ops 1\ngranule 512\ntarget hbm\n"

static const struct {
    const char *ops;
    uint64_t oom_count_min; /* in all interleavings together: else the list shows nothing */
} lists[] = {
    /* More is taken than was given back in its place. */
    {HEAD "capacity 4K\noption defrag=none\n"
          "0: alloc size=1K\n"
          "1: free block=0 lane=1\n"
          "2: alloc size=4K lane=2\n"
          "3: alloc size=512\n",
     5},
    /* The same for the image of a program that is loaded again, and is busy then. */
    {HEAD "capacity 4K\noption defrag=repack\n"
          "0: load size=4K stack=0\n"
          "1: alloc size=1K\n"
          "2: free block=1 lane=1\n"
          "3: execute program=0 delay=never lane=2\n"
          "4: alloc size=512\n",
     5},
    /* Two take what two give back; one gives back to an event that is done, one a reference. */
    {HEAD "capacity 4K\noption defrag=none\n"
          "0: alloc size=1K\n"
          "1: alloc size=512\n"
          "2: alloc size=1K\n"
          "3: hold block=2\n"
          "4: free block=2\n"
          "5: free block=0 lane=1\n"
          "6: alloc size=1536 lane=2\n"
          "7: release block=2 lane=3\n"
          "8: alloc size=512\n",
     5},
    /* A program goes for another one. */
    {HEAD "capacity 4K\noption defrag=slide\noption program_evicts_program=no\n"
          "0: load size=1K stack=512\n"
          "1: unload program=0 lane=1\n"
          "2: load size=3K stack=1K lane=2\n"
          "3: load size=512 stack=1K\n",
     5},
};

static void search_list(const char *text, const struct lanes_search *how, struct trial *trial,
                        struct lanes_found *found)
{
    const struct target target = lingering_target();
    struct setup setup;
    struct op_list ops;
    struct ops_file_error error;
    char reason[RUN_REASON_BYTES] = "";
    op_list_init(&ops);
    ck_assert_msg(ops_file_parse(text, strlen(text), &setup, &ops, &error) == OPS_FILE_OK, "%s",
                  error.reason);
    ck_assert_msg(lanes_search(&target, &setup, &ops, how, NULL, trial, found, reason), "%s",
                  reason);
    op_list_deinit(&ops);
}

EVERY_TEST(.timeout_s = 1200);

TEST(no_interleaving_of_calls_that_linger_accuses, .to = sizeof lists / sizeof lists[0])
{
    struct trial trial;
    struct lanes_found found;
    const struct lanes_search how = {.strategy = &strategy_exhaustive,
                                     .argument = draws_period() == 1 ? 3 : 2,
                                     .seed = 1,
                                     .backend = SCHEDULER_FIBERS};
    search_list(lists[_i].ops, &how, &trial, &found);
    ck_assert_msg(trial.first.kind == VERDICT_NONE, "op %u: %s: %s", trial.first.op,
                  rule_info(trial.first.rule)->name, trial.first.reason);
    ck_assert_uint_ge(trial.totals.ooms, lists[_i].oom_count_min);
    ck_assert_uint_eq(trial.totals.ooms, trial.totals.justified);
    trial_deinit(&trial);
}

/* --- drawn lists --- */

static uint64_t seed_count(void)
{
    const char *text = getenv("HBMSTRESS_SEEDS");
    const uint64_t count = text == NULL ? 0 : strtoull(text, NULL, 10);
    return count == 0 ? draws_count(3, 1) : count;
}

static bool keeps_promises(const struct scenario *scenario, uint64_t seed,
                           struct run_totals *totals)
{
    const struct target target = lingering_target();
    struct setup setup;
    struct trial trial;
    struct lanes_found found;
    char reason[RUN_REASON_BYTES] = "";
    setup_init(&setup);
    snprintf(setup.chip, sizeof setup.chip, "%s", scenario->chip);
    setup.capacity_bytes = chip_find(scenario->chip)->capacity_bytes;
    setup.seed = seed;
    const struct lane_trial_plan plan = {
        .draw = {.target = &target,
                 .scenario = scenario,
                 .setup = &setup,
                 .capacity_is_free = true,
                 .op_count_max = scenario->ops_per_trial},
        .lane_count = (uint8_t)(3 + seed % 2),
        .search = {.strategy = &strategy_portfolio,
                   .seed = seed,
                   .schedule_count_max = DRAWN_SCHEDULE_COUNT,
                   .backend = SCHEDULER_FIBERS},
    };
    ck_assert_msg(lane_trial_run(&plan, NULL, &trial, &found, reason), "%s", reason);
    const bool is_kept = trial.first.kind == VERDICT_NONE;
    if (!is_kept) {
        fprintf(stderr, "%s seed %" PRIu64 " op %u: %s: %s\n", scenario->name, seed, trial.first.op,
                rule_info(trial.first.rule)->name, trial.first.reason);
        if (getenv("HBMSTRESS_PRINT") != NULL) {
            ops_file_print(stderr, &trial.setup, &trial.ops, trial.first.reason);
        }
    }
    run_totals_add(totals, &trial.totals);
    trial_deinit(&trial);
    return is_kept;
}

TEST(no_drawn_list_of_calls_that_linger_accuses, .count = count_scenarios)
{
    const struct scenario *scenario = scenarios[_i];
    struct run_totals totals = {0};
    uint64_t failed = 0;
    if (scenario->has_clocks) {
        return; /* lanes have one time for all hosts */
    }
    for (uint64_t seed = 1; seed <= seed_count(); seed++) {
        failed += !keeps_promises(scenario, seed, &totals);
    }
    printf("%s: %" PRIu64 " ops, %" PRIu64 " OOMs, %" PRIu64 " excused, %" PRIu64
           " unknown; %" PRIu64 " of %" PRIu64 " seeds failed\n",
           scenario->name, totals.ops, totals.ooms, totals.excused, totals.unknown, failed,
           seed_count());
    ck_assert_uint_eq(failed, 0);
}
