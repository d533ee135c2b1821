/* What a campaign prints for people when it ends. */
#include "harness/base/check.h"
#include "harness/base/shell.h"
#include "harness/base/size.h"
#include "present/costs.h"
#include "present/refusals.h"
#include "present/table.h"
#include "present/terminal.h"
#include "present/wrap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- tables --- */

/* Skipped ops in tenths of a percent of all: integers, so that every machine prints the same. */
static void put_percent(struct table *table, uint64_t part, uint64_t rest)
{
    char percent[SIZE_TEXT_BYTES];
    const uint64_t whole = part + rest;
    const uint64_t tenths = whole == 0                 ? 0
                            : part > UINT64_MAX / 1000 ? part / (whole / 1000)
                                                       : part * 1000 / whole;
    snprintf(percent, sizeof percent, "%" PRIu64 ".%" PRIu64, (tenths / 10), (tenths % 10));
    table_put(table, percent);
}

static void put_verdict_row(struct table *table, const struct report_result *result)
{
    const struct run_totals *totals = &result->totals;
    table_put(table, result->name);
    table_put_number(table, result->trials);
    table_put_number(table, totals->ops);
    put_percent(table, totals->skipped, totals->ops);
    table_put_number(table, totals->ooms);
    table_put_number(table, totals->justified);
    table_put_number(table, totals->premature);
    table_put_number(table, totals->unknown);
    table_put_number(table, totals->broken);
    table_put_number(table, per_second(totals->ops, result->elapsed_ns));
}

static void put_mitigation_row(struct table *table, const struct report_result *result)
{
    table_put(table, result->name);
    table_put_number(table, result->totals.drains);
    table_put_number(table, result->totals.moves);
    table_put(table, size_text_of(result->totals.moved_bytes).text);
    table_put_number(table, result->totals.stagings);
    table_put_number(table, result->totals.evictions);
}

static void put_cost_row(struct table *table, const struct report_result *result)
{
    table_put(table, result->name);
    costs_put_row(table, &result->totals);
}

static bool was_mitigated(const struct report_result *result)
{
    const struct run_totals *totals = &result->totals;
    return totals->drains + totals->moves + totals->moved_bytes + totals->stagings +
               totals->evictions >
           0;
}

static bool has_costs(const struct report_result *result)
{
    return costs_are_seen(&result->totals);
}

/* A table of the terminal.  Jobs of which it would say nothing have no row. */
struct table_form {
    const char *const *titles; /* title_count of them */
    size_t title_count;
    bool (*has_row)(const struct report_result *result);
    void (*put_row)(struct table *table, const struct report_result *result);
};

static const char *const verdict_titles[] = {"scenario", "trials",    "ops",       "skipped %",
                                             "OOMs",     "justified", "premature", "unknown",
                                             "broken",   "ops/s"};
static const char *const mitigation_titles[] = {"mitigations", "drains",   "moves",
                                                "moved",       "stagings", "evictions"};
static const struct table_form table_forms[] = {
    {verdict_titles, sizeof verdict_titles / sizeof *verdict_titles, report_result_has_run,
     put_verdict_row},
    {mitigation_titles, sizeof mitigation_titles / sizeof *mitigation_titles, was_mitigated,
     put_mitigation_row},
    {costs_titles, COSTS_COLUMN_COUNT, has_costs, put_cost_row}};

/* The rows, their sum where there are several, and an empty line; nothing without a row. */
static void print_table(struct writing *text, const struct table_form *form,
                        const struct report_result *results, size_t count)
{
    struct table table;
    struct report_result sum = {.name = "all"};
    size_t row_count = 0;
    table_init(&table, form->title_count, 1);
    for (size_t i = 0; i < form->title_count; i++) {
        table_put(&table, form->titles[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (form->has_row(&results[i])) {
            form->put_row(&table, &results[i]);
            row_count++;
            sum.trials += results[i].trials;
            sum.elapsed_ns += results[i].elapsed_ns;
            run_totals_add(&sum.totals, &results[i].totals);
        }
    }
    if (row_count > 1) {
        form->put_row(&table, &sum);
    }
    if (row_count > 0) {
        table_print(&table, 0, text);
        writing_append(text, "\n");
    }
    table_deinit(&table);
}

static bool has_note_of(const struct report_result *result, const struct report_result *other)
{
    return other->note != NULL && strcmp(other->note, result->note) == 0;
}

/* The note of results[i], with the names of all that have it, before the first of them. */
static void append_note(struct writing *text, const struct report_result *results, size_t count,
                        size_t i)
{
    const struct report_result *result = &results[i];
    for (size_t k = 0; k < i; k++) {
        if (result->note == NULL || has_note_of(result, &results[k])) {
            return;
        }
    }
    if (result->note == NULL) {
        return;
    }
    writing_append_visible(text, result->name);
    for (size_t k = i + 1; k < count; k++) {
        if (has_note_of(result, &results[k])) {
            writing_append(text, ", ");
            writing_append_visible(text, results[k].name);
        }
    }
    writing_append(text, ": ");
    writing_append_visible(text, result->note);
    if (result->how != NULL) {
        writing_append(text, "; to try it: ");
        writing_append_visible(text, result->how);
    }
    writing_append(text, "\n");
}

static void append_notes(struct writing *text, const struct report_result *result)
{
    if (result->findings_only_counted > 0) {
        writing_append_visible(text, result->name);
        writing_append_format(
            text, ": %" PRIu64 " more findings with known signatures were counted but not saved\n",
            result->findings_only_counted);
    }
    if (result->growing_tag == NULL) {
        return;
    }
    writing_append_visible(text, result->name);
    writing_append(text, ": tag '");
    writing_append_visible(text, result->growing_tag);
    writing_append_format(text, "' kept growing, from %s to %s in %" PRIu64 " blocks\n",
                          size_text_of(result->growth.first_bytes).text,
                          size_text_of(result->growth.last_bytes).text, result->growth.count);
}

/* One line: how many of the states worth reaching were reached.  The line of JSON that ends the run
 * names them all. */
static void append_probes(struct writing *text, const struct report_result *results, size_t count)
{
    struct run_totals sum = {0};
    for (size_t i = 0; i < count; i++) {
        run_totals_add(&sum, &results[i].totals);
    }
    writing_append_format(text, "probes: %" PRIu64 " of %d hit\n", probes_ever_hit(sum.probes),
                          (int)PROBE_COUNT);
}

void terminal_results(struct writing *text, const struct report_result *results, size_t count)
{
    writing_append(text, "\n");
    for (size_t i = 0; i < sizeof table_forms / sizeof *table_forms; i++) {
        print_table(text, &table_forms[i], results, count);
    }
    const size_t begin = text->length;
    for (size_t i = 0; i < count; i++) {
        append_note(text, results, count, i);
        append_notes(text, &results[i]);
    }
    append_probes(text, results, count);
    wrap_since(text, begin);
}

/* --- what was found --- */

/* Nothing is broken for certain, and more is left open than allowed (docs/reports.md). */
enum { EXIT_CODE_OPEN = 3 };

/* A finding: how often it was seen, and where its shortest repro is.  The command is never broken.
 */
static void append_findings(struct writing *text, const struct report_known *findings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t begin = text->length;
        const struct report_known *finding = &findings[i];
        writing_append_format(text, "%sfinding %zu: ", finding->is_known ? "known " : "", i + 1);
        writing_append_visible(text, finding->signature);
        const size_t whole = text->length;
        writing_append_format(text, ": seen %" PRIu64 " times, first in trial %" PRIu64 " of ",
                              finding->count, finding->first.trial);
        writing_append_visible(text, finding->first.scenario);
        if (finding->repeats.is_unrepeated) {
            writing_append(text, ", unrepeated");
        }
        if (finding->replay != NULL) {
            writing_append_format(text, "; %" PRIu64 " ops:", finding->op_count);
        }
        wrap_after(text, begin, whole);
        if (finding->replay != NULL) {
            wrap_whole(text, begin, finding->replay);
        }
        writing_append(text, "\n");
    }
}

/* The rule that it breaks; RULE_NONE where that is none of ours. */
static enum rule rule_of(const struct report_known *finding)
{
    return finding->rule == NULL ? RULE_NONE : rule_find(finding->rule);
}

/* The promise, for the first new finding that breaks it. */
static void append_promise(struct writing *text, const struct report_known *findings, size_t i)
{
    const enum rule rule = rule_of(&findings[i]);
    for (size_t k = 0; k < i; k++) {
        if (!findings[k].is_known && rule_of(&findings[k]) == rule) {
            return;
        }
    }
    if (rule != RULE_NONE && !findings[i].is_known) {
        writing_append_format(text, "promise broken: %s (%s)\n", rule_info(rule)->summary,
                              rule_info(rule)->name);
    }
}

static void append_next(struct writing *text, const char *command, const char *path,
                        const char *what)
{
    char *word = malloc(SHELL_WORD_BYTES(strlen(path)));
    CHECK(word != NULL);
    writing_append_format(text, "next: hbmstress %s ", command);
    writing_append_visible(text, shell_word(path, word));
    writing_append_format(text, "  # %s\n", what);
    free(word);
}

/* A list that ends its process explains nothing, nor does one that needs others before it. */
static bool may_be_explained(const struct report_known *finding)
{
    const enum rule rule = rule_of(finding);
    return finding->repro != NULL && rule != RULE_NONE && rule != RULE_CRASH && rule != RULE_HANG &&
           finding->repeats.after_count == 0;
}

/* What to do with the gravest new finding that has a repro; nothing without one. */
static void append_repeat(struct writing *text, const struct report_campaign *campaign)
{
    size_t i = 0;
    while (i < campaign->finding_count &&
           (campaign->findings[i].is_known || campaign->findings[i].replay == NULL)) {
        i++;
    }
    if (i == campaign->finding_count) {
        return;
    }
    writing_append(text, "next: ");
    writing_append_visible(text, campaign->findings[i].replay);
    writing_append_format(text, "  # finding %zu again\n", i + 1);
    if (may_be_explained(&campaign->findings[i])) {
        append_next(text, "explain", campaign->findings[i].repro, "why");
    }
}

static bool has_new_finding(const struct report_campaign *campaign)
{
    size_t i = 0;
    while (i < campaign->finding_count && campaign->findings[i].is_known) {
        i++;
    }
    return i < campaign->finding_count;
}

/* What was found, what it means, and what to do next. */
static void append_found(struct writing *text, const struct report_campaign *campaign)
{
    append_findings(text, campaign->findings, campaign->finding_count);
    const size_t begin = text->length;
    for (size_t i = 0; i < campaign->finding_count; i++) {
        append_promise(text, campaign->findings, i);
    }
    for (size_t i = 0; i < campaign->result_count && campaign->result_count > 1; i++) {
        refusals_append_line(text, campaign->results[i].name, &campaign->results[i].totals);
    }
    refusals_append_line(text, NULL, &campaign->end->totals);
    wrap_since(text, begin);
    append_repeat(text, campaign);
    if (campaign->directory != NULL &&
        (has_new_finding(campaign) || campaign->end->exit_code == EXIT_CODE_OPEN)) {
        append_next(text, "report", campaign->directory, "all of it on one page, report.html");
    }
}

static void append_canary(struct writing *text, const struct report_canary *canary)
{
    writing_append(text, "canary: ");
    writing_append_visible(text, canary->target);
    writing_append(text, " in ");
    writing_append_visible(text, canary->scenario);
    writing_append_format(text, " was %s after %" PRIu64 " trial%s\n",
                          canary->is_reported ? "reported" : "NOT reported", canary->trials,
                          canary->trials == 1 ? "" : "s");
}

static void append_kept_lists(struct writing *text, const struct report_campaign *campaign)
{
    const struct report_end *end = campaign->end;
    if (end->kept_count + end->kept_omitted == 0) {
        return;
    }
    const size_t begin = text->length;
    writing_append_visible(text, campaign->directory);
    const size_t whole = text->length;
    writing_append_format(text, "/kept: the op lists of %" PRIu64 " trial%s", end->kept_count,
                          end->kept_count == 1 ? "" : "s");
    if (end->kept_omitted > 0) {
        writing_append_format(text, "; %" PRIu64 " more are not kept, because of --results-limit",
                              end->kept_omitted);
    }
    writing_append(text, "\n");
    wrap_after(text, begin, whole);
}

static void append_directory(struct writing *text, const struct report_campaign *campaign)
{
    const struct report_end *end = campaign->end;
    if (end->verdicts_omitted + end->trials_omitted > 0) {
        const size_t begin = text->length;
        writing_append_visible(text, campaign->directory);
        const size_t whole = text->length;
        writing_append_format(text,
                              "/results.jsonl: %" PRIu64 " justified verdicts and %" PRIu64
                              " trials are not listed, because of --results-limit\n",
                              end->verdicts_omitted, end->trials_omitted);
        wrap_after(text, begin, whole);
    }
    append_kept_lists(text, campaign);
    if (campaign->certificate_count > 0) {
        const size_t begin = text->length;
        writing_append_visible(text, campaign->directory);
        const size_t whole = text->length;
        writing_append_format(text,
                              "/certificates: %" PRIu64 " for hbmstress check; %" PRIu64
                              " were checked during the run\n",
                              campaign->certificate_count, end->certificates_checked);
        wrap_after(text, begin, whole);
    }
}

void terminal_campaign(struct writing *text, const struct report_campaign *campaign)
{
    struct report_end end = *campaign->end;
    const bool is_news = has_new_finding(campaign);
    end.seed_source = campaign->start->seed_source;
    if (is_news) {
        writing_append(text, "\n");
        append_found(text, campaign);
    }
    terminal_results(text, campaign->results, campaign->result_count);
    if (!is_news) {
        append_found(text, campaign);
    }
    append_directory(text, campaign);
    if (campaign->canary != NULL) {
        append_canary(text, campaign->canary);
    }
    const size_t closing = text->length;
    terminal_closing(text, &end);
    wrap_since(text, closing);
}
