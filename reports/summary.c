#include "reports/summary.h"

#include "harness/base/check.h"
#include "reports/json_lines.h"

enum { SUMMARY_VERSION = 1 };

static void append_optional(struct writing *text, const char *key, const char *value)
{
    if (value != NULL) {
        line_string(text, key, value);
    }
}

/* With the number of trials, what every sum counts. */
static void append_counts(struct writing *text, uint64_t trials, const struct run_totals *totals)
{
    line_number(text, "trials", trials);
    line_number(text, "ops", totals->ops);
    line_number(text, "ooms", totals->ooms);
    line_number(text, "justified", totals->justified);
    line_number(text, "premature", totals->premature);
    line_number(text, "unknown", totals->unknown);
    line_number(text, "broken", totals->broken);
}

static void append_head(struct writing *text, const struct report_campaign *campaign)
{
    const struct report_end *end = campaign->end;
    writing_append(text, "{");
    line_string(text, "format", "hbmstress-summary");
    line_number(text, "version", SUMMARY_VERSION);
    line_break(text);
    line_number(text, "seed", end->seed);
    line_string(text, "target", campaign->start->setup->target);
    line_number(text, "exit", (uint64_t)end->exit_code);
    if (end->is_interrupted) {
        line_boolean(text, "interrupted", true);
    }
    line_seconds(text, "seconds", end->elapsed_ns);
    line_break(text);
    append_counts(text, end->trials, &end->totals);
    line_number(text, "disputed", end->totals.disputed);
    line_break(text);
}

static void append_job(struct writing *text, const struct report_result *result)
{
    line_break(text);
    line_nest(text, NULL, '{');
    line_string(text, "name", result->name);
    line_string(text, "scenario", result->scenario);
    append_counts(text, result->trials, &result->totals);
    line_number(text, "findings", result->finding_count);
    line_seconds(text, "seconds", result->elapsed_ns);
    line_boolean(text, "finished", result->is_finished);
    append_optional(text, "note", result->note);
    line_unnest(text, '}');
}

static void append_finding(struct writing *text, const struct report_known *finding)
{
    line_break(text);
    line_nest(text, NULL, '{');
    line_string(text, "signature", finding->signature);
    append_optional(text, "rule", finding->rule);
    line_number(text, "count", finding->count);
    line_number(text, "ops", finding->op_count);
    append_optional(text, "job", finding->first.scenario);
    line_number(text, "trial", finding->first.trial);
    line_number(text, "seed", finding->seed);
    append_optional(text, "repro", finding->repro);
    append_optional(text, "replay", finding->replay);
    append_optional(text, "certificate", finding->certificate);
    append_optional(text, "reason", finding->reason);
    append_optional(text, "message", finding->message);
    line_unnest(text, '}');
}

static void append_lists(struct writing *text, const struct report_campaign *campaign)
{
    line_nest(text, "jobs", '[');
    for (size_t i = 0; i < campaign->result_count; i++) {
        append_job(text, &campaign->results[i]);
    }
    line_unnest(text, ']');
    line_break(text);
    line_nest(text, "findings", '[');
    for (size_t i = 0; i < campaign->finding_count; i++) {
        append_finding(text, &campaign->findings[i]);
    }
    line_unnest(text, ']');
    line_break(text);
}

static void append_probes(struct writing *text, const struct report_campaign *campaign)
{
    line_nest(text, "probes", '{');
    for (size_t i = 0; i < campaign->probe_count; i++) {
        line_break(text);
        line_named_number(text, campaign->probes[i].name, campaign->probes[i].count);
    }
    line_unnest(text, '}');
    line_break(text);
    line_nest(text, "probe_pairs", '{');
    line_number(text, "hit", campaign->probe_pair_count);
    line_number(text, "possible", campaign->probe_pair_count_max);
    line_unnest(text, '}');
}

static void append_canary(struct writing *text, const struct report_canary *canary)
{
    line_break(text);
    line_nest(text, "canary", '{');
    line_string(text, "target", canary->target);
    line_string(text, "scenario", canary->scenario);
    line_string(text, "breaks", canary->breaks);
    line_number(text, "trials", canary->trials);
    line_boolean(text, "reported", canary->is_reported);
    line_unnest(text, '}');
}

void summary_print(struct writing *text, const struct report_campaign *campaign)
{
    CHECK(campaign->start != NULL && campaign->start->setup != NULL && campaign->end != NULL);
    append_head(text, campaign);
    append_lists(text, campaign);
    append_probes(text, campaign);
    if (campaign->canary != NULL) {
        append_canary(text, campaign->canary);
    }
    line_close(text);
}
