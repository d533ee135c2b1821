/* What lies under the program: its arguments, its job files, the bounds that it plans, and what an
 * out-of-memory leaves that stayed unknown. */
#include "campaign/base/message.h"
#include "campaign/engine/repro_store.h"
#include "campaign/plan/job.h"
#include "campaign/trials/trial_result.h"
#include "cli/subcommands.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>
#include <unistd.h>

EVERY_TEST(.teardown = snap_rest);

TEST(options_take_their_value_in_three_ways)
{
    struct arguments arguments;
    const struct run_options *run = &arguments.run;
    const char *words[8];
    char *given[] = {"--seed", "7", "slow_leak", "--ops=12", "-c", "64M", "--", "--odd"};
    char *largest[] = {"--seed", "18446744073709551615"};
    ck_assert_int_eq(arguments_parse(&subcommand_run, given, 8, words, &arguments), EXIT_KEPT);
    SHOW(run->has_seed, run->seed, run->op_count_max, run->capacity_bytes);
    SHOW(arguments.word_count, arguments.words[0], arguments.words[1]);
    ck_assert_int_eq(arguments_parse(&subcommand_run, largest, 2, words, &arguments), EXIT_KEPT);
    SHOW(run->seed);
}

TEST(the_nearest_name_is_the_one_with_the_fewest_edits)
{
    static const char *const names[] = {"fragmentation_storm", "slow_leak",    "host_skew", "hbm",
                                        "first_fit",           "plant_overlap"};
    char endless[200];
    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    const char *const given[] = {
        "fragmentation_strom",       "slow-leaks", "firstfit", "plant_overlaps", "xyzzy", "",
        "something_else_altogether", endless};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        const char *nearest = message_nearest(given[i], names, sizeof names / sizeof *names);
        show("%.30s: %s\n", given[i], nearest == NULL ? "none" : nearest);
    }
}

TEST(a_job_file_becomes_its_sections)
{
    struct job job;
    folder_enter("test_cli");
    folder_write("job.ini", "; words\n[global]\nseed = 5\n[first]\nscenario = slow_leak\n"
                            "option.defrag = none\n[slow_leak]\n");
    ck_assert_int_eq(job_read(folder_path("job.ini"), &job), EXIT_KEPT);
    SHOW(job.global.seed, job.count);
    SHOW(job.sections[0].name, job.sections[0].scenario, job.sections[0].options.options[0].key);
    SHOW(job.sections[1].name, job.sections[1].scenario, job.sections[1].line);
    job_deinit(&job);
    folder_leave();
}

static void show_planned(const char *scenario, struct run_options options)
{
    struct plan plan;
    options.names = &scenario;
    options.name_count = 1;
    ck_assert_int_eq(plan_make(&options, 1, &plan), EXIT_KEPT);
    SHOW(scenario, plan.count, plan.parts[0].op_count_max);
    plan_deinit(&plan);
}

TEST(a_scenario_may_have_its_own_bound_where_none_is_given)
{
    struct run_options options;
    run_options_init(&options);
    show_planned("training_step", options);
    show_planned("slow_leak", options);
    struct run_options other = options;
    other.op_count_max = 700;
    show_planned("slow_leak", other);
    other = options;
    other.trial_count_max = 2;
    show_planned("slow_leak", other);
    other = options;
    other.lanes.lane_count = 2; /* its lists are short */
    show_planned("slow_leak", other);
}

/* A trial of 8 ops; its third and fifth stayed unknown. */
static void make_unknowns(struct trial_result *trial)
{
    struct op op = op_make(OP_ALLOC);
    trial_result_init(trial);
    setup_init(&trial->setup);
    trial->setup.capacity_bytes = 1 << 20;
    trial->head.has_list = true;
    for (uint32_t i = 0; i < 8; i++) {
        op.size_bytes = 512 * (i + UINT64_C(1));
        op_list_append(&trial->oom_ops, &op);
        if (i == 2 || i == 4) {
            struct saved_oom *oom = &trial->head.saved[trial->head.saved_count++];
            oom->verdict = (struct verdict){.kind = VERDICT_UNKNOWN, .op = i, .reason = "no end"};
            oom->certificate_start = trial->certificates.length;
            writing_append_format(&trial->certificates, "certificate of op %u\n", i);
            oom->certificate_bytes = trial->certificates.length - oom->certificate_start;
        }
    }
}

TEST(an_unknown_oom_leaves_its_list_up_to_it_and_its_certificate)
{
    static const struct scenario made_up = {.name = "made up", .ops_per_trial = 8};
    struct part part = {.name = "a part/of two", .scenario = &made_up};
    const struct plan plan = {.parts = &part, .count = 1, .shard_count = 1};
    const struct repro_store store = {.directory = folder, .shrink_budget = 100, .plan = &plan};
    struct trial_result trial;
    folder_enter("test_cli");
    make_unknowns(&trial);
    for (size_t i = 0; i < 2; i++) {
        const struct saved_repro saved = repro_store_take_oom(&store, &trial, &trial.head.saved[i]);
        ck_assert_int_eq(saved.result, REPRO_STORE_SAVED);
        SHOW(saved.base, saved.op_count);
        show("%s", folder_read("repros/%s.ops", saved.base));
        show("%s", folder_read("certificates/%s.json", saved.base));
        repro_store_forget(&store, saved.base, 0);
    }
    ck_assert_int_eq(rmdir(folder_path("repros")), 0); /* nothing else is there */
    ck_assert_int_eq(rmdir(folder_path("certificates")), 0);
    trial_result_deinit(&trial);
    folder_leave();
}
