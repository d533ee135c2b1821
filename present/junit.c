#include "present/junit.h"

#include "harness/base/check.h"
#include "harness/base/size.h"
#include "present/refusals.h"
#include "present/review.h"

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

static void suite_init(struct suite *suite, const char *name, uint64_t elapsed_ns)
{
    *suite = (struct suite){.name = name, .elapsed_ns = elapsed_ns};
    writing_init(&suite->properties);
    writing_init(&suite->cases);
}

static void suite_deinit(struct suite *suite)
{
    writing_deinit(&suite->properties);
    writing_deinit(&suite->cases);
}

static void append_attribute(struct writing *text, const char *name, const char *value)
{
    writing_append_format(text, " %s=\"", name);
    writing_append_xml(text, value == NULL ? "" : value);
    writing_append(text, "\"");
}

static void append_time(struct writing *text, uint64_t elapsed_ns)
{
    writing_append(text, " time=\"");
    writing_append_seconds(text, elapsed_ns);
    writing_append(text, "\"");
}

static void append_case_counts(struct writing *text, const uint64_t counts[OUTCOME_KIND_COUNT])
{
    uint64_t all = 0;
    for (int kind = 0; kind < OUTCOME_KIND_COUNT; kind++) {
        all += counts[kind];
    }
    writing_append_format(text,
                          " tests=\"%" PRIu64 "\" failures=\"%" PRIu64 "\" errors=\"%" PRIu64
                          "\" skipped=\"%" PRIu64 "\"",
                          all, counts[OUTCOME_FAILED], counts[OUTCOME_ERROR],
                          counts[OUTCOME_SKIPPED]);
}

static void suite_add_property(struct suite *suite, const char *name, const char *value)
{
    writing_append(&suite->properties, "      <property");
    append_attribute(&suite->properties, "name", name);
    append_attribute(&suite->properties, "value", value);
    writing_append(&suite->properties, "/>\n");
}

static void append_outcome(struct writing *text, const struct outcome *outcome)
{
    const char *element = outcome_elements[outcome->kind];
    writing_append_format(text, "      <%s", element);
    if (outcome->type != NULL) {
        append_attribute(text, "type", outcome->type);
    }
    append_attribute(text, "message", outcome->message);
    if (outcome->body == NULL) {
        writing_append(text, "/>\n");
        return;
    }
    writing_append(text, ">");
    writing_append(text, outcome->body);
    writing_append_format(text, "</%s>\n", element);
}

/* Readers link a case to it. */
static void append_place(struct writing *text, const struct review_place *place)
{
    if (place->file == NULL) {
        return;
    }
    append_attribute(text, "file", annotation_path(place->file));
    if (place->line > 0) {
        writing_append_format(text, " line=\"%" PRIu64 "\"", place->line);
    }
}

static void suite_add_case(struct suite *suite, const char *name, uint64_t elapsed_ns,
                           const struct outcome *outcome)
{
    struct writing *cases = &suite->cases;
    suite->case_counts[outcome->kind]++;
    writing_append(cases, "    <testcase classname=\"hbmstress.");
    writing_append_xml(cases, suite->name);
    writing_append(cases, "\"");
    append_attribute(cases, "name", name);
    append_place(cases, &suite->place);
    append_time(cases, elapsed_ns);
    if (outcome->kind == OUTCOME_PASSED) {
        writing_append(cases, "/>\n");
        return;
    }
    writing_append(cases, ">\n");
    append_outcome(cases, outcome);
    writing_append(cases, "    </testcase>\n");
}

static void document_add(struct document *document, const struct suite *suite)
{
    struct writing *suites = &document->suites;
    writing_append(suites, "  <testsuite");
    append_attribute(suites, "name", suite->name);
    append_case_counts(suites, suite->case_counts);
    append_time(suites, suite->elapsed_ns);
    writing_append(suites, ">\n    <properties>\n");
    writing_append(suites, writing_string(&suite->properties));
    writing_append(suites, "    </properties>\n");
    writing_append(suites, writing_string(&suite->cases));
    writing_append(suites, "  </testsuite>\n");
    for (int kind = 0; kind < OUTCOME_KIND_COUNT; kind++) {
        document->case_counts[kind] += suite->case_counts[kind];
    }
}

static void append_line(struct writing *body, const char *name, const char *value)
{
    if (value == NULL || value[0] == '\0') {
        return;
    }
    writing_append_format(body, "%s: ", name);
    writing_append_xml(body, value);
    writing_append(body, "\n");
}

static void append_number_line(struct writing *body, const char *name, uint64_t value)
{
    writing_append_format(body, "%s: %" PRIu64 "\n", name, value);
}

static void append_largest_line(struct writing *body, const struct oracle_largest *largest)
{
    if (largest == NULL) {
        return;
    }
    writing_append(body, "largest request: ");
    refusals_append_largest(body, largest);
    writing_append(body, "\n");
}

static void suite_add_finding(struct suite *suite, const struct report_known *finding)
{
    struct writing body;
    writing_init(&body);
    writing_append(&body, "\n");
    append_line(&body, "message", finding->message);
    append_largest_line(&body, finding->largest);
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
    suite_add_case(suite, finding->signature, 0,
                   finding->is_known
                       ? &(struct outcome){.kind = OUTCOME_SKIPPED,
                                           .message = "it is in the baseline of known findings"}
                       : &(struct outcome){.kind = OUTCOME_FAILED,
                                           .type = finding->rule,
                                           .message = finding->reason,
                                           .body = writing_string(&body)});
    writing_deinit(&body);
}

static bool result_is_of(const struct report_result *result, const struct report_known *finding)
{
    return finding->first.scenario != NULL && strcmp(finding->first.scenario, result->name) == 0;
}

static void suite_add_setup(struct suite *suite, const struct setup *setup)
{
    char text[SIZE_TEXT_BYTES];
    suite_add_property(suite, "target", setup->target);
    snprintf(text, sizeof text, "%" PRIu64, setup->seed);
    suite_add_property(suite, "seed", text);
    size_print(setup->capacity_bytes, text);
    suite_add_property(suite, "capacity",
                       setup->capacity_bytes == 0 ? "drawn by each trial" : text);
}

/* What could not be repeated proves neither that a promise is kept nor that it is broken. */
static void suite_add_unrepeated(struct suite *suite, const struct report_result *result,
                                 bool is_allowed)
{
    struct writing message;
    writing_init(&message);
    writing_append_format(&message, "%" PRIu64 " verdicts could not be repeated%s",
                          result->totals.unrepeated, is_allowed ? ", which is allowed" : "");
    suite_add_case(suite, "every promise is kept", result->elapsed_ns,
                   &(struct outcome){.kind = is_allowed ? OUTCOME_SKIPPED : OUTCOME_FAILED,
                                     .type = is_allowed ? NULL : "unrepeated",
                                     .message = writing_string(&message)});
    writing_deinit(&message);
}

static void suite_add_skipped(struct suite *suite, const char *name, const char *message)
{
    suite_add_case(suite, name, 0, &(struct outcome){.kind = OUTCOME_SKIPPED, .message = message});
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
    if (is_kept && totals->unrepeated > 0) {
        suite_add_unrepeated(suite, result,
                             campaign->end->totals.unrepeated <= campaign->end->allowed.unrepeated);
        return;
    }
    if (is_kept) {
        suite_add_case(suite, "every promise is kept", result->elapsed_ns, &passed);
        return;
    }
    if (has_known_findings_alone(campaign)) {
        suite_add_skipped(suite, "every promise is kept",
                          "all findings are in the baseline of known findings");
        return;
    }
    struct writing message;
    writing_init(&message);
    writing_append_format(&message,
                          "%" PRIu64 " broken promises and %" PRIu64
                          " premature out-of-memories in %" PRIu64 " trials",
                          totals->broken, totals->premature, result->trials);
    if (totals->premature > 0) {
        writing_append(&message, "; of the out-of-memories, ");
        refusals_append_share(&message, totals);
    }
    if (totals->unrepeated > 0) {
        writing_append_format(&message, "; %" PRIu64 " verdicts could not be repeated",
                              totals->unrepeated);
    }
    suite_add_case(suite, "every promise is kept", result->elapsed_ns,
                   &(struct outcome){.kind = OUTCOME_FAILED,
                                     .type = "broken",
                                     .message = writing_string(&message)});
    writing_deinit(&message);
}

/* Nothing failed, but the case would claim too much if it passed. */
static void suite_add_unjudged(struct suite *suite, const struct run_totals *totals)
{
    struct writing message;
    writing_init(&message);
    if (totals->excused > 0) {
        writing_append_format(&message, "%" PRIu64 " answers were not judged", totals->excused);
    }
    if (totals->unknown > 0) {
        writing_append_format(&message, "%s%" PRIu64 " verdicts stayed unknown, which is allowed",
                              totals->excused > 0 ? "; " : "", totals->unknown);
    }
    suite_add_skipped(suite, "every out-of-memory is judged", writing_string(&message));
    writing_deinit(&message);
}

/* allows_unknown: the campaign has no more of them than its job allows. */
static void suite_add_ooms(struct suite *suite, const struct report_result *result,
                           bool allows_unknown)
{
    const struct run_totals *totals = &result->totals;
    if (totals->unknown + totals->disputed + totals->excused == 0) {
        suite_add_case(suite, "every out-of-memory is judged", 0, &passed);
        return;
    }
    if (totals->disputed == 0 && (totals->unknown == 0 || allows_unknown)) {
        suite_add_unjudged(suite, totals);
        return;
    }
    /* That our own judges disagree weighs more: then no verdict counts. */
    const bool is_disputed = totals->disputed > 0;
    struct writing message;
    writing_init(&message);
    writing_append_format(&message,
                          is_disputed ? "internal error: the two judges disagree on %" PRIu64
                                        " of %" PRIu64 " verdicts"
                                      : "%" PRIu64 " of %" PRIu64 " verdicts stayed unknown",
                          (is_disputed ? totals->disputed : totals->unknown), totals->ooms);
    suite_add_case(suite, "every out-of-memory is judged", 0,
                   &(struct outcome){.kind = is_disputed ? OUTCOME_ERROR : OUTCOME_FAILED,
                                     .type = is_disputed ? "disputed" : "unknown",
                                     .message = writing_string(&message)});
    writing_deinit(&message);
}

static void suite_add_not_checked(struct suite *suite, const struct run_totals *totals)
{
    struct writing name;
    writing_init(&name);
    for (unsigned i = 0; i < NOT_CHECKED_COUNT; i++) {
        const struct not_checked_info *info = not_checked_info((enum not_checked)i);
        if (totals->not_checked[i] > 0) {
            writing_clear(&name);
            writing_append_format(&name, "%s are checked", info->name);
            suite_add_skipped(suite, writing_string(&name), info->what);
        }
    }
    writing_deinit(&name);
}

static void document_add_job(struct document *document, const struct report_campaign *campaign,
                             size_t part)
{
    const struct report_result *result = &campaign->results[part];
    struct suite suite;
    suite_init(&suite, result->name, result->elapsed_ns);
    suite.place = review_job_place(&campaign->start->parts[part]);
    suite_add_setup(&suite, campaign->start->parts[part].setup);
    suite_add_property(&suite, "scenario", result->scenario);
    if (report_result_has_run(result)) {
        suite_add_promises(&suite, campaign, result);
        suite_add_ooms(&suite, result,
                       !report_allowed_is_unknown(&campaign->end->allowed, &campaign->end->totals));
        suite_add_not_checked(&suite, &result->totals);
    } else {
        const char *why = result->note != NULL ? result->note : "no trial ran";
        suite_add_skipped(&suite, "every promise is kept", why);
        suite_add_skipped(&suite, "every out-of-memory is judged", why);
    }
    for (size_t i = 0; i < campaign->finding_count; i++) {
        if (result_is_of(result, &campaign->findings[i])) {
            suite_add_finding(&suite, &campaign->findings[i]);
        }
    }
    document_add(document, &suite);
    suite_deinit(&suite);
}

static void suite_add_canary(struct suite *suite, const struct report_canary *canary)
{
    if (canary == NULL) {
        suite_add_skipped(suite, "a planted defect is reported", "no planted target ran");
        return;
    }
    struct writing name, message;
    writing_init(&name);
    writing_init(&message);
    writing_append_format(&name, "the planted defect of %s is reported", canary->target);
    writing_append_format(&message, "%" PRIu64 " trials of %s did not show that it breaks %s",
                          canary->trials, canary->scenario, canary->breaks);
    const struct outcome missed = {
        .kind = OUTCOME_FAILED, .type = "canary", .message = writing_string(&message)};
    suite_add_case(suite, writing_string(&name), 0, canary->is_reported ? &passed : &missed);
    writing_deinit(&name);
    writing_deinit(&message);
}

static void suite_add_probes(struct suite *suite, const struct report_campaign *campaign)
{
    static const struct outcome missed = {
        .kind = OUTCOME_FAILED, .type = "probe", .message = "no trial reached this state"};
    struct writing name;
    writing_init(&name);
    if (campaign->probe_count == 0) {
        suite_add_skipped(suite, "probes are hit", "the campaign has no probes");
    }
    for (size_t i = 0; i < campaign->probe_count; i++) {
        writing_clear(&name);
        writing_append_format(&name, "probe %s is hit", campaign->probes[i].name);
        suite_add_case(suite, writing_string(&name), 0,
                       campaign->probes[i].count > 0 ? &passed : &missed);
    }
    writing_deinit(&name);
}

static void suite_add_harness(struct suite *suite, const struct report_end *end)
{
    struct outcome failed = {
        .kind = OUTCOME_ERROR, .type = "harness", .message = "the harness failed"};
    if (end->totals.disputed > 0) {
        failed.message = "internal error: the two judges disagree, so no verdict counts";
    }
    const bool is_failed = end->exit_code == REPORT_EXIT_HARNESS;
    suite_add_case(suite, "the harness kept running", 0, is_failed ? &failed : &passed);
}

static bool finding_has_job(const struct report_campaign *campaign,
                            const struct report_known *finding)
{
    for (size_t i = 0; i < campaign->result_count; i++) {
        if (result_is_of(&campaign->results[i], finding)) {
            return true;
        }
    }
    return false;
}

static void document_add_campaign(struct document *document, const struct report_campaign *campaign)
{
    struct suite suite;
    suite_init(&suite, "campaign", 0);
    suite_add_setup(&suite, campaign->start->setup);
    if (campaign->end->is_interrupted) {
        suite_add_property(&suite, "interrupted", "true");
    }
    suite_add_canary(&suite, campaign->canary);
    suite_add_probes(&suite, campaign);
    suite_add_harness(&suite, campaign->end);
    for (size_t i = 0; i < campaign->finding_count; i++) {
        if (!finding_has_job(campaign, &campaign->findings[i])) {
            suite_add_finding(&suite, &campaign->findings[i]);
        }
    }
    document_add(document, &suite);
    suite_deinit(&suite);
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
    append_attribute(text, "name", "hbmstress");
    append_case_counts(text, document.case_counts);
    append_time(text, campaign->end->elapsed_ns);
    writing_append(text, ">\n");
    writing_append(text, writing_string(&document.suites));
    writing_append(text, "</testsuites>\n");
    writing_deinit(&document.suites);
}
