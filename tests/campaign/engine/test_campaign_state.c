/* How a campaign counts, reports and saves: results of trials are handed to it one by one, without
 * the workers that would have run them, and what it knows, wrote and says is looked at. */
#include "campaign/engine/private/campaign_state.h"
#include "campaign/plan/plan.h"
#include "explore/strategies/strategies.h"
#include "tests/campaign/trials/trial_player.h"
#include "tests/helpers/messages.h"
#include "tests/helpers/scratch.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD(target) "hbmstress-ops 1\ncapacity 16K\ngranule 512\ntarget " target "\nseed 1\n"
#define UNDRAINED                     \
    HEAD("plant_premature_undrained") \
    "0: alloc size=16K\n1: free_after block=0 delay=1s\n2: alloc size=1K\n3: alloc size=2K\n"

enum { TEXT_BYTES = 1 << 16, PART_COUNT = 2 };

static char directory[SCRATCH_PATH_BYTES];
static struct part parts[PART_COUNT];
static struct plan plan;
static struct run_options options;
static struct campaign_description description;
static struct checkpoint checkpoint;
static struct campaign campaign;
static struct last_words *words;

/* Two parts with the same list, or a part and the canary. */
static void begin_campaign(const char *text, bool has_canary)
{
    trial_player_load(text, "first part", &parts[0]);
    op_list_deinit(&trial_player_ops);
    trial_player_load(text, "second", &parts[1]);
    plan = (struct plan){.parts = parts,
                         .count = PART_COUNT,
                         .shard_count = 1,
                         .has_canary = has_canary,
                         .duration_ns = UINT64_MAX};
    setup_init(&plan.setup);
    run_options_init(&options);
    options.shrink_budget = 0;
    scratch_name(directory, "campaign_state");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    words = last_words_create();
    ck_assert_ptr_nonnull(words);
    checkpoint = (struct checkpoint){.parts = calloc(PART_COUNT, sizeof *checkpoint.parts)};
    campaign = (struct campaign){.options = &options,
                                 .plan = &plan,
                                 .description = &description,
                                 .at = &checkpoint,
                                 .repro_store = {.directory = directory, .plan = &plan},
                                 .start_ns = clock_now_ns()};
    output_init(&campaign.output, true);
    campaign.output.is_pipe_closed = true; /* nobody reads standard output */
    ck_assert_int_eq(output_open_results(&campaign.output, directory, 0), EXIT_KEPT);
    reporter_init(&campaign.reporter, campaign_put, &campaign);
    campaign_describe(&options, &plan, &description);
    campaign_view_init(&campaign.view, &description, directory);
    campaign.trials = trials_create(&plan, 0, 4096);
    ck_assert(syncer_start(&campaign.syncer));
    campaign.workers = workers_create(&plan, 1, UINT64_MAX);
    ck_assert_ptr_nonnull(campaign.workers);
    ck_assert(campaign_description_save(&description, directory));
}

static void end_campaign(void)
{
    char command[SCRATCH_PATH_BYTES + 16];
    workers_destroy(campaign.workers);
    syncer_stop(&campaign.syncer);
    writing_deinit(&campaign.unsynced);
    trials_destroy(campaign.trials);
    output_close(&campaign.output);
    campaign_view_deinit(&campaign.view);
    reporter_deinit(&campaign.reporter);
    writing_deinit(&campaign.shrink_process.answer);
    checkpoint_deinit(&checkpoint);
    campaign_description_deinit(&description);
    last_words_destroy(words);
    op_list_deinit(&trial_player_ops);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", directory);
    ck_assert_int_eq(system(command), 0);
}

static void shrink_all(void)
{
    campaign_begin_shrinking(&campaign);
    while (campaign.shrink_process.child.process != 0) {
        campaign_poll_shrinking(&campaign, 10);
        campaign_begin_shrinking(&campaign);
    }
}

/* Counts the result, and waits for what is shrunk behind it. */
static void accept_result(struct trial_result *result)
{
    campaign_accept_trial(&campaign, result);
    shrink_all();
    ck_assert(checkpoint_invariants_hold(&checkpoint, &description));
}

static bool save_state(void)
{
    campaign_save_last(&campaign);
    return !campaign.is_failed && !campaign.output.is_failed;
}

static struct trial_result run_trial(uint32_t part, uint64_t trial)
{
    struct trial_result result;
    const struct task task = {.part = part, .trial = trial, .op_count_max = 1000};
    trial_result_init(&result);
    trial_result_make(&plan, &task, words, &result);
    return result;
}

static void accept_trial(uint32_t part, uint64_t trial)
{
    struct trial_result result = run_trial(part, trial);
    accept_result(&result);
}

/* One that only has numbers. */
static struct trial_result make_result(uint32_t part, uint64_t trial)
{
    struct trial_result result;
    trial_result_init(&result);
    result.head.task = (struct task){.part = part, .trial = trial};
    return result;
}

/* A file of the campaign, or what results.jsonl has by now. */
static const char *read_file(const char *name)
{
    static char text[TEXT_BYTES];
    char path[4 * SCRATCH_PATH_BYTES];
    output_flush(&campaign.output);
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *stream = fopen(path, "re");
    ck_assert_msg(stream != NULL, "there is no %s", path);
    text[fread(text, 1, sizeof text - 1, stream)] = '\0';
    fclose(stream);
    return text;
}

static bool has_file(const char *folder, const char *base, const char *extension)
{
    char path[4 * SCRATCH_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s/%s%s", directory, folder, base, extension);
    return access(path, F_OK) == 0;
}

static unsigned count_text(const char *text, const char *wanted)
{
    unsigned count = 0;
    for (const char *at = strstr(text, wanted); at != NULL; at = strstr(at + 1, wanted)) {
        count++;
    }
    return count;
}

/* --- counts --- */

TEST(what_a_trial_did_is_counted_in_its_part_and_in_all)
{
    begin_campaign(HEAD("hbm") "0: alloc size=1K\n", false);
    for (uint32_t i = 0; i < 3; i++) {
        struct trial_result result = make_result(i / 2, i);
        result.head.elapsed_ns = 10 + i;
        result.head.totals.ops = 100;
        result.head.totals.skipped = 7;
        result.head.certificates_checked = 2;
        result.head.fullest = (struct memory_point){3, 50 + i, i == 1 ? 0 : 200};
        accept_result(&result);
    }
    const struct part_state *first = &checkpoint.parts[0], *second = &checkpoint.parts[1];
    ck_assert_uint_eq(first->trials, 2);
    ck_assert_uint_eq(first->elapsed_ns, 21);
    ck_assert_uint_eq(first->totals.ops, 200);
    ck_assert_uint_eq(first->memory.added_count, 1); /* one of them ended no op */
    ck_assert_uint_eq(first->memory.last.op_count, 107);
    ck_assert_uint_eq(first->memory.last.used_bytes, 50);
    ck_assert_uint_eq(first->memory.last.capacity_bytes, 200);
    ck_assert_uint_eq(second->trials, 1);
    ck_assert_uint_eq(second->totals.ops, 100);
    ck_assert_uint_eq(checkpoint.state.end.trials, 3);
    ck_assert_uint_eq(checkpoint.state.end.totals.ops, 300);
    ck_assert_uint_eq(checkpoint.state.end.certificates_checked, 6);
    ck_assert_uint_eq(count_text(read_file("results.jsonl"), "\"type\":\"trial\""), 3);
    end_campaign();
}

TEST(the_tag_that_grew_most_in_most_trials_is_named)
{
    static const struct {
        uint64_t looked_op_count, first_bytes, last_bytes;
        bool is_growing;
        const char *tag;
    } rows[] = {{0, 0, 0, false, ""},        {4096, 10, 30, true, "weights"},
                {4096, 100, 119, true, "b"}, {4096, 100, 120, true, "c"},
                {4096, 0, 90, false, "d"},   {4096, 1000, 1021, true, "most"}};
    begin_campaign(HEAD("hbm") "0: alloc size=1K\n", false);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trial_result result = make_result(0, i);
        result.head.looked_op_count = rows[i].looked_op_count;
        result.head.is_growing = rows[i].is_growing;
        result.head.growth.first_bytes = rows[i].first_bytes;
        result.head.growth.last_bytes = rows[i].last_bytes;
        strcpy(result.head.growing_tag, rows[i].tag);
        accept_result(&result);
        const struct part_state *part = &checkpoint.parts[0];
        ck_assert_str_eq(part->growing_tag, i == 0                               ? ""
                                            : i + 1 < sizeof rows / sizeof *rows ? "weights"
                                                                                 : "most");
    }
    const struct part_state *part = &checkpoint.parts[0];
    ck_assert_uint_eq(part->look_count, 5);
    ck_assert_uint_eq(part->growing_count, 4);
    ck_assert_uint_eq(part->growth.last_bytes, 1021);
    struct report_campaign report = campaign_view_report(&campaign.view, &checkpoint);
    ck_assert_str_eq(report.results[0].growing_tag, "most");
    ck_assert_ptr_null(report.results[1].growing_tag);
    checkpoint.parts[0].growing_count = 2;
    checkpoint.parts[0].look_count = 4; /* no more than half of them */
    report = campaign_view_report(&campaign.view, &checkpoint);
    ck_assert_ptr_null(report.results[0].growing_tag);
    end_campaign();
}

TEST(a_refusal_is_noted_in_its_part_and_counts_no_trial)
{
    begin_campaign(HEAD("hbm") "0: alloc size=1K\n", false);
    struct trial_result result = make_result(1, 5);
    result.head.end = TRIAL_RESULT_REFUSED;
    strcpy(result.head.reason, "too small");
    accept_result(&result);
    ck_assert_str_eq(checkpoint.parts[1].note,
                     "ended at trial 5: the target refuses its setup: too small");
    ck_assert_uint_eq(checkpoint.parts[1].trials, 0);
    ck_assert_uint_eq(checkpoint.state.end.trials, 0);
    ck_assert_str_eq(campaign_view_report(&campaign.view, &checkpoint).results[1].note,
                     checkpoint.parts[1].note);
    end_campaign();
}

TEST(a_fault_of_ours_ends_the_campaign_with_its_words)
{
    char text[1024];
    begin_campaign(HEAD("hbm") "0: alloc size=1K\n", false);
    struct trial_result result = make_result(0, 5);
    result.head.end = TRIAL_RESULT_FAILED;
    strcpy(result.head.reason, "internal error: x");
    const int before = messages_begin();
    accept_result(&result);
    messages_end(before, text, sizeof text);
    ck_assert_str_eq(text, "hbmstress: internal error: x, in trial 5 of first part. Nothing was "
                           "saved. Please report this.\n");
    ck_assert(campaign.is_failed);
    ck_assert_int_eq(campaign_exit_code(&campaign), EXIT_HARNESS);
    ck_assert_uint_eq(checkpoint.state.end.trials, 0);
    end_campaign();
}

TEST(what_was_not_modelled_is_said_once_in_a_part)
{
    char text[1024];
    begin_campaign(HEAD("hbm") "0: alloc size=1K\n", false);
    const int before = messages_begin();
    for (uint32_t i = 0; i < 4; i++) {
        struct trial_result result = make_result(i % 2, i);
        result.head.totals.not_modelled = 1;
        (void)snprintf(result.head.reason, sizeof result.head.reason, "reason %u", i);
        accept_result(&result);
    }
    messages_end(before, text, sizeof text);
    ck_assert_str_eq(text, "hbmstress: first part, trial 0 was not modelled: reason 0\n"
                           "hbmstress: second, trial 1 was not modelled: reason 1\n");
    end_campaign();
}

/* Nobody asked for these lanes. */
TEST(lanes_that_cannot_be_modelled_end_all_of_them_and_are_no_failure)
{
    struct trials_progress progress[PART_COUNT];
    begin_campaign(HEAD("hbm") "0: alloc size=1K\n", false);
    parts[0].is_tentative = parts[1].is_tentative = true;
    const int before = messages_begin();
    char text[64];
    struct trial_result result = make_result(1, 2);
    result.head.totals.not_modelled = 1;
    (void)snprintf(result.head.reason, sizeof result.head.reason, "lane 0 waits in futex");
    accept_result(&result);
    messages_end(before, text, sizeof text);
    ck_assert_str_eq(text, "");
    ck_assert_str_eq(checkpoint.parts[1].note,
                     "ended at trial 2: not modelled: lane 0 waits in futex");
    ck_assert_str_eq(checkpoint.parts[0].note, "");
    ck_assert_uint_eq(checkpoint.state.end.totals.not_modelled, 0);
    checkpoint.state.is_finished = true;
    ck_assert_int_eq(campaign_exit_code(&campaign), EXIT_KEPT);
    (void)trials_save(campaign.trials, progress, sizeof *progress);
    ck_assert(progress[0].is_finished && progress[1].is_finished);
    const struct report_campaign report = campaign_view_report(&campaign.view, &checkpoint);
    ck_assert_ptr_null(report.results[0].not_tried);
    ck_assert_str_eq(report.results[1].not_tried, "lanes");
    ck_assert_ptr_nonnull(strstr(report.results[1].how, "--free-running"));
    parts[0].is_tentative = parts[1].is_tentative = false;
    end_campaign();
}

TEST(a_small_device_that_is_refused_is_noted_once)
{
    begin_campaign(HEAD("hbm") "0: alloc size=1K\n", false);
    parts[0].small_period = 4;
    parts[0].capacity_is_free = true;
    for (uint64_t trial = 2; trial <= 6; trial += 4) {
        struct trial_result result = make_result(0, trial);
        result.head.end = TRIAL_RESULT_REFUSED;
        (void)snprintf(result.head.reason, sizeof result.head.reason, "too small");
        accept_result(&result);
    }
    ck_assert_str_eq(checkpoint.parts[0].note,
                     "trial 2 and others like it: the target refuses a small device: too small");
    const struct report_campaign report = campaign_view_report(&campaign.view, &checkpoint);
    ck_assert_str_eq(report.results[0].not_tried, "first part");
    ck_assert_ptr_nonnull(strstr(report.results[0].how, "--capacity"));
    parts[0].small_period = 0;
    end_campaign();
}

/* --- the canary --- */

static struct trial_result make_canary_result(uint64_t trial, enum rule rule)
{
    struct trial_result result = make_result(1, trial);
    if (rule != RULE_NONE) {
        result.head.findings.count = 1;
        result.head.findings.findings[0].verdict = (struct verdict){
            .kind = rule == RULE_PREMATURE ? VERDICT_PREMATURE : VERDICT_BROKEN, .rule = rule};
        trial_result_select(&result, 0);
    }
    return result;
}

static bool canary_is_settled(void)
{
    struct trials_progress progress[PART_COUNT];
    (void)trials_save(campaign.trials, progress, sizeof *progress);
    return progress[1].is_finished;
}

TEST(a_canary_is_settled_when_its_defect_is_reported)
{
    begin_campaign(UNDRAINED, true);
    struct trial_result result = make_canary_result(0, RULE_NONE);
    accept_result(&result);
    ck_assert(!canary_is_settled());
    result = make_canary_result(1, RULE_COUNTERS); /* another rule is not its defect */
    accept_result(&result);
    ck_assert(!canary_is_settled());
    ck_assert(!checkpoint.state.is_canary_reported);
    checkpoint.state.is_finished = true;
    ck_assert_int_eq(campaign_exit_code(&campaign), EXIT_HARNESS);
    result = make_canary_result(2, RULE_PREMATURE);
    accept_result(&result);
    ck_assert(canary_is_settled());
    ck_assert(checkpoint.state.is_canary_reported);
    ck_assert_int_eq(campaign_exit_code(&campaign), EXIT_KEPT);
    ck_assert_uint_eq(checkpoint.state.canary_trials, 3);
    ck_assert_uint_eq(checkpoint.state.end.trials, 0); /* it is no job of the user's */
    ck_assert_uint_eq(checkpoint.findings.count, 0);
    struct trials_progress progress[PART_COUNT];
    (void)trials_save(campaign.trials, progress, sizeof *progress);
    ck_assert(progress[1].is_finished && !progress[0].is_finished);
    /* A job that was cut short has not shown what it was to show. */
    checkpoint.state.is_finished = false;
    ck_assert_int_eq(campaign_exit_code(&campaign), EXIT_HARNESS);
    end_campaign();
}

TEST(a_canary_that_shows_nothing_is_settled_in_the_end)
{
    begin_campaign(UNDRAINED, true);
    for (uint64_t i = 0; i < CANARY_TRIAL_COUNT_MAX; i++) {
        struct trials_progress progress[PART_COUNT];
        ck_assert(!canary_is_settled());
        struct trial_result result = make_canary_result(i, RULE_NONE);
        accept_result(&result);
        (void)trials_save(campaign.trials, progress, sizeof *progress);
        ck_assert_int_eq(progress[1].is_finished, i + 1 == CANARY_TRIAL_COUNT_MAX);
    }
    ck_assert(canary_is_settled());
    char text[1024];
    const int before = messages_begin();
    campaign_report_end(&campaign);
    messages_end(before, text, sizeof text);
    ck_assert_str_eq(text, "hbmstress: the canary plant_premature_undrained ran 64 times, but its "
                           "defect was not reported. That this campaign found nothing else proves "
                           "nothing.\n");
    ck_assert_int_eq(checkpoint.state.end.exit_code, EXIT_HARNESS);
    plan.has_canary = false;
    description.head.has_canary = 0;
    ck_assert_int_eq(campaign_exit_code(&campaign), EXIT_KEPT);
    end_campaign();
}

/* --- out-of-memories that break nothing --- */

TEST(a_few_justified_refusals_have_their_files_named_in_their_lines)
{
    begin_campaign(HEAD("hbm") "0: alloc size=16K\n1: alloc size=1K\n2: alloc size=2K\n"
                               "3: alloc size=3K\n",
                   false);
    accept_trial(0, 0);
    const char *lines = read_file("results.jsonl");
    ck_assert_uint_eq(count_text(lines, "\"verdict\":\"justified\""), 3);
    ck_assert_uint_eq(count_text(lines, "\"certificate\":\""), 2);
    ck_assert_uint_eq(count_text(lines, "\"}\n"), 4); /* three verdicts and the trial */
    accept_trial(0, 1);                               /* a part has its files by now */
    accept_trial(1, 0);
    lines = read_file("results.jsonl");
    ck_assert_uint_eq(count_text(lines, "\"certificate\":\""), 4);
    ck_assert_uint_eq(checkpoint.state.certificate_count, 4);
    ck_assert_uint_eq(checkpoint.parts[0].justified_saved, 4);
    unsigned saved_count = 0;
    for (size_t at = 0; at < checkpoint.saved_files.length; saved_count++) {
        const char *name = checkpoint.saved_files.bytes + at;
        ck_assert_int_eq(strncmp(name, "certificates/justified-", 23), 0);
        ck_assert_msg(has_file("", name, ""), "%s", name);
        at += strlen(name) + 1;
    }
    ck_assert_uint_eq(saved_count, 8);
    end_campaign();
}

TEST(beyond_its_limit_the_file_has_no_justified_refusals_and_no_trials)
{
    begin_campaign(HEAD("hbm") "0: alloc size=16K\n1: alloc size=1K\n2: alloc size=2K\n", false);
    options.results_limit_bytes = 0;
    accept_trial(0, 9);
    accept_trial(0, 10);
    ck_assert_str_eq(read_file("results.jsonl"), "");
    ck_assert_uint_eq(checkpoint.state.end.verdicts_omitted, 4);
    ck_assert_uint_eq(checkpoint.state.end.trials_omitted, 2);
    options.results_limit_bytes = 1; /* no byte is there */
    accept_trial(0, 11);
    ck_assert_uint_eq(count_text(read_file("results.jsonl"), "\"verdict\":\"justified\""), 2);
    ck_assert_uint_eq(checkpoint.state.end.verdicts_omitted, 4);
    end_campaign();
}

static void accept_kept(uint64_t trial)
{
    struct trial_result result;
    const struct task task = {.trial = trial, .is_kept = true, .op_count_max = 1000};
    trial_result_init(&result);
    trial_result_make(&plan, &task, words, &result);
    accept_result(&result);
}

TEST(lists_are_kept_while_they_and_the_results_are_within_the_limit)
{
    const struct report_end *end = &checkpoint.state.end;
    uint64_t due = UINT64_MAX; /* what the first trial needs */
    for (uint64_t less = 0; less < 2; less++) {
        begin_campaign(HEAD("hbm") "0: alloc size=16K\n1: alloc size=1K\n", false);
        options.results_limit_bytes = due - less;
        struct trial_result result = make_result(0, 8);
        accept_result(&result); /* not to be kept */
        const uint64_t before_bytes = campaign.output.results_bytes;
        accept_kept(9);
        ck_assert_uint_eq(end->kept_count, 1 - less);
        ck_assert_uint_eq(end->kept_omitted, less);
        ck_assert_uint_eq(end->kept_bytes > 0, 1 - less);
        const char *lines = read_file("results.jsonl");
        ck_assert_uint_eq(count_text(lines, "\"kept\":\""), 1 - less);
        ck_assert_uint_eq(count_text(lines, "\"type\":\"diagnosis\""), 1 - less);
        const char *name = checkpoint.saved_files.bytes;
        ck_assert_uint_eq(checkpoint.saved_files.length > 0, 1 - less);
        if (less == 0) {
            ck_assert_int_eq(strncmp(name, "kept/first_part-", 16), 0);
            ck_assert_uint_eq(strlen(read_file(name)), end->kept_bytes);
            const char *verdict_end = strchr(strstr(read_file("results.jsonl"), "\"verdict\""),
                                             '\n');
            ck_assert_ptr_nonnull(verdict_end);
            due = before_bytes + end->kept_bytes +
                  (uint64_t)(strstr(verdict_end, "{\"type\":\"diagnosis\"") -
                             strstr(read_file("results.jsonl"), "{\"type\":\"verdict\""));
        }
        end_campaign();
    }
}

TEST(what_is_kept_counts_towards_the_limit_of_the_results)
{
    begin_campaign(HEAD("hbm") "0: alloc size=16K\n1: alloc size=1K\n", false);
    accept_kept(9);
    options.results_limit_bytes = campaign.output.results_bytes + checkpoint.state.end.kept_bytes;
    accept_trial(0, 10);
    ck_assert_uint_eq(checkpoint.state.end.verdicts_omitted, 1);
    end_campaign();
}

TEST(behind_a_failure_nothing_more_is_saved)
{
    for (int i = 0; i < 2; i++) {
        begin_campaign(HEAD("hbm") "0: alloc size=16K\n1: alloc size=1K\n", false);
        campaign.is_failed = i == 0;
        campaign.output.is_failed = i == 1;
        accept_kept(0);
        ck_assert_uint_eq(checkpoint.saved_files.length, 0);
        ck_assert_uint_eq(checkpoint.state.certificate_count, 0);
        ck_assert_uint_eq(checkpoint.state.end.trials, 1);
        campaign.output.is_failed = false;
        end_campaign();
        /* A finding is counted in the trial alone. */
        begin_campaign(UNDRAINED, false);
        campaign.is_failed = i == 0;
        campaign.output.is_failed = i == 1;
        accept_kept(0);
        ck_assert_uint_eq(checkpoint.findings.count, 0);
        ck_assert_uint_eq(checkpoint.state.end.totals.premature, 2);
        campaign.output.is_failed = false;
        end_campaign();
    }
}

TEST(the_first_dispute_is_told_and_its_files_are_kept)
{
    char text[2048];
    begin_campaign(HEAD("hbm") "0: alloc size=16K\n1: alloc size=1K\n", false);
    struct trial_result result = run_trial(1, 3);
    ck_assert_uint_eq(result.head.saved_count, 1);
    result.head.saved[0].verdict.kind = VERDICT_DISPUTED;
    strcpy(result.head.saved[0].verdict.reason, "they differ");
    int before = messages_begin();
    accept_result(&result);
    messages_end(before, text, sizeof text);
    const char *alarm = "hbmstress: internal error: the two judges disagree on op 1, trial 3 of "
                        "second, seed ";
    ck_assert_int_eq(strncmp(text, alarm, strlen(alarm)), 0);
    ck_assert_ptr_nonnull(strstr(text, ": they differ. The op list is in "));
    ck_assert(checkpoint.state.is_disputed && campaign.is_alarmed);
    ck_assert_int_eq(campaign_exit_code(&campaign), EXIT_HARNESS);
    ck_assert_int_eq(strncmp(checkpoint.saved_files.bytes, "disputes/second-", 16), 0);
    ck_assert(has_file("", checkpoint.saved_files.bytes, ""));
    ck_assert_uint_eq(count_text(read_file("results.jsonl"), "\"certificate\":\""), 1);
    result = run_trial(0, 0);
    result.head.saved[0].verdict.kind = VERDICT_DISPUTED;
    before = messages_begin();
    accept_result(&result);
    messages_end(before, text, sizeof text);
    ck_assert_str_eq(text, "");
    end_campaign();
}

/* --- findings --- */

TEST(a_finding_is_counted_and_its_shortest_list_is_kept)
{
    char longer[FINDING_BASE_BYTES];
    begin_campaign(UNDRAINED, false);
    accept_trial(0, 2);
    ck_assert_uint_eq(checkpoint.findings.count, 1);
    const struct finding *finding = &checkpoint.findings.findings[0];
    ck_assert_str_eq(finding->rule, "premature");
    ck_assert_uint_eq(finding->count, 1);
    ck_assert_uint_eq(finding->part, 0);
    ck_assert_uint_eq(finding->trial, 2);
    ck_assert_uint_eq(finding->seed, plan_trial_seed(&parts[0], 2));
    ck_assert_uint_eq(finding->op_count, 3);
    ck_assert_uint_eq(finding->has_largest, 1);
    ck_assert_uint_eq(finding->largest.bytes, 16 << 10);
    ck_assert_uint_eq(finding->is_known, 0);
    ck_assert_uint_eq(finding->has_certificate, 1);
    ck_assert_uint_eq(checkpoint.state.certificate_count, 1);
    ck_assert_int_eq(strncmp(finding->base, "premature-first_part-", 21), 0);
    ck_assert(has_file("repros", finding->base, ".ops"));
    ck_assert(has_file("certificates", finding->base, ".json"));
    ck_assert_ptr_nonnull(strstr(read_file("results.jsonl"), "\"type\":\"found\""));
    ck_assert_ptr_null(strstr(read_file("results.jsonl"), "\"repro\":\"")); /* at the end */

    /* The same again is no shorter: nothing is written, and it is counted. */
    accept_trial(1, 5);
    ck_assert_uint_eq(checkpoint.findings.findings[0].count, 2);
    ck_assert_uint_eq(checkpoint.findings.findings[0].trial, 2);
    ck_assert_uint_eq(checkpoint.state.certificate_count, 1);
    strcpy(longer, finding->base);

    /* A shorter list takes the place of the longer. */
    checkpoint.findings.findings[0].op_count = 4;
    accept_trial(1, 6);
    finding = &checkpoint.findings.findings[0];
    ck_assert_uint_eq(finding->count, 3);
    ck_assert_uint_eq(finding->op_count, 3);
    ck_assert_str_ne(finding->base, longer);
    ck_assert(has_file("repros", finding->base, ".ops"));
    ck_assert(has_file("repros", longer, ".ops")); /* until a state says so */
    ck_assert(save_state());
    ck_assert(!has_file("repros", longer, ".ops"));
    ck_assert(!has_file("certificates", longer, ".json"));
    ck_assert_uint_eq(checkpoint.state.certificate_count, 1);

    /* Three are enough: the fourth is counted without a process. */
    struct trial_result result = run_trial(1, 7);
    campaign_accept_trial(&campaign, &result);
    campaign_begin_shrinking(&campaign);
    ck_assert_int_eq(campaign.shrink_process.child.process, 0);
    result = run_trial(1, 7);
    campaign_accept_trial(&campaign, &result);
    ck_assert_uint_eq(checkpoint.parts[1].findings_only_counted, 1);
    ck_assert_uint_eq(checkpoint.queue.count, 4);
    ck_assert_uint_eq(checkpoint.findings.findings[0].count, 5);
    ck_assert_uint_eq(checkpoint.state.end.trials, 5);
    ck_assert_uint_eq(checkpoint.state.end.totals.premature, 10);
    ck_assert_uint_eq(count_text(read_file("results.jsonl"), "\"type\":\"trial\""), 5);
    ck_assert_int_eq(campaign_exit_code(&campaign), EXIT_BROKEN);
    campaign_report_entries(&campaign);
    ck_assert_uint_eq(count_text(read_file("results.jsonl"), "\"repro\":\""), 1);
    ck_assert_uint_eq(count_text(read_file("results.jsonl"), "\"signature\":\"premature"), 11);
    end_campaign();
}

TEST(files_that_cannot_be_written_fail_the_campaign)
{
    char path[2 * SCRATCH_PATH_BYTES], text[2048];
    begin_campaign(UNDRAINED, false);
    (void)snprintf(path, sizeof path, "%s/repros", directory);
    FILE *stream = fopen(path, "we"); /* where the folder would be */
    ck_assert_ptr_nonnull(stream);
    fclose(stream);
    const int before = messages_begin();
    accept_trial(0, 0);
    messages_end(before, text, sizeof text);
    ck_assert_uint_eq(count_text(text, "\n"), 1);
    ck_assert(campaign.is_failed && campaign.output.is_silent);
    ck_assert_uint_eq(checkpoint.findings.count, 1);
    ck_assert_str_eq(checkpoint.findings.findings[0].base, "");
    ck_assert_uint_eq(checkpoint.state.certificate_count, 0);
    ck_assert_ptr_null(strstr(read_file("results.jsonl"), "\"repro\":"));
    end_campaign();
}

TEST(text_for_people_takes_the_place_of_the_table)
{
    char text[2048];
    begin_campaign(UNDRAINED, false);
    campaign.view.is_watching = campaign.view.watch.is_terminal = true;
    campaign.view.watch.lines_drawn = 3;
    const int before = messages_begin();
    campaign_report_start(&campaign);
    messages_end(before, text, sizeof text);
    ck_assert_uint_eq(campaign.view.watch.lines_drawn, 0);
    ck_assert_str_ne(text, "");
    campaign.view.is_watching = false;
    ck_assert_uint_eq(count_text(read_file("results.jsonl"), "\"type\":\"start\""), 1);
    campaign.is_resumed = true; /* the file has it */
    campaign_report_start(&campaign);
    ck_assert_uint_eq(count_text(read_file("results.jsonl"), "\"type\":\"start\""), 1);
    end_campaign();
}

TEST(what_the_baseline_knows_does_not_make_it_red)
{
    char signatures[1][SIGNATURE_BYTES];
    begin_campaign(UNDRAINED, false);
    struct trial_result result = run_trial(0, 0);
    memcpy(signatures[0], result.head.signature, sizeof signatures[0]);
    campaign.baseline = (struct baseline){.signatures = signatures, .count = 1};
    accept_result(&result);
    ck_assert_uint_eq(checkpoint.findings.findings[0].is_known, 1);
    checkpoint.state.is_finished = true;
    ck_assert_int_eq(campaign_exit_code(&campaign), EXIT_KEPT);
    campaign_report_end(&campaign);
    ck_assert_uint_eq(count_text(read_file("results.jsonl"), "\"known\":true"), 2);
    ck_assert_uint_eq(checkpoint.state.end.known_count, 1);
    ck_assert_ptr_nonnull(strstr(read_file("summary.json"), "\"known\":true"));
    end_campaign();
}

/* Two signatures in one trial, the second seen under another schedule by the same op and rule. */
TEST(each_finding_of_a_trial_has_files_of_its_own)
{
    begin_campaign(UNDRAINED, false);
    struct trial_result result = run_trial(0, 0);
    struct run_findings *findings = &result.head.findings;
    const size_t result_op_count = result.ops.count;
    findings->count = 3;
    for (size_t i = 1; i < 3; i++) {
        findings->findings[i] = findings->findings[0];
        findings->findings[i].verdict.rule = RULE_OVERRUN; /* was seen, shown again or not */
        findings->findings[i].verdict.kind = VERDICT_BROKEN;
        findings->findings[i].verdict.op = 1;
        (void)snprintf(findings->findings[i].signature, SIGNATURE_BYTES, "overrun: %zu", i);
    }
    accept_result(&result);
    ck_assert_uint_eq(checkpoint.findings.count, 3);
    const struct finding *found = checkpoint.findings.findings;
    char wanted[FINDING_BASE_BYTES];
    const unsigned long long seed = plan_trial_seed(&parts[0], 0);
    (void)snprintf(wanted, sizeof wanted, "premature-first_part-%llu", seed);
    ck_assert_str_eq(found[0].base, wanted);
    (void)snprintf(wanted, sizeof wanted, "overrun-first_part-%llu-op1", seed);
    ck_assert_str_eq(found[1].base, wanted);
    (void)snprintf(wanted, sizeof wanted, "overrun-first_part-%llu-op1-2", seed);
    ck_assert_str_eq(found[2].base, wanted);
    ck_assert_uint_eq(found[0].is_unrepeated, 0);
    ck_assert_uint_eq(found[1].is_unrepeated, 1);
    ck_assert_uint_eq(found[1].op_count, result_op_count);
    ck_assert_uint_eq(found[1].has_certificate, 0);
    ck_assert_uint_eq(found[1].has_largest, 0);
    ck_assert_uint_eq(checkpoint.state.certificate_count, 1);
    for (size_t i = 0; i < 3; i++) {
        ck_assert(has_file("repros", found[i].base, ".ops"));
    }
    ck_assert_uint_eq(count_text(read_file("results.jsonl"), "\"type\":\"trial\""), 1);
    end_campaign();
}

/* Ctrl-C ends shrinking: nobody knows whether that list shows it again. */
TEST(what_was_interrupted_replaces_no_repro)
{
    begin_campaign(UNDRAINED, false);
    accept_trial(0, 2);
    struct finding *finding = &checkpoint.findings.findings[0];
    finding->op_count = 1000;
    finding->before_count = 2;
    struct trial_result result = run_trial(0, 3);
    struct saved_repro saved = repro_store_take(&campaign.repro_store, &result,
                                                &checkpoint.findings, false);
    ck_assert_int_eq(saved.result, REPRO_STORE_LONGER);
    finding->base[0] = '\0';
    saved = repro_store_take(&campaign.repro_store, &result, &checkpoint.findings, false);
    ck_assert_int_eq(saved.result, REPRO_STORE_SAVED);
    trial_result_deinit(&result);
    end_campaign();
}

/* A verdict that its list does not show again, alone or after the trials before it. */
TEST(what_its_list_does_not_show_is_counted_as_unrepeated)
{
    char text[1024];
    begin_campaign(HEAD("hbm") "0: alloc size=1K\n1: defragment\n", false);
    const int before = messages_begin();
    for (uint64_t i = 0; i < 5; i++) {
        const struct task task = {.op_count_max = 1000, .trial = i, .has_list_kept = true};
        struct trial_result result;
        trial_result_init(&result);
        trial_result_make(&plan, &task, words, &result);
        result.head.findings.count = 1;
        result.head.findings.findings[0] = (struct run_finding){
            .verdict = {.kind = VERDICT_BROKEN, .rule = RULE_STATUS}, .count = 2};
        (void)snprintf(result.head.findings.findings[0].signature, SIGNATURE_BYTES, "status: x");
        trial_result_select(&result, 0);
        result.head.totals.broken = 2;
        earlier_tasks_add(&result.earlier, &task, 1);
        accept_result(&result);
    }
    messages_end(before, text, sizeof text);
    const struct finding *finding = &checkpoint.findings.findings[0];
    ck_assert_uint_eq(finding->unrepeated_count, 4);
    ck_assert_uint_eq(checkpoint.state.end.totals.broken, 2);
    campaign_settle_unrepeated(&campaign); /* what was only counted is no better */
    checkpoint.state.is_finished = true;
    ck_assert_uint_eq(checkpoint.state.end.totals.broken, 0);
    ck_assert_uint_eq(checkpoint.state.end.totals.unrepeated, 10);
    ck_assert_uint_eq(checkpoint.parts[0].totals.unrepeated, 10);
    ck_assert_uint_eq(checkpoint.findings.count, 1);
    ck_assert_uint_eq(finding->unrepeated_count, 5);
    ck_assert_uint_eq(findings_shown_count(&checkpoint.findings), 0);
    ck_assert_int_eq(campaign_exit_code(&campaign), EXIT_UNKNOWN);
    /* The fifth of them was no more looked for. */
    ck_assert_uint_eq(count_text(text, "hbmstress: unrepeated: status: x, in trial "), 4);
    ck_assert_uint_eq(count_text(text, " alone or after the trials before it; the op list is in "),
                      4);
    campaign_report_entries(&campaign);
    ck_assert_uint_eq(count_text(read_file("results.jsonl"), "\"type\":\"broken\""), 1);
    end_campaign();
}

/* --- the state on the disk --- */

TEST(another_process_reads_the_state_that_was_saved)
{
    struct campaign_description read;
    struct checkpoint at;
    begin_campaign(UNDRAINED, false);
    accept_trial(0, 0);
    checkpoint.parts[1].trials = 77;
    ck_assert(save_state());
    campaign_save(&campaign, false); /* it was a moment ago */
    ck_assert(!campaign.syncer.is_busy);
    ck_assert_int_eq(checkpoint_load(directory, &read, &at), EXIT_KEPT);
    ck_assert(campaign_is_of_plan(&read, &plan));
    ck_assert_int_eq(memcmp(&read.head, &description.head, sizeof read.head), 0);
    ck_assert_str_eq(read.parts[1].name, "second");
    ck_assert_int_eq(memcmp(&at.state, &checkpoint.state, sizeof at.state), 0);
    ck_assert_uint_eq(at.state.results_bytes, campaign.output.results_bytes);
    ck_assert_uint_eq(at.parts[1].trials, 77);
    ck_assert_uint_eq(at.findings.count, 1);
    ck_assert_str_eq(at.findings.findings[0].base, checkpoint.findings.findings[0].base);
    ck_assert_uint_eq(at.queue.count, 1);
    ck_assert_uint_eq(at.queue.entries[0].state, SHRINK_SAVED);
    ck_assert_str_eq(at.queue.entries[0].base, checkpoint.findings.findings[0].base);
    ck_assert_uint_eq(at.saved_files.length, checkpoint.saved_files.length);
    checkpoint_deinit(&at);
    campaign_description_deinit(&read);
    /* The state from before is still true when what comes then failed. */
    campaign.is_failed = true;
    checkpoint.parts[1].trials = 78;
    ck_assert(!save_state());
    ck_assert_int_eq(checkpoint_load(directory, &read, &at), EXIT_KEPT);
    ck_assert_uint_eq(at.parts[1].trials, 77);
    checkpoint_deinit(&at);
    campaign_description_deinit(&read);
    end_campaign();
}

/* Another bound, setup, fault or way to run lanes decides on other trials. */
TEST(a_plan_with_other_trials_is_another_one)
{
    begin_campaign(UNDRAINED, false);
    struct part *second = &parts[1];
    const struct part before = *second;
    struct part changed[18];
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
        changed[i] = before;
    }
    changed[0].name[strlen(changed[0].name) - 1] ^= 1;
    changed[1].setup.seed++;
    changed[2].setup.weights[OP_KIND_COUNT - 1]++;
    changed[3].op_count_max--;
    changed[4].trial_count_max--;
    changed[5].duration_ns--;
    changed[6].capacity_is_free = !before.capacity_is_free;
    changed[7].faults.kinds ^= 1;
    changed[8].lanes.lane_count++;
    changed[9].lanes.schedule_count++;
    changed[10].lanes.argument++;
    changed[11].lanes.backend = LANE_BACKEND_FREE;
    changed[12].lanes.checks_races = true;
    changed[13].lanes.strategy = &strategy_pct;
    changed[14].fault_period++;
    changed[15].small_period++;
    changed[16].head_start++;
    changed[17].stride++;
    ck_assert(campaign_is_of_plan(&description, &plan));
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
        *second = changed[i];
        ck_assert_msg(!campaign_is_of_plan(&description, &plan), "row %zu", i);
    }
    *second = before;
    ck_assert(campaign_is_of_plan(&description, &plan));
    plan.count--;
    ck_assert(!campaign_is_of_plan(&description, &plan));
    plan.count++;
    description.head.replay_sample++;
    ck_assert(!campaign_is_of_plan(&description, &plan));
    end_campaign();
}

TEST(a_description_says_what_the_plan_and_the_options_do)
{
    char *const raw[] = {"--seed", "7"};
    struct campaign_description said;
    begin_campaign(UNDRAINED, false);
    options.raw = raw;
    options.raw_count = 2;
    options.replay_sample = 5;
    plan.duration_ns = 9;
    plan.shard_index = 2;
    plan.shard_count = 3;
    plan.has_required_probes = true;
    plan.allowance.unrepeated = 4;
    plan.setup.seed = 6;
    strcpy(plan.seed_source, "of commit 1");
    parts[1].op_count_max = 11;
    parts[1].trial_count_max = 12;
    parts[1].duration_ns = 13;
    strcpy(parts[1].note, "n");
    parts[1].faults.kinds = 1;
    parts[1].lanes = (struct lane_options){
        .lane_count = 4, .strategy = &strategy_pct, .backend = LANE_BACKEND_THREADS};
    campaign_describe(&options, &plan, &said);
    const struct campaign_head *head = &said.head;
    ck_assert_uint_eq(head->replay_sample, 5);
    ck_assert_uint_eq(head->duration_ns, 9);
    ck_assert_uint_eq(head->shard_index, 2);
    ck_assert_uint_eq(head->shard_count, 3);
    ck_assert_uint_eq(head->part_count, PART_COUNT);
    ck_assert_uint_eq(head->argument_count, 2);
    ck_assert_uint_eq(head->requires_probes, 1);
    ck_assert_uint_eq(head->has_canary, 0);
    ck_assert_uint_eq(head->allowance.unrepeated, 4);
    ck_assert_uint_eq(head->setup.seed, 6);
    ck_assert_str_eq(head->seed_source, "of commit 1");
    ck_assert_uint_eq(said.arguments.length, 9);
    ck_assert_int_eq(memcmp(said.arguments.bytes, "--seed\0007", 9), 0);
    const struct campaign_part *part = &said.parts[1];
    ck_assert_str_eq(part->name, "second");
    ck_assert_str_eq(part->note, "n");
    ck_assert_str_ne(part->faults, "");
    ck_assert_str_eq(part->setup.target, "plant_premature_undrained");
    ck_assert_uint_eq(part->op_count_max, 11);
    ck_assert_uint_eq(part->trial_count_max, 12);
    ck_assert_uint_eq(part->duration_ns, 13);
    ck_assert_str_eq(part->lanes.strategy, "pct");
    ck_assert_str_eq(said.parts[0].lanes.strategy, "");
    campaign_description_deinit(&said);
    end_campaign();
}

/* What shrinks the list is a process of its own; the ops that show nothing go. */
TEST(a_finding_is_shrunk_in_the_background)
{
    begin_campaign(HEAD("plant_premature_undrained") "0: alloc size=512\n1: report\n"
                                                     "2: free block=0\n3: alloc size=16K\n"
                                                     "4: free_after block=3 delay=1s\n"
                                                     "5: report\n6: alloc size=1K\n7: report\n",
                   false);
    campaign.repro_store.shrink_budget = 500;
    struct trial_result result = run_trial(0, 0);
    campaign_accept_trial(&campaign, &result);
    campaign_begin_shrinking(&campaign);
    ck_assert_int_ne(campaign.shrink_process.child.process, 0);
    ck_assert_uint_eq(checkpoint.state.end.totals.premature, 1);
    ck_assert_uint_eq(count_text(read_file("results.jsonl"), "\"type\":\"trial\""), 1);
    shrink_all();
    campaign_report_entries(&campaign);
    const struct finding *finding = &checkpoint.findings.findings[0];
    ck_assert_uint_eq(finding->op_count, 3);
    ck_assert_uint_eq(finding->has_certificate, 1);
    ck_assert_uint_eq(count_text(read_file("results.jsonl"), "\"largest"), 1);
    ck_assert_uint_eq(count_text(read_file("results.jsonl"), "\"type\":\"trial\""), 1);
    char name[FINDING_BASE_BYTES + 16];
    (void)snprintf(name, sizeof name, "repros/%s.ops", finding->base);
    ck_assert_ptr_nonnull(strstr(read_file(name), "shrunk from 8 ops"));
    ck_assert(!campaign.is_failed);
    end_campaign();
}

TEST(the_end_is_saved_with_its_reports)
{
    struct campaign_description read;
    struct checkpoint at;
    begin_campaign(UNDRAINED, false);
    plan.setup.seed = description.head.setup.seed = 6;
    ck_assert(campaign_description_save(&description, directory));
    accept_trial(0, 0);
    campaign_report_end(&campaign);
    ck_assert(checkpoint.state.is_finished);
    ck_assert_uint_eq(checkpoint.state.end.seed, 6);
    ck_assert_int_eq(checkpoint.state.end.exit_code, EXIT_BROKEN);
    ck_assert_int_eq(checkpoint_load(directory, &read, &at), EXIT_KEPT);
    ck_assert(at.state.is_finished);
    ck_assert_ptr_nonnull(strstr(read_file("summary.json"), "\"exit\":1"));
    ck_assert_ptr_nonnull(strstr(read_file("junit.xml"), "<failure"));
    checkpoint_deinit(&at);
    campaign_description_deinit(&read);
    /* What was interrupted, or failed, is not finished. */
    checkpoint.state.end.is_interrupted = true;
    campaign_report_end(&campaign);
    ck_assert(!checkpoint.state.is_finished);
    checkpoint.state.end.is_interrupted = false;
    campaign.output.is_failed = true;
    campaign_report_end(&campaign);
    ck_assert(!checkpoint.state.is_finished);
    ck_assert_int_eq(checkpoint.state.end.exit_code, EXIT_HARNESS);
    campaign.output.is_failed = false;
    end_campaign();
}
