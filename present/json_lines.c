#include "present/json_lines.h"

#include "harness/base/json.h"
#include "harness/op/rounding.h"
#include "present/costs.h"
#include "present/refusals.h"
#include "present/version.h"

#include <string.h>

static void append_setup(struct writing *text, const struct setup *setup)
{
    json_add_string(text, "target", setup->target);
    json_add_string(text, "chip", setup->chip);
    json_add_number(text, "capacity_bytes", setup->capacity_bytes);
    json_add_number(text, "hosts", setup->host_count);
    if (setup->has_regret_max) {
        json_add_number(text, "regret_max", setup->regret_max);
    }
    if (setup->has_rounding) {
        char rounding[ROUNDING_TEXT_BYTES];
        rounding_print(&setup->rounding, rounding);
        json_add_string(text, "rounding", rounding);
    }
    json_nest(text, "options", '{');
    for (uint32_t i = 0; i < setup->option_count; i++) {
        json_add_string(text, setup->options[i].key, setup->options[i].value);
    }
    json_unnest(text, '}');
}

static void append_weights(struct writing *text, const struct setup *setup)
{
    bool is_open = false;
    for (unsigned kind = 0; kind < OP_KIND_COUNT; kind++) {
        if (setup->weights[kind] == 100) {
            continue;
        }
        if (!is_open) {
            json_nest(text, "weights", '{');
        }
        is_open = true;
        json_add_number(text, op_kind_info((enum op_kind)kind)->name, setup->weights[kind]);
    }
    if (is_open) {
        json_unnest(text, '}');
    }
}

static void append_lanes(struct writing *text, const struct report_lanes *lanes)
{
    if (lanes->strategy[0] == '\0') {
        return;
    }
    if (lanes->lane_count != 0) {
        json_add_number(text, "lanes", lanes->lane_count);
    }
    json_add_string(text, "strategy", lanes->strategy);
    json_add_number(text, "schedules", lanes->schedule_count);
    json_add_string(text, "backend", lanes->backend);
    if (lanes->checks_races) {
        json_add_boolean(text, "check_races", true);
    }
}

static void append_part(struct writing *text, const struct report_part *part)
{
    json_nest(text, NULL, '{');
    json_add_string(text, "name", part->name);
    json_add_string(text, "scenario", part->scenario);
    json_add_digits(text, "seed", part->setup->seed);
    append_setup(text, part->setup);
    if (part->op_count_max != UINT64_MAX) {
        json_add_number(text, "ops", part->op_count_max);
    }
    if (part->faults != NULL && part->faults[0] != '\0') {
        json_add_string(text, "faults", part->faults);
        if (part->fault_period > 1) {
            json_add_number(text, "faults_every", part->fault_period);
        }
    }
    if (part->trace != NULL && part->trace[0] != '\0') {
        json_add_string(text, "trace", part->trace);
    }
    append_lanes(text, &part->lanes);
    append_weights(text, part->setup);
    json_unnest(text, '}');
}

void json_line_start(struct writing *text, const struct report_start *start)
{
    json_open(text, "start");
    json_add_string(text, "subcommand", start->subcommand);
    json_add_string(text, "hbmstress", version_text());
    json_add_digits(text, "seed", start->setup->seed);
    if (start->seed_source != NULL) {
        json_add_string(text, "seed_source", start->seed_source);
    }
    append_setup(text, start->setup);
    if (start->file != NULL) {
        json_add_string(text, "file", start->file);
    }
    append_lanes(text, &start->lanes);
    if (start->duration_ns != UINT64_MAX) {
        json_add_number(text, "time_ns", start->duration_ns);
    }
    if (start->part_count > 0) {
        json_add_number(text, "replay_sample", start->replay_sample);
        json_nest(text, "scenarios", '[');
        for (size_t i = 0; i < start->part_count; i++) {
            append_part(text, &start->parts[i]);
        }
        json_unnest(text, ']');
    }
    json_close(text);
}

static void append_place(struct writing *text, const struct report_place *place)
{
    if (place->scenario == NULL) {
        return;
    }
    json_add_string(text, "scenario", place->scenario);
    json_add_number(text, "trial", place->trial);
}

void json_line_paths(struct writing *text, const char *repro, const char *certificate)
{
    if (repro != NULL) {
        json_add_string(text, "repro", repro);
    }
    if (certificate != NULL) {
        json_add_string(text, "certificate", certificate);
    }
}

void json_add_repeats(struct writing *text, const struct report_repeats *repeats)
{
    if (repeats->after_count > 0) {
        json_nest(text, "after", '[');
        for (size_t i = 0; i < repeats->after_count; i++) {
            json_add_string(text, NULL, repeats->after[i]);
        }
        json_unnest(text, ']');
    }
    if (repeats->is_unrepeated) {
        json_add_boolean(text, "unrepeated", true);
    }
}

static void append_strike(struct writing *text, const struct report_strike *strike)
{
    json_add_string(text, "phase", strike->phase);
    if (strike->fault != NULL) {
        json_add_string(text, "fault", strike->fault);
        json_add_string(text, "mode", strike->mode);
        json_add_number(text, "host", strike->host);
        json_add_number(text, "call", strike->call);
    }
}

/* What ends every line about one op. */
static void append_words(struct writing *text, const struct report_finding *finding)
{
    json_add_string(text, "reason", finding->verdict->reason);
    json_add_string(text, "message", finding->message);
    if (finding->signature != NULL) {
        json_add_string(text, "signature", finding->signature);
    }
    if (finding->is_known) {
        json_add_boolean(text, "known", true);
    }
    if (finding->hang != NULL && finding->hang[0] != '\0') {
        json_add_string(text, "hang", finding->hang);
    }
    json_line_paths(text, finding->repro, finding->certificate);
    json_add_repeats(text, &finding->repeats);
    if (finding->repeats.after_count > 0) { /* the repro alone is not enough */
        json_add_string(text, "replay", finding->replay);
    }
    if (finding->strike != NULL) {
        append_strike(text, finding->strike);
    }
    json_close(text);
}

static void append_oom(struct writing *text, const char *type, const struct report_finding *finding)
{
    const struct verdict *verdict = finding->verdict;
    json_open(text, type);
    append_place(text, &finding->place);
    json_add_number(text, "op", verdict->op);
    json_add_string(text, "verdict", verdict_name(verdict->kind));
    json_add_number(text, "requested_bytes", verdict->requested_bytes);
    json_add_number(text, "free_bytes", verdict->free_bytes);
    refusals_add_largest(text, finding->largest);
    premature_unless_add_json(&verdict->premature_unless, text);
    append_words(text, finding);
}

void json_line_verdict(struct writing *text, const struct report_finding *finding)
{
    append_oom(text, "verdict", finding);
}

void json_line_dispute(struct writing *text, const struct report_finding *finding)
{
    append_oom(text, "disputed", finding);
}

void json_line_finding(struct writing *text, const struct report_finding *finding)
{
    if (finding->verdict->kind == VERDICT_PREMATURE) {
        json_line_verdict(text, finding);
        return;
    }
    json_open(text, "broken");
    json_add_string(text, "rule", finding->rule);
    append_place(text, &finding->place);
    json_add_number(text, "op", finding->verdict->op);
    append_words(text, finding);
}

void json_line_found(struct writing *text, const struct report_finding *finding)
{
    json_open(text, "found");
    json_add_string(text, "rule", finding->rule);
    append_place(text, &finding->place);
    json_add_number(text, "op", finding->verdict->op);
    append_words(text, finding);
}

void json_add_retries(struct writing *text, const struct run_totals *totals)
{
    if (totals->retries > 0) {
        json_add_number(text, "retries", totals->retries);
        json_add_number(text, "retries_granted", totals->retries_granted);
    }
    if (totals->late > 0) {
        json_add_number(text, "late", totals->late);
    }
}

/* Of the job: no promise is broken. */
static void add_hangs(struct writing *text, const struct run_totals *totals)
{
    if (totals->hangs > 0) {
        json_add_number(text, "hangs", totals->hangs);
        json_add_number(text, "hangs_after_oom", totals->hangs_of_oom);
        json_add_number(text, "hangs_without_word", totals->hangs_without_word);
    }
}

void json_add_standstills(struct writing *text, const struct run_totals *totals)
{
    if (totals->standstills > 0) {
        json_add_number(text, "standstills", totals->standstills);
        json_add_number(text, "standstills_ordered", totals->standstills_ordered);
        json_add_number(text, "standstills_unknown", totals->standstills_unknown);
    }
}

void json_add_shortages(struct writing *text, const struct run_totals *totals)
{
    if (totals->shortages > 0) {
        json_add_number(text, "shortages", totals->shortages);
    }
}

static void append_totals(struct writing *text, const struct run_totals *totals)
{
    json_add_number(text, "ops", totals->ops);
    json_add_number(text, "skipped", totals->skipped);
    json_add_number(text, "ooms", totals->ooms);
    json_add_number(text, "justified", totals->justified);
    json_add_number(text, "premature", totals->premature);
    json_add_number(text, "unknown", totals->unknown);
    if (totals->excused > 0) {
        json_add_number(text, "excused", totals->excused);
    }
    if (totals->not_modelled > 0) {
        json_add_number(text, "not_modelled", totals->not_modelled);
    }
    if (totals->unrepeated > 0) {
        json_add_number(text, "unrepeated", totals->unrepeated);
    }
    json_add_retries(text, totals);
    add_hangs(text, totals);
    json_add_standstills(text, totals);
    json_add_shortages(text, totals);
    json_add_number(text, "broken", totals->broken);
    if (totals->schedules > 0) {
        json_add_number(text, "schedules", totals->schedules);
        json_add_number(text, "points", totals->points);
        json_add_number(text, "switches", totals->switches);
    }
}

void json_line_trial(struct writing *text, const struct report_trial *trial)
{
    json_open(text, "trial");
    append_place(text, &trial->place);
    json_add_digits(text, "seed", trial->seed);
    append_totals(text, trial->totals);
    json_add_digits(text, "digest", trial->digest);
    if (trial->signature[0] != '\0') {
        json_add_string(text, "signature", trial->signature);
    }
    if (trial->kept != NULL && trial->kept[0] != '\0') {
        json_add_string(text, "kept", trial->kept);
    }
    if (trial->output != NULL) {
        json_add_string(text, "output", trial->output);
    }
    json_close(text);
}

void json_line_canary(struct writing *text, const struct report_canary *canary)
{
    json_open(text, "canary");
    json_add_string(text, "target", canary->target);
    json_add_string(text, "scenario", canary->scenario);
    json_add_string(text, "breaks", canary->breaks);
    json_add_number(text, "trials", canary->trials);
    json_add_boolean(text, "reported", canary->is_reported);
    json_close(text);
}

static void append_regret(struct writing *text, const struct run_totals *totals)
{
    json_nest(text, "regret", '{');
    json_add_number(text, "requests", totals->regretted);
    json_add_number(text, "unknown", totals->regrets_unknown);
    for (unsigned kind = 0; kind < REGRET_KIND_COUNT; kind++) {
        json_add_number(text, regret_info((enum regret_kind)kind)->name, totals->regrets[kind]);
    }
    json_add_number(text, "evicted_bytes", totals->regretted_evicted_bytes);
    json_add_number(text, "moved_bytes", totals->regretted_moved_bytes);
    json_unnest(text, '}');
}

static void append_kinds(struct writing *text, const char *key,
                         const uint64_t counts[OP_KIND_COUNT])
{
    json_nest(text, key, '{');
    for (uint32_t kind = 0; kind < OP_KIND_COUNT; kind++) {
        if (counts[kind] > 0) {
            json_add_number(text, op_kind_info((enum op_kind)kind)->name, counts[kind]);
        }
    }
    json_unnest(text, '}');
}

/* All of them: a probe that no op hit is what somebody looks for. */
static void append_probes(struct writing *text, const struct run_totals *totals)
{
    json_nest(text, "probes", '{');
    for (unsigned i = 0; i < PROBE_COUNT; i++) {
        json_add_number(text, probe_info((enum probe)i)->name, totals->probes[i]);
    }
    json_unnest(text, '}');
}

void json_line_result(struct writing *text, const struct report_result *result)
{
    json_open(text, "scenario");
    json_add_string(text, "name", result->name);
    json_add_number(text, "trials", result->trials);
    append_totals(text, &result->totals);
    refusals_add_share(text, &result->totals);
    json_add_number(text, "drains", result->totals.drains);
    json_add_number(text, "moves", result->totals.moves);
    json_add_number(text, "moved_bytes", result->totals.moved_bytes);
    json_add_number(text, "stagings", result->totals.stagings);
    json_add_number(text, "evictions", result->totals.evictions);
    append_regret(text, &result->totals);
    costs_add(text, &result->totals);
    append_kinds(text, "by_kind", result->totals.by_kind);
    append_kinds(text, "skipped_by_kind", result->totals.skipped_by_kind);
    if (result->findings_only_counted > 0) {
        json_add_number(text, "findings_only_counted", result->findings_only_counted);
    }
    if (result->growing_tag != NULL) {
        json_add_string(text, "growing_tag", result->growing_tag);
        json_add_number(text, "growing_tag_first_bytes", result->growth.first_bytes);
        json_add_number(text, "growing_tag_last_bytes", result->growth.last_bytes);
    }
    if (result->note != NULL) {
        json_add_string(text, "note", result->note);
    }
    json_close(text);
}

static void append_classes(struct writing *text, const char *key,
                           const uint64_t counts[OOM_CLASS_COUNT])
{
    json_nest(text, key, '{');
    for (unsigned i = 0; i < OOM_CLASS_COUNT; i++) {
        json_add_number(text, oom_class_name((enum oom_class)i), counts[i]);
    }
    json_unnest(text, '}');
}

void json_add_unknown(struct writing *text, const struct report_end *end)
{
    if (end->totals.unknown > 0) {
        append_classes(text, "unknown_by_class", end->totals.unknown_by_class);
    }
    if (end->allowed.has_unknown_rate) {
        append_classes(text, "unknown_allowed", end->allowed.unknown);
    }
}

/* "skipped: " says nothing next to "not_tried". */
static const char *skip_prefix(const char *note)
{
    static const char prefix[] = "skipped: ";
    return strncmp(note, prefix, sizeof prefix - 1) == 0 ? note + sizeof prefix - 1 : note;
}

void json_add_not_tried(struct writing *text, const struct report_campaign *campaign)
{
    bool has_any = false;
    for (size_t i = 0; i < campaign->result_count; i++) {
        const struct report_result *result = &campaign->results[i];
        if (result->not_tried == NULL) {
            continue;
        }
        if (!has_any) {
            json_nest(text, "not_tried", '[');
        }
        has_any = true;
        json_nest(text, NULL, '{');
        json_add_string(text, "what", result->not_tried);
        json_add_string(text, "why", skip_prefix(result->note));
        if (result->how != NULL) {
            json_add_string(text, "how", result->how);
        }
        json_unnest(text, '}');
    }
    if (has_any) {
        json_unnest(text, ']');
    }
}

void json_add_not_checked(struct writing *text, const struct run_totals *totals)
{
    bool has_any = false;
    for (unsigned i = 0; i < NOT_CHECKED_COUNT; i++) {
        if (totals->not_checked[i] == 0) {
            continue;
        }
        if (!has_any) {
            json_nest(text, "not_checked", '[');
        }
        has_any = true;
        json_add_string(text, NULL, not_checked_info((enum not_checked)i)->name);
    }
    if (has_any) {
        json_unnest(text, ']');
    }
}

/* campaign: NULL = it is the end of something else. */
static void append_end(struct writing *text, const struct report_end *end,
                       const struct report_campaign *campaign)
{
    json_open(text, "end");
    json_add_digits(text, "seed", end->seed);
    append_totals(text, &end->totals);
    refusals_add_share(text, &end->totals);
    if (end->known_count > 0) {
        json_add_number(text, "known_findings", end->known_count);
    }
    if (end->totals.unrepeated == 0) {
        json_add_number(text, "unrepeated", 0);
    } else {
        json_add_number(text, "unrepeated_allowed", end->allowed.unrepeated);
    }
    json_add_number(text, "disputed", end->totals.disputed);
    json_add_unknown(text, end);
    json_add_number(text, "second_opinions", end->totals.second_opinions);
    json_add_number(text, "relations_checked", end->totals.relations_checked);
    json_add_number(text, "certificates_checked", end->certificates_checked);
    append_regret(text, &end->totals);
    costs_add(text, &end->totals);
    append_probes(text, &end->totals);
    if (end->verdicts_omitted > 0) {
        json_add_number(text, "verdicts_omitted", end->verdicts_omitted);
    }
    if (end->trials_omitted > 0) {
        json_add_number(text, "trials_omitted", end->trials_omitted);
    }
    if (end->kept_count + end->kept_omitted > 0) {
        json_add_number(text, "kept", end->kept_count);
        json_add_number(text, "kept_bytes", end->kept_bytes);
    }
    if (end->kept_omitted > 0) {
        json_add_number(text, "kept_omitted", end->kept_omitted);
    }
    if (end->is_interrupted) {
        json_add_boolean(text, "interrupted", true);
    }
    if (campaign != NULL) {
        json_add_not_tried(text, campaign);
    }
    json_add_not_checked(text, &end->totals);
    json_add_seconds(text, "seconds", end->elapsed_ns);
    json_add_number(text, "exit", (uint64_t)end->exit_code);
    json_close(text);
}

void json_line_end(struct writing *text, const struct report_end *end)
{
    append_end(text, end, NULL);
}

void json_line_campaign(struct writing *text, const struct report_campaign *campaign)
{
    for (size_t i = 0; i < campaign->result_count; i++) {
        json_line_result(text, &campaign->results[i]);
    }
    if (campaign->canary != NULL) {
        json_line_canary(text, campaign->canary);
    }
    append_end(text, campaign->end, campaign);
}

void json_line_certificate(struct writing *text, const char *file, const char *result,
                           const char *reason)
{
    json_open(text, "certificate");
    json_add_string(text, "file", file);
    json_add_string(text, "result", result);
    json_add_string(text, "reason", reason);
    json_close(text);
}

/* "key=values" lines, as a target lists its options: the values by key. */
static void append_options(struct writing *text, const char *options)
{
    char line[128];
    json_nest(text, "options", '{');
    for (size_t length; *options != '\0'; options += length + (options[length] == '\n')) {
        length = strcspn(options, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, options);
        char *equals = strchr(line, '=');
        if (equals == NULL) {
            continue; /* a plug-in's help may be any text */
        }
        *equals = '\0';
        json_add_string(text, line, equals + 1);
    }
    json_unnest(text, '}');
}

void json_line_entry(struct writing *text, const struct report_entry *entry)
{
    writing_append_bytes(text, "{", 1);
    json_add_string(text, "kind", entry->kind);
    json_add_string(text, "name", entry->name);
    json_add_string(text, "summary", entry->summary);
    if (entry->breaks != NULL) {
        json_add_string(text, "breaks", entry->breaks);
    }
    if (entry->options != NULL) {
        append_options(text, entry->options);
    }
    if (entry->path != NULL) {
        json_add_string(text, "path", entry->path);
    }
    if (entry->capacity_bytes != 0) {
        json_add_number(text, "capacity_bytes", entry->capacity_bytes);
    }
    json_close(text);
}
