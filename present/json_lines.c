#include "present/json_lines.h"

#include "harness/base/json.h"
#include "harness/op/rounding.h"
#include "present/refusals.h"
#include "present/say.h"
#include "present/version.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

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
    char rounding[ROUNDING_TEXT_BYTES] = "";
    say_json(text, "target:%s chip:%s capacity_bytes:%" PRIu64 " hosts:%u", setup->target,
             setup->chip, setup->capacity_bytes, setup->host_count);
    if (setup->has_regret_max) {
        say_json(text, "regret_max:%" PRIu64, setup->regret_max);
    }
    if (setup->has_rounding) {
        rounding_print(&setup->rounding, rounding);
    }
    say_json(text, "rounding?:%s options:{", rounding);
    for (uint32_t i = 0; i < setup->option_count; i++) {
        json_add_string(text, setup->options[i].key, setup->options[i].value);
    }
    say_json(text, "}");
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
    if (lanes->strategy[0] != '\0') {
        say_json(text,
                 "lanes?:%" PRIu64 " strategy:%s schedules:%" PRIu64 " backend:%s check_races?:%d",
                 lanes->lane_count, lanes->strategy, lanes->schedule_count, lanes->backend,
                 lanes->checks_races);
    }
}

static void append_part(struct writing *text, const struct report_part *part)
{
    say_json(text, "{name:%s scenario:%s seed:'%" PRIu64 "'", part->name, part->scenario,
             part->setup->seed);
    append_setup(text, part->setup);
    if (part->op_count_max != UINT64_MAX) {
        say_json(text, "ops:%" PRIu64, part->op_count_max);
    }
    if (part->faults != NULL && part->faults[0] != '\0') {
        say_json(text, "faults:%s faults_every?:%" PRIu64, part->faults,
                 part->fault_period > 1 ? part->fault_period : 0);
    }
    say_json(text, "trace?:%s", part->trace);
    append_lanes(text, &part->lanes);
    append_weights(text, part->setup);
    say_json(text, "}");
}

void json_line_start(struct writing *text, const struct report_start *start)
{
    json_open(text, "start");
    say_json(text, "subcommand:%s hbmstress:%s seed:'%" PRIu64 "' seed_source?:%s",
             start->subcommand, version_text(), start->setup->seed, start->seed_source);
    append_setup(text, start->setup);
    say_json(text, "file?:%s", start->file);
    append_lanes(text, &start->lanes);
    if (start->duration_ns != UINT64_MAX) {
        say_json(text, "time_ns:%" PRIu64, start->duration_ns);
    }
    if (start->part_count > 0) {
        say_json(text, "replay_sample:%" PRIu64 " scenarios:[", start->replay_sample);
        for (size_t i = 0; i < start->part_count; i++) {
            append_part(text, &start->parts[i]);
        }
        say_json(text, "]");
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
    say_json(text, "repro?:%s certificate?:%s", repro, certificate);
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
    say_json(text, "phase:%s", strike->phase);
    if (strike->fault != NULL) {
        say_json(text, "fault:%s mode:%s host:%" PRIu64 " call:%" PRIu64, strike->fault,
                 strike->mode, strike->host, strike->call);
    }
}

/* What ends every line about one op.  A run prints tens of thousands of them a second, most of them
 * of findings without a signature. */
static void append_words(struct writing *text, const struct report_finding *finding)
{
    json_add_string(text, "reason", finding->verdict->reason);
    json_add_string(text, "message", finding->message);
    if (finding->signature != NULL || finding->hang != NULL || finding->is_known) {
        say_json(text, "signature?:%s known?:%d hang?:%s", finding->signature, finding->is_known,
                 finding->hang);
    }
    if (finding->repro != NULL || finding->certificate != NULL) {
        json_line_paths(text, finding->repro, finding->certificate);
    }
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
    say_json(text, "digest:'%" PRIu64 "' signature?:%s kept?:%s output?:%s", trial->digest,
             trial->signature, trial->kept, trial->output);
    json_close(text);
}

void json_add_canary(struct writing *text, const struct report_canary *canary)
{
    say_json(text, "target:%s scenario:%s breaks:%s trials:%" PRIu64 " reported:%d", canary->target,
             canary->scenario, canary->breaks, canary->trials, canary->is_reported);
}

static void append_regret(struct writing *text, const struct run_totals *totals)
{
    say_json(text, "regret:{requests:%" PRIu64 " unknown:%" PRIu64, totals->regretted,
             totals->regrets_unknown);
    for (unsigned kind = 0; kind < REGRET_KIND_COUNT; kind++) {
        json_add_number(text, regret_info((enum regret_kind)kind)->name, totals->regrets[kind]);
    }
    say_json(text, "evicted_bytes:%" PRIu64 " moved_bytes:%" PRIu64 "}",
             totals->regretted_evicted_bytes, totals->regretted_moved_bytes);
}

static void add_spread(struct writing *text, const char *key, const struct op_costs *costs,
                       const struct cost_spread *spread, enum cost_measure measure)
{
    const uint64_t count = op_costs_op_count(costs);
    json_nest(text, key, '{');
    say_json(text, "p50:%" PRIu64 " p99:%" PRIu64 " p99.9:%" PRIu64 " max:%" PRIu64 " growth:%s}",
             cost_spread_percentile(spread, count, 50000),
             cost_spread_percentile(spread, count, 99000),
             cost_spread_percentile(spread, count, 99900), spread->max,
             cost_fit_name(cost_classes_fit(costs->classes, measure)));
}

void json_add_costs(struct writing *text, const struct run_totals *totals)
{
    const struct op_costs *costs = &totals->costs;
    if (costs->calls.max == 0) {
        return;
    }
    say_json(text, "costs:{ops:%" PRIu64, op_costs_op_count(costs));
    add_spread(text, "calls", costs, &costs->calls, COST_CALLS);
    add_spread(text, "moved_bytes", costs, &costs->moved_bytes, COST_MOVED_BYTES);
    say_json(text, "by_blocks:[");
    for (unsigned i = 0; i < COST_CLASS_COUNT; i++) {
        const struct cost_class *class = &costs->classes[i];
        if (class->op_count > 0) {
            say_json(text,
                     "{from:%" PRIu64 " to:%" PRIu64 " ops:%" PRIu64 " effects:%" PRIu64
                     " calls:%" PRIu64 " moved_bytes:%" PRIu64 " asked_bytes:%" PRIu64 "}",
                     (UINT64_C(1) << i) - 1, (UINT64_C(2) << i) - 2, class->op_count,
                     class->effects, class->spent[COST_CALLS], class->spent[COST_MOVED_BYTES],
                     class->asked_bytes);
        }
    }
    say_json(text, "]}");
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
    const struct run_totals *totals = &result->totals;
    json_open(text, "scenario");
    say_json(text, "name:%s trials:%" PRIu64, result->name, result->trials);
    json_add_totals(text, totals, false);
    refusals_add_share(text, totals);
    say_json(text,
             "drains:%" PRIu64 " moves:%" PRIu64 " moved_bytes:%" PRIu64 " stagings:%" PRIu64
             " evictions:%" PRIu64,
             totals->drains, totals->moves, totals->moved_bytes, totals->stagings,
             totals->evictions);
    append_regret(text, totals);
    json_add_costs(text, totals);
    append_kinds(text, "by_kind", totals->by_kind);
    append_kinds(text, "skipped_by_kind", totals->skipped_by_kind);
    say_json(text, "findings_only_counted?:%" PRIu64, result->findings_only_counted);
    if (result->growing_tag != NULL) {
        say_json(text,
                 "growing_tag:%s growing_tag_first_bytes:%" PRIu64
                 " growing_tag_last_bytes:%" PRIu64,
                 result->growing_tag, result->growth.first_bytes, result->growth.last_bytes);
    }
    say_json(text, "note?:%s", result->note);
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
            say_json(text, "{what:%s why:%s how?:%s}", result->not_tried, skip_prefix(result->note),
                     result->how);
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
    say_json(text, "seed:'%" PRIu64 "'", end->seed);
    json_add_totals(text, &end->totals, false);
    refusals_add_share(text, &end->totals);
    say_json(text, "known_findings?:%" PRIu64, end->known_count);
    if (end->totals.unrepeated == 0) {
        say_json(text, "unrepeated:%u", 0U);
    } else {
        say_json(text, "unrepeated_allowed:%" PRIu64, end->allowed.unrepeated);
    }
    say_json(text, "disputed:%" PRIu64, end->totals.disputed);
    json_add_unknown(text, end);
    say_json(text,
             "second_opinions:%" PRIu64 " relations_checked:%" PRIu64
             " certificates_checked:%" PRIu64,
             end->totals.second_opinions, end->totals.relations_checked, end->certificates_checked);
    append_regret(text, &end->totals);
    json_add_costs(text, &end->totals);
    append_probes(text, &end->totals);
    say_json(text, "verdicts_omitted?:%" PRIu64 " trials_omitted?:%" PRIu64, end->verdicts_omitted,
             end->trials_omitted);
    if (end->kept_count + end->kept_omitted > 0) {
        say_json(text, "kept:%" PRIu64 " kept_bytes:%" PRIu64, end->kept_count, end->kept_bytes);
    }
    say_json(text, "kept_omitted?:%" PRIu64 " interrupted?:%d", end->kept_omitted,
             end->is_interrupted);
    json_add_open(text, campaign, &end->totals);
    json_add_seconds(text, "seconds", end->elapsed_ns);
    say_json(text, "exit:%u", (unsigned)end->exit_code);
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
    say_json(text, "file:%s result:%s reason:%s", file, result, reason);
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
    say_json(text, "kind:%s name:%s summary:%s breaks?:%s", entry->kind, entry->name,
             entry->summary, entry->breaks);
    if (entry->options != NULL) {
        append_options(text, entry->options);
    }
    say_json(text, "path?:%s capacity_bytes?:%" PRIu64, entry->path, entry->capacity_bytes);
    json_close(text);
}
