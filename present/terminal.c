#include "present/terminal.h"

#include "harness/base/size.h"
#include "harness/op/rounding.h"
#include "present/refusals.h"
#include "present/say.h"
#include "present/wrap.h"

#include <inttypes.h>
#include <string.h>

static void append_setup(struct writing *text, const struct setup *setup)
{
    char number[SIZE_TEXT_BYTES], rounding[ROUNDING_TEXT_BYTES];
    say(text, "target %s", setup->target);
    for (uint32_t i = 0; i < setup->option_count; i++) {
        say(text, " %s=%s", setup->options[i].key, setup->options[i].value);
    }
    if (setup->chip[0] != '\0') {
        say(text, ", chip %s", setup->chip);
    }
    if (setup->capacity_bytes > 0) {
        size_print(setup->capacity_bytes, number);
        say(text, ", capacity %s", number);
    }
    if (setup->host_count > 1) {
        say(text, ", %u hosts", setup->host_count);
    }
    if (setup->has_regret_max) {
        say(text, ", %" PRIu64 " regrets allowed", setup->regret_max);
    }
    if (setup->has_rounding) {
        rounding_print(&setup->rounding, rounding);
        say(text, ", rounding %s", rounding);
    }
}

/* True if both are told in the same words. */
static bool is_same_setup(const struct setup *a, const struct setup *b)
{
    struct writing left = {0}, right = {0};
    append_setup(&left, a);
    append_setup(&right, b);
    const bool is_same = a->seed == b->seed &&
                         strcmp(writing_string(&left), writing_string(&right)) == 0;
    writing_deinit(&left);
    writing_deinit(&right);
    return is_same;
}

/* Kinds of op that are drawn more often or more rarely than by themselves. */
static void append_weights(struct writing *text, const struct setup *setup)
{
    const char *separator = "; weights ";
    for (unsigned kind = 0; kind < OP_KIND_COUNT; kind++) {
        if (setup->weights[kind] != 100) {
            say(text, "%s%s:%u", separator, op_kind_info((enum op_kind)kind)->name,
                setup->weights[kind]);
            separator = " ";
        }
    }
}

static void append_lanes(struct writing *text, const struct report_lanes *lanes)
{
    if (lanes->strategy[0] == '\0') {
        return;
    }
    if (lanes->lane_count != 0) {
        say(text, "; %" PRIu64 " lanes", lanes->lane_count);
    }
    if (lanes->schedule_count == 0) {
        writing_append(text, "; all schedules");
    } else {
        say(text, "; %" PRIu64 " schedules", lanes->schedule_count);
    }
    say(text, " by %s, on %s%s", lanes->strategy, lanes->backend,
        lanes->checks_races ? ", races checked" : "");
}

static void append_part(struct writing *text, const struct report_part *part,
                        const struct setup *common)
{
    const size_t begin = text->length;
    const bool is_renamed = strcmp(part->name, part->scenario) != 0;
    say(text, "  %s%s%s", part->name, is_renamed ? " = " : "", is_renamed ? part->scenario : "");
    if (!is_same_setup(part->setup, common)) {
        say(text, ": seed %" PRIu64 ", ", part->setup->seed);
        append_setup(text, part->setup);
    }
    if (part->faults != NULL && part->faults[0] != '\0') {
        say(text, "; faults %s", part->faults);
        if (part->fault_period > 1) {
            say(text, " in one trial of %" PRIu64, part->fault_period);
        }
    }
    if (part->trace != NULL && part->trace[0] != '\0') {
        say(text, "; from %s", part->trace);
    }
    append_lanes(text, &part->lanes);
    append_weights(text, part->setup);
    writing_append(text, "\n");
    wrap_since(text, begin);
}

void terminal_start(struct writing *text, const struct report_start *start)
{
    const size_t begin = text->length;
    char duration[SIZE_TEXT_BYTES];
    say(text, "hbmstress %s: seed %" PRIu64 "%s%s, ", start->subcommand, start->setup->seed,
        start->seed_source == NULL ? "" : " ",
        start->seed_source == NULL ? "" : start->seed_source);
    append_setup(text, start->setup);
    if (start->duration_ns != UINT64_MAX) {
        duration_print(start->duration_ns, duration);
        say(text, ", %s", duration);
    }
    if (start->part_count > 0 && start->parts[0].op_count_max != UINT64_MAX) {
        say(text, ", %" PRIu64 " ops a scenario", start->parts[0].op_count_max);
    }
    append_lanes(text, &start->lanes);
    writing_append(text, "\n");
    wrap_since(text, begin);
    if (start->file != NULL) {
        say(text, "  %s\n", start->file);
    }
    for (size_t i = 0; i < start->part_count; i++) {
        append_part(text, &start->parts[i], start->setup);
    }
}

static void append_field(struct writing *text, const char *name, const char *value)
{
    if (value != NULL && value[0] != '\0') {
        writing_append_format(text, "  %-8s", name);
        say(text, "%s\n", value);
    }
}

/* What was asked, in which words the target refused it, and what would have been served.  The words
 * of ours may be broken. */
static void append_reason(struct writing *text, const struct report_finding *finding)
{
    const size_t begin = text->length;
    append_field(text, "reason", finding->verdict->reason);
    wrap_since(text, begin);
    append_field(text, "message", finding->message);
    if (finding->largest != NULL) {
        writing_append_format(text, "  %-8s", "largest");
        refusals_append_largest(text, finding->largest);
        writing_append(text, "\n");
    }
}

void terminal_finding(struct writing *text, const struct report_finding *finding)
{
    if (finding->is_only_counted) {
        return;
    }
    const struct verdict *verdict = finding->verdict;
    say(text, "%s%s: op %" PRIu32,
        verdict->kind == VERDICT_UNKNOWN    ? "UNKNOWN"
        : verdict->kind == VERDICT_DISPUTED ? "DISPUTED"
        : finding->is_known                 ? "KNOWN "
                                            : "BROKEN ",
        finding->rule == NULL ? "" : finding->rule, verdict->op);
    if (finding->place.scenario != NULL) {
        say(text, ", trial %" PRIu64 " of %s, seed %" PRIu64, finding->place.trial,
            finding->place.scenario, finding->seed);
    }
    writing_append(text, "\n");
    append_field(text, "finding", finding->signature);
    append_reason(text, finding);
    if (finding->repro != NULL) {
        append_field(text, "repro", finding->repro);
        writing_append_format(text, "  %-8s%" PRIu64, "ops",
                              finding->op_count - finding->switch_count);
        if (finding->lane_count > 0) {
            say(text, " in %" PRIu64 " lanes, %" PRIu64 " switches", finding->lane_count,
                finding->switch_count);
        }
        writing_append(text, "\n");
    }
    append_field(text, "proof", finding->certificate);
    append_field(text, "replay", finding->replay);
    if (finding->repeats.is_unrepeated) {
        append_field(text, "repeats", "unrepeated: the list did not show it again");
    }
}

void terminal_found(struct writing *text, const struct report_finding *finding)
{
    say(text, "found%s: %s, in trial %" PRIu64 " of %s\n", finding->is_known ? " (known)" : "",
        finding->signature, finding->place.trial, finding->place.scenario);
    append_field(text, "hang", finding->hang);
}

void terminal_oom(struct writing *text, const struct report_finding *finding)
{
    const size_t begin = text->length;
    const struct verdict *verdict = finding->verdict;
    char requested[SIZE_TEXT_BYTES], free_bytes[SIZE_TEXT_BYTES];
    size_print(verdict->requested_bytes, requested);
    size_print(verdict->free_bytes, free_bytes);
    say(text, "op %" PRIu32 ": out of memory, %s: requested %s, free %s\n", verdict->op,
        verdict_name(verdict->kind), requested, free_bytes);
    wrap_since(text, begin);
    append_reason(text, finding);
    append_field(text, "proof", finding->certificate);
}

uint64_t per_second(uint64_t count, uint64_t duration_ns)
{
    const uint64_t microseconds = duration_ns / 1000;
    if (microseconds == 0) {
        return 0;
    }
    return count > UINT64_MAX / 1000000 ? count / microseconds * 1000000
                                        : count * 1000000 / microseconds;
}

void terminal_seconds(struct writing *text, uint64_t duration_ns)
{
    writing_append_seconds(text, duration_ns);
    writing_append(text, " s");
}

void terminal_unknown(struct writing *text, const struct report_end *end)
{
    for (unsigned i = 0; i < OOM_CLASS_COUNT; i++) {
        const uint64_t unknown = end->totals.unknown_by_class[i];
        if (unknown > 0) {
            say(text, ", %" PRIu64 " unknown of %" PRIu64 " allowed (%s)", unknown,
                end->allowed.unknown[i], oom_class_name((enum oom_class)i));
        }
    }
}

/* A count that is not 0, and its words. */
static void append_counted(struct writing *text, const char *before, uint64_t count,
                           const char *words)
{
    if (count > 0) {
        say(text, "%s%" PRIu64 "%s", before, count, words);
    }
}

static void append_unrepeated(struct writing *text, const struct report_end *end)
{
    if (end->totals.unrepeated > 0) {
        say(text, ", %" PRIu64 " unrepeated of %" PRIu64 " allowed", end->totals.unrepeated,
            end->allowed.unrepeated);
    }
}

/* Every promise is kept.  What the run does not answer for is counted, too. */
static void append_kept(struct writing *text, const struct report_end *end)
{
    const struct run_totals *totals = &end->totals;
    const bool has_known = end->exit_code == 0 && end->known_count > 0;
    writing_append(text, has_known ? "nothing but known findings" : "every promise kept");
    if (!has_known &&
        totals->excused + totals->unknown + totals->unrepeated + totals->not_modelled == 0) {
        writing_append(text, ", every OOM judged");
    }
    append_counted(text, ", ", totals->excused,
                   plural(totals->excused, " answer not judged", " answers not judged"));
    terminal_unknown(text, end);
    append_unrepeated(text, end);
}

/* No promise is broken for certain, and more is left open than allowed. */
static void append_open(struct writing *text, const struct report_end *end)
{
    writing_append(text, report_allowed_is_unknown(&end->allowed, &end->totals)
                             ? "no promise broken, but an OOM stayed unknown"
                             : "no promise broken for certain, but a verdict cannot be repeated");
    if (end->allowed.has_unknown_rate) {
        terminal_unknown(text, end);
    }
    append_unrepeated(text, end);
}

void terminal_meaning(struct writing *text, const struct report_end *end)
{
    const struct run_totals *totals = &end->totals;
    /* Exit code 4, where the rest matters, is no failure of ours. */
    const bool is_cut = end->is_interrupted &&
                        totals->broken + totals->premature + totals->not_modelled == 0 &&
                        !report_allowed_is_exceeded(&end->allowed, totals);
    if (totals->disputed > 0) {
        writing_append(text, "internal error: the two judges disagree, so no verdict counts");
    } else if (end->exit_code == 0 || is_cut) {
        append_kept(text, end);
    } else if (end->exit_code == 1) {
        writing_append(text, "a promise was broken");
        append_unrepeated(text, end);
    } else if (end->exit_code == 3 && totals->unknown == 0 && totals->not_modelled > 0) {
        writing_append(text, "no promise broken, but not every trial could be modelled");
    } else if (end->exit_code == 3) {
        append_open(text, end);
    } else {
        writing_append(text, "the harness failed");
    }
}

/* One line, or none when nothing was regretted. */
static void append_regret(struct writing *text, const struct run_totals *totals)
{
    const char *separator = " (";
    if (totals->regretted == 0) {
        return;
    }
    say(text, "regret: %" PRIu64 " requests cost more than necessary", totals->regretted);
    for (unsigned kind = 0; kind < REGRET_KIND_COUNT; kind++) {
        if (totals->regrets[kind] > 0) {
            say(text, "%s%" PRIu64 " %s", separator, totals->regrets[kind],
                regret_info((enum regret_kind)kind)->name);
            separator = ", ";
        }
    }
    say(text, "): beyond the cheapest plans, %s evicted and %s moved",
        size_text_of(totals->regretted_evicted_bytes).text,
        size_text_of(totals->regretted_moved_bytes).text);
    append_counted(text, "; for ", totals->regrets_unknown,
                   " more, no cheapest plan was found in time");
    writing_append(text, "\n");
}

/* Of the job, which break no promise: "3 hangs (1 after an out-of-memory, 2 without a word), ". */
static void append_waits(struct writing *text, const struct run_totals *totals)
{
    if (totals->hangs > 0) {
        say(text,
            "%" PRIu64 " hang%s of the job (%" PRIu64 " after an out-of-memory, %" PRIu64
            " without a word), ",
            totals->hangs, plural(totals->hangs, "", "s"), totals->hangs_of_oom,
            totals->hangs_without_word);
    }
    if (totals->standstills > 0) {
        say(text,
            "%" PRIu64 " standstill%s of the clients (%" PRIu64 " that one could have ended), ",
            totals->standstills, plural(totals->standstills, "", "s"), totals->standstills_ordered);
    }
    append_counted(text, "", totals->shortages,
                   plural(totals->shortages, " shortage of the shared device, ",
                          " shortages of the shared device, "));
}

void terminal_end(struct writing *text, const struct report_end *end)
{
    const size_t begin = text->length;
    refusals_append_line(text, NULL, &end->totals);
    terminal_closing(text, end);
    wrap_since(text, begin);
}

void terminal_closing(struct writing *text, const struct report_end *end)
{
    const struct run_totals *totals = &end->totals;
    for (unsigned i = 0; i < NOT_CHECKED_COUNT; i++) {
        if (totals->not_checked[i] > 0) {
            say(text, "not checked: %s\n", not_checked_info((enum not_checked)i)->what);
        }
    }
    append_regret(text, totals);
    writing_append(text, end->is_interrupted ? "interrupted; so far " : "");
    terminal_meaning(text, end);
    say(text, ": %" PRIu64 " ops, ", totals->ops);
    append_counted(text, "", totals->skipped, " skipped, ");
    say(text, "%" PRIu64 " OOMs (%" PRIu64 " justified, %" PRIu64 " premature, %" PRIu64 " unknown",
        totals->ooms, totals->justified, totals->premature, totals->unknown);
    append_counted(text, ", ", totals->excused, " not judged");
    say(text, "), %" PRIu64 " broken, ", totals->broken);
    append_counted(text, "", totals->late, " granted late, ");
    append_waits(text, totals);
    append_counted(text, "", end->known_count,
                   plural(end->known_count, " known finding, ", " known findings, "));
    if (totals->schedules > 0) {
        say(text, "%" PRIu64 " schedules with %" PRIu64 " switches, ", totals->schedules,
            totals->switches);
    }
    append_counted(text, "", totals->not_modelled, " trials not modelled, ");
    terminal_seconds(text, end->elapsed_ns);
    say(text, "; seed %" PRIu64 "%s%s\n", end->seed, end->seed_source == NULL ? "" : " ",
        end->seed_source == NULL ? "" : end->seed_source);
}
