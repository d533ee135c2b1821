/* The results of the sweep of one list: its findings, and its counts. */
#include "campaign/base/repro.h"
#include "campaign/process/shrink_process.h"
#include "campaign/sweep/private/sweep_parts.h"
#include "harness/base/json.h"
#include "harness/base/shell.h"
#include "harness/op/ops_file.h"
#include "present/table.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

void sweeping_put_text(struct sweeping *sweeping)
{
    output_text(&sweeping->output, &sweeping->text);
    writing_clear(&sweeping->text);
}

void sweeping_put_line(struct sweeping *sweeping)
{
    output_line(&sweeping->output, &sweeping->text);
    writing_clear(&sweeping->text);
}

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
    sweeping_put_line(sweeping);
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
    sweeping_put_text(sweeping);
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
    sweeping_put_line(sweeping);
    writing_append_visible(&sweeping->text, part);
    writing_append(&sweeping->text, ": ");
    writing_append_visible(&sweeping->text, note);
    writing_append(&sweeping->text, "\n");
    sweeping_put_text(sweeping);
}

void sweeping_report_list(struct sweeping *sweeping, size_t i)
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
