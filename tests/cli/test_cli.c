/* What lies under the program: its arguments, its job files, the order in which trials count, and
 * the bytes that travel between its processes. */
#include "campaign/base/message.h"
#include "campaign/base/repro.h"
#include "campaign/engine/repro_store.h"
#include "campaign/plan/job.h"
#include "campaign/plan/lookup.h"
#include "campaign/trials/trial_result.h"
#include "campaign/trials/trials.h"
#include "cli/subcommands.h"
#include "harness/op/ops_file.h"
#include "tests/helpers/scratch.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum exit_code parse_given(const struct subcommand *subcommand, const char *const *given,
                                  struct arguments *arguments)
{
    static const char *words[16];
    static char *argv[16];
    size_t count = 0;
    for (; given[count] != NULL; count++) {
        argv[count] = (char *)given[count];
    }
    return arguments_parse(subcommand, argv, count, words, arguments);
}

TEST(options_take_their_value_in_three_ways)
{
    struct arguments arguments;
    const char *const given[] = {"--seed", "7",  "slow_leak", "--ops=12", "-c",
                                 "64M",    "--", "--odd",     NULL};
    ck_assert_int_eq(parse_given(&subcommand_run, given, &arguments), EXIT_KEPT);
    ck_assert(arguments.run.has_seed);
    ck_assert_uint_eq(arguments.run.seed, 7);
    ck_assert_uint_eq(arguments.run.op_count_max, 12);
    ck_assert_uint_eq(arguments.run.capacity_bytes, 64u << 20);
    ck_assert_uint_eq(arguments.word_count, 2);
    ck_assert_str_eq(arguments.words[0], "slow_leak");
    ck_assert_str_eq(arguments.words[1], "--odd");
}

TEST(the_largest_seed_is_a_seed)
{
    struct arguments arguments;
    const char *const given[] = {"--seed", "18446744073709551615", NULL};
    ck_assert_int_eq(parse_given(&subcommand_run, given, &arguments), EXIT_KEPT);
    ck_assert_uint_eq(arguments.run.seed, UINT64_MAX);
}

TEST(what_is_said_later_overrides_and_the_rest_stays)
{
    struct run_options base = {.seed = 1, .has_seed = true, .chip = "v4", .op_count_max = 5};
    struct run_options over = {
        .capacity_bytes = 512, .seed = 2, .has_regret_max = true, .regret_max = 3};
    ck_assert_ptr_null(option_set(run_option_named("--target-option"), &base, "defrag=none"));
    ck_assert_ptr_null(option_set(run_option_named("--target-option"), &base, "granule=512"));
    ck_assert_ptr_null(option_set(run_option_named("--target-option"), &over, "defrag=slide"));
    ck_assert(run_options_merge(&base, &over));
    ck_assert_uint_eq(base.seed, 1);
    ck_assert_ptr_null(base.chip);
    ck_assert_uint_eq(base.capacity_bytes, 512);
    ck_assert_uint_eq(base.op_count_max, 5);
    ck_assert(base.has_regret_max);
    ck_assert_uint_eq(base.regret_max, 3);
    ck_assert_uint_eq(base.option_count, 2);
    ck_assert_str_eq(base.options[0].value, "slide");
    ck_assert_str_eq(base.options[1].value, "512");
}

TEST(the_nearest_name_is_the_one_with_the_fewest_edits)
{
    static const char *const names[] = {"fragmentation_storm", "slow_leak", "host_skew"};
    ck_assert_str_eq(message_nearest("fragmentation_strom", names, 3), "fragmentation_storm");
    ck_assert_str_eq(message_nearest("slow-leaks", names, 3), "slow_leak");
    const char *const target_names[] = {"hbm", "first_fit", "plant_overlap"};
    ck_assert_str_eq(message_nearest("firstfit", target_names, 3), "first_fit");
    ck_assert_str_eq(message_nearest("plant_overlaps", target_names, 3), "plant_overlap");
    ck_assert_ptr_null(message_nearest("something_else_altogether", target_names, 3));
    ck_assert_ptr_null(message_nearest("xyzzy", names, 3));
    ck_assert_ptr_null(message_nearest("", names, 3));
    char endless[200];
    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    ck_assert_ptr_null(message_nearest(endless, names, 3));
}

TEST(a_job_file_becomes_its_sections)
{
    static const char text[] =
        "; words\n[global]\nseed = 5\n[first]\nscenario = slow_leak\noption.defrag = none\n[slow_leak]\n";
    char path[SCRATCH_PATH_BYTES];
    scratch_name(path, "test_cli");
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, text, sizeof text - 1), sizeof text - 1);
    close(file);
    struct job job;
    ck_assert_int_eq(job_read(path, &job), EXIT_KEPT);
    ck_assert_uint_eq(job.global.seed, 5);
    ck_assert_uint_eq(job.count, 2);
    ck_assert_str_eq(job.sections[0].name, "first");
    ck_assert_str_eq(job.sections[0].scenario, "slow_leak");
    ck_assert_str_eq(job.sections[0].options.options[0].key, "defrag");
    ck_assert_uint_eq(job.sections[1].line, 7);
    ck_assert_ptr_null(job.sections[1].scenario);
    job_deinit(&job);
    (void)unlink(path);
}

static uint64_t planned_op_count(const char *scenario, struct run_options options)
{
    struct plan plan;
    options.names = &scenario;
    options.name_count = 1;
    ck_assert_int_eq(plan_make(&options, 1, &plan), EXIT_KEPT);
    ck_assert_uint_eq(plan.count, 1);
    const uint64_t op_count_max = plan.parts[0].op_count_max;
    plan_deinit(&plan);
    return op_count_max;
}

TEST(a_scenario_may_have_its_own_bound_where_none_is_given)
{
    struct run_options options;
    run_options_init(&options);
    ck_assert_uint_eq(planned_op_count("training_step", options), 20000);
    ck_assert_uint_eq(planned_op_count("slow_leak", options), 230000);
    struct run_options other = options;
    other.op_count_max = 700;
    ck_assert_uint_eq(planned_op_count("slow_leak", other), 700);
    other = options;
    other.trial_count_max = 2;
    ck_assert_uint_eq(planned_op_count("slow_leak", other), UINT64_MAX);
    other = options;
    other.lanes.lane_count = 2; /* its lists are short */
    ck_assert_uint_eq(planned_op_count("slow_leak", other), 20000);
}

/* Two parts of 100 and 30 ops a trial, 250 ops each; nothing is run. */
static const struct scenario long_one = {.name = "long_one", .ops_per_trial = 100};
static const struct scenario short_one = {.name = "short_one", .ops_per_trial = 30};

static void plan_two(struct plan *plan, struct part parts[2], uint64_t op_count_max)
{
    memset(parts, 0, 2 * sizeof *parts);
    parts[0].scenario = &long_one;
    parts[1].scenario = &short_one;
    for (int i = 0; i < 2; i++) {
        parts[i].op_count_max = op_count_max;
        parts[i].trial_count_max = UINT64_MAX;
        parts[i].duration_ns = UINT64_MAX;
    }
    *plan = (struct plan){.parts = parts, .count = 2, .shard_count = 1, .duration_ns = UINT64_MAX};
}

/* The trial that ran: it ended after three quarters of its bound, or at it when odd. */
static struct trial_result trial_result_of(const struct task *task)
{
    struct trial_result trial_result;
    trial_result_init(&trial_result);
    trial_result.head.task = *task;
    trial_result.head.totals.ops = task->trial % 2 == 1 ? task->op_count_max
                                                        : (task->op_count_max * 3 + 3) / 4;
    return trial_result;
}

/* Runs a plan with so many at once, finishing the last started first; appends "part:trial:bound ".
 */
static void run_plan(const struct plan *plan, size_t at_once, struct writing *order)
{
    struct trials *trials = trials_create(plan, 16, 8);
    struct task tasks[8];
    size_t count = 0;
    for (;;) {
        while (count < at_once && trials_next(trials, &tasks[count])) {
            count++;
        }
        if (count == 0) {
            break;
        }
        struct trial_result trial_result = trial_result_of(&tasks[--count]);
        trials_put(trials, &trial_result);
        trial_result_deinit(&trial_result);
        while (trials_take(trials, &trial_result)) {
            const struct task *task = &trial_result.head.task;
            writing_append_format(order, "%u:%lu:%lu ", task->part, (unsigned long)task->trial,
                                  (unsigned long)task->op_count_max);
            trial_result_deinit(&trial_result);
        }
    }
    trials_destroy(trials);
}

TEST(results_count_in_the_same_order_with_any_number_of_workers)
{
    struct part parts[2];
    struct plan plan;
    struct writing alone, together;
    plan_two(&plan, parts, 250);
    writing_init(&alone);
    run_plan(&plan, 1, &alone);
    ck_assert_int_eq(strncmp(alone.bytes, "0:0:100 1:0:30 0:1:100 1:1:30 0:2:75 1:2:30 ", 44), 0);
    for (size_t at_once = 2; at_once <= 8; at_once++) {
        writing_init(&together);
        run_plan(&plan, at_once, &together);
        ck_assert_str_eq(together.bytes, alone.bytes);
        writing_deinit(&together);
    }
    writing_deinit(&alone);
}

TEST(a_scenario_gets_exactly_the_ops_that_were_asked_for)
{
    struct part parts[2];
    struct plan plan;
    plan_two(&plan, parts, 250);
    struct trials *trials = trials_create(&plan, 0, 8);
    struct task task;
    uint64_t op_counts[2] = {0};
    while (trials_next(trials, &task)) {
        struct trial_result trial_result = trial_result_of(&task);
        op_counts[task.part] += trial_result.head.totals.ops;
        trials_put(trials, &trial_result);
        ck_assert(trials_take(trials, &trial_result));
        trial_result_deinit(&trial_result);
    }
    ck_assert_uint_eq(op_counts[0], 250);
    ck_assert_uint_eq(op_counts[1], 250);
    trials_destroy(trials);
}

TEST(what_was_started_still_counts_after_a_stop)
{
    struct part parts[2];
    struct plan plan;
    plan_two(&plan, parts, UINT64_MAX);
    struct trials *trials = trials_create(&plan, 16, 8);
    struct task tasks[3], task;
    for (int i = 0; i < 3; i++) {
        ck_assert(trials_next(trials, &tasks[i]));
    }
    trials_stop(trials);
    ck_assert(!trials_next(trials, &task));
    size_t taken = 0;
    for (int i = 2; i >= 0; i--) {
        struct trial_result trial_result = trial_result_of(&tasks[i]);
        trials_put(trials, &trial_result);
        for (; trials_take(trials, &trial_result); taken++) {
            trial_result_deinit(&trial_result);
        }
    }
    ck_assert_uint_eq(taken, 3);
    trials_destroy(trials);
}

TEST(a_trial_without_ops_ends_its_scenario)
{
    struct part parts[2];
    struct plan plan;
    plan_two(&plan, parts, UINT64_MAX);
    plan.count = 1;
    struct trials *trials = trials_create(&plan, 0, 8);
    struct task task;
    ck_assert(trials_next(trials, &task));
    struct trial_result trial_result;
    trial_result_init(&trial_result);
    trial_result.head.task = task;
    trials_put(trials, &trial_result);
    ck_assert(trials_take(trials, &trial_result));
    ck_assert(!trials_next(trials, &task));
    trial_result_deinit(&trial_result);
    trials_destroy(trials);
}

TEST(a_judgement_survives_its_way_and_no_other_bytes_are_one)
{
    struct trial_result sent, received;
    struct writing bytes;
    trial_result_init(&sent);
    sent.head.task.trial = 9;
    sent.head.has_list = true;
    sent.setup.seed = 77;
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = 4096;
    op_list_append(&sent.ops, &op);
    writing_append(&sent.all, "line one\nline two\n");
    writing_append(&sent.notable, "line two\n");
    writing_append(&sent.certificates, "{}\n");
    sent.head.saved[0] = (struct saved_oom){.verdict = {.kind = VERDICT_UNKNOWN, .op = 5},
                                            .certificate_bytes = 3};
    sent.head.saved_count = 1;
    struct child_piece pieces[TRIAL_RESULT_PIECE_COUNT_MAX];
    const size_t piece_count = trial_result_pack(&sent, pieces);
    writing_init(&bytes);
    for (size_t i = 0; i < piece_count; i++) {
        writing_append_bytes(&bytes, pieces[i].bytes, pieces[i].length);
    }

    for (size_t length = 0; length < bytes.length; length += 1 + length / 64) {
        struct writing first = bytes; /* what cannot be unpacked stays */
        first.length = length;
        trial_result_init(&received);
        ck_assert(!trial_result_unpack(&first, &received));
        trial_result_deinit(&received);
    }

    trial_result_init(&received);
    ck_assert(trial_result_unpack(&bytes, &received));
    ck_assert_uint_eq(received.head.task.trial, 9);
    ck_assert_uint_eq(received.setup.seed, 77);
    ck_assert_uint_eq(received.ops.count, 1);
    ck_assert(op_equal(&received.ops.ops[0], &op));
    ck_assert_str_eq(writing_string(&received.all), "line one\nline two\n");
    ck_assert_str_eq(writing_string(&received.notable), "line two\n");
    ck_assert_str_eq(writing_string(&received.certificates), "{}\n");
    ck_assert_uint_eq(received.head.saved[0].verdict.op, 5);
    trial_result_deinit(&received);
    writing_deinit(&bytes);
    trial_result_deinit(&sent);
}

/* A trial of 8 ops; its third and fifth stayed unknown. */
static void trial_result_with_unknowns(struct trial_result *trial_result)
{
    trial_result_init(trial_result);
    setup_init(&trial_result->setup);
    trial_result->setup.capacity_bytes = 1 << 20;
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = 4096;
    for (int i = 0; i < 8; i++) {
        op_list_append(&trial_result->oom_ops, &op);
    }
    trial_result->head.has_list = true;
    for (uint32_t i = 2; i <= 4; i += 2) {
        struct saved_oom *oom = &trial_result->head.saved[trial_result->head.saved_count++];
        oom->verdict = (struct verdict){.kind = VERDICT_UNKNOWN, .op = i, .reason = "no end"};
        oom->certificate_start = trial_result->certificates.length;
        writing_append_format(&trial_result->certificates, "certificate of op %u\n", i);
        oom->certificate_bytes = trial_result->certificates.length - oom->certificate_start;
    }
}

static void expect_file(const char *path, const char *wanted)
{
    char text[256] = "";
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "no %s", path);
    ck_assert_uint_lt(fread(text, 1, sizeof text - 1, file), sizeof text);
    fclose(file);
    ck_assert_str_eq(text, wanted);
}

TEST(an_unknown_oom_leaves_its_list_up_to_it_and_its_certificate)
{
    char directory[SCRATCH_PATH_BYTES];
    scratch_name(directory, "test_cli");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    struct part parts[2];
    struct plan plan;
    const struct repro_store repro_store = {
        .directory = directory, .shrink_budget = 100, .plan = &plan};
    struct repro_store_paths paths;
    struct trial_result trial_result;
    plan_two(&plan, parts, 250);
    strcpy(parts[0].name, "a part/of two");
    trial_result_with_unknowns(&trial_result);
    for (size_t i = 0; i < 2; i++) {
        const struct saved_oom *oom = &trial_result.head.saved[i];
        const struct saved_repro saved = repro_store_take_oom(&repro_store, &trial_result, oom);
        ck_assert_int_eq(saved.result, REPRO_STORE_SAVED);
        ck_assert_uint_eq(saved.op_count, oom->verdict.op + 1);
        ck_assert_ptr_nonnull(strstr(saved.base, "unknown-a_part_of_two-"));
        repro_store_paths_init(&paths, &repro_store, "repros", saved.base);
        expect_file(paths.certificate, i == 0 ? "certificate of op 2\n" : "certificate of op 4\n");
        struct setup setup;
        struct op_list ops;
        struct ops_file_error error;
        op_list_init(&ops);
        ck_assert_int_eq(ops_file_read(paths.repro, &setup, &ops, &error), OPS_FILE_OK);
        ck_assert_uint_eq(ops.count, oom->verdict.op + 1);
        op_list_deinit(&ops);
        repro_store_forget(&repro_store, saved.base, 0);
    }
    trial_result_deinit(&trial_result);
    static const char *const folders[] = {"/repros", "/certificates", ""};
    for (size_t i = 0; i < 3; i++) {
        char path[SCRATCH_PATH_BYTES + 16];
        snprintf(path, sizeof path, "%s%s", directory, folders[i]);
        ck_assert_int_eq(rmdir(path), 0); /* nothing else is there */
    }
}

TEST(premature_and_unknown_certificates_are_checked_and_one_in_so_many_others)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < UINT64_C(4) * CERTIFICATE_CHECK_PERIOD; i++) {
        ck_assert(certificate_is_due(i, VERDICT_PREMATURE));
        ck_assert(certificate_is_due(i, VERDICT_UNKNOWN));
        count += certificate_is_due(i, VERDICT_JUSTIFIED);
    }
    ck_assert_uint_eq(count, 4);
}

TEST(a_disputed_verdict_is_no_broken_promise)
{
    struct trial_result trial_result;
    trial_result_with_unknowns(&trial_result);
    trial_result.head.first = (struct verdict){.kind = VERDICT_PREMATURE, .rule = RULE_PREMATURE};
    ck_assert_str_eq(trial_result_rule(&trial_result), "premature");
    ck_assert_ptr_null(trial_result_dispute(&trial_result));
    trial_result.head.saved[1].verdict.kind = VERDICT_DISPUTED;
    ck_assert_ptr_null(trial_result_rule(&trial_result));
    ck_assert_ptr_eq(trial_result_dispute(&trial_result), &trial_result.head.saved[1]);
    trial_result_deinit(&trial_result);
}

/* A scenario that is a recorded list, its setup included. */
static struct op_list recorded;
static struct setup recorded_setup;

static void recorded_begin(void *state, struct random *random, struct setup *setup,
                           bool capacity_is_free)
{
    (void)state;
    (void)random;
    (void)capacity_is_free;
    *setup = recorded_setup;
}

static bool recorded_next(void *state, struct random *random, const struct scenario_view *view,
                          struct op *op)
{
    (void)state;
    (void)random;
    if (view->op_number >= recorded.count) {
        return false;
    }
    *op = recorded.ops[view->op_number];
    return true;
}

TEST(a_trial_sends_the_certificates_of_what_stayed_unknown_with_its_list)
{
    struct ops_file_error error;
    op_list_init(&recorded);
    ck_assert_int_eq(ops_file_read(HBMSTRESS_SOURCE_DIR "/tests/cli/cli_unknown.ops",
                                   &recorded_setup, &recorded, &error),
                     OPS_FILE_OK);
    recorded_setup.seed = 3; /* no refusal is asked again */
    const struct scenario scenario = {
        .name = "recorded", .ops_per_trial = 1000, .begin = recorded_begin, .next = recorded_next};
    struct part part = {.name = "recorded", .scenario = &scenario, .setup = recorded_setup};
    ck_assert_int_eq(lookup_target("first_fit", &part.target), EXIT_KEPT);
    const struct plan plan = {.parts = &part, .count = 1};
    const struct task task = {.op_count_max = 1000};
    struct last_words *words = last_words_create();
    struct trial_result trial_result;
    trial_result_init(&trial_result);
    trial_result_make(&plan, &task, words, &trial_result);
    const struct trial_result_head *head = &trial_result.head;
    ck_assert_uint_eq(head->totals.unknown, 2);
    ck_assert_uint_eq(head->saved_count, 2);
    ck_assert_uint_eq(head->certificates_checked, 2);
    ck_assert(head->has_list);
    ck_assert_uint_eq(trial_result.ops.count, recorded.count);
    for (size_t i = 0; i < 2; i++) {
        const struct saved_oom *oom = &head->saved[i];
        char reason[CERTIFICATE_REASON_BYTES];
        ck_assert_int_eq(oom->verdict.kind, VERDICT_UNKNOWN);
        ck_assert(certificate_is_accepted(trial_result.certificates.bytes + oom->certificate_start,
                                          oom->certificate_bytes, reason));
        ck_assert_int_eq(trial_result.all.bytes[oom->all_end - 1], '\n');
        ck_assert_int_eq(trial_result.notable.bytes[oom->notable_end - 1], '\n');
    }
    trial_result_deinit(&trial_result);
    last_words_destroy(words);
    op_list_deinit(&recorded);
}

TEST(a_trial_seed_depends_on_seed_name_and_number_alone)
{
    struct part parts[2];
    struct plan plan;
    plan_two(&plan, parts, 250);
    uint64_t seed = plan_trial_seed(&parts[0], 3);
    ck_assert_uint_ne(seed, plan_trial_seed(&parts[0], 4));
    ck_assert_uint_ne(seed, plan_trial_seed(&parts[1], 3));
    strcpy(parts[0].name, "another section");
    parts[0].op_count_max = 1;
    ck_assert_uint_eq(seed, plan_trial_seed(&parts[0], 3));
    parts[0].setup.seed = 1;
    ck_assert_uint_ne(seed, plan_trial_seed(&parts[0], 3));
}
