#include "reports/json_lines.h"

#include "harness/base/check.h"

#include <string.h>

static void json_separate(struct writing *text)
{
    CHECK(text->length > 0);
    char last = text->bytes[text->length - 1];
    if (last != '{' && last != '[' && last != '\n') {
        writing_append_bytes(text, ",", 1);
    }
}

/* Keys and fixed words need no escaping. */
static void json_key(struct writing *text, const char *key)
{
    json_separate(text);
    writing_append_bytes(text, "\"", 1);
    writing_append(text, key);
    writing_append_bytes(text, "\":", 2);
}

void line_open(struct writing *text, const char *type)
{
    writing_append_bytes(text, "{", 1);
    line_string(text, "type", type);
}

void line_string(struct writing *text, const char *key, const char *value)
{
    json_key(text, key);
    writing_append_json(text, value);
}

void line_number(struct writing *text, const char *key, uint64_t value)
{
    json_key(text, key);
    writing_append_number(text, value);
}

void line_named_number(struct writing *text, const char *key, uint64_t value)
{
    json_separate(text);
    writing_append_json(text, key);
    writing_append_bytes(text, ":", 1);
    writing_append_number(text, value);
}

void line_boolean(struct writing *text, const char *key, bool value)
{
    json_key(text, key);
    writing_append(text, value ? "true" : "false");
}

void line_seconds(struct writing *text, const char *key, uint64_t duration_ns)
{
    json_key(text, key);
    writing_append_seconds(text, duration_ns);
}

void line_break(struct writing *text)
{
    json_separate(text);
    writing_append_bytes(text, "\n", 1);
}

void line_nest(struct writing *text, const char *key, char bracket)
{
    CHECK(bracket == '{' || bracket == '[');
    if (key == NULL) {
        json_separate(text);
    } else {
        json_key(text, key);
    }
    writing_append_bytes(text, &bracket, 1);
}

void line_unnest(struct writing *text, char bracket)
{
    CHECK(bracket == '}' || bracket == ']');
    writing_append_bytes(text, &bracket, 1);
}

void line_close(struct writing *text)
{
    writing_append_bytes(text, "}\n", 2);
}

static void json_setup(struct writing *text, const struct setup *setup)
{
    line_string(text, "target", setup->target);
    line_string(text, "chip", setup->chip);
    line_number(text, "capacity_bytes", setup->capacity_bytes);
    line_number(text, "hosts", setup->host_count);
    if (setup->has_regret_max) {
        line_number(text, "regret_max", setup->regret_max);
    }
    line_nest(text, "options", '{');
    for (uint32_t i = 0; i < setup->option_count; i++) {
        json_separate(text);
        writing_append_json(text, setup->options[i].key);
        writing_append_bytes(text, ":", 1);
        writing_append_json(text, setup->options[i].value);
    }
    line_unnest(text, '}');
}

static void json_weights(struct writing *text, const struct setup *setup)
{
    bool is_open = false;
    for (unsigned kind = 0; kind < OP_KIND_COUNT; kind++) {
        if (setup->weights[kind] == 100) {
            continue;
        }
        if (!is_open) {
            line_nest(text, "weights", '{');
        }
        is_open = true;
        line_number(text, op_kind_info((enum op_kind)kind)->name, setup->weights[kind]);
    }
    if (is_open) {
        line_unnest(text, '}');
    }
}

static void json_lanes(struct writing *text, const struct report_lanes *lanes)
{
    if (lanes->strategy[0] == '\0') {
        return;
    }
    if (lanes->lane_count != 0) {
        line_number(text, "lanes", lanes->lane_count);
    }
    line_string(text, "strategy", lanes->strategy);
    line_number(text, "schedules", lanes->schedule_count);
    line_string(text, "backend", lanes->backend);
    if (lanes->checks_races) {
        line_boolean(text, "check_races", true);
    }
}

static void json_part(struct writing *text, const struct report_part *part)
{
    line_nest(text, NULL, '{');
    line_string(text, "name", part->name);
    line_string(text, "scenario", part->scenario);
    line_number(text, "seed", part->setup->seed);
    json_setup(text, part->setup);
    if (part->op_count_max != UINT64_MAX) {
        line_number(text, "ops", part->op_count_max);
    }
    if (part->faults != NULL && part->faults[0] != '\0') {
        line_string(text, "faults", part->faults);
    }
    json_lanes(text, &part->lanes);
    json_weights(text, part->setup);
    line_unnest(text, '}');
}

void json_start(struct writing *text, const struct report_start *start)
{
    line_open(text, "start");
    line_string(text, "subcommand", start->subcommand);
    line_number(text, "seed", start->setup->seed);
    if (start->seed_source != NULL) {
        line_string(text, "seed_source", start->seed_source);
    }
    json_setup(text, start->setup);
    if (start->file != NULL) {
        line_string(text, "file", start->file);
    }
    json_lanes(text, &start->lanes);
    if (start->duration_ns != UINT64_MAX) {
        line_number(text, "time_ns", start->duration_ns);
    }
    if (start->part_count > 0) {
        line_number(text, "replay_sample", start->replay_sample);
        line_nest(text, "scenarios", '[');
        for (size_t i = 0; i < start->part_count; i++) {
            json_part(text, &start->parts[i]);
        }
        line_unnest(text, ']');
    }
    line_close(text);
}

static void json_place(struct writing *text, const struct report_place *place)
{
    if (place->scenario == NULL) {
        return;
    }
    line_string(text, "scenario", place->scenario);
    line_number(text, "trial", place->trial);
}

void json_paths(struct writing *text, const char *repro, const char *certificate)
{
    if (repro != NULL) {
        line_string(text, "repro", repro);
    }
    if (certificate != NULL) {
        line_string(text, "certificate", certificate);
    }
}

static void json_strike(struct writing *text, const struct report_strike *strike)
{
    line_string(text, "phase", strike->phase);
    if (strike->fault != NULL) {
        line_string(text, "fault", strike->fault);
        line_string(text, "mode", strike->mode);
        line_number(text, "host", strike->host);
        line_number(text, "call", strike->call);
    }
}

/* What ends every line about one op. */
static void json_words(struct writing *text, const struct report_finding *finding)
{
    line_string(text, "reason", finding->verdict->reason);
    line_string(text, "message", finding->message);
    if (finding->signature != NULL) {
        line_string(text, "signature", finding->signature);
    }
    json_paths(text, finding->repro, finding->certificate);
    if (finding->strike != NULL) {
        json_strike(text, finding->strike);
    }
    line_close(text);
}

static void json_oom(struct writing *text, const char *type, const struct report_finding *finding)
{
    const struct verdict *verdict = finding->verdict;
    line_open(text, type);
    json_place(text, &finding->place);
    line_number(text, "op", verdict->op);
    line_string(text, "verdict", verdict_name(verdict->kind));
    line_number(text, "requested_bytes", verdict->requested_bytes);
    line_number(text, "free_bytes", verdict->free_bytes);
    json_words(text, finding);
}

void json_verdict(struct writing *text, const struct report_finding *finding)
{
    json_oom(text, "verdict", finding);
}

void json_dispute(struct writing *text, const struct report_finding *finding)
{
    json_oom(text, "disputed", finding);
}

void json_finding(struct writing *text, const struct report_finding *finding)
{
    if (finding->verdict->kind == VERDICT_PREMATURE) {
        json_verdict(text, finding);
        return;
    }
    line_open(text, "broken");
    line_string(text, "rule", finding->rule);
    json_place(text, &finding->place);
    line_number(text, "op", finding->verdict->op);
    json_words(text, finding);
}

static void json_totals(struct writing *text, const struct run_totals *totals)
{
    line_number(text, "ops", totals->ops);
    line_number(text, "skipped", totals->skipped);
    line_number(text, "ooms", totals->ooms);
    line_number(text, "justified", totals->justified);
    line_number(text, "premature", totals->premature);
    line_number(text, "unknown", totals->unknown);
    if (totals->excused > 0) {
        line_number(text, "excused", totals->excused);
    }
    line_number(text, "broken", totals->broken);
    if (totals->schedules > 0) {
        line_number(text, "schedules", totals->schedules);
        line_number(text, "points", totals->points);
        line_number(text, "switches", totals->switches);
    }
}

void json_trial(struct writing *text, const struct report_trial *trial)
{
    line_open(text, "trial");
    json_place(text, &trial->place);
    line_number(text, "seed", trial->seed);
    json_totals(text, trial->totals);
    line_number(text, "digest", trial->digest);
    if (trial->signature[0] != '\0') {
        line_string(text, "signature", trial->signature);
    }
    line_close(text);
}

void json_canary(struct writing *text, const struct report_canary *canary)
{
    line_open(text, "canary");
    line_string(text, "target", canary->target);
    line_string(text, "scenario", canary->scenario);
    line_string(text, "breaks", canary->breaks);
    line_number(text, "trials", canary->trials);
    line_boolean(text, "reported", canary->is_reported);
    line_close(text);
}

static void json_regret(struct writing *text, const struct run_totals *totals)
{
    line_nest(text, "regret", '{');
    line_number(text, "requests", totals->regretted);
    line_number(text, "unknown", totals->regrets_unknown);
    for (unsigned kind = 0; kind < REGRET_KIND_COUNT; kind++) {
        line_number(text, regret_info((enum regret_kind)kind)->name, totals->regrets[kind]);
    }
    line_number(text, "evicted_bytes", totals->regretted_evicted_bytes);
    line_number(text, "moved_bytes", totals->regretted_moved_bytes);
    line_unnest(text, '}');
}

static void json_kinds(struct writing *text, const char *key, const uint64_t counts[OP_KIND_COUNT])
{
    line_nest(text, key, '{');
    for (uint32_t kind = 0; kind < OP_KIND_COUNT; kind++) {
        if (counts[kind] > 0) {
            line_number(text, op_kind_info((enum op_kind)kind)->name, counts[kind]);
        }
    }
    line_unnest(text, '}');
}

/* All of them: a probe that no op hit is what somebody looks for. */
static void json_probes(struct writing *text, const struct run_totals *totals)
{
    line_nest(text, "probes", '{');
    for (unsigned i = 0; i < PROBE_COUNT; i++) {
        line_number(text, probe_info((enum probe)i)->name, totals->probes[i]);
    }
    line_unnest(text, '}');
    line_nest(text, "probe_pairs", '{');
    line_number(text, "hit", probe_pairs_ever_hit(totals->probe_pairs));
    line_number(text, "possible", probe_pairs_possible());
    line_unnest(text, '}');
}

void json_result(struct writing *text, const struct report_result *result)
{
    line_open(text, "scenario");
    line_string(text, "name", result->name);
    line_number(text, "trials", result->trials);
    json_totals(text, &result->totals);
    line_number(text, "drains", result->totals.drains);
    line_number(text, "moves", result->totals.moves);
    line_number(text, "moved_bytes", result->totals.moved_bytes);
    line_number(text, "stagings", result->totals.stagings);
    line_number(text, "evictions", result->totals.evictions);
    json_regret(text, &result->totals);
    json_kinds(text, "by_kind", result->totals.by_kind);
    json_kinds(text, "skipped_by_kind", result->totals.skipped_by_kind);
    if (result->findings_only_counted > 0) {
        line_number(text, "findings_only_counted", result->findings_only_counted);
    }
    if (result->growing_tag != NULL) {
        line_string(text, "growing_tag", result->growing_tag);
        line_number(text, "growing_tag_first_bytes", result->growth.first_bytes);
        line_number(text, "growing_tag_last_bytes", result->growth.last_bytes);
    }
    if (result->note != NULL) {
        line_string(text, "note", result->note);
    }
    line_close(text);
}

void json_end(struct writing *text, const struct report_end *end)
{
    line_open(text, "end");
    line_number(text, "seed", end->seed);
    json_totals(text, &end->totals);
    line_number(text, "disputed", end->totals.disputed);
    line_number(text, "second_opinions", end->totals.second_opinions);
    line_number(text, "certificates_checked", end->certificates_checked);
    json_regret(text, &end->totals);
    json_probes(text, &end->totals);
    if (end->verdicts_omitted > 0) {
        line_number(text, "verdicts_omitted", end->verdicts_omitted);
    }
    if (end->trials_omitted > 0) {
        line_number(text, "trials_omitted", end->trials_omitted);
    }
    if (end->is_interrupted) {
        line_boolean(text, "interrupted", true);
    }
    line_seconds(text, "seconds", end->elapsed_ns);
    line_number(text, "exit", (uint64_t)end->exit_code);
    line_close(text);
}

void json_campaign(struct writing *text, const struct report_campaign *campaign)
{
    for (size_t i = 0; i < campaign->result_count; i++) {
        json_result(text, &campaign->results[i]);
    }
    if (campaign->canary != NULL) {
        json_canary(text, campaign->canary);
    }
    json_end(text, campaign->end);
}

void json_certificate(struct writing *text, const char *file, const char *result,
                      const char *reason)
{
    line_open(text, "certificate");
    line_string(text, "file", file);
    line_string(text, "result", result);
    line_string(text, "reason", reason);
    line_close(text);
}

/* "key=values" lines, as a target lists its options: the values by key. */
static void json_options(struct writing *text, const char *options)
{
    char line[128];
    line_nest(text, "options", '{');
    for (size_t length; *options != '\0'; options += length + (options[length] == '\n')) {
        length = strcspn(options, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, options);
        char *equals = strchr(line, '=');
        if (equals == NULL) {
            continue; /* a plug-in's help may be any text */
        }
        *equals = '\0';
        json_separate(text);
        writing_append_json(text, line);
        writing_append_bytes(text, ":", 1);
        writing_append_json(text, equals + 1);
    }
    line_unnest(text, '}');
}

void json_entry(struct writing *text, const struct report_entry *entry)
{
    writing_append_bytes(text, "{", 1);
    line_string(text, "kind", entry->kind);
    line_string(text, "name", entry->name);
    line_string(text, "summary", entry->summary);
    if (entry->breaks != NULL) {
        line_string(text, "breaks", entry->breaks);
    }
    if (entry->options != NULL) {
        json_options(text, entry->options);
    }
    if (entry->capacity_bytes != 0) {
        line_number(text, "capacity_bytes", entry->capacity_bytes);
    }
    line_close(text);
}
