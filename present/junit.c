#include "harness/base/check.h"
#include "harness/base/size.h"
#include "present/refusals.h"
#include "present/review.h"
#include "present/say.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum outcome_kind {
    OUTCOME_PASSED,
    OUTCOME_FAILED,
    OUTCOME_ERROR,
    OUTCOME_SKIPPED,
    OUTCOME_KIND_COUNT
};
static const char *const outcome_elements[OUTCOME_KIND_COUNT] = {NULL, "failure", "error",
                                                                 "skipped"};

enum { NAME_BYTES = 512 }; /* of a case that is named for something */
static const char promises_case[] = "every promise is kept";
static const char ooms_case[] = "every out-of-memory is judged";

/* A suite while its cases are added; its element counts them, so it is written after them. */
struct suite {
    const char *name;
    uint64_t elapsed_ns;
    struct review_place place; /* of its cases */
    struct writing properties, cases;
    uint64_t case_counts[OUTCOME_KIND_COUNT];
};

/* The document while suites are added, for the same reason. */
struct junit_document {
    struct writing suites;
    uint64_t case_counts[OUTCOME_KIND_COUNT];
};

static void append_time(struct writing *text, uint64_t elapsed_ns)
{
    writing_append(text, " time=\"");
    writing_append_seconds(text, elapsed_ns);
    writing_append(text, "\"");
}

/* Appends the attributes of a suite, or of all of them. */
static void append_suite(struct writing *text, const char *name,
                         const uint64_t counts[OUTCOME_KIND_COUNT], uint64_t elapsed_ns)
{
    uint64_t all = 0;
    for (int kind = 0; kind < OUTCOME_KIND_COUNT; kind++) {
        all += counts[kind];
    }
    say_xml(text,
            " name=\"%s\" tests=\"%" PRIu64 "\" failures=\"%" PRIu64 "\" errors=\"%" PRIu64
            "\" skipped=\"%" PRIu64 "\"",
            name, all, counts[OUTCOME_FAILED], counts[OUTCOME_ERROR], counts[OUTCOME_SKIPPED]);
    append_time(text, elapsed_ns);
    writing_append(text, ">\n");
}

static void suite_add_property(struct suite *suite, const char *name, const char *value)
{
    say_xml(&suite->properties, "      <property name=\"%s\" value=\"%s\"/>\n", name,
            value == NULL ? "" : value);
}

/* How a case ended.  All is foreign text but body, which is XML or NULL. */
struct outcome {
    enum outcome_kind kind;
    const char *type; /* of a failure or an error */
    const char *body; /* NULL = none */
};

static void append_outcome(struct writing *cases, const struct outcome *outcome,
                           const char *message)
{
    const char *element = outcome_elements[outcome->kind];
    say_xml(cases, ">\n      <%s", element);
    if (outcome->type != NULL) {
        say_xml(cases, " type=\"%s\"", outcome->type);
    }
    say_xml(cases, " message=\"%s\"", message);
    if (outcome->body == NULL) {
        writing_append(cases, "/>\n");
    } else {
        writing_append_format(cases, ">%s</%s>\n", outcome->body, element);
    }
    writing_append(cases, "    </testcase>\n");
}

/* Adds a case.  The message, as printf has it, is of all but a passed one. */
__attribute__((format(printf, 5, 6))) static void suite_add(struct suite *suite, const char *name,
                                                            uint64_t elapsed_ns,
                                                            struct outcome outcome,
                                                            const char *format, ...)
{
    struct writing *cases = &suite->cases;
    const struct review_place *place = &suite->place;
    char *message = NULL;
    va_list arguments;
    va_start(arguments, format);
    CHECK(vasprintf(&message, format, arguments) >= 0);
    va_end(arguments);
    suite->case_counts[outcome.kind]++;
    say_xml(cases, "    <testcase classname=\"hbmstress.%s\" name=\"%s\"", suite->name, name);
    if (place->file != NULL) { /* readers link a case to it */
        say_xml(cases, " file=\"%s\"", annotation_path(place->file));
    }
    if (place->file != NULL && place->line > 0) {
        say_xml(cases, " line=\"%" PRIu64 "\"", place->line);
    }
    append_time(cases, elapsed_ns);
    if (outcome.kind == OUTCOME_PASSED) {
        writing_append(cases, "/>\n");
    } else {
        append_outcome(cases, &outcome, message);
    }
    free(message);
}

static const struct outcome passed = {.kind = OUTCOME_PASSED}, skipped = {.kind = OUTCOME_SKIPPED};

static struct outcome failed(const char *type)
{
    return (struct outcome){.kind = OUTCOME_FAILED, .type = type};
}

static void document_add(struct junit_document *document, struct suite *suite)
{
    struct writing *suites = &document->suites;
    writing_append(suites, "  <testsuite");
    append_suite(suites, suite->name, suite->case_counts, suite->elapsed_ns);
    writing_append_format(suites, "    <properties>\n%s    </properties>\n",
                          writing_string(&suite->properties));
    writing_append(suites, writing_string(&suite->cases));
    writing_append(suites, "  </testsuite>\n");
    for (int kind = 0; kind < OUTCOME_KIND_COUNT; kind++) {
        document->case_counts[kind] += suite->case_counts[kind];
    }
    writing_deinit(&suite->properties);
    writing_deinit(&suite->cases);
}

/* --- findings --- */

static void append_line(struct writing *body, const char *name, const char *value)
{
    if (value != NULL && value[0] != '\0') {
        say_xml(body, "%s: %s\n", name, value);
    }
}

static void append_number_line(struct writing *body, const char *name, uint64_t value)
{
    say_xml(body, "%s: %" PRIu64 "\n", name, value);
}

static void suite_add_finding(struct suite *suite, const struct report_known *finding)
{
    struct writing body = {0};
    writing_append(&body, "\n");
    append_line(&body, "message", finding->message);
    if (finding->largest != NULL) {
        writing_append(&body, "largest request: ");
        refusals_append_largest(&body, finding->largest);
        writing_append(&body, "\n");
    }
    append_number_line(&body, "count", finding->count);
    append_line(&body, "job", finding->first.scenario);
    append_number_line(&body, "trial", finding->first.trial);
    append_number_line(&body, "seed", finding->seed);
    append_line(&body, "repro", finding->repro);
    if (finding->repro != NULL) {
        append_number_line(&body, "ops", finding->op_count);
    }
    append_line(&body, "certificate", finding->certificate);
    for (size_t i = 0; i < finding->repeats.after_count; i++) {
        append_line(&body, "after", finding->repeats.after[i]);
    }
    append_line(&body, "replay", finding->replay);
    if (finding->repeats.is_unrepeated) {
        append_line(&body, "unrepeated", "the list did not show it again");
    }
    if (finding->is_known) {
        suite_add(suite, finding->signature, 0, skipped, "it is in the baseline of known findings");
    } else {
        suite_add(suite, finding->signature, 0,
                  (struct outcome){OUTCOME_FAILED, finding->rule, writing_string(&body)}, "%s",
                  finding->reason == NULL ? "" : finding->reason);
    }
    writing_deinit(&body);
}

/* Adds the findings that were seen first in that job; result NULL: in no listed one. */
static void suite_add_findings(struct suite *suite, const struct report_campaign *campaign,
                               const struct report_result *result)
{
    for (size_t i = 0; i < campaign->finding_count; i++) {
        const char *job = campaign->findings[i].first.scenario;
        bool has_job = false, is_of_it = false;
        for (size_t k = 0; job != NULL && k < campaign->result_count; k++) {
            const bool is_it = strcmp(job, campaign->results[k].name) == 0;
            has_job = has_job || is_it;
            is_of_it = is_of_it || (is_it && &campaign->results[k] == result);
        }
        if (result == NULL ? !has_job : is_of_it) {
            suite_add_finding(suite, &campaign->findings[i]);
        }
    }
}

/* --- the suite of a job --- */

static void suite_init(struct suite *suite, const char *name, const struct setup *setup)
{
    char text[SIZE_TEXT_BYTES];
    *suite = (struct suite){.name = name};
    suite_add_property(suite, "target", setup->target);
    snprintf(text, sizeof text, "%" PRIu64, setup->seed);
    suite_add_property(suite, "seed", text);
    size_print(setup->capacity_bytes, text);
    suite_add_property(suite, "capacity",
                       setup->capacity_bytes == 0 ? "drawn by each trial" : text);
}

/* Whether there are findings, and the baseline knows each of them. */
static bool has_known_findings_alone(const struct report_campaign *campaign)
{
    for (size_t i = 0; i < campaign->finding_count; i++) {
        if (!campaign->findings[i].is_known) {
            return false;
        }
    }
    return campaign->finding_count > 0;
}

static void suite_add_promises(struct suite *suite, const struct report_campaign *campaign,
                               const struct report_result *result)
{
    const struct run_totals *totals = &result->totals;
    const uint64_t unrepeated = totals->unrepeated;
    const bool is_kept = totals->broken == 0 && totals->premature == 0 &&
                         result->finding_count == 0;
    struct writing more = {0};
    if (is_kept && unrepeated == 0) {
        suite_add(suite, promises_case, result->elapsed_ns, passed, "%s", "");
    } else if (is_kept) {
        /* What could not be repeated proves neither that a promise is kept nor that it is broken.
         */
        const bool is_allowed = campaign->end->totals.unrepeated <=
                                campaign->end->allowed.unrepeated;
        suite_add(suite, promises_case, result->elapsed_ns,
                  is_allowed ? skipped : failed("unrepeated"),
                  "%" PRIu64 " verdicts could not be repeated%s", unrepeated,
                  is_allowed ? ", which is allowed" : "");
    } else if (has_known_findings_alone(campaign)) {
        suite_add(suite, promises_case, 0, skipped,
                  "all findings are in the baseline of known findings");
    } else {
        if (totals->premature > 0) {
            writing_append(&more, "; of the out-of-memories, ");
            refusals_append_share(&more, totals);
        }
        if (unrepeated > 0) {
            say(&more, "; %" PRIu64 " verdicts could not be repeated", unrepeated);
        }
        suite_add(suite, promises_case, result->elapsed_ns, failed("broken"),
                  "%" PRIu64 " broken promises and %" PRIu64
                  " premature out-of-memories in %" PRIu64 " trials%s",
                  totals->broken, totals->premature, result->trials, writing_string(&more));
    }
    writing_deinit(&more);
}

/* allows_unknown: the campaign has no more of them than its job allows. */
static void suite_add_ooms(struct suite *suite, const struct report_result *result,
                           bool allows_unknown)
{
    const struct run_totals *totals = &result->totals;
    struct writing left = {0};
    if (totals->unknown + totals->disputed + totals->excused == 0) {
        suite_add(suite, ooms_case, 0, passed, "%s", "");
    } else if (totals->disputed > 0) {
        /* That our own judges disagree weighs more: then no verdict counts. */
        suite_add(suite, ooms_case, 0, (struct outcome){OUTCOME_ERROR, "disputed", NULL},
                  "internal error: the two judges disagree on %" PRIu64 " of %" PRIu64 " verdicts",
                  totals->disputed, totals->ooms);
    } else if (totals->unknown > 0 && !allows_unknown) {
        suite_add(suite, ooms_case, 0, failed("unknown"),
                  "%" PRIu64 " of %" PRIu64 " verdicts stayed unknown", totals->unknown,
                  totals->ooms);
    } else { /* nothing failed, but the case would claim too much if it passed */
        if (totals->excused > 0) {
            say(&left, "%" PRIu64 " answers were not judged%s", totals->excused,
                totals->unknown > 0 ? "; " : "");
        }
        if (totals->unknown > 0) {
            say(&left, "%" PRIu64 " verdicts stayed unknown, which is allowed", totals->unknown);
        }
        suite_add(suite, ooms_case, 0, skipped, "%s", writing_string(&left));
    }
    writing_deinit(&left);
}

static void document_add_job(struct junit_document *document,
                             const struct report_campaign *campaign, size_t part)
{
    const struct report_result *result = &campaign->results[part];
    struct suite suite;
    char name[NAME_BYTES];
    suite_init(&suite, result->name, campaign->start->parts[part].setup);
    suite.elapsed_ns = result->elapsed_ns;
    suite.place = review_job_place(&campaign->start->parts[part]);
    suite_add_property(&suite, "scenario", result->scenario);
    if (report_result_has_run(result)) {
        suite_add_promises(&suite, campaign, result);
        suite_add_ooms(&suite, result,
                       !report_allowed_is_unknown(&campaign->end->allowed, &campaign->end->totals));
        for (unsigned i = 0; i < NOT_CHECKED_COUNT; i++) {
            const struct not_checked_info *info = not_checked_info((enum not_checked)i);
            if (result->totals.not_checked[i] > 0) {
                snprintf(name, sizeof name, "%s are checked", info->name);
                suite_add(&suite, name, 0, skipped, "%s", info->what);
            }
        }
    } else {
        const char *why = result->note != NULL ? result->note : "no trial ran";
        suite_add(&suite, promises_case, 0, skipped, "%s", why);
        suite_add(&suite, ooms_case, 0, skipped, "%s", why);
    }
    suite_add_findings(&suite, campaign, result);
    document_add(document, &suite);
}

/* --- the suite of the campaign --- */

static void suite_add_canary(struct suite *suite, const struct report_canary *canary)
{
    char name[NAME_BYTES];
    if (canary == NULL) {
        suite_add(suite, "a planted defect is reported", 0, skipped, "no planted target ran");
        return;
    }
    snprintf(name, sizeof name, "the planted defect of %s is reported", canary->target);
    suite_add(suite, name, 0, canary->is_reported ? passed : failed("canary"),
              "%" PRIu64 " trials of %s did not show that it breaks %s", canary->trials,
              canary->scenario, canary->breaks);
}

static void suite_add_probes(struct suite *suite, const struct report_campaign *campaign)
{
    char name[NAME_BYTES];
    if (campaign->probe_count == 0) {
        suite_add(suite, "probes are hit", 0, skipped, "the campaign has no probes");
    }
    for (size_t i = 0; i < campaign->probe_count; i++) {
        snprintf(name, sizeof name, "probe %s is hit", campaign->probes[i].name);
        suite_add(suite, name, 0, campaign->probes[i].count > 0 ? passed : failed("probe"),
                  "no trial reached this state");
    }
}

static void document_add_campaign(struct junit_document *document,
                                  const struct report_campaign *campaign)
{
    const struct report_end *end = campaign->end;
    struct suite suite;
    suite_init(&suite, "campaign", campaign->start->setup);
    if (end->is_interrupted) {
        suite_add_property(&suite, "interrupted", "true");
    }
    suite_add_canary(&suite, campaign->canary);
    suite_add_probes(&suite, campaign);
    suite_add(
        &suite, "the harness kept running", 0,
        end->exit_code == REPORT_EXIT_HARNESS ? (struct outcome){OUTCOME_ERROR, "harness", NULL}
                                              : passed,
        "%s",
        end->totals.disputed > 0 ? "internal error: the two judges disagree, so no verdict counts"
                                 : "the harness failed");
    suite_add_findings(&suite, campaign, NULL);
    document_add(document, &suite);
}

void junit_print(struct writing *text, const struct report_campaign *campaign)
{
    CHECK(campaign->start != NULL && campaign->end != NULL);
    CHECK(campaign->result_count == campaign->start->part_count);
    struct junit_document document = {0};
    for (size_t i = 0; i < campaign->result_count; i++) {
        document_add_job(&document, campaign, i);
    }
    document_add_campaign(&document, campaign);
    writing_append(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    append_suite(text, "hbmstress", document.case_counts, campaign->end->elapsed_ns);
    writing_append(text, writing_string(&document.suites));
    writing_append(text, "</testsuites>\n");
    writing_deinit(&document.suites);
}
