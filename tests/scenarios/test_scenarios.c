/* The scenarios themselves: the registry, what they draw, that they are total, and what each is
 * there to show. */
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "scenarios/private/eviction_cases.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCENARIO_COUNT = 21 };

/* --- registry --- */

EVERY_TEST(.timeout_s = 300);

TEST(every_scenario_is_complete_and_found_by_its_name)
{
    size_t count = 0;
    for (; scenarios[count] != NULL; count++) {
        const struct scenario *scenario = scenarios[count];
        ck_assert_ptr_eq(scenario_find(scenario->name),
                         scenario); /* unique names: the first one is found */
        ck_assert_uint_gt(strlen(scenario->summary), 20);
        ck_assert_uint_gt(strlen(scenario->source), 10);
        ck_assert_ptr_nonnull(chip_find(scenario->chip));
        ck_assert_uint_gt(scenario->ops_per_trial, 0);
        ck_assert(scenario->begin != NULL && scenario->next != NULL);
    }
    ck_assert_uint_eq(count, SCENARIO_COUNT);
    ck_assert_ptr_null(scenario_find("fragmentation"));
}

/* A trial of no ops would keep every promise. */
TEST(a_scenario_without_ops_a_trial_is_not_run, .signal = SIGABRT)
{
    struct scenario empty = *scenarios[0];
    struct trial trial;
    empty.ops_per_trial = 0;
    wish_play(&(struct trial_wish){"hbm", &empty, 1, .op_count_max = 100}, &trial);
}

TEST(the_seven_eviction_cases_are_those_of_the_kernel)
{
    static const char *const names[EVICTION_CASE_COUNT] = {
        "happy_evict",       "all_pinned_evict", "allowed_only_evict", "deleted_evict",
        "busy_domain_evict", "evict_gutting",    "recursive_evict"};
    for (int i = 0; i < EVICTION_CASE_COUNT; i++) {
        ck_assert_str_eq(eviction_cases[i].name, names[i]);
    }
}

/* --- draws --- */

TEST(what_the_user_fixed_stays)
{
    for (size_t i = 0; scenarios[i] != NULL; i++) {
        for (uint64_t seed = 1; seed <= 50; seed++) {
            alignas(max_align_t) unsigned char state[SCENARIO_STATE_BYTES] = {0};
            struct setup setup;
            struct random random;
            wish_set_up(&(struct trial_wish){"hbm", scenarios[i], .seed = seed}, &setup);
            setup.capacity_bytes = 1 << 20;
            setup.granule_bytes = 1024;
            setup.host_count = 3;
            ck_assert(setup_set_option(&setup, "defrag", "slide"));
            ck_assert(setup_set_option(&setup, "order", "evict,drain,defragment"));
            ck_assert(setup_set_option(&setup, "program_evicts_program", "no"));
            random_init(&random, seed);
            scenarios[i]->begin(state, &random, &setup, false);
            ck_assert_uint_eq(setup.capacity_bytes, 1 << 20);
            ck_assert_uint_eq(setup.granule_bytes, 1024);
            ck_assert_uint_eq(setup.host_count, 3);
            ck_assert_str_eq(setup_option(&setup, "defrag"), "slide");
            ck_assert_str_eq(setup_option(&setup, "order"), "evict,drain,defragment");
            ck_assert_str_eq(setup_option(&setup, "program_evicts_program"), "no");
        }
    }
}

TEST(targets_without_the_options_get_none)
{
    struct setup setup;
    struct random random;
    alignas(max_align_t) unsigned char state[SCENARIO_STATE_BYTES] = {0};
    wish_set_up(&(struct trial_wish){"first_fit", &scenario_fragmentation_storm, .seed = 1},
                &setup);
    random_init(&random, 1);
    scenario_fragmentation_storm.begin(state, &random, &setup, true);
    ck_assert_uint_eq(setup.option_count, 0);
    ck_assert_uint_eq(setup.granule_bytes, 0);
}

/* --- total: any device, any target --- */

static void check_total(const char *target, const struct scenario *scenario, uint64_t seed,
                        uint64_t capacity_bytes)
{
    struct trial trial;
    wish_play(&(struct trial_wish){target, scenario, seed, 800, .capacity_bytes = capacity_bytes},
              &trial);
    trial_deinit(&trial);
}

TEST(scenarios_are_total_on_tiny_and_huge_devices)
{
    const uint64_t capacities[] = {
        512, 1024, 2048, 8192, 64 << 10, UINT64_C(96) << 30, UINT64_C(1) << 50};
    for (size_t i = 0; scenarios[i] != NULL; i++) {
        for (size_t k = 0; k < sizeof capacities / sizeof capacities[0]; k++) {
            for (uint64_t seed = 1; seed <= 6; seed++) {
                check_total("hbm", scenarios[i], seed, capacities[k]);
            }
            /* first_fit neither sleeps nor grows. */
            check_total(scenarios[i]->shares_device ? "segments" : "first_fit", scenarios[i], 1,
                        capacities[k]);
        }
    }
}

TEST(a_seed_gives_the_same_ops_and_observations_again)
{
    for (size_t i = 0; scenarios[i] != NULL; i++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct trial first, second;
            wish_play(&(struct trial_wish){"hbm", scenarios[i], seed, .op_count_max = 3000},
                      &first);
            wish_play(&(struct trial_wish){"hbm", scenarios[i], seed, .op_count_max = 3000},
                      &second);
            ck_assert_uint_eq(first.ops.count, second.ops.count);
            ck_assert_mem_eq(first.ops.ops, second.ops.ops,
                             first.ops.count * sizeof *first.ops.ops);
            ck_assert_uint_eq(first.digest, second.digest);
            trial_deinit(&first);
            trial_deinit(&second);
        }
    }
}

/* --- measured: what runs, what is skipped, how often memory runs out --- */

TEST(scenarios_act_and_run_out_of_memory)
{
    struct run_totals all = {0};
    printf("%-20s %9s %9s %7s %12s\n", "scenario", "ops", "skipped %", "OOMs", "OOMs / 10^4");
    for (size_t i = 0; scenarios[i] != NULL; i++) {
        struct run_totals totals = {0};
        for (uint64_t seed = 1; seed <= 15; seed++) {
            struct trial trial;
            wish_play(&(struct trial_wish){"hbm", scenarios[i], seed, .op_count_max = 3000},
                      &trial);
            run_totals_add(&totals, &trial.totals);
            trial_deinit(&trial);
        }
        const uint64_t count = totals.ops + totals.skipped;
        printf("%-20s %9" PRIu64 " %9.2f %7" PRIu64 " %12.1f\n", scenarios[i]->name, count,
               100.0 * (double)totals.skipped / (double)count, totals.ooms,
               1e4 * (double)totals.ooms / (double)count);
        ck_assert_msg(totals.skipped * 20 < count, "%s: more than 5 %% skipped",
                      scenarios[i]->name);
        /* The leak needs its tens of thousands of steps to fill the device, a job ends with its
         * first out-of-memory; the deep ones fill tables, and leave room; what moves blocks has
         * room for Robson's. */
        const bool leaves_room = scenarios[i] == &scenario_slow_leak ||
                                 scenarios[i] == &scenario_training ||
                                 scenarios[i] == &scenario_robson ||
                                 strncmp(scenarios[i]->name, "deep_", strlen("deep_")) == 0;
        ck_assert_msg(totals.ooms * 200 > count || leaves_room, "%s: few OOMs", scenarios[i]->name);
        run_totals_add(&all, &totals);
    }
    for (unsigned kind = 0; kind < OP_KIND_COUNT; kind++) {
        /* Memory goes bad, targets sleep, and programs are recorded by chance alone:
         * harness/generate/faulting.h, sleeping.h and recording.h.  Switches are of schedules,
         * which no scenario makes. */
        const bool is_slipped = kind == OP_RETIRE || kind == OP_SLEEP || kind == OP_WAKE ||
                                op_is_of_recording((enum op_kind)kind);
        ck_assert_msg(all.by_kind[kind] > 0 || is_slipped || kind == OP_SWITCH,
                      "no scenario makes %s", op_kind_info((enum op_kind)kind)->name);
    }
    ck_assert_uint_gt(all.drains, 0);
    ck_assert_uint_gt(all.moves, 0);
    ck_assert_uint_gt(all.evictions, 0);
}

/* --- what single scenarios are there to show --- */

/* The first two rounds of every trial are the tests as published: nothing may be refused in them.
 * The second ends with op 64, before its buffers are freed. */
static void play_published(const char *defrag, uint64_t op_count, struct trial *trial)
{
    wish_play(
        &(struct trial_wish){
            "hbm", &scenario_defrag_published, 1, op_count,
            .capacity_bytes = chip_find(scenario_defrag_published.chip)->capacity_bytes,
            .key = "defrag", .value = defrag},
        trial);
}

TEST(the_published_defragmentation_tests_pass_where_blocks_may_move, .to = 2)
{
    struct trial trial;
    play_published(_i == 0 ? "slide" : "repack", 65, &trial);
    ck_assert_uint_eq(trial.totals.ooms, 0);
    ck_assert_uint_eq(trial.totals.skipped, 0);
    ck_assert_uint_eq(trial.totals.by_kind[OP_EXECUTE], 21);
    ck_assert_uint_gt(trial.totals.moves, 0);
    ck_assert_int_eq(trial.first.kind, VERDICT_NONE);
    trial_deinit(&trial);
}

TEST(the_published_buffer_test_is_refused_without_defragmentation)
{
    struct trial trial;
    play_published("none", 10, &trial);
    ck_assert_uint_eq(trial.totals.ooms, 1);
    ck_assert_uint_eq(trial.totals.justified, 1);
    trial_deinit(&trial);
}

/* Some wait, ask again at once, spill behind an event, are aborted; and now and then all wait. */
TEST(clients_react_and_all_wait_now_and_then)
{
    struct run_totals totals = {0};
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct trial trial;
        wish_play(
            &(struct trial_wish){"hbm", &scenario_reacting_clients, seed, .op_count_max = 1000},
            &trial);
        ck_assert_int_eq(trial.first.kind, VERDICT_NONE);
        run_totals_add(&totals, &trial.totals);
        trial_deinit(&trial);
    }
    ck_assert_uint_gt(totals.retries, 20);
    ck_assert_uint_gt(totals.by_kind[OP_FREE_AFTER], 100);
    ck_assert_uint_gt(totals.by_kind[OP_UNLOAD], 10);
    ck_assert_uint_gt(totals.by_kind[OP_RELEASE], 10);
    ck_assert_uint_gt(totals.standstills_ordered, 5);
    ck_assert_uint_eq(totals.unknown, 0);
}

/* The tag of the small tensors that stay: the only outputs of that scenario. */
static int leaking_tag(const struct op_list *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        if (ops->ops[i].kind == OP_OUTPUT) {
            return ops->ops[i].tag;
        }
    }
    return -1;
}

/* Bit per host that was refused. */
static uint64_t refused_hosts(const struct run *run, const struct op *op)
{
    return (uint64_t)(run_observation(run)->result == TARGET_NO_MEMORY) << op->host;
}

/* One whole trial; every host that there is runs out of memory before it is over. */
static void leak_fills_and_is_named(uint64_t seed, uint32_t host_count)
{
    uint64_t refused = 0;
    alignas(max_align_t) unsigned char state[SCENARIO_STATE_BYTES] = {0};
    struct setup setup;
    struct random random;
    struct scenario_view view;
    struct op op;
    struct growth growth = {0};
    wish_set_up(&(struct trial_wish){"hbm", &scenario_slow_leak, .seed = seed}, &setup);
    setup.host_count = host_count;
    random_init(&random, seed);
    scenario_slow_leak.begin(state, &random, &setup, true);
    struct run *run = begin_run(target_find("hbm"), &setup);
    run_view(run, &view);
    while (!run_is_broken(run) && run_ops(run)->count < scenario_slow_leak.ops_per_trial &&
           scenario_slow_leak.next(state, &random, &view, &op)) {
        run_step(run, &op);
        refused |= refused_hosts(run, &op);
        run_view(run, &view);
    }
    ck_assert_uint_gt(run_ops(run)->count, 20000);
    ck_assert_uint_lt(run_ops(run)->count, scenario_slow_leak.ops_per_trial);
    ck_assert_uint_eq(refused, UINT64_MAX >> (64 - host_count));
    for (uint32_t host = 0; host < host_count; host++) {
        ck_assert_msg(run_growing_tag(run, host, &growth), "seed %" PRIu64 ": no tag grows", seed);
        ck_assert_int_eq(growth.tag, leaking_tag(run_ops(run)));
        ck_assert_str_ne(setup.tags[growth.tag], "");
    }
    run_destroy(run);
}

TEST(a_slow_leak_fills_the_device_and_its_growing_tag_is_named)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        leak_fills_and_is_named(seed, 1);
    }
}

TEST(a_slow_leak_fills_every_host)
{
    leak_fills_and_is_named(1, 3);
}

TEST(a_slow_leak_of_a_default_run_is_one_whole_trial_at_least)
{
    ck_assert_uint_ge(scenario_slow_leak.op_count_default, scenario_slow_leak.ops_per_trial);
}

TEST(hosts_are_compared_and_one_host_fails_alone)
{
    uint64_t flagged = 0;
    uint64_t collective = 0;
    uint32_t hosts_min = UINT32_MAX;
    uint32_t hosts_max = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct trial trial;
        wish_play(&(struct trial_wish){"hbm", &scenario_host_skew, seed, .op_count_max = 2000},
                  &trial);
        hosts_min = trial.setup.host_count < hosts_min ? trial.setup.host_count : hosts_min;
        hosts_max = trial.setup.host_count > hosts_max ? trial.setup.host_count : hosts_max;
        for (size_t i = 0; i < trial.ops.count; i++) {
            flagged += (trial.ops.ops[i].flags & OP_SPMD) != 0;
            collective += (trial.ops.ops[i].flags & OP_COLLECTIVE) != 0;
        }
        ck_assert_msg(trial.first.rule != RULE_SPMD, "seed %" PRIu64 ": %s", seed,
                      trial.first.reason);
        trial_deinit(&trial);
    }
    printf("host_skew: %" PRIu64 " requests compared across hosts, %" PRIu64
           " executions in collectives, %u to %u hosts\n",
           flagged, collective, hosts_min, hosts_max);
    ck_assert_uint_eq(hosts_min, 2);
    ck_assert_uint_gt(hosts_max, 8);
    ck_assert_uint_gt(flagged, 5000);
    ck_assert_uint_gt(collective, 2000);
}

/* With faults none: what is refused, the others have. */
static void share_a_device(const char *target, struct run_totals *all)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct trial trial;
        wish_play(&(struct trial_wish){target, &scenario_serving_beside_training, seed,
                                       .op_count_max = 600},
                  &trial);
        ck_assert_msg(trial.first.kind == VERDICT_NONE, "seed %" PRIu64 ": %s", seed,
                      trial.first.reason);
        ck_assert_uint_ge(trial.setup.host_count, 2);
        ck_assert_uint_eq(trial.setup.shared_hosts, UINT64_MAX >> (64 - trial.setup.host_count));
        run_totals_add(all, &trial.totals);
        trial_deinit(&trial);
    }
}

TEST(an_engine_and_trainers_share_a_device)
{
    struct run_totals by_turns = {0}, growing = {0};
    share_a_device("hbm", &by_turns);
    share_a_device("segments", &growing);
    printf("serving_beside_training: %" PRIu64 " ops, %" PRIu64 " skipped, %" PRIu64
           " sleeps, %" PRIu64 " wakes, %" PRIu64 " shortages, %" PRIu64 " OOMs; growing %" PRIu64
           " shortages, %" PRIu64 " OOMs\n",
           by_turns.ops, by_turns.skipped, by_turns.by_kind[OP_SLEEP], by_turns.by_kind[OP_WAKE],
           by_turns.shortages, by_turns.ooms, growing.shortages, growing.ooms);
    ck_assert_uint_gt(by_turns.by_kind[OP_SLEEP], 300);
    ck_assert_uint_gt(by_turns.by_kind[OP_WAKE], by_turns.by_kind[OP_SLEEP] + 100); /* too early */
    ck_assert_uint_gt(by_turns.shortages, 100);
    ck_assert_uint_gt(by_turns.justified, 100);
    ck_assert_uint_lt(by_turns.skipped * 50, by_turns.ops);
    ck_assert_uint_eq(growing.by_kind[OP_SLEEP], 0);
    ck_assert_uint_gt(growing.shortages, 1000);
    ck_assert_uint_gt(growing.justified, growing.shortages);
    ck_assert_uint_eq(growing.excused + growing.unknown, 0);
}

TEST(a_mesh_of_hosts_shows_each_way_to_be_missing)
{
    struct run_totals all = {0};
    uint64_t flagged = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct trial trial;
        wish_play(&(struct trial_wish){"hbm", &scenario_mesh_skew, seed, .op_count_max = 2000},
                  &trial);
        ck_assert_msg(trial.first.kind == VERDICT_NONE, "seed %" PRIu64 ": %s", seed,
                      trial.first.reason);
        ck_assert(trial.setup.has_clocks);
        ck_assert_uint_ge(trial.setup.host_count, 2);
        ck_assert_uint_ge(trial.setup.group_count, 3);
        for (size_t i = 0; i < trial.ops.count; i++) {
            const struct op *op = &trial.ops.ops[i];
            const uint64_t members = setup_members(&trial.setup, op->group);
            if ((op->flags & (OP_SPMD | OP_COLLECTIVE)) != 0) {
                ck_assert_str_ne(setup_group_name(&trial.setup, op->group), "");
                ck_assert((members >> op->host & 1) != 0);
            }
            flagged += (op->flags & OP_SPMD) != 0;
        }
        run_totals_add(&all, &trial.totals);
        trial_deinit(&trial);
    }
    printf("mesh_skew: %" PRIu64 " requests compared in groups, %" PRIu64 " hangs, %" PRIu64
           " after an out-of-memory, %" PRIu64 " without a word\n",
           flagged, all.hangs, all.hangs_of_oom, all.hangs_without_word);
    ck_assert_uint_gt(flagged, 5000);
    ck_assert_uint_gt(all.hangs_of_oom, 10);
    ck_assert_uint_gt(all.hangs_without_word, 0);
    ck_assert_uint_gt(all.hangs, all.hangs_of_oom + all.hangs_without_word);
}
