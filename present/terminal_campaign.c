/* What a campaign prints for people when it ends. */
#include "harness/base/check.h"
#include "harness/base/shell.h"
#include "harness/base/size.h"
#include "present/refusals.h"
#include "present/say.h"
#include "present/table.h"
#include "present/terminal.h"
#include "present/wrap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- tables --- */

enum result_table { VERDICTS, MITIGATIONS, COSTS, RESULT_TABLE_COUNT };
/* The first of a table stands over the names of the jobs; NULL ends them. */
static const char *const result_titles[RESULT_TABLE_COUNT][11] = {
    {"scenario", "trials", "ops", "skipped %", "OOMs", "justified", "premature", "unknown",
     "broken", "ops/s"},
    {"mitigations", "drains", "moves", "moved", "stagings", "evictions"},
    {"device calls an op", "p99", "max", "growth", "moved p99", "max", "growth"}};

/* Skipped ops in tenths of a percent of all: integers, so that every machine prints the same. */
static void put_percent(struct table *table, uint64_t part, uint64_t rest)
{
    char percent[SIZE_TEXT_BYTES];
    const uint64_t tenths = share_of(part, part + rest, 1000);
    snprintf(percent, sizeof percent, "%" PRIu64 ".%" PRIu64, tenths / 10, tenths % 10);
    table_put(table, percent);
}

/* The median is that of the ops that need nothing. */
static void put_spread(struct table *table, const struct op_costs *costs,
                       const struct cost_spread *spread, enum cost_measure measure)
{
    const uint64_t p99 = cost_spread_percentile(spread, op_costs_op_count(costs), 99000);
    if (measure == COST_MOVED_BYTES) {
        table_put(table, size_text_of(p99).text);
        table_put(table, size_text_of(spread->max).text);
    } else {
        table_put_number(table, p99);
        table_put_number(table, spread->max);
    }
    table_put(table,
              spread->max == 0 ? "-" : cost_fit_name(cost_classes_fit(costs->classes, measure)));
}

static void put_row(struct table *table, enum result_table which,
                    const struct report_result *result)
{
    const struct run_totals *totals = &result->totals;
    table_put(table, result->name);
    switch (which) {
    case VERDICTS:
        table_put_number(table, result->trials);
        table_put_number(table, totals->ops);
        put_percent(table, totals->skipped, totals->ops);
        table_put_number(table, totals->ooms);
        table_put_number(table, totals->justified);
        table_put_number(table, totals->premature);
        table_put_number(table, totals->unknown);
        table_put_number(table, totals->broken);
        table_put_number(table, per_second(totals->ops, result->elapsed_ns));
        return;
    case MITIGATIONS:
        table_put_number(table, totals->drains);
        table_put_number(table, totals->moves);
        table_put(table, size_text_of(totals->moved_bytes).text);
        table_put_number(table, totals->stagings);
        table_put_number(table, totals->evictions);
        return;
    default:
        put_spread(table, &totals->costs, &totals->costs.calls, COST_CALLS);
        put_spread(table, &totals->costs, &totals->costs.moved_bytes, COST_MOVED_BYTES);
    }
}

/* Jobs of which a table would say nothing have no row. */
static bool has_row(enum result_table which, const struct report_result *result)
{
    const struct run_totals *totals = &result->totals;
    switch (which) {
    case VERDICTS:
        return report_result_has_run(result);
    case MITIGATIONS:
        return totals->drains + totals->moves + totals->moved_bytes + totals->stagings +
                   totals->evictions >
               0;
    default:
        return totals->costs.calls.max > 0;
    }
}

/* The rows, their sum where there are several, and an empty line; nothing without a row. */
static void print_table(struct writing *text, enum result_table which,
                        const struct report_result *results, size_t count)
{
    struct table table;
    struct report_result sum = {.name = "all"};
    size_t row_count = 0, column_count = 0;
    while (result_titles[which][column_count] != NULL) {
        column_count++;
    }
    table_init(&table, column_count, 1);
    for (size_t i = 0; i < column_count; i++) {
        table_put(&table, result_titles[which][i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (has_row(which, &results[i])) {
            put_row(&table, which, &results[i]);
            row_count++;
            sum.trials += results[i].trials;
            sum.elapsed_ns += results[i].elapsed_ns;
            run_totals_add(&sum.totals, &results[i].totals);
        }
    }
    if (row_count > 1) {
        put_row(&table, which, &sum);
    }
    if (row_count > 0) {
        table_print(&table, 0, text);
        writing_append(text, "\n");
    }
    table_deinit(&table);
}

static bool is_same_note(const char *note, const char *other)
{
    return note != NULL && other != NULL && strcmp(note, other) == 0;
}

/* The note of results[i], with the names of all that have it, before the first of them. */
static void append_note(struct writing *text, const struct report_result *results, size_t count,
                        size_t i)
{
    const struct report_result *result = &results[i];
    for (size_t k = 0; k < i; k++) {
        if (is_same_note(result->note, results[k].note)) {
            return;
        }
    }
    if (result->note == NULL) {
        return;
    }
    say(text, "%s", result->name);
    for (size_t k = i + 1; k < count; k++) {
        if (is_same_note(result->note, results[k].note)) {
            say(text, ", %s", results[k].name);
        }
    }
    say(text, ": %s%s%s\n", result->note,
        result->how == NULL ? "" : "; to try it: ", result->how == NULL ? "" : result->how);
}

static void append_notes(struct writing *text, const struct report_result *result)
{
    if (result->findings_only_counted > 0) {
        say(text,
            "%s: %" PRIu64 " more findings with known signatures were counted but not saved\n",
            result->name, result->findings_only_counted);
    }
    if (result->growing_tag != NULL) {
        say(text, "%s: tag '%s' kept growing, from %s to %s in %" PRIu64 " blocks\n", result->name,
            result->growing_tag, size_text_of(result->growth.first_bytes).text,
            size_text_of(result->growth.last_bytes).text, result->growth.count);
    }
}

void terminal_results(struct writing *text, const struct report_result *results, size_t count)
{
    struct run_totals sum = {0};
    writing_append(text, "\n");
    for (unsigned which = 0; which < RESULT_TABLE_COUNT; which++) {
        print_table(text, (enum result_table)which, results, count);
    }
    const size_t begin = text->length;
    for (size_t i = 0; i < count; i++) {
        append_note(text, results, count, i);
        append_notes(text, &results[i]);
        run_totals_add(&sum, &results[i].totals);
    }
    /* The line of JSON that ends the run names them all. */
    say(text, "probes: %" PRIu64 " of %u hit\n", (uint64_t)probes_ever_hit(sum.probes),
        (unsigned)PROBE_COUNT);
    wrap_since(text, begin);
}

/* --- what was found --- */

/* Nothing is broken for certain, and more is left open than allowed (docs/reports.md). */
enum { EXIT_CODE_OPEN = 3 };

/* A finding: how often it was seen, and where its shortest repro is.  The command is never broken.
 */
static void append_finding(struct writing *text, const struct report_known *finding, size_t number)
{
    const size_t begin = text->length;
    say(text, "%sfinding %zu: %s", finding->is_known ? "known " : "", number, finding->signature);
    const size_t whole = text->length;
    say(text, ": seen %" PRIu64 " times, first in trial %" PRIu64 " of %s%s", finding->count,
        finding->first.trial, finding->first.scenario,
        finding->repeats.is_unrepeated ? ", unrepeated" : "");
    if (finding->replay != NULL) {
        say(text, "; %" PRIu64 " ops:", finding->op_count);
    }
    wrap_after(text, begin, whole);
    if (finding->replay != NULL) {
        wrap_whole(text, begin, finding->replay);
    }
    writing_append(text, "\n");
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
        say(text, "promise broken: %s (%s)\n", rule_info(rule)->summary, rule_info(rule)->name);
    }
}

static void append_next(struct writing *text, const char *command, const char *path,
                        const char *what)
{
    char *word = malloc(SHELL_WORD_BYTES(strlen(path)));
    CHECK(word != NULL);
    say(text, "next: hbmstress %s %s  # %s\n", command, shell_word(path, word), what);
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
    say(text, "next: %s  # finding %zu again\n", campaign->findings[i].replay, i + 1);
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
    for (size_t i = 0; i < campaign->finding_count; i++) {
        append_finding(text, &campaign->findings[i], i + 1);
    }
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

/* A file or a folder of the campaign, and what there is to say of it. */
static void append_file(struct writing *text, const char *directory, const char *words)
{
    const size_t begin = text->length;
    say(text, "%s", directory);
    const size_t whole = text->length;
    writing_append(text, words);
    wrap_after(text, begin, whole);
}

static void append_directory(struct writing *text, const struct report_campaign *campaign)
{
    const struct report_end *end = campaign->end;
    struct writing words = {0};
    if (end->verdicts_omitted + end->trials_omitted > 0) {
        say(&words,
            "/results.jsonl: %" PRIu64 " justified verdicts and %" PRIu64
            " trials are not listed, because of --results-limit\n",
            end->verdicts_omitted, end->trials_omitted);
        append_file(text, campaign->directory, writing_string(&words));
    }
    if (end->kept_count + end->kept_omitted > 0) {
        writing_clear(&words);
        say(&words, "/kept: the op lists of %" PRIu64 " trial%s", end->kept_count,
            plural(end->kept_count, "", "s"));
        if (end->kept_omitted > 0) {
            say(&words, "; %" PRIu64 " more are not kept, because of --results-limit",
                end->kept_omitted);
        }
        writing_append(&words, "\n");
        append_file(text, campaign->directory, writing_string(&words));
    }
    if (campaign->certificate_count > 0) {
        writing_clear(&words);
        say(&words,
            "/certificates: %" PRIu64 " for hbmstress check; %" PRIu64
            " were checked during the run\n",
            campaign->certificate_count, end->certificates_checked);
        append_file(text, campaign->directory, writing_string(&words));
    }
    writing_deinit(&words);
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
    const struct report_canary *canary = campaign->canary;
    if (canary != NULL) {
        say(text, "canary: %s in %s was %sreported after %" PRIu64 " trial%s\n", canary->target,
            canary->scenario, canary->is_reported ? "" : "NOT ", canary->trials,
            plural(canary->trials, "", "s"));
    }
    const size_t closing = text->length;
    terminal_closing(text, &end);
    wrap_since(text, closing);
}
