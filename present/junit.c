#include "harness/base/check.h"
#include "harness/base/size.h"
#include "present/refusals.h"
#include "present/review.h"
#include "present/say.h"

#include <inttypes.h>
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

/* How a case ended.  All is foreign text but body, which is XML. */
struct outcome {
    enum outcome_kind kind;
    const char *type;    /* of a failure or an error */
    const char *message; /* of all but a passed one */
    const char *body;    /* NULL = none */
};
static const struct outcome passed = {.kind = OUTCOME_PASSED};

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
struct document {
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

static void append_outcome(struct writing *text, const struct outcome *outcome)
{
    const char *element = outcome_elements[outcome->kind];
    say_xml(text, "      <%s", element);
    if (outcome->type != NULL) {
        say_xml(text, " type=\"%s\"", outcome->type);
    }
    say_xml(text, " message=\"%s\"", outcome->message == NULL ? "" : outcome->message);
    writing_append_format(text, outcome->body == NULL ? "/>\n" : ">%s</%s>\n",
                          outcome->body == NULL ? "" : outcome->body, element);
}

static void suite_add_case(struct suite *suite, const char *name, uint64_t elapsed_ns,
                           const struct outcome *outcome)
{
    struct writing *cases = &suite->cases;
    suite->case_counts[outcome->kind]++;
    say_xml(cases, "    <testcase classname=\"hbmstress.%s\" name=\"%s\"", suite->name, name);
    if (suite->place.file != NULL) { /* readers link a case to it */
        say_xml(cases, " file=\"%s\"", annotation_path(suite->place.file));
    }
    if (suite->place.file != NULL && suite->place.line > 0) {
        say_xml(cases, " line=\"%" PRIu64 "\"", suite->place.line);
    }
    append_time(cases, elapsed_ns);
    if (outcome->kind == OUTCOME_PASSED) {
        writing_append(cases, "/>\n");
        return;
    }
    writing_append(cases, ">\n");
    append_outcome(cases, outcome);
    writing_append(cases, "    </testcase>\n");
}

/* A case that did not pass. */
static void suite_add_failed(struct suite *suite, const char *name, uint64_t elapsed_ns,
                             enum outcome_kind kind, const char *type,
                             const struct writing *message)
{
    const struct outcome outcome = {.kind = kind, .type = type, .message = writing_string(message)};
    suite_add_case(suite, name, elapsed_ns, &outcome);
}

static void suite_add_skipped(struct suite *suite, const char *name, const char *message)
{
    suite_add_case(suite, name, 0, &(struct outcome){.kind = OUTCOME_SKIPPED, .message = message});
}

static void document_add(struct document *document, struct suite *suite)
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
        suite_add_skipped(suite, finding->signature, "it is in the baseline of known findings");
    } else {
        suite_add_case(suite, finding->signature, 0,
                       &(struct outcome){.kind = OUTCOME_FAILED,
                                         .type = finding->rule,
                                         .message = finding->reason,
                                         .body = writing_string(&body)});
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
    const bool is_kept = totals->broken == 0 && totals->premature == 0 &&
                         result->finding_count == 0;
    const bool is_allowed = campaign->end->totals.unrepeated <= campaign->end->allowed.unrepeated;
    struct writing message = {0};
    if (is_kept && totals->unrepeated == 0) {
        suite_add_case(suite, promises_case, result->elapsed_ns, &passed);
    } else if (is_kept) {
        /* What could not be repeated proves neither that a promise is kept nor that it is broken.
         */
        say(&message, "%" PRIu64 " verdicts could not be repeated%s", totals->unrepeated,
            is_allowed ? ", which is allowed" : "");
        suite_add_failed(suite, promises_case, result->elapsed_ns,
                         is_allowed ? OUTCOME_SKIPPED : OUTCOME_FAILED,
                         is_allowed ? NULL : "unrepeated", &message);
    } else if (has_known_findings_alone(campaign)) {
        suite_add_skipped(suite, promises_case,
                          "all findings are in the baseline of known findings");
    } else {
        say(&message,
            "%" PRIu64 " broken promises and %" PRIu64 " premature out-of-memories in %" PRIu64
            " trials",
            totals->broken, totals->premature, result->trials);
        if (totals->premature > 0) {
            writing_append(&message, "; of the out-of-memories, ");
            refusals_append_share(&message, totals);
        }
        if (totals->unrepeated > 0) {
            say(&message, "; %" PRIu64 " verdicts could not be repeated", totals->unrepeated);
        }
        suite_add_failed(suite, promises_case, result->elapsed_ns, OUTCOME_FAILED, "broken",
                         &message);
    }
    writing_deinit(&message);
}

/* allows_unknown: the campaign has no more of them than its job allows. */
static void suite_add_ooms(struct suite *suite, const struct report_result *result,
                           bool allows_unknown)
{
    const struct run_totals *totals = &result->totals;
    struct writing message = {0};
    if (totals->unknown + totals->disputed + totals->excused == 0) {
        suite_add_case(suite, ooms_case, 0, &passed);
    } else if (totals->disputed > 0) {
        /* That our own judges disagree weighs more: then no verdict counts. */
        say(&message,
            "internal error: the two judges disagree on %" PRIu64 " of %" PRIu64 " verdicts",
            totals->disputed, totals->ooms);
        suite_add_failed(suite, ooms_case, 0, OUTCOME_ERROR, "disputed", &message);
    } else if (totals->unknown > 0 && !allows_unknown) {
        say(&message, "%" PRIu64 " of %" PRIu64 " verdicts stayed unknown", totals->unknown,
            totals->ooms);
        suite_add_failed(suite, ooms_case, 0, OUTCOME_FAILED, "unknown", &message);
    } else { /* nothing failed, but the case would claim too much if it passed */
        if (totals->excused > 0) {
            say(&message, "%" PRIu64 " answers were not judged%s", totals->excused,
                totals->unknown > 0 ? "; " : "");
        }
        if (totals->unknown > 0) {
            say(&message, "%" PRIu64 " verdicts stayed unknown, which is allowed", totals->unknown);
        }
        suite_add_skipped(suite, ooms_case, writing_string(&message));
    }
    writing_deinit(&message);
}

static void suite_add_not_checked(struct suite *suite, const struct run_totals *totals)
{
    for (unsigned i = 0; i < NOT_CHECKED_COUNT; i++) {
        const struct not_checked_info *info = not_checked_info((enum not_checked)i);
        struct writing name = {0};
        if (totals->not_checked[i] > 0) {
            say(&name, "%s are checked", info->name);
            suite_add_skipped(suite, writing_string(&name), info->what);
        }
        writing_deinit(&name);
    }
}

static void document_add_job(struct document *document, const struct report_campaign *campaign,
                             size_t part)
{
    const struct report_result *result = &campaign->results[part];
    struct suite suite;
    suite_init(&suite, result->name, campaign->start->parts[part].setup);
    suite.elapsed_ns = result->elapsed_ns;
    suite.place = review_job_place(&campaign->start->parts[part]);
    suite_add_property(&suite, "scenario", result->scenario);
    if (report_result_has_run(result)) {
        suite_add_promises(&suite, campaign, result);
        suite_add_ooms(&suite, result,
                       !report_allowed_is_unknown(&campaign->end->allowed, &campaign->end->totals));
        suite_add_not_checked(&suite, &result->totals);
    } else {
        const char *why = result->note != NULL ? result->note : "no trial ran";
        suite_add_skipped(&suite, promises_case, why);
        suite_add_skipped(&suite, ooms_case, why);
    }
    suite_add_findings(&suite, campaign, result);
    document_add(document, &suite);
}

/* --- the suite of the campaign --- */

static void suite_add_canary(struct suite *suite, const struct report_canary *canary)
{
    struct writing name = {0}, message = {0};
    if (canary == NULL) {
        suite_add_skipped(suite, "a planted defect is reported", "no planted target ran");
        return;
    }
    writing_append_format(&name, "the planted defect of %s is reported", canary->target);
    if (canary->is_reported) {
        suite_add_case(suite, writing_string(&name), 0, &passed);
    } else {
        writing_append_format(&message, "%" PRIu64 " trials of %s did not show that it breaks %s",
                              canary->trials, canary->scenario, canary->breaks);
        suite_add_failed(suite, writing_string(&name), 0, OUTCOME_FAILED, "canary", &message);
    }
    writing_deinit(&name);
    writing_deinit(&message);
}

static void suite_add_probes(struct suite *suite, const struct report_campaign *campaign)
{
    static const struct outcome missed = {
        .kind = OUTCOME_FAILED, .type = "probe", .message = "no trial reached this state"};
    if (campaign->probe_count == 0) {
        suite_add_skipped(suite, "probes are hit", "the campaign has no probes");
    }
    for (size_t i = 0; i < campaign->probe_count; i++) {
        struct writing name = {0};
        writing_append_format(&name, "probe %s is hit", campaign->probes[i].name);
        suite_add_case(suite, writing_string(&name), 0,
                       campaign->probes[i].count > 0 ? &passed : &missed);
        writing_deinit(&name);
    }
}

static void document_add_campaign(struct document *document, const struct report_campaign *campaign)
{
    const struct report_end *end = campaign->end;
    struct suite suite;
    suite_init(&suite, "campaign", campaign->start->setup);
    if (end->is_interrupted) {
        suite_add_property(&suite, "interrupted", "true");
    }
    suite_add_canary(&suite, campaign->canary);
    suite_add_probes(&suite, campaign);
    const struct outcome failed = {
        .kind = OUTCOME_ERROR,
        .type = "harness",
        .message = end->totals.disputed > 0
                       ? "internal error: the two judges disagree, so no verdict counts"
                       : "the harness failed"};
    suite_add_case(&suite, "the harness kept running", 0,
                   end->exit_code == REPORT_EXIT_HARNESS ? &failed : &passed);
    suite_add_findings(&suite, campaign, NULL);
    document_add(document, &suite);
}

void junit_print(struct writing *text, const struct report_campaign *campaign)
{
    CHECK(campaign->start != NULL && campaign->end != NULL);
    CHECK(campaign->result_count == campaign->start->part_count);
    struct document document = {0};
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
