/* The sweep of all parts of a plan: what each list came to, and what all did. */
#include "campaign/sweep/sweep_campaign.h"

#include "campaign/base/clock.h"
#include "campaign/base/interrupt.h"
#include "campaign/base/repro.h"
#include "campaign/engine/output.h"
#include "campaign/plan/plan.h"
#include "campaign/plan/run_options.h"
#include "campaign/process/shrink_process.h"
#include "campaign/trials/trials.h"
#include "harness/base/check.h"
#include "harness/base/json.h"
#include "harness/base/shell.h"
#include "harness/op/ops_file.h"
#include "present/json_lines.h"
#include "present/reporter.h"
#include "present/table.h"
#include "present/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FAULTS_REFUSING = ((1u << FAULT_CALL_COUNT) - 1u) | 1u << FAULT_ANY | 1u << FAULT_REGION };

struct sweeping {
    const struct run_options *options;
    const struct plan *plan;
    const char *directory;
    struct output output;
    struct sweep_campaign *sweep_campaign;
    struct sweep_sites sites; /* of all parts */
    struct report_end end;
    uint64_t swept_count, calls, failed_once, failed_for_ever, findings;
    uint64_t start_ns;
    bool is_failed; /* a message was given */
    bool is_disputed, is_incomplete;
    bool is_stopped;              /* by ctrl-C, before all was swept */
    char path[OUTPUT_PATH_BYTES]; /* of the last list that was saved */
    char replay[OUTPUT_REPLAY_BYTES];
    struct verdict shown; /* what that list shows, when it was shrunk */
    struct reporter reporter;
    struct writing text;
};

/* --- what is saved of a finding --- */

/* OUT/FOLDER/RULE-PART-SEED-FAULT.ops.  False: a message was given. */
static bool choose_path(struct sweeping *sweeping, const struct sweep_note *note,
                        const char *folder, const char *rule, const char *part)
{
    char directory[OUTPUT_PATH_BYTES], base[320], place[SWEEP_PLACE_BYTES];
    snprintf(base, sizeof base, "%.48s-%.64s-%" PRIu64 "-%s", rule, part, note->setup.seed,
             sweep_place_print(&note->place, place));
    file_name_clean(base);
    const int length = snprintf(directory, sizeof directory, "%s/%s", sweeping->directory, folder);
    if (length < 0 || (size_t)length + sizeof base + 8 > sizeof directory) {
        (void)message_fail(EXIT_HARNESS, "%s: the path is too long", sweeping->directory);
        return false;
    }
    snprintf(sweeping->path, sizeof sweeping->path, "%.3700s/%s.ops", directory, base);
    char word[SHELL_WORD_BYTES(sizeof sweeping->path)];
    snprintf(sweeping->replay, sizeof sweeping->replay, "hbmstress replay %s",
             shell_word(sweeping->path, word));
    return true;
}

/* NULL: it may be. */
static const char *find_obstacle(const struct sweeping *sweeping, const struct sweep_note *note)
{
    if (sweeping->options->shrink_budget == 0) {
        return "the budget is 0";
    }
    if (note->is_whole || note->verdict.kind == VERDICT_DISPUTED) {
        return "the whole list belongs to the finding";
    }
    return sweeping->end.is_interrupted ? "it was interrupted" : NULL;
}

static void shrink_note(const struct sweeping *sweeping, const struct sweep_note *note,
                        const struct target *target, struct shrunk *shrunk)
{
    const char *why_not = find_obstacle(sweeping, note);
    const struct shrink_process shrink_process = {
        .target = target,
        .setup = &note->setup,
        .ops = &note->ops,
        .replay_count_max = sweeping->options->shrink_budget};
    if (why_not == NULL && shrink_process_run(&shrink_process, shrunk) == SHRINK_PROCESS_DONE) {
        return;
    }
    if (why_not != NULL) {
        snprintf(shrunk->why, sizeof shrunk->why, "%s", why_not);
    }
    op_list_copy(&shrunk->ops, &note->ops);
}

static bool write_list(struct sweeping *sweeping, const struct sweep_note *note,
                       const struct shrunk *shrunk, const char *rule)
{
    char place[SWEEP_PLACE_BYTES], headline[512], shrunk_from[64] = "";
    const bool is_shrunk = shrunk->why[0] == '\0';
    snprintf(headline, sizeof headline, "broke %s in a sweep, %s", rule,
             sweep_place_print(&note->place, place));
    if (is_shrunk) {
        snprintf(shrunk_from, sizeof shrunk_from, "shrunk from %zu ops", note->ops.count);
    }
    const struct repro repro = {.setup = &note->setup,
                                .ops = &shrunk->ops,
                                .headline = headline,
                                .reason = is_shrunk ? shrunk->first.reason : note->verdict.reason,
                                .shrunk_from = shrunk_from,
                                .message = note->message,
                                .not_shrunk = shrunk->why,
                                .not_to_the_end = shrunk->cut,
                                .replay = sweeping->replay};
    return repro_write(sweeping->path, &repro) == EXIT_KEPT;
}

/* Saves the list of a note.  A promise that broke while the target was opened has no list. */
static bool save_note(struct sweeping *sweeping, const struct part *part,
                      const struct sweep_note *note, struct report_finding *finding)
{
    const char *rule = finding->rule == NULL ? "disputed" : finding->rule;
    if (note->ops.count == 0) {
        return true;
    }
    struct shrunk shrunk = {0};
    op_list_init(&shrunk.ops);
    writing_init(&shrunk.certificate);
    bool is_saved = choose_path(sweeping, note, finding->rule == NULL ? "disputes" : "repros", rule,
                                part->name);
    if (is_saved) {
        shrink_note(sweeping, note, part->target, &shrunk);
        is_saved = write_list(sweeping, note, &shrunk, rule);
        finding->repro = sweeping->path;
        finding->replay = sweeping->replay;
        finding->op_count = shrunk.ops.count;
        if (shrunk.why[0] == '\0') { /* its op numbers are those of the file */
            sweeping->shown = shrunk.first;
            finding->verdict = &sweeping->shown;
        }
    }
    writing_deinit(&shrunk.certificate);
    op_list_deinit(&shrunk.ops);
    return is_saved;
}

static struct report_strike describe_strike(const struct sweep_place *place)
{
    const bool is_plain = place->phase == SWEEP_PLAIN;
    return (struct report_strike){.phase = is_plain                     ? "plain"
                                           : place->phase == SWEEP_OPEN ? "open"
                                                                        : "list",
                                  .fault = is_plain ? NULL : fault_info(place->kind)->name,
                                  .mode = is_plain ? NULL : sweep_mode_name(place->mode),
                                  .host = place->host,
                                  .call = place->call};
}

static void print_finding(struct sweeping *sweeping, const struct part *part,
                          const struct sweep_note *note)
{
    const bool is_dispute = note->verdict.kind == VERDICT_DISPUTED;
    struct report_finding finding = {.place = {part->name, note->trial},
                                     .verdict = &note->verdict,
                                     .rule = is_dispute ? NULL
                                                        : rule_info(note->verdict.rule)->name,
                                     .message = note->message,
                                     .largest = note->has_largest ? &note->largest : NULL,
                                     .seed = note->setup.seed};
    if (sweeping->is_failed || sweeping->output.is_failed) {
        return; /* one line tells of a full disk */
    }
    if (!save_note(sweeping, part, note, &finding)) {
        sweeping->is_failed = sweeping->output.is_silent = true;
    }
    const struct report_strike strike = describe_strike(&note->place);
    finding.strike = is_dispute ? NULL : &strike;
    (void)reporter_finding(&sweeping->reporter, is_dispute ? REPORT_DISPUTE : REPORT_FINDING,
                           &finding);
    if (is_dispute && !sweeping->is_disputed) {
        (void)message_fail(EXIT_HARNESS,
                           "internal error: the two judges disagree on op %lu of %s: %s. %s%s. "
                           "Please report this with the command line and the seed above.",
                           (unsigned long)note->verdict.op, part->name, note->verdict.reason,
                           finding.repro == NULL ? "Nothing was saved" : "The list is in ",
                           finding.repro == NULL ? "" : finding.repro);
    }
    sweeping->is_disputed |= is_dispute;
}

/* --- what a part came to --- */

/* A kind that never strikes here (a target that does not resume is never left half-way) is not
 * worth a row. */
static bool is_worth_a_row(const struct sweep_count *count, unsigned kind)
{
    return count->calls > 0 && (fault_refuses((enum fault_kind)kind) ||
                                count->failed[SWEEP_FOR_EVER] > 0 || count->findings > 0);
}

static void put_ratio(struct table *table, uint64_t count, uint64_t of)
{
    char text[64];
    snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64, count, of);
    table_put(table, text);
}

static void put_row(struct table *table, const char *name, const struct sweep_count *count,
                    uint64_t sites)
{
    table_put(table, name);
    put_ratio(table, count->failed[SWEEP_ONCE], count->calls);
    put_ratio(table, count->failed[SWEEP_FOR_EVER], count->calls);
    table_put_number(table, count->strikes[SWEEP_ONCE] + count->strikes[SWEEP_FOR_EVER]);
    table_put_number(table, count->ops_failed);
    table_put_number(table, count->ops_succeeded);
    table_put_number(table, count->ooms);
    table_put_number(table, sites);
    table_put_number(table, count->replays);
    table_put_number(table, count->findings);
}

static void put_count_line(struct sweeping *sweeping, const char *part, uint64_t trial,
                           const char *name, const struct sweep_count *count, uint64_t sites)
{
    struct writing *text = &sweeping->text;
    json_open(text, "sweep");
    json_add_string(text, "scenario", part);
    json_add_number(text, "trial", trial);
    json_add_string(text, "kind", name);
    json_add_number(text, "calls", count->calls);
    json_add_number(text, "failed_once", count->failed[SWEEP_ONCE]);
    json_add_number(text, "failed_for_ever", count->failed[SWEEP_FOR_EVER]);
    json_add_number(text, "strikes_once", count->strikes[SWEEP_ONCE]);
    json_add_number(text, "strikes_for_ever", count->strikes[SWEEP_FOR_EVER]);
    json_add_number(text, "ops_failed", count->ops_failed);
    json_add_number(text, "ops_succeeded", count->ops_succeeded);
    json_add_number(text, "ooms", count->ooms);
    json_add_number(text, "sites", sites);
    json_add_number(text, "replays", count->replays);
    json_add_number(text, "findings", count->findings);
    json_close(text);
    output_take_line(&sweeping->output, &sweeping->text);
}

static void put_titles(struct table *table)
{
    static const char *const titles[] = {"fault",   "failed once", "failed forever", "ops struck",
                                         "failed",  "succeeded",   "OOMs",           "sites",
                                         "replays", "findings"};
    table_init(table, sizeof titles / sizeof titles[0], 1);
    for (size_t i = 0; i < table->column_count; i++) {
        table_put(table, titles[i]);
    }
}

static void print_counts(struct sweeping *sweeping, const char *part,
                         const struct sweep_part *swept)
{
    const struct sweep_result *result = swept->result;
    struct table table;
    put_titles(&table);
    put_row(&table, "open", &result->open, 0);
    put_count_line(sweeping, part, swept->trial, "open", &result->open, 0);
    for (unsigned kind = 0; kind < FAULT_KIND_COUNT; kind++) {
        const struct sweep_site_counts sites = sweep_sites_count(&result->sites, 1u << kind);
        const char *name = fault_info((enum fault_kind)kind)->name;
        if (!is_worth_a_row(&result->kinds[kind], kind)) {
            continue;
        }
        put_row(&table, name, &result->kinds[kind], sites.plain_struck + sites.later_struck);
        put_count_line(sweeping, part, swept->trial, name, &result->kinds[kind],
                       sites.plain_struck + sites.later_struck);
    }
    const struct sweep_site_counts sites = sweep_sites_count(&result->sites, FAULTS_REFUSING);
    writing_append_visible(&sweeping->text, part);
    writing_append_format(&sweeping->text,
                          ": trial %" PRIu64 ", %" PRIu64 " ops, %" PRIu64 " of %" PRIu64
                          " call sites, and %" PRIu64 " of %" PRIu64 " after a fault\n",
                          swept->trial, result->op_count, sites.plain_struck, sites.plain,
                          sites.later_struck, sites.later);
    table_print(&table, 2, &sweeping->text);
    table_deinit(&table);
    output_take_text(&sweeping->output, &sweeping->text);
}

static bool is_begun(const struct sweep_part *swept)
{
    return swept->is_done || swept->result->replays > 0;
}

static void count_part(struct sweeping *sweeping, const struct sweep_part *swept)
{
    const struct sweep_result *result = swept->result;
    const uint64_t findings = sweep_findings(result);
    sweeping->swept_count += is_begun(swept);
    sweeping->findings += findings - result->found[RULE_NONE];
    sweeping->is_incomplete |= swept->is_done && findings == 0 && !sweep_is_complete(result);
    sweeping->calls += result->open.calls;
    sweeping->failed_once += result->open.failed[SWEEP_ONCE];
    sweeping->failed_for_ever += result->open.failed[SWEEP_FOR_EVER];
    for (unsigned kind = 0; kind < FAULT_KIND_COUNT; kind++) {
        if (!fault_refuses((enum fault_kind)kind)) {
            continue;
        }
        sweeping->calls += result->kinds[kind].calls;
        sweeping->failed_once += result->kinds[kind].failed[SWEEP_ONCE];
        sweeping->failed_for_ever += result->kinds[kind].failed[SWEEP_FOR_EVER];
    }
    sweeping->end.trials += result->replays;
    run_totals_add(&sweeping->end.totals, &result->totals);
    sweep_sites_add(&sweeping->sites, &result->sites);
}

static void print_skipped(struct sweeping *sweeping, const char *part, const char *note)
{
    json_open(&sweeping->text, "sweep");
    json_add_string(&sweeping->text, "scenario", part);
    json_add_string(&sweeping->text, "note", note);
    json_close(&sweeping->text);
    output_take_line(&sweeping->output, &sweeping->text);
    writing_append_visible(&sweeping->text, part);
    writing_append(&sweeping->text, ": ");
    writing_append_visible(&sweeping->text, note);
    writing_append(&sweeping->text, "\n");
    output_take_text(&sweeping->output, &sweeping->text);
}

/* Prints what the list of the plan's part i came to, saves what broke, and adds its counts to those
 * of the sweep.  is_failed: a message was given. */
static void report_list(struct sweeping *sweeping, size_t i)
{
    const struct part *part = &sweeping->plan->parts[i];
    const struct sweep_part swept = sweep_campaign_part(sweeping->sweep_campaign, i);
    char note[RUN_REASON_BYTES + 64];
    for (size_t k = 0; k < swept.note_count; k++) {
        print_finding(sweeping, part, &swept.notes[k]);
    }
    sweeping->is_failed |= swept.is_faulty;
    if (part->note[0] == '\0' && swept.refusal[0] == '\0') {
        count_part(sweeping, &swept);
        if (is_begun(&swept)) {
            print_counts(sweeping, part->name, &swept);
        }
        if (!swept.is_done) {
            print_skipped(sweeping, part->name, "interrupted: its sweep is incomplete");
        }
    } else {
        snprintf(
            note, sizeof note, "%s%s",
            part->note[0] != '\0' ? part->note : "the target refuses the setup: ", swept.refusal);
        print_skipped(sweeping, part->name, note);
    }
    output_flush(&sweeping->output);
}

/* --- all of them --- */

static void print_start(struct sweeping *sweeping)
{
    const struct plan *plan = sweeping->plan;
    struct report_part *parts = calloc(plan->count, sizeof *parts);
    CHECK(parts != NULL);
    for (size_t i = 0; i < plan->count; i++) {
        parts[i] = (struct report_part){.name = plan->parts[i].name,
                                        .scenario = plan->parts[i].scenario->name,
                                        .setup = &plan->parts[i].setup,
                                        .op_count_max = plan->parts[i].op_count_max,
                                        .faults = ""};
    }
    const struct report_start start = {.subcommand = "run --sweep",
                                       .setup = &plan->setup,
                                       .duration_ns = UINT64_MAX,
                                       .parts = parts,
                                       .part_count = plan->count};
    (void)reporter_start(&sweeping->reporter, &start);
    free(parts);
}

/* --- the whole --- */

static enum exit_code choose_exit_code(const struct sweeping *sweeping)
{
    if (sweeping->is_failed || sweeping->output.is_failed || sweeping->is_disputed) {
        return EXIT_HARNESS;
    }
    if (sweeping->findings > 0) {
        return EXIT_BROKEN;
    }
    if (sweeping->is_incomplete ||
        report_allowed_is_exceeded(&sweeping->end.allowed, &sweeping->end.totals)) {
        return EXIT_UNKNOWN;
    }
    /* A sweep that was cut short has not shown that every promise is kept. */
    return sweeping->is_stopped ? EXIT_HARNESS : EXIT_KEPT;
}

static void append_meaning(struct writing *text, const struct sweeping *sweeping)
{
    if (sweeping->end.is_interrupted) {
        writing_append(text, "interrupted; so far ");
    }
    if (sweeping->findings > 0) {
        writing_append_format(text, "promises broken %" PRIu64 " times", sweeping->findings);
    } else if (report_allowed_is_exceeded(&sweeping->end.allowed, &sweeping->end.totals)) {
        writing_append_format(text, "no promise broken, but %" PRIu64 " OOMs stayed unknown",
                              sweeping->end.totals.unknown);
    } else if (sweeping->is_incomplete) {
        writing_append(text, "no promise broken, but the sweep could not fail every call");
    } else {
        writing_append(text, "every promise kept");
        terminal_unknown(text, &sweeping->end);
    }
}

static void append_summary(struct writing *text, const struct sweeping *sweeping)
{
    const struct sweep_site_counts sites = sweep_sites_count(&sweeping->sites, FAULTS_REFUSING);
    append_meaning(text, sweeping);
    writing_append_format(text, ": %" PRIu64 " scenario%s, %" PRIu64 " replays, ",
                          sweeping->swept_count, sweeping->swept_count == 1 ? "" : "s",
                          sweeping->end.trials);
    if (sweeping->failed_once == sweeping->calls && sweeping->failed_for_ever == sweeping->calls) {
        writing_append_format(text, "%" PRIu64 " device calls failed once and forever, ",
                              sweeping->calls);
    } else {
        writing_append_format(
            text, "of %" PRIu64 " device calls %" PRIu64 " failed once and %" PRIu64 " forever, ",
            sweeping->calls, sweeping->failed_once, sweeping->failed_for_ever);
    }
    if (sites.plain_struck == sites.plain) {
        writing_append_format(text, "all of %" PRIu64 " call sites, ", sites.plain);
    } else {
        writing_append_format(text, "%" PRIu64 " of %" PRIu64 " call sites, ", sites.plain_struck,
                              sites.plain);
    }
    terminal_seconds(text, sweeping->end.elapsed_ns);
    writing_append_format(text, "; seed %" PRIu64 "\n", sweeping->end.seed);
}

static void print_end(struct sweeping *sweeping)
{
    struct run_totals *totals = &sweeping->end.totals;
    sweeping->end.elapsed_ns = clock_now_ns() - sweeping->start_ns;
    sweeping->end.seed = sweeping->plan->setup.seed;
    totals->broken = sweeping->findings > totals->premature ? sweeping->findings - totals->premature
                                                            : 0;
    sweeping->end.allowed = allowance_of_run(&sweeping->plan->allowance, totals->ooms);
    sweeping->end.exit_code = (int)choose_exit_code(sweeping);
    json_line_end(&sweeping->text, &sweeping->end);
    output_take_line(&sweeping->output, &sweeping->text);
    append_summary(&sweeping->text, sweeping);
    output_take_text(&sweeping->output, &sweeping->text);
}

/* Tells of the parts in their order, as soon as all before them are done; cut short, of what was
 * found until then. */
static void sweep_parts(struct sweeping *sweeping)
{
    size_t told = 0;
    bool goes_on = true, is_failed = false;
    while (goes_on) {
        goes_on = sweep_campaign_turn(sweeping->sweep_campaign, &is_failed);
        while (told < sweeping->plan->count &&
               sweep_campaign_part(sweeping->sweep_campaign, told).is_done) {
            report_list(sweeping, told++);
        }
        if (is_failed) {
            (void)message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
            sweeping->is_failed = true;
        }
        sweeping->is_stopped = told < sweeping->plan->count && interrupt_is_requested();
        sweeping->end.is_interrupted = sweeping->is_stopped || (told < sweeping->plan->count &&
                                                                sweeping->output.is_pipe_closed);
        goes_on = goes_on && !sweeping->end.is_interrupted && !sweeping->is_failed &&
                  !sweeping->output.is_failed && !sweeping->is_disputed;
    }
    if (sweeping->end.is_interrupted) {
        sweep_campaign_stop(sweeping->sweep_campaign);
    }
    while (sweeping->end.is_interrupted && told < sweeping->plan->count) {
        report_list(sweeping, told++);
    }
}

static enum exit_code run_sweep(struct sweeping *sweeping)
{
    const struct sweep_campaign_setup setup = {.plan = sweeping->plan,
                                               .worker_count = workers_wanted(sweeping->options),
                                               .timeout_ns = sweeping->options->trial_timeout_ns};
    sweeping->start_ns = clock_now_ns();
    sweeping->sweep_campaign = sweep_campaign_create(&setup);
    if (sweeping->sweep_campaign == NULL) {
        sweeping->output.is_failed = true; /* nothing worth a final name was written */
        return message_fail(EXIT_HARNESS, "cannot start the sweep: %s", strerror(errno));
    }
    print_start(sweeping);
    sweep_parts(sweeping);
    sweep_campaign_destroy(sweeping->sweep_campaign);
    print_end(sweeping);
    return EXIT_KEPT;
}

static enum exit_code sweep_plan(const struct run_options *options, const struct plan *plan)
{
    enum exit_code code = plan_check_work(plan, "be swept");
    if (code != EXIT_KEPT) {
        return code;
    }
    struct sweeping *sweeping = calloc(1, sizeof *sweeping);
    CHECK(sweeping != NULL);
    sweeping->options = options;
    sweeping->plan = plan;
    sweeping->directory = options->out == NULL ? "out" : options->out;
    output_init(&sweeping->output, options->is_json);
    reporter_init(&sweeping->reporter, output_report, &sweeping->output);
    death_set_op_timeout(options->op_timeout_ns);
    code = output_open_results(&sweeping->output, sweeping->directory, 0);
    if (code == EXIT_KEPT) {
        code = run_sweep(sweeping);
        output_close(&sweeping->output);
        code = code == EXIT_KEPT ? choose_exit_code(sweeping) : code;
    }
    writing_deinit(&sweeping->text);
    reporter_deinit(&sweeping->reporter);
    free(sweeping);
    return code;
}

/* Checks a part as the job describes it, like the command line, and fills in its list's length. */
static enum exit_code check_part(const char *job, struct part *part)
{
    if (!part->has_op_count_max) {
        part->op_count_max = SWEEPING_OP_COUNT_DEFAULT;
    }
    if (part->trace != NULL) {
        return message_fail(EXIT_USAGE, "%s: %s runs a trace, but --sweep accepts scenarios alone",
                            job == NULL ? "--trace" : job, part->name);
    }
    if (part->lanes.lane_count != 0) {
        return message_fail(EXIT_USAGE, "%s: %s has lanes, but --sweep accepts none", job,
                            part->name);
    }
    if (part->faults.kinds != 0) {
        return message_fail(
            EXIT_USAGE,
            "%s: %s has faults, but --sweep arms every fault itself; --faults none leaves them out",
            job, part->name);
    }
    return part->op_count_max > LAST_OP_COUNT_MAX
               ? message_fail(EXIT_USAGE, "%s: %s: ops: a sweep accepts at most %d", job,
                              part->name, LAST_OP_COUNT_MAX)
               : EXIT_KEPT;
}

enum exit_code sweeping_run(const struct run_options *options)
{
    struct plan plan;
    enum exit_code code = plan_make(options, options->has_seed ? options->seed : clock_seed(),
                                    &plan);
    for (size_t i = 0; code == EXIT_KEPT && i < plan.count; i++) {
        code = check_part(options->job, &plan.parts[i]);
    }
    code = code == EXIT_KEPT ? sweep_plan(options, &plan) : code;
    plan_deinit(&plan);
    return code;
}
