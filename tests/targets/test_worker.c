/* targets/example/reaper.c, compiled apart from this tree by a plain compiler and loaded: a plug-in
 * with a thread of its own is explored as it is.  The folder with reaper.so and reaper_lossy.so is
 * the program's argument. */
#include "explore/strategies/strategies.h"
#include "harness/lanes/lanes_search.h"
#include "harness/op/ops_file.h"
#include "harness/run/trial.h"
#include "harness/trial/lane_trial.h"
#include "scenarios/scenarios.h"
#include "targets/plugin.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCHEDULE_COUNT = 3000,
    LOSSY_SCHEDULE_COUNT_MAX = 500,
    DRAWN_LIST_COUNT = 30,
    DRAWN_SCHEDULE_COUNT = 20,
    DRAWN_LANE_COUNT = 3,
    PATH_BYTES = 200
};

static const char *folder;

/* Two allocations that need the room of two queued frees, one after the other, and a free beside
 * them. */
static const char contended[] = "hbmstress-ops 1\ncapacity 4K\ngranule 512\ntarget ./reaper.so\n"
                                "0: alloc size=2K\n"
                                "1: alloc size=2K\n"
                                "2: free_after block=0 delay=1ms\n"
                                "3: alloc size=2K lane=1\n"
                                "4: free_after block=1 delay=2ms lane=2\n"
                                "5: alloc size=2K lane=2\n"
                                "6: alloc size=512 lane=1\n";
/* The event of the free never comes: the allocation must fail, not wait. */
static const char lost[] = "hbmstress-ops 1\ncapacity 4K\ngranule 512\ntarget ./reaper.so\n"
                           "0: alloc size=2K\n"
                           "1: alloc size=2K\n"
                           "2: free_after block=0 delay=never\n"
                           "3: alloc size=2K lane=1\n"
                           "4: free_after block=1 delay=1ms lane=2\n"
                           "5: alloc size=1K lane=2\n";
/* Nobody needs the room of the free: its event is pending when the clients are done. */
static const char unneeded[] = "hbmstress-ops 1\ncapacity 4K\ngranule 512\ntarget ./reaper.so\n"
                               "0: alloc size=1K\n"
                               "1: free_after block=0 delay=1ms\n"
                               "2: alloc size=1K lane=1\n"
                               "3: free_after block=2 delay=1ms lane=1\n"
                               "4: alloc size=1K lane=2\n";
/* Not even another lane comes after the free, so the events that are left complete when the run is
 * over. */
static const char alone[] = "hbmstress-ops 1\ncapacity 4K\ngranule 512\ntarget ./reaper.so\n"
                            "0: alloc size=1K\n"
                            "1: alloc size=1K\n"
                            "2: free_after block=0 delay=1ms\n"
                            "3: free_after block=1 delay=1ms\n";

struct subject {
    struct plugin plugin;
    struct setup setup;
    struct op_list ops;
};

static void load_subject(struct subject *subject, const char *file, const char *ops)
{
    char path[PATH_BYTES];
    char reason[PLUGIN_REASON_BYTES] = "";
    struct ops_file_error error;
    *subject = (struct subject){0};
    (void)snprintf(path, sizeof path, "%s/%s", folder, file);
    ck_assert_msg(plugin_load(&subject->plugin, path, reason) == PLUGIN_OK, "%s", reason);
    op_list_init(&subject->ops);
    ck_assert_msg(ops_file_parse(ops, strlen(ops), &subject->setup, &subject->ops, &error) ==
                      OPS_FILE_OK,
                  "%s", error.reason);
}

static void unload_subject(struct subject *subject)
{
    op_list_deinit(&subject->ops);
    plugin_unload(&subject->plugin);
}

static void search_subject(const struct subject *subject, const struct lanes_search *how,
                           struct trial *trial, struct lanes_found *found)
{
    char reason[RUN_REASON_BYTES] = "";
    ck_assert_msg(lanes_search(subject->plugin.target, &subject->setup, &subject->ops, how, NULL,
                               trial, found, reason),
                  "%s", reason);
}

static void check_kept(const struct trial *trial)
{
    ck_assert_msg(trial->first.kind == VERDICT_NONE, "op %u: %s: %s", trial->first.op,
                  rule_info(trial->first.rule)->name, trial->first.reason);
}

/* --- what the reaper keeps --- */

static const struct {
    const char *ops, *eager;
    enum scheduler_backend backend;
} explored[] = {
    {contended, "no", SCHEDULER_THREADS},  {contended, "no", SCHEDULER_FIBERS},
    {contended, "yes", SCHEDULER_THREADS}, {contended, "yes", SCHEDULER_FIBERS},
    {lost, "no", SCHEDULER_THREADS},       {lost, "no", SCHEDULER_FIBERS},
    {lost, "yes", SCHEDULER_THREADS},      {lost, "yes", SCHEDULER_FIBERS},
    {unneeded, "no", SCHEDULER_THREADS},   {unneeded, "no", SCHEDULER_FIBERS},
    {unneeded, "yes", SCHEDULER_THREADS},  {unneeded, "yes", SCHEDULER_FIBERS},
    {alone, "yes", SCHEDULER_THREADS},     {alone, "yes", SCHEDULER_FIBERS},
};

EVERY_TEST(.timeout_s = 300);

TEST(every_promise_is_kept_in_thousands_of_schedules, .to = sizeof explored / sizeof *explored)
{
    struct subject subject;
    struct trial trial;
    struct lanes_found found;
    load_subject(&subject, "reaper.so", explored[_i].ops);
    ck_assert(setup_set_option(&subject.setup, "eager", explored[_i].eager));
    const struct lanes_search how = {.strategy = &strategy_portfolio,
                                     .seed = 1,
                                     .backend = explored[_i].backend,
                                     .schedule_count_max = SCHEDULE_COUNT};
    search_subject(&subject, &how, &trial, &found);
    check_kept(&trial);
    ck_assert_uint_eq(found.schedule_count, SCHEDULE_COUNT);
    if (explored[_i].ops == contended) {
        ck_assert_uint_gt(trial.totals.drains, 0);
    } else if (explored[_i].ops == lost) {
        ck_assert_uint_gt(trial.totals.justified, 0);
    }
    trial_deinit(&trial);
    unload_subject(&subject);
}

static void try_drawn(const struct target *target, uint64_t seed, struct run_totals *totals)
{
    struct setup setup;
    struct trial trial;
    struct lanes_found found;
    char reason[RUN_REASON_BYTES] = "";
    setup_init(&setup);
    (void)snprintf(setup.target, sizeof setup.target, "./reaper.so");
    (void)snprintf(setup.chip, sizeof setup.chip, "%s", scenario_queued_free_race.chip);
    setup.capacity_bytes = chip_find(scenario_queued_free_race.chip)->capacity_bytes;
    setup.seed = seed;
    const struct lane_trial_plan plan = {
        .draw = {.target = target,
                 .scenario = &scenario_queued_free_race,
                 .setup = &setup,
                 .capacity_is_free = true,
                 .op_count_max = scenario_queued_free_race.ops_per_trial},
        .lane_count = DRAWN_LANE_COUNT,
        .search = {.strategy = &strategy_portfolio,
                   .seed = seed,
                   .backend = SCHEDULER_THREADS,
                   .schedule_count_max = DRAWN_SCHEDULE_COUNT},
    };
    ck_assert_msg(lane_trial_run(&plan, NULL, &trial, &found, reason), "%s", reason);
    check_kept(&trial);
    run_totals_add(totals, &trial.totals);
    trial_deinit(&trial);
}

/* Without lanes the list is drawn, with them it is run: the same plug-in, and the reaper is a real
 * thread first. */
TEST(lists_are_drawn_without_lanes_and_run_with_them)
{
    struct subject subject;
    struct run_totals totals = {0};
    load_subject(&subject, "reaper.so", contended);
    for (uint64_t seed = 1; seed <= DRAWN_LIST_COUNT; seed++) {
        try_drawn(subject.plugin.target, seed, &totals);
    }
    ck_assert_uint_gt(totals.drains, 0);
    ck_assert_uint_gt(totals.justified, 0);
    unload_subject(&subject);
}

/* --- its lane --- */

struct steps {
    uint8_t client_count;
    uint32_t condition_count, device_count; /* steps of lanes that are no clients */
};

static void count_step(void *context, const struct point *point, const void *object,
                       const void *place)
{
    struct steps *steps = context;
    (void)object;
    (void)place;
    if (point->lane >= steps->client_count && point->op == STEP_OP_NONE) {
        steps->condition_count += point->kind == STEP_COND_WAIT;
        steps->device_count += point->kind == STEP_DEVICE;
    }
}

TEST(the_reaper_is_a_lane_of_its_own)
{
    struct subject subject;
    struct trial trial;
    struct scheduler_report report;
    char reason[RUN_REASON_BYTES] = "";
    load_subject(&subject, "reaper.so", contended);
    struct steps steps = {.client_count = lanes_count(&subject.ops)};
    const struct scheduler_trace trace = {&steps, count_step};
    void *state = calloc(1, strategy_replay.state_bytes);
    ck_assert_ptr_nonnull(state);
    strategy_replay.init(state, 0, 0);
    strategy_replay_set(state, NULL,
                        0); /* each lane goes on while it can, so the reaper waits for the device */
    struct lanes *lanes = lanes_create(SCHEDULER_THREADS);
    const struct lanes_plan plan = {.target = subject.plugin.target,
                                    .setup = &subject.setup,
                                    .ops = &subject.ops,
                                    .strategy = &strategy_replay,
                                    .state = state,
                                    .trace = &trace};
    ck_assert_msg(lanes_run(lanes, &plan, NULL, &trial, &report, reason), "%s", reason);
    check_kept(&trial);
    ck_assert_uint_eq(report.summary.lane_count, steps.client_count + 1U);
    ck_assert_uint_gt(steps.condition_count, 0);
    ck_assert_uint_gt(steps.device_count, 0);
    lanes_destroy(lanes);
    trial_deinit(&trial);
    if (strategy_replay.deinit != NULL) {
        strategy_replay.deinit(state);
    }
    free(state);
    unload_subject(&subject);
}

/* --- the one that loses a wakeup --- */

static bool is_lost_wakeup(const struct verdict *verdict)
{
    return verdict->kind == VERDICT_BROKEN &&
           (verdict->rule == RULE_LOST_WAKEUP || verdict->rule == RULE_DEADLOCK);
}

TEST(a_lost_wakeup_is_found_and_repeats, .to = 5)
{
    struct subject subject;
    struct trial trial, again;
    struct lanes_found found;
    char reason[RUN_REASON_BYTES] = "";
    load_subject(&subject, "reaper_lossy.so", contended);
    const struct lanes_search how = {.strategy = &strategy_portfolio,
                                     .seed = (uint64_t)_i,
                                     .schedule_count_max = LOSSY_SCHEDULE_COUNT_MAX,
                                     .backend = SCHEDULER_THREADS};
    search_subject(&subject, &how, &trial, &found);
    ck_assert_msg(is_lost_wakeup(&trial.first), "%s: %s", rule_info(trial.first.rule)->name,
                  trial.first.reason);
    ck_assert_msg(
        lanes_replay(subject.plugin.target, &trial.setup, &trial.ops, NULL, &again, reason), "%s",
        reason);
    ck_assert_uint_eq(again.first.rule, trial.first.rule);
    ck_assert_uint_eq(again.first.op, trial.first.op);
    ck_assert_str_eq(again.first.reason, trial.first.reason);
    printf("%s after %" PRIu64 " schedules: %s\n", rule_info(trial.first.rule)->name,
           found.schedule_count, trial.first.reason);
    trial_deinit(&again);
    trial_deinit(&trial);
    unload_subject(&subject);
}

int main(int argument_count, char **arguments)
{
    if (argument_count != 2) {
        (void)fprintf(stderr, "usage: %s FOLDER\n", arguments[0]);
        return 2;
    }
    folder = arguments[1];
    return suites_run();
}
