#include "harness/base/check.h"
#include "harness/base/json.h"
#include "present/json_lines.h"
#include "present/refusals.h"
#include "present/say.h"
#include "present/version.h"

#include <inttypes.h>

enum { SUMMARY_VERSION = 1 };

/* With the number of trials, what every sum counts. */
static void append_counts(struct writing *text, uint64_t trials, const struct run_totals *totals)
{
    say_json(text,
             "trials:%" PRIu64 " ops:%" PRIu64 " ooms:%" PRIu64 " justified:%" PRIu64
             " premature:%" PRIu64 " unknown:%" PRIu64 " broken:%" PRIu64,
             trials, totals->ops, totals->ooms, totals->justified, totals->premature,
             totals->unknown, totals->broken);
    refusals_add_share(text, totals);
}

static void append_head(struct writing *text, const struct report_campaign *campaign)
{
    const struct report_end *end = campaign->end;
    const struct run_totals *totals = &end->totals;
    writing_append(text, "{");
    say_json(text, "format:%s version:%u hbmstress:%s", "hbmstress-summary", SUMMARY_VERSION,
             version_text());
    json_break(text, 0);
    say_json(text, "seed:'%" PRIu64 "' target:%s exit:%u interrupted?:%d", end->seed,
             campaign->start->setup->target, (unsigned)end->exit_code, end->is_interrupted);
    json_add_seconds(text, "seconds", end->elapsed_ns);
    json_break(text, 0);
    append_counts(text, end->trials, totals);
    say_json(text, "disputed:%" PRIu64 " excused?:%" PRIu64 " unrepeated?:%" PRIu64,
             totals->disputed, totals->excused, totals->unrepeated);
    json_add_totals(text, totals, true);
    say_json(text, "relations_checked?:%" PRIu64, totals->relations_checked);
    json_add_unknown(text, end);
    json_break(text, 0);
}

static void append_job(struct writing *text, const struct report_result *result)
{
    json_break(text, 0);
    say_json(text, "{name:%s scenario:%s", result->name, result->scenario);
    append_counts(text, result->trials, &result->totals);
    say_json(text, "findings:%" PRIu64, result->finding_count);
    json_add_seconds(text, "seconds", result->elapsed_ns);
    say_json(text, "finished:%d", result->is_finished);
    json_add_costs(text, &result->totals);
    say_json(text, "note?:%s}", result->note);
}

static void append_finding(struct writing *text, const struct report_known *finding)
{
    json_break(text, 0);
    say_json(text,
             "{signature:%s rule?:%s count:%" PRIu64 " ops:%" PRIu64 " job?:%s trial:%" PRIu64
             " seed:'%" PRIu64 "' repro?:%s replay?:%s certificate?:%s",
             finding->signature, finding->rule, finding->count, finding->op_count,
             finding->first.scenario, finding->first.trial, finding->seed, finding->repro,
             finding->replay, finding->certificate);
    json_add_repeats(text, &finding->repeats);
    if (finding->reason != NULL) { /* also without words */
        json_add_string(text, "reason", finding->reason);
    }
    if (finding->message != NULL) {
        json_add_string(text, "message", finding->message);
    }
    refusals_add_largest(text, finding->largest);
    say_json(text, "known?:%d}", finding->is_known);
}

static void append_lists(struct writing *text, const struct report_campaign *campaign)
{
    say_json(text, "jobs:[");
    for (size_t i = 0; i < campaign->result_count; i++) {
        append_job(text, &campaign->results[i]);
    }
    say_json(text, "]");
    json_break(text, 0);
    say_json(text, "findings:[");
    for (size_t i = 0; i < campaign->finding_count; i++) {
        append_finding(text, &campaign->findings[i]);
    }
    say_json(text, "]");
    json_break(text, 0);
    json_add_open(text, campaign, &campaign->end->totals);
}

void summary_print(struct writing *text, const struct report_campaign *campaign)
{
    CHECK(campaign->start != NULL && campaign->start->setup != NULL && campaign->end != NULL);
    append_head(text, campaign);
    append_lists(text, campaign);
    say_json(text, "probes:{");
    for (size_t i = 0; i < campaign->probe_count; i++) {
        json_break(text, 0);
        json_add_number(text, campaign->probes[i].name, campaign->probes[i].count);
    }
    say_json(text, "}");
    if (campaign->canary != NULL) {
        json_break(text, 0);
        say_json(text, "canary:{");
        json_add_canary(text, campaign->canary);
        say_json(text, "}");
    }
    json_close(text);
}
