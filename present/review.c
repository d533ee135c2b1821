#include "present/review.h"

#include "harness/base/check.h"
#include "present/refusals.h"
#include "present/say.h"
#include "present/terminal.h"

#include <inttypes.h>
#include <string.h>

/* --- where --- */

struct review_place review_job_place(const struct report_part *part)
{
    if (part->job != NULL && part->job[0] != '\0') {
        return (struct review_place){part->job, part->job_line};
    }
    const bool has_trace = part->trace != NULL && part->trace[0] != '\0';
    return (struct review_place){has_trace ? part->trace : NULL, 0};
}

struct review_place review_find_place(const struct report_campaign *campaign,
                                      const struct report_known *finding)
{
    struct review_place place = {0};
    for (size_t i = 0; i < campaign->start->part_count; i++) {
        const struct report_part *part = &campaign->start->parts[i];
        if (strcmp(part->name, finding->first.scenario) == 0) {
            place = review_job_place(part);
        }
    }
    return place.file == NULL ? (struct review_place){finding->repro, 0} : place;
}

/* What has no place is in the lines of the campaign: services refuse what is nowhere. */
static void add_annotation(const struct report_campaign *campaign,
                           const struct annotation *annotation, struct annotations *annotations)
{
    struct annotation placed = *annotation;
    struct writing path = {0};
    char hash[ANNOTATION_HASH_BYTES];
    if (annotation->file == NULL && campaign->directory != NULL) {
        writing_append_format(&path, "%s/results.jsonl", campaign->directory);
        placed.file = writing_string(&path);
    }
    if (annotation->fingerprint ==
        NULL) { /* without the folder, which may be another in each run */
        annotation_print_fingerprint(annotation, hash);
        placed.fingerprint = hash;
    }
    annotations_add(annotations, &placed);
    writing_deinit(&path);
}

/* --- findings --- */

static void append_named(struct writing *message, const char *name, const char *value)
{
    if (value != NULL && value[0] != '\0') {
        say(message, "\n%s: %s", name, value);
    }
}

static void append_finding(struct writing *message, const struct report_known *finding)
{
    say(message, "%s", finding->reason == NULL ? "" : finding->reason);
    writing_append(message, finding->is_known ? "\nthe baseline knows it" : "");
    say(message, "\nseen %" PRIu64 " time%s, first in trial %" PRIu64 " of %s (seed %" PRIu64 ")",
        finding->count, plural(finding->count, "", "s"), finding->first.trial,
        finding->first.scenario, finding->seed);
    append_named(message, "the target's words", finding->message);
    if (finding->largest != NULL) {
        writing_append(message, "\nlargest request: ");
        refusals_append_largest(message, finding->largest);
    }
    if (finding->repeats.is_unrepeated) {
        writing_append(message, "\nunrepeated: the list did not show it again");
    }
    append_named(message, "repeat it", finding->replay);
}

void review_add_findings(const struct report_campaign *campaign, struct annotations *annotations)
{
    struct writing message = {0};
    for (size_t i = 0; i < campaign->finding_count; i++) {
        const struct report_known *finding = &campaign->findings[i];
        const struct review_place place = review_find_place(campaign, finding);
        char hash[ANNOTATION_HASH_BYTES];
        annotation_print_hash(finding->signature, hash);
        writing_clear(&message);
        append_finding(&message, finding);
        const struct annotation annotation = {
            .level = finding->is_known ? ANNOTATION_NOTICE : ANNOTATION_ERROR,
            .file = place.file,
            .line = place.line,
            .title = finding->signature,
            .message = writing_string(&message),
            .rule = finding->rule == NULL ? "finding" : finding->rule,
            .fingerprint = hash};
        add_annotation(campaign, &annotation, annotations);
    }
    writing_deinit(&message);
}

/* --- what is open --- */

const struct review_open_info *review_open_info(enum review_open open)
{
    static const struct review_open_info infos[REVIEW_OPEN_COUNT] = {
        [REVIEW_UNKNOWN] = {"unknown", "the search budget ended before the verdict was certain"},
        [REVIEW_UNREPEATED] = {"unrepeated", "a verdict did not show again when it was repeated"},
        [REVIEW_NOT_MODELLED] = {"not_modelled", "the trial did what the model cannot follow"}};
    return &infos[open];
}

static uint64_t count_open(const struct run_totals *totals, enum review_open open)
{
    const uint64_t counts[REVIEW_OPEN_COUNT] = {[REVIEW_UNKNOWN] = totals->unknown,
                                                [REVIEW_UNREPEATED] = totals->unrepeated,
                                                [REVIEW_NOT_MODELLED] = totals->not_modelled};
    return counts[open];
}

/* By the numbers of the whole campaign. */
static bool is_allowed(const struct report_end *end, enum review_open open)
{
    const bool allowed[REVIEW_OPEN_COUNT] = {
        [REVIEW_UNKNOWN] = !report_allowed_is_unknown(&end->allowed, &end->totals),
        [REVIEW_UNREPEATED] = end->totals.unrepeated <= end->allowed.unrepeated,
        [REVIEW_NOT_MODELLED] = end->exit_code == 0};
    return allowed[open];
}

static void add_open(const struct report_campaign *campaign, size_t job, enum review_open open,
                     struct annotations *annotations)
{
    static const char *const words[REVIEW_OPEN_COUNT] = {
        [REVIEW_UNKNOWN] = "verdicts stayed unknown",
        [REVIEW_UNREPEATED] = "verdicts could not be repeated",
        [REVIEW_NOT_MODELLED] = "trials could not be modelled"};
    const struct report_result *result = &campaign->results[job];
    const struct review_place place = review_job_place(&campaign->start->parts[job]);
    const char *name = review_open_info(open)->name;
    struct writing title = {0}, message = {0};
    say(&title, "%s: %s", name, result->name);
    say(&message, "%" PRIu64 " ", count_open(&result->totals, open));
    if (open != REVIEW_UNREPEATED) {
        say(&message, "of %" PRIu64 " ",
            open == REVIEW_UNKNOWN ? result->totals.ooms : result->trials);
    }
    writing_append_format(&message, "%s\n%s", words[open], review_open_info(open)->summary);
    const bool is_fine = is_allowed(campaign->end, open);
    add_annotation(campaign,
                   &(struct annotation){.level = is_fine ? ANNOTATION_NOTICE : ANNOTATION_WARNING,
                                        .file = place.file,
                                        .line = place.line,
                                        .title = writing_string(&title),
                                        .message = writing_string(&message),
                                        .rule = name},
                   annotations);
    writing_deinit(&title);
    writing_deinit(&message);
}

void review_add_open(const struct report_campaign *campaign, struct annotations *annotations)
{
    CHECK(campaign->result_count == campaign->start->part_count);
    for (size_t job = 0; job < campaign->result_count; job++) {
        for (int open = 0; open < REVIEW_OPEN_COUNT; open++) {
            if (count_open(&campaign->results[job].totals, (enum review_open)open) > 0) {
                add_open(campaign, job, (enum review_open)open, annotations);
            }
        }
    }
}

/* --- the campaign itself, at its job file --- */

static void add_failure(const struct report_campaign *campaign, enum annotation_level level,
                        const char *title, const char *message, struct annotations *annotations)
{
    const struct report_start *start = campaign->start;
    add_annotation(campaign,
                   &(struct annotation){
                       .level = level,
                       .file = start->part_count == 0 ? NULL : review_job_place(start->parts).file,
                       .title = title,
                       .message = message,
                       .rule = "campaign"},
                   annotations);
}

static void add_missed(const struct report_campaign *campaign, struct annotations *annotations)
{
    struct writing message = {0};
    if (campaign->canary != NULL && !campaign->canary->is_reported) {
        say(&message,
            "%" PRIu64 " trials did not show the planted defect of %s: that nothing else was found "
            "proves nothing",
            campaign->canary->trials, campaign->canary->target);
        add_failure(campaign, ANNOTATION_ERROR, "the canary was not reported",
                    writing_string(&message), annotations);
    }
    writing_clear(&message);
    for (size_t i = 0; i < campaign->probe_count; i++) {
        if (campaign->probes[i].count == 0) {
            say(&message, "%s%s", message.length == 0 ? "" : ", ", campaign->probes[i].name);
        }
    }
    if (message.length > 0) {
        add_failure(campaign, ANNOTATION_ERROR, "states that the job requires were never reached",
                    writing_string(&message), annotations);
    }
    writing_deinit(&message);
}

void review_add_failures(const struct report_campaign *campaign, struct annotations *annotations)
{
    const struct report_end *end = campaign->end;
    const size_t count_before = annotations->count;
    if (end->is_interrupted) {
        add_failure(campaign, ANNOTATION_WARNING, "interrupted",
                    "the campaign did not run to its end", annotations);
    } else {
        add_missed(campaign, annotations);
    }
    if (end->totals.disputed > 0) {
        add_failure(campaign, ANNOTATION_ERROR, "internal error of hbmstress",
                    "the two judges disagree, so no verdict counts", annotations);
    } else if (end->exit_code == REPORT_EXIT_HARNESS && annotations->count == count_before) {
        add_failure(campaign, ANNOTATION_ERROR, "the harness failed",
                    "standard error says why; what was found so far counts", annotations);
    }
}

/* --- forms --- */

static void collect(const struct report_campaign *campaign, struct annotations *annotations)
{
    review_add_failures(campaign, annotations);
    review_add_findings(campaign, annotations);
    review_add_open(campaign, annotations);
}

static void print_form(struct writing *text, const struct report_campaign *campaign,
                       enum annotation_form form,
                       void (*print)(struct writing *text, const struct annotations *annotations))
{
    struct annotations annotations = {0};
    if (campaign->annotation == form) {
        collect(campaign, &annotations);
        print(text, &annotations);
    }
    annotations_deinit(&annotations);
}

void review_print_github(struct writing *text, const struct report_campaign *campaign)
{
    print_form(text, campaign, ANNOTATION_GITHUB, annotations_print_github);
}

void review_print_gitlab(struct writing *text, const struct report_campaign *campaign)
{
    print_form(text, campaign, ANNOTATION_GITLAB, annotations_print_gitlab);
}

void review_print_step(struct writing *text, const struct report_campaign *campaign)
{
    struct annotations annotations = {0};
    struct writing lines = {0};
    if (campaign->annotation != ANNOTATION_GITHUB) {
        return;
    }
    terminal_closing(&lines, campaign->end);
    CHECK(lines.length > 0 && lines.bytes[lines.length - 1] == '\n');
    lines.bytes[lines.length - 1] = '\0';
    const char *last = strrchr(lines.bytes, '\n');
    collect(campaign, &annotations);
    annotations_print_markdown(text, last == NULL ? lines.bytes : last + 1, &annotations);
    writing_deinit(&lines);
    annotations_deinit(&annotations);
}
