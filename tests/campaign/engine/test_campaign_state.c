/* How a campaign counts, reports and saves: results of trials are handed to it one by one, without
 * the workers that would have run them, and what it knows, wrote and says is looked at. */
#include "campaign/engine/private/campaign_state.h"
#include "campaign/plan/plan.h"
#include "explore/strategies/strategies.h"
#include "tests/campaign/shown.h"
#include "tests/campaign/trials/trial_player.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD(target) "hbmstress-ops 1\ncapacity 16K\ngranule 512\ntarget " target "\nseed 1\n"
#define SOUND HEAD("hbm") "0: alloc size=1K\n"
#define REFUSES HEAD("hbm") "0: alloc size=16K\n1: alloc size=1K\n"
#define UNDRAINED                     \
    HEAD("plant_premature_undrained") \
    "0: alloc size=16K\n1: free_after block=0 delay=1s\n2: alloc size=1K\n3: alloc size=2K\n"

enum { PART_COUNT = 2 };

static struct part parts[PART_COUNT];
static struct plan plan;
static struct run_options options;
static struct campaign_description description;
static struct checkpoint checkpoint;
static struct campaign campaign;
static struct last_words *words;

static void drop_campaign(void)
{
    campaign.output.is_failed = false;
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
    folder_leave();
}

/* Two parts with the same list, or a part and the canary. */
static void begin_campaign(const char *text, bool has_canary)
{
    if (campaign.workers != NULL) {
        drop_campaign(); /* the one before */
    }
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
    folder_enter("campaign_state");
    words = last_words_create();
    ck_assert_ptr_nonnull(words);
    checkpoint = (struct checkpoint){.parts = calloc(PART_COUNT, sizeof *checkpoint.parts)};
    campaign = (struct campaign){.options = &options,
                                 .plan = &plan,
                                 .description = &description,
                                 .at = &checkpoint,
                                 .repro_store = {.directory = folder, .plan = &plan},
                                 .start_ns = clock_now_ns()};
    output_init(&campaign.output, true);
    campaign.output.is_pipe_closed = true; /* nobody reads standard output */
    ck_assert_int_eq(output_open_results(&campaign.output, folder, 0), EXIT_KEPT);
    reporter_init(&campaign.reporter, campaign_put, &campaign);
    campaign_describe(&options, &plan, &description);
    campaign_view_init(&campaign.view, &description, folder);
    campaign.trials = trials_create(&plan, 0, 4096);
    ck_assert(syncer_start(&campaign.syncer));
    campaign.workers = workers_create(&plan, 1, UINT64_MAX);
    ck_assert_ptr_nonnull(campaign.workers);
    ck_assert(campaign_description_save(&description, folder));
}

static void end_campaign(void)
{
    snap_rest();
    drop_campaign();
}

EVERY_TEST(.teardown = end_campaign);

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

static struct trial_result run_task(struct task task)
{
    struct trial_result result;
    task.op_count_max = 1000;
    trial_result_init(&result);
    trial_result_make(&plan, &task, words, &result);
    return result;
}

static struct trial_result run_trial(uint32_t part, uint64_t trial)
{
    return run_task((struct task){.part = part, .trial = trial});
}

static void accept_trial(uint32_t part, uint64_t trial)
{
    struct trial_result result = run_trial(part, trial);
    accept_result(&result);
}

static void accept_kept(uint64_t trial)
{
    struct trial_result result = run_task((struct task){.trial = trial, .is_kept = true});
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

/* One of which only the end and its reason are known. */
static void accept_end(uint32_t part, uint64_t trial, enum trial_result_end end, const char *reason)
{
    struct trial_result result = make_result(part, trial);
    result.head.end = end;
    result.head.totals.not_modelled = end == TRIAL_RESULT_DONE;
    (void)snprintf(result.head.reason, sizeof result.head.reason, "%s", reason);
    HEAR(accept_result(&result));
}

/* --- what it knows, line by line --- */

static const char *read_results(void)
{
    output_flush(&campaign.output);
    return folder_read("results.jsonl");
}

/* Lines that have each of these, where there are any. */
static void show_results(void)
{
    static const char *const wanted[] = {"\"type\":\"start\"",
                                         "\"type\":\"trial\"",
                                         "\"type\":\"found\"",
                                         "\"type\":\"broken\"",
                                         "\"type\":\"diagnosis\"",
                                         "\"verdict\":\"justified\"",
                                         "\"verdict\":\"premature\"",
                                         "\"certificate\":\"",
                                         "\"repro\":\"",
                                         "\"kept\":\"",
                                         "\"largest",
                                         "\"known\":true",
                                         "\"signature\":\"premature"};
    show("results:");
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const unsigned count = count_text(read_results(), wanted[i]);
        if (count > 0) {
            show(" %u x %s", count, wanted[i]);
        }
    }
    show("\n");
}

static void show_file(const char *place, const char *base, const char *extension)
{
    show("%s/%s%s is %sthere\n", place, base, extension,
         folder_has("%s/%s%s", place, base, extension) ? "" : "not ");
}

static void show_finding(const struct finding *finding)
{
    SHOW(finding->signature, finding->rule, finding->base);
    GIVEN(finding->part, finding->trial, finding->count, finding->op_count,
          finding->unrepeated_count);
    GIVEN(finding->is_known, finding->is_unrepeated, finding->has_certificate, finding->has_largest,
          finding->largest.bytes);
}

static void show_part(const struct part_state *part)
{
    show("part %td: ", part - checkpoint.parts);
    SHOW(part->trials, part->note);
    show_totals(&part->totals);
    GIVEN(part->look_count, part->growing_count, part->growth.last_bytes, part->growing_tag);
    GIVEN(part->justified_saved, part->findings_only_counted);
}

static void show_state(void)
{
    const struct campaign_state *state = &checkpoint.state;
    const struct report_end *end = &state->end;
    show("campaign: ");
    SHOW(end->trials, campaign_exit_code(&campaign));
    show_totals(&end->totals);
    GIVEN(end->verdicts_omitted, end->trials_omitted, end->certificates_checked, end->known_count);
    GIVEN(end->kept_count, end->kept_omitted, end->kept_bytes > 0);
    GIVEN(state->certificate_count, state->canary_trials, state->is_canary_reported,
          state->is_disputed, campaign.is_alarmed, campaign.is_failed, campaign.output.is_silent);
    for (size_t i = 0; i < PART_COUNT; i++) {
        show_part(&checkpoint.parts[i]);
    }
    for (size_t i = 0; i < checkpoint.findings.count; i++) {
        show_finding(&checkpoint.findings.findings[i]);
    }
    for (size_t at = 0; at < checkpoint.saved_files.length;) {
        const char *name = checkpoint.saved_files.bytes + at;
        show("saved %s\n", name);
        ck_assert_msg(folder_has("%s", name), "%s", name);
        at += strlen(name) + 1;
    }
    show_results();
}

static void snap_state(void)
{
    show_state();
    snap_shown();
}

/* --- counts --- */

TEST(what_a_trial_did_is_counted_in_its_part_and_in_all)
{
    begin_campaign(SOUND, false);
    for (uint32_t i = 0; i < 3; i++) {
        struct trial_result result = make_result(i / 2, i);
        result.head.elapsed_ns = 10 + i;
        result.head.totals.ops = 100;
        result.head.totals.skipped = 7;
        result.head.certificates_checked = 2;
        result.head.fullest = (struct memory_point){3, 50 + i, i == 1 ? 0 : 200};
        accept_result(&result);
    }
    /* One of them ended no op. */
    const struct memory_track *memory = &checkpoint.parts[0].memory;
    SHOW(checkpoint.parts[0].elapsed_ns, memory->added_count, memory->last.op_count,
         memory->last.used_bytes, memory->last.capacity_bytes);
    snap_state();
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
    begin_campaign(SOUND, false);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trial_result result = make_result(0, i);
        result.head.looked_op_count = rows[i].looked_op_count;
        result.head.is_growing = rows[i].is_growing;
        result.head.growth.first_bytes = rows[i].first_bytes;
        result.head.growth.last_bytes = rows[i].last_bytes;
        strcpy(result.head.growing_tag, rows[i].tag);
        accept_result(&result);
        SHOW(checkpoint.parts[0].growing_tag);
    }
    show_part(&checkpoint.parts[0]);
    struct report_campaign report = campaign_view_report(&campaign.view, &checkpoint);
    SHOW(report.results[0].growing_tag, report.results[1].growing_tag);
    checkpoint.parts[0].growing_count = 2;
    checkpoint.parts[0].look_count = 4; /* no more than half of them */
    report = campaign_view_report(&campaign.view, &checkpoint);
    SHOW(report.results[0].growing_tag);
}

TEST(a_refusal_is_noted_in_its_part_and_counts_no_trial)
{
    begin_campaign(SOUND, false);
    accept_end(1, 5, TRIAL_RESULT_REFUSED, "too small");
    SHOW(campaign_view_report(&campaign.view, &checkpoint).results[1].note);
    snap_state();
}

TEST(a_fault_of_ours_ends_the_campaign_with_its_words)
{
    begin_campaign(SOUND, false);
    accept_end(0, 5, TRIAL_RESULT_FAILED, "internal error: x");
    snap_state();
}

TEST(what_was_not_modelled_is_said_once_in_a_part)
{
    begin_campaign(SOUND, false);
    for (uint32_t i = 0; i < 4; i++) {
        char reason[16];
        (void)snprintf(reason, sizeof reason, "reason %u", i);
        accept_end(i % 2, i, TRIAL_RESULT_DONE, reason);
    }
    snap_state();
}

static void show_not_tried(void)
{
    const struct report_campaign report = campaign_view_report(&campaign.view, &checkpoint);
    for (size_t i = 0; i < PART_COUNT; i++) {
        SHOW(report.results[i].not_tried, report.results[i].how);
    }
}

/* Nobody asked for these lanes. */
TEST(lanes_that_cannot_be_modelled_end_all_of_them_and_are_no_failure)
{
    struct trials_progress progress[PART_COUNT];
    begin_campaign(SOUND, false);
    parts[0].is_tentative = parts[1].is_tentative = true;
    accept_end(1, 2, TRIAL_RESULT_DONE, "lane 0 waits in futex");
    checkpoint.state.is_finished = true;
    (void)trials_save(campaign.trials, progress, sizeof *progress);
    SHOW(progress[0].is_finished, progress[1].is_finished);
    show_not_tried();
    snap_state();
}

TEST(a_small_device_that_is_refused_is_noted_once)
{
    begin_campaign(SOUND, false);
    parts[0].small_period = 4;
    parts[0].capacity_is_free = true;
    accept_end(0, 2, TRIAL_RESULT_REFUSED, "too small");
    accept_end(0, 6, TRIAL_RESULT_REFUSED, "too small");
    show_not_tried();
    snap_state();
}

/* --- the canary --- */

static void accept_canary(uint64_t trial, enum rule rule)
{
    struct trials_progress progress[PART_COUNT];
    struct trial_result result = make_result(1, trial);
    if (rule != RULE_NONE) {
        result.head.findings.count = 1;
        result.head.findings.findings[0].verdict = (struct verdict){
            .kind = rule == RULE_PREMATURE ? VERDICT_PREMATURE : VERDICT_BROKEN, .rule = rule};
        trial_result_select(&result, 0);
    }
    accept_result(&result);
    (void)trials_save(campaign.trials, progress, sizeof *progress);
    SHOW(trial, progress[0].is_finished, progress[1].is_finished,
         checkpoint.state.is_canary_reported, campaign_exit_code(&campaign));
}

TEST(a_canary_is_settled_when_its_defect_is_reported)
{
    begin_campaign(UNDRAINED, true);
    checkpoint.state.is_finished = true;
    accept_canary(0, RULE_NONE);
    accept_canary(1, RULE_COUNTERS); /* another rule is not its defect */
    accept_canary(2, RULE_PREMATURE);
    /* A job that was cut short has not shown what it was to show. */
    checkpoint.state.is_finished = false;
    snap_state(); /* it is no job of the user's */
}

TEST(a_canary_that_shows_nothing_is_settled_in_the_end)
{
    begin_campaign(UNDRAINED, true);
    for (uint64_t i = 0; i < CANARY_TRIAL_COUNT_MAX; i++) {
        accept_canary(i, RULE_NONE);
        if (i + 2 < CANARY_TRIAL_COUNT_MAX) {
            (void)shown_take(); /* what is settled stays so: the last two say when it was */
        }
    }
    HEAR(campaign_report_end(&campaign));
    SHOW(checkpoint.state.end.exit_code);
    plan.has_canary = false;
    description.head.has_canary = 0;
    SHOW(campaign_exit_code(&campaign));
}

/* --- out-of-memories that break nothing --- */

TEST(a_few_justified_refusals_have_their_files_named_in_their_lines)
{
    begin_campaign(REFUSES "2: alloc size=2K\n3: alloc size=3K\n", false);
    accept_trial(0, 0);
    show_results();
    ck_assert_uint_eq(count_text(read_results(), "\"}\n"), 4); /* three verdicts and the trial */
    accept_trial(0, 1);                                        /* a part has its files by now */
    accept_trial(1, 0);
    snap_state();
}

TEST(beyond_its_limit_the_file_has_no_justified_refusals_and_no_trials)
{
    begin_campaign(REFUSES "2: alloc size=2K\n", false);
    options.results_limit_bytes = 0;
    accept_trial(0, 9);
    accept_trial(0, 10);
    ck_assert_str_eq(read_results(), "");
    show_state();
    options.results_limit_bytes = 1; /* no byte is there */
    accept_trial(0, 11);
    snap_state();
}

TEST(lists_are_kept_while_they_and_the_results_are_within_the_limit)
{
    uint64_t due = UINT64_MAX; /* what the first trial needs */
    for (uint64_t less = 0; less < 2; less++) {
        begin_campaign(REFUSES, false);
        options.results_limit_bytes = due - less;
        struct trial_result result = make_result(0, 8);
        accept_result(&result); /* not to be kept */
        const uint64_t before_bytes = campaign.output.results_bytes;
        accept_kept(9);
        show_state();
        if (less == 0) {
            const uint64_t kept_bytes = checkpoint.state.end.kept_bytes;
            ck_assert_uint_eq(strlen(folder_read("%s", checkpoint.saved_files.bytes)), kept_bytes);
            const char *verdict = strstr(read_results(), "{\"type\":\"verdict\"");
            due = before_bytes + kept_bytes +
                  (uint64_t)(strstr(strchr(verdict, '\n'), "{\"type\":\"diagnosis\"") - verdict);
        }
    }
}

TEST(what_is_kept_counts_towards_the_limit_of_the_results)
{
    begin_campaign(REFUSES, false);
    accept_kept(9);
    options.results_limit_bytes = campaign.output.results_bytes + checkpoint.state.end.kept_bytes;
    accept_trial(0, 10);
    ck_assert_uint_eq(checkpoint.state.end.verdicts_omitted, 1);
}

TEST(behind_a_failure_nothing_more_is_saved)
{
    for (int i = 0; i < 4; i++) {
        begin_campaign(i < 2 ? REFUSES : UNDRAINED, false);
        campaign.is_failed = i % 2 == 0;
        campaign.output.is_failed = i % 2 == 1;
        accept_kept(0);
        show_state(); /* a finding is counted in the trial alone */
    }
}

TEST(the_first_dispute_is_told_and_its_files_are_kept)
{
    begin_campaign(REFUSES, false);
    for (uint64_t i = 0; i < 2; i++) {
        struct trial_result result = run_trial(i == 0, i == 0 ? 3 : 0);
        ck_assert_uint_eq(result.head.saved_count, 1);
        result.head.saved[0].verdict.kind = VERDICT_DISPUTED;
        strcpy(result.head.saved[0].verdict.reason, "they differ");
        HEAR(accept_result(&result));
        snap_state();
    }
}

/* --- findings --- */

TEST(a_finding_is_counted_and_its_shortest_list_is_kept)
{
    char longer[FINDING_BASE_BYTES];
    begin_campaign(UNDRAINED, false);
    accept_trial(0, 2);
    const struct finding *finding = &checkpoint.findings.findings[0];
    ck_assert_uint_eq(finding->seed, plan_trial_seed(&parts[0], 2));
    show_file("repros", finding->base, ".ops");
    show_file("certificates", finding->base, ".json");
    show_state(); /* a repro has its line at the end */
    show("The same again is no shorter: nothing is written, and it is counted.\n");
    accept_trial(1, 5);
    show_state();
    strcpy(longer, finding->base);
    show("A shorter list takes the place of the longer.\n");
    checkpoint.findings.findings[0].op_count = 4;
    accept_trial(1, 6);
    finding = &checkpoint.findings.findings[0];
    show_file("repros", finding->base, ".ops");
    show_file("repros", longer, ".ops"); /* until a state says so */
    ck_assert(save_state());
    show_file("repros", longer, ".ops");
    show_file("certificates", longer, ".json");
    show_state();
    show("Three are enough: the fourth is counted without a process.\n");
    for (int i = 0; i < 2; i++) {
        struct trial_result result = run_trial(1, 7);
        campaign_accept_trial(&campaign, &result);
        campaign_begin_shrinking(&campaign);
        ck_assert(i == 1 || campaign.shrink_process.child.process == 0);
    }
    SHOW(checkpoint.queue.count);
    show_state();
    campaign_report_entries(&campaign);
    show_results();
}

TEST(files_that_cannot_be_written_fail_the_campaign)
{
    begin_campaign(UNDRAINED, false);
    folder_write("repros", ""); /* where the folder would be */
    HEAR(accept_trial(0, 0));
    snap_state();
}

TEST(text_for_people_takes_the_place_of_the_table)
{
    begin_campaign(UNDRAINED, false);
    campaign.view.is_watching = campaign.view.watch.is_terminal = true;
    campaign.view.watch.lines_drawn = 3;
    HEAR(campaign_report_start(&campaign));
    show("\n");
    SHOW(campaign.view.watch.lines_drawn);
    campaign.view.is_watching = false;
    show_results();
    campaign.is_resumed = true; /* the file has it */
    campaign_report_start(&campaign);
    show_results();
}

TEST(what_the_baseline_knows_does_not_make_it_red)
{
    char signatures[1][SIGNATURE_BYTES];
    begin_campaign(UNDRAINED, false);
    struct trial_result result = run_trial(0, 0);
    memcpy(signatures[0], result.head.signature, sizeof signatures[0]);
    campaign.baseline = (struct baseline){.signatures = signatures, .count = 1};
    accept_result(&result);
    checkpoint.state.is_finished = true;
    show_state();
    campaign_report_end(&campaign);
    snap_state();
    ck_assert_ptr_nonnull(strstr(folder_read("summary.json"), "\"known\":true"));
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
    HEAR(accept_result(&result));
    const struct finding *found = checkpoint.findings.findings;
    SHOW(plan_trial_seed(&parts[0], 0)); /* is in their names */
    ck_assert_uint_eq(found[1].op_count, result_op_count);
    for (size_t i = 0; i < 3; i++) {
        show_file("repros", found[i].base, ".ops");
    }
    snap_state();
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
}

/* A verdict that its list does not show again, alone or after the trials before it. */
TEST(what_its_list_does_not_show_is_counted_as_unrepeated)
{
    begin_campaign(SOUND "1: defragment\n", false);
    for (uint64_t i = 0; i < 5; i++) {
        const struct task task = {.trial = i, .has_list_kept = true};
        struct trial_result result = run_task(task);
        result.head.findings.count = 1;
        result.head.findings.findings[0] = (struct run_finding){
            .verdict = {.kind = VERDICT_BROKEN, .rule = RULE_STATUS}, .count = 2};
        (void)snprintf(result.head.findings.findings[0].signature, SIGNATURE_BYTES, "status: x");
        trial_result_select(&result, 0);
        result.head.totals.broken = 2;
        earlier_tasks_add(&result.earlier, &task, 1);
        HEAR(accept_result(&result)); /* the fifth of them is no more looked for */
    }
    show_state();
    campaign_settle_unrepeated(&campaign); /* what was only counted is no better */
    checkpoint.state.is_finished = true;
    campaign_report_entries(&campaign);
    SHOW(findings_shown_count(&checkpoint.findings));
    snap_state();
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
    ck_assert_int_eq(checkpoint_load(folder, &read, &at), EXIT_KEPT);
    ck_assert(campaign_is_of_plan(&read, &plan));
    ck_assert_int_eq(memcmp(&read.head, &description.head, sizeof read.head), 0);
    ck_assert_int_eq(memcmp(&at.state, &checkpoint.state, sizeof at.state), 0);
    ck_assert_uint_eq(at.state.results_bytes, campaign.output.results_bytes);
    ck_assert_uint_eq(at.saved_files.length, checkpoint.saved_files.length);
    SHOW(read.parts[1].name, at.parts[1].trials, at.findings.count, at.findings.findings[0].base);
    SHOW(at.queue.count, at.queue.entries[0].state == SHRINK_SAVED, at.queue.entries[0].base);
    checkpoint_deinit(&at);
    campaign_description_deinit(&read);
    /* The state from before is still true when what comes then failed. */
    campaign.is_failed = true;
    checkpoint.parts[1].trials = 78;
    ck_assert(!save_state());
    ck_assert_int_eq(checkpoint_load(folder, &read, &at), EXIT_KEPT);
    SHOW(at.parts[1].trials);
    checkpoint_deinit(&at);
    campaign_description_deinit(&read);
}

/* Another bound, setup, fault or way to run lanes decides on other trials. */
TEST(a_plan_with_other_trials_is_another_one)
{
#define OTHER(change)                                                      \
    do {                                                                   \
        (void)(parts[1].change);                                           \
        ck_assert_msg(!campaign_is_of_plan(&description, &plan), #change); \
        parts[1] = before;                                                 \
        ck_assert(campaign_is_of_plan(&description, &plan));               \
    } while (0)
    begin_campaign(UNDRAINED, false);
    const struct part before = parts[1];
    OTHER(name[0] ^= 1);
    OTHER(name[strlen("second") - 1] ^= 1);
    OTHER(setup.seed++);
    OTHER(setup.weights[OP_KIND_COUNT - 1]++);
    OTHER(op_count_max--);
    OTHER(trial_count_max--);
    OTHER(duration_ns--);
    OTHER(capacity_is_free = !before.capacity_is_free);
    OTHER(faults.kinds ^= 1);
    OTHER(lanes.lane_count++);
    OTHER(lanes.schedule_count++);
    OTHER(lanes.argument++);
    OTHER(lanes.backend = LANE_BACKEND_FREE);
    OTHER(lanes.checks_races = true);
    OTHER(lanes.strategy = &strategy_pct);
    OTHER(fault_period++);
    OTHER(small_period++);
    OTHER(head_start++);
    OTHER(stride++);
    plan.count--;
    ck_assert(!campaign_is_of_plan(&description, &plan));
    plan.count++;
    description.head.replay_sample++;
    ck_assert(!campaign_is_of_plan(&description, &plan));
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
    SHOW(head->replay_sample, head->duration_ns, head->shard_index, head->shard_count,
         head->part_count, head->seed_source);
    SHOW(head->requires_probes, head->has_canary, head->allowance.unrepeated, head->setup.seed,
         head->argument_count, said.arguments.length);
    SHOW(said.arguments.bytes, said.arguments.bytes + 7);
    const struct campaign_part *part = &said.parts[1];
    SHOW(part->name, part->note, part->faults, part->setup.target, part->op_count_max,
         part->trial_count_max, part->duration_ns);
    SHOW(part->lanes.strategy, said.parts[0].lanes.strategy);
    campaign_description_deinit(&said);
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
    show_results();
    ck_assert_uint_eq(checkpoint.state.end.totals.premature, 1);
    shrink_all();
    campaign_report_entries(&campaign);
    snap_state();
    snap_lines(folder_read("repros/%s.ops", checkpoint.findings.findings[0].base), "shrunk from");
    ck_assert(!campaign.is_failed);
}

TEST(the_end_is_saved_with_its_reports)
{
    struct campaign_description read;
    struct checkpoint at;
    begin_campaign(UNDRAINED, false);
    plan.setup.seed = description.head.setup.seed = 6;
    ck_assert(campaign_description_save(&description, folder));
    accept_trial(0, 0);
    campaign_report_end(&campaign);
    const struct campaign_state *state = &checkpoint.state;
    SHOW(state->is_finished, state->end.seed, state->end.exit_code);
    ck_assert_int_eq(checkpoint_load(folder, &read, &at), EXIT_KEPT);
    SHOW(at.state.is_finished, count_text(folder_read("summary.json"), "\"exit\":1"),
         count_text(folder_read("junit.xml"), "<failure"));
    checkpoint_deinit(&at);
    campaign_description_deinit(&read);
    /* What was interrupted, or failed, is not finished. */
    for (int i = 0; i < 2; i++) {
        checkpoint.state.end.is_interrupted = i == 0;
        campaign.output.is_failed = i == 1;
        campaign_report_end(&campaign);
        SHOW(state->is_finished, state->end.exit_code);
    }
}
