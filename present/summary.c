#include "harness/base/check.h"
#include "harness/base/json.h"
#include "present/json_lines.h"
#include "present/refusals.h"
#include "present/version.h"

enum { SUMMARY_VERSION = 1 };

/* With the number of trials, what every sum counts. */
static void append_counts(struct writing *text, uint64_t trials, const struct run_totals *totals)
{
    json_add_number(text, "trials", trials);
    json_add_number(text, "ops", totals->ops);
    json_add_number(text, "ooms", totals->ooms);
    json_add_number(text, "justified", totals->justified);
    json_add_number(text, "premature", totals->premature);
    json_add_number(text, "unknown", totals->unknown);
    json_add_number(text, "broken", totals->broken);
    refusals_add_share(text, totals);
}

static void append_head(struct writing *text, const struct report_campaign *campaign)
{
    const struct report_end *end = campaign->end;
    writing_append(text, "{");
    json_add_string(text, "format", "hbmstress-summary");
    json_add_number(text, "version", SUMMARY_VERSION);
    json_add_string(text, "hbmstress", version_text());
    json_break(text, 0);
    json_add_digits(text, "seed", end->seed);
    json_add_string(text, "target", campaign->start->setup->target);
    json_add_number(text, "exit", (uint64_t)end->exit_code);
    json_add_true(text, "interrupted", end->is_interrupted);
    json_add_seconds(text, "seconds", end->elapsed_ns);
    json_break(text, 0);
    append_counts(text, end->trials, &end->totals);
    json_add_number(text, "disputed", end->totals.disputed);
    json_add_counted(text, "excused", end->totals.excused);
    json_add_counted(text, "unrepeated", end->totals.unrepeated);
    json_add_totals(text, &end->totals, true);
    json_add_counted(text, "relations_checked", end->totals.relations_checked);
    json_add_unknown(text, end);
    json_break(text, 0);
}

static void append_job(struct writing *text, const struct report_result *result)
{
    json_break(text, 0);
    json_nest(text, NULL, '{');
    json_add_string(text, "name", result->name);
    json_add_string(text, "scenario", result->scenario);
    append_counts(text, result->trials, &result->totals);
    json_add_number(text, "findings", result->finding_count);
    json_add_seconds(text, "seconds", result->elapsed_ns);
    json_add_boolean(text, "finished", result->is_finished);
    json_add_costs(text, &result->totals);
    json_add_given(text, "note", result->note);
    json_unnest(text, '}');
}

static void append_finding(struct writing *text, const struct report_known *finding)
{
    json_break(text, 0);
    json_nest(text, NULL, '{');
    json_add_string(text, "signature", finding->signature);
    json_add_given(text, "rule", finding->rule);
    json_add_number(text, "count", finding->count);
    json_add_number(text, "ops", finding->op_count);
    json_add_given(text, "job", finding->first.scenario);
    json_add_number(text, "trial", finding->first.trial);
    json_add_digits(text, "seed", finding->seed);
    json_add_given(text, "repro", finding->repro);
    json_add_given(text, "replay", finding->replay);
    json_add_given(text, "certificate", finding->certificate);
    json_add_repeats(text, &finding->repeats);
    if (finding->reason != NULL) { /* also without words */
        json_add_string(text, "reason", finding->reason);
    }
    if (finding->message != NULL) {
        json_add_string(text, "message", finding->message);
    }
    refusals_add_largest(text, finding->largest);
    json_add_true(text, "known", finding->is_known);
    json_unnest(text, '}');
}

static void append_lists(struct writing *text, const struct report_campaign *campaign)
{
    json_nest(text, "jobs", '[');
    for (size_t i = 0; i < campaign->result_count; i++) {
        append_job(text, &campaign->results[i]);
    }
    json_unnest(text, ']');
    json_break(text, 0);
    json_nest(text, "findings", '[');
    for (size_t i = 0; i < campaign->finding_count; i++) {
        append_finding(text, &campaign->findings[i]);
    }
    json_unnest(text, ']');
    json_break(text, 0);
    json_add_open(text, campaign, &campaign->end->totals);
}

void summary_print(struct writing *text, const struct report_campaign *campaign)
{
    CHECK(campaign->start != NULL && campaign->start->setup != NULL && campaign->end != NULL);
    append_head(text, campaign);
    append_lists(text, campaign);
    json_nest(text, "probes", '{');
    for (size_t i = 0; i < campaign->probe_count; i++) {
        json_break(text, 0);
        json_add_number(text, campaign->probes[i].name, campaign->probes[i].count);
    }
    json_unnest(text, '}');
    if (campaign->canary != NULL) {
        json_break(text, 0);
        json_nest(text, "canary", '{');
        json_add_canary(text, campaign->canary);
        json_unnest(text, '}');
    }
    json_close(text);
}
