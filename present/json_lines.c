#include "present/json_lines.h"

#include "harness/base/json.h"
#include "harness/op/rounding.h"
#include "present/refusals.h"
#include "present/version.h"

#include <stddef.h>
#include <string.h>

/* --- members that are there where they say something --- */

void json_add_given(struct writing *text, const char *key, const char *value)
{
    if (value != NULL && value[0] != '\0') {
        json_add_string(text, key, value);
    }
}

void json_add_counted(struct writing *text, const char *key, uint64_t count)
{
    if (count > 0) {
        json_add_number(text, key, count);
    }
}

void json_add_true(struct writing *text, const char *key, bool is_true)
{
    if (is_true) {
        json_add_boolean(text, key, true);
    }
}

/* Opens the list or object before its first element. */
static void nest_once(struct writing *text, const char *key, char bracket, bool *is_open)
{
    if (!*is_open) {
        json_nest(text, key, bracket);
    }
    *is_open = true;
}

/* --- what starts --- */

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
        if (setup->weights[kind] != 100) {
            nest_once(text, "weights", '{', &is_open);
            json_add_number(text, op_kind_info((enum op_kind)kind)->name, setup->weights[kind]);
        }
    }
    writing_append(text, is_open ? "}" : "");
}

static void append_lanes(struct writing *text, const struct report_lanes *lanes)
{
    if (lanes->strategy[0] == '\0') {
        return;
    }
    json_add_counted(text, "lanes", lanes->lane_count);
    json_add_string(text, "strategy", lanes->strategy);
    json_add_number(text, "schedules", lanes->schedule_count);
    json_add_string(text, "backend", lanes->backend);
    json_add_true(text, "check_races", lanes->checks_races);
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
    json_add_given(text, "trace", part->trace);
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
    json_add_given(text, "seed_source", start->seed_source);
    append_setup(text, start->setup);
    json_add_given(text, "file", start->file);
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

/* --- findings --- */

static void append_place(struct writing *text, const struct report_place *place)
{
    if (place->scenario != NULL) {
        json_add_string(text, "scenario", place->scenario);
        json_add_number(text, "trial", place->trial);
    }
}

void json_line_paths(struct writing *text, const char *repro, const char *certificate)
{
    json_add_given(text, "repro", repro);
    json_add_given(text, "certificate", certificate);
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
    json_add_true(text, "unrepeated", repeats->is_unrepeated);
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
    json_add_given(text, "signature", finding->signature);
    json_add_true(text, "known", finding->is_known);
    json_add_given(text, "hang", finding->hang);
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

/* The members of a finding; its line is open. */
static void append_broken(struct writing *text, const struct report_finding *finding)
{
    json_add_string(text, "rule", finding->rule);
    append_place(text, &finding->place);
    json_add_number(text, "op", finding->verdict->op);
    append_words(text, finding);
}

void json_line_finding(struct writing *text, const struct report_finding *finding)
{
    if (finding->verdict->kind == VERDICT_PREMATURE) {
        append_oom(text, "verdict", finding);
        return;
    }
    json_open(text, "broken");
    append_broken(text, finding);
}

void json_line_found(struct writing *text, const struct report_finding *finding)
{
    json_open(text, "found");
    append_broken(text, finding);
}

/* --- totals --- */

#define TOTAL(name) offsetof(struct run_totals, name)
enum { ALWAYS = 0 };

/* with: the total that is not 0 where this one is shown; ALWAYS, which is that of ops. */
static const struct total {
    const char *name;
    size_t place, with;
    bool is_of_summary;
} totals_members[] = {{"ops", TOTAL(ops), ALWAYS, false},
                      {"skipped", TOTAL(skipped), ALWAYS, false},
                      {"ooms", TOTAL(ooms), ALWAYS, false},
                      {"justified", TOTAL(justified), ALWAYS, false},
                      {"premature", TOTAL(premature), ALWAYS, false},
                      {"unknown", TOTAL(unknown), ALWAYS, false},
                      {"excused", TOTAL(excused), TOTAL(excused), false},
                      {"not_modelled", TOTAL(not_modelled), TOTAL(not_modelled), false},
                      {"unrepeated", TOTAL(unrepeated), TOTAL(unrepeated), false},
                      {"retries", TOTAL(retries), TOTAL(retries), true},
                      {"retries_granted", TOTAL(retries_granted), TOTAL(retries), true},
                      {"late", TOTAL(late), TOTAL(late), true},
                      /* Of the job: no promise is broken. */
                      {"hangs", TOTAL(hangs), TOTAL(hangs), false},
                      {"hangs_after_oom", TOTAL(hangs_of_oom), TOTAL(hangs), false},
                      {"hangs_without_word", TOTAL(hangs_without_word), TOTAL(hangs), false},
                      {"standstills", TOTAL(standstills), TOTAL(standstills), true},
                      {"standstills_ordered", TOTAL(standstills_ordered), TOTAL(standstills), true},
                      {"standstills_unknown", TOTAL(standstills_unknown), TOTAL(standstills), true},
                      {"shortages", TOTAL(shortages), TOTAL(shortages), true},
                      {"broken", TOTAL(broken), ALWAYS, false},
                      {"schedules", TOTAL(schedules), TOTAL(schedules), false},
                      {"points", TOTAL(points), TOTAL(schedules), false},
                      {"switches", TOTAL(switches), TOTAL(schedules), false}};
enum { TOTAL_COUNT = sizeof totals_members / sizeof *totals_members };
static_assert(TOTAL(ops) == ALWAYS, "ops are no condition");

static uint64_t read_total(const struct run_totals *totals, size_t place)
{
    return *(const uint64_t *)((const char *)totals + place);
}

const char *json_total_name(size_t i)
{
    return i < TOTAL_COUNT ? totals_members[i].name : NULL;
}

void json_add_totals(struct writing *text, const struct run_totals *totals, bool is_summary)
{
    for (size_t i = 0; i < TOTAL_COUNT; i++) {
        const struct total *total = &totals_members[i];
        if ((!is_summary || total->is_of_summary) &&
            (total->with == ALWAYS || read_total(totals, total->with) > 0)) {
            json_add_number(text, total->name, read_total(totals, total->place));
        }
    }
}

void json_line_trial(struct writing *text, const struct report_trial *trial)
{
    json_open(text, "trial");
    append_place(text, &trial->place);
    json_add_digits(text, "seed", trial->seed);
    json_add_totals(text, trial->totals, false);
    json_add_digits(text, "digest", trial->digest);
    json_add_given(text, "signature", trial->signature);
    json_add_given(text, "kept", trial->kept);
    json_add_given(text, "output", trial->output);
    json_close(text);
}

void json_add_canary(struct writing *text, const struct report_canary *canary)
{
    json_add_string(text, "target", canary->target);
    json_add_string(text, "scenario", canary->scenario);
    json_add_string(text, "breaks", canary->breaks);
    json_add_number(text, "trials", canary->trials);
    json_add_boolean(text, "reported", canary->is_reported);
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

static const struct {
    const char *key;
    uint64_t per_100000;
} percentiles[] = {{"p50", 50000}, {"p99", 99000}, {"p99.9", 99900}};
enum { PERCENTILE_COUNT = sizeof percentiles / sizeof *percentiles };

static void add_spread(struct writing *text, const char *key, const struct op_costs *costs,
                       const struct cost_spread *spread, enum cost_measure measure)
{
    const uint64_t op_count = op_costs_op_count(costs);
    json_nest(text, key, '{');
    for (unsigned i = 0; i < PERCENTILE_COUNT; i++) {
        json_add_number(text, percentiles[i].key,
                        cost_spread_percentile(spread, op_count, percentiles[i].per_100000));
    }
    json_add_number(text, "max", spread->max);
    json_add_string(text, "growth", cost_fit_name(cost_classes_fit(costs->classes, measure)));
    json_unnest(text, '}');
}

static void add_class(struct writing *text, const struct cost_class *class, unsigned index)
{
    json_nest(text, NULL, '{');
    json_add_number(text, "from", (UINT64_C(1) << index) - 1);
    json_add_number(text, "to", (UINT64_C(2) << index) - 2);
    json_add_number(text, "ops", class->op_count);
    json_add_number(text, "effects", class->effects);
    json_add_number(text, "calls", class->spent[COST_CALLS]);
    json_add_number(text, "moved_bytes", class->spent[COST_MOVED_BYTES]);
    json_add_number(text, "asked_bytes", class->asked_bytes);
    json_unnest(text, '}');
}

void json_add_costs(struct writing *text, const struct run_totals *totals)
{
    const struct op_costs *costs = &totals->costs;
    if (costs->calls.max == 0) {
        return;
    }
    json_nest(text, "costs", '{');
    json_add_number(text, "ops", op_costs_op_count(costs));
    add_spread(text, "calls", costs, &costs->calls, COST_CALLS);
    add_spread(text, "moved_bytes", costs, &costs->moved_bytes, COST_MOVED_BYTES);
    json_nest(text, "by_blocks", '[');
    for (unsigned i = 0; i < COST_CLASS_COUNT; i++) {
        if (costs->classes[i].op_count > 0) {
            add_class(text, &costs->classes[i], i);
        }
    }
    json_unnest(text, ']');
    json_unnest(text, '}');
}

static void append_kinds(struct writing *text, const char *key,
                         const uint64_t counts[OP_KIND_COUNT])
{
    json_nest(text, key, '{');
    for (uint32_t kind = 0; kind < OP_KIND_COUNT; kind++) {
        json_add_counted(text, op_kind_info((enum op_kind)kind)->name, counts[kind]);
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
    json_add_totals(text, &result->totals, false);
    refusals_add_share(text, &result->totals);
    json_add_number(text, "drains", result->totals.drains);
    json_add_number(text, "moves", result->totals.moves);
    json_add_number(text, "moved_bytes", result->totals.moved_bytes);
    json_add_number(text, "stagings", result->totals.stagings);
    json_add_number(text, "evictions", result->totals.evictions);
    append_regret(text, &result->totals);
    json_add_costs(text, &result->totals);
    append_kinds(text, "by_kind", result->totals.by_kind);
    append_kinds(text, "skipped_by_kind", result->totals.skipped_by_kind);
    json_add_counted(text, "findings_only_counted", result->findings_only_counted);
    if (result->growing_tag != NULL) {
        json_add_string(text, "growing_tag", result->growing_tag);
        json_add_number(text, "growing_tag_first_bytes", result->growth.first_bytes);
        json_add_number(text, "growing_tag_last_bytes", result->growth.last_bytes);
    }
    json_add_given(text, "note", result->note);
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

void json_add_open(struct writing *text, const struct report_campaign *campaign,
                   const struct run_totals *totals)
{
    bool is_open = false;
    for (size_t i = 0; campaign != NULL && i < campaign->result_count; i++) {
        const struct report_result *result = &campaign->results[i];
        if (result->not_tried != NULL) {
            nest_once(text, "not_tried", '[', &is_open);
            json_nest(text, NULL, '{');
            json_add_string(text, "what", result->not_tried);
            json_add_string(text, "why", skip_prefix(result->note));
            json_add_given(text, "how", result->how);
            json_unnest(text, '}');
        }
    }
    writing_append(text, is_open ? "]" : "");
    is_open = false;
    for (unsigned i = 0; i < NOT_CHECKED_COUNT; i++) {
        if (totals->not_checked[i] > 0) {
            nest_once(text, "not_checked", '[', &is_open);
            json_add_string(text, NULL, not_checked_info((enum not_checked)i)->name);
        }
    }
    writing_append(text, is_open ? "]" : "");
}

/* campaign: NULL = it is the end of something else. */
static void append_end(struct writing *text, const struct report_end *end,
                       const struct report_campaign *campaign)
{
    json_open(text, "end");
    json_add_digits(text, "seed", end->seed);
    json_add_totals(text, &end->totals, false);
    refusals_add_share(text, &end->totals);
    json_add_counted(text, "known_findings", end->known_count);
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
    json_add_costs(text, &end->totals);
    append_probes(text, &end->totals);
    json_add_counted(text, "verdicts_omitted", end->verdicts_omitted);
    json_add_counted(text, "trials_omitted", end->trials_omitted);
    if (end->kept_count + end->kept_omitted > 0) {
        json_add_number(text, "kept", end->kept_count);
        json_add_number(text, "kept_bytes", end->kept_bytes);
    }
    json_add_counted(text, "kept_omitted", end->kept_omitted);
    json_add_true(text, "interrupted", end->is_interrupted);
    json_add_open(text, campaign, &end->totals);
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
        json_open(text, "canary");
        json_add_canary(text, campaign->canary);
        json_close(text);
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
    json_add_given(text, "breaks", entry->breaks);
    if (entry->options != NULL) {
        append_options(text, entry->options);
    }
    json_add_given(text, "path", entry->path);
    json_add_counted(text, "capacity_bytes", entry->capacity_bytes);
    json_close(text);
}
