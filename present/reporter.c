#include "present/reporter.h"

#include "harness/base/check.h"
#include "present/json_lines.h"
#include "present/review.h"
#include "present/terminal.h"

static const struct report_sink json_sink = {
    .name = "json",
    .form = REPORT_LINES,
    .start = json_line_start,
    .finding = {[REPORT_OOM] = json_line_verdict,
                [REPORT_FINDING] = json_line_finding,
                [REPORT_FOUND] = json_line_found,
                [REPORT_DISPUTE] = json_line_dispute},
    .trial = json_line_trial,
    .end = json_line_end,
    .campaign = json_line_campaign,
};

static const struct report_sink terminal_sink = {
    .name = "terminal",
    .form = REPORT_PEOPLE,
    .start = terminal_start,
    .finding = {[REPORT_OOM] = terminal_oom,
                [REPORT_FINDING] = terminal_finding,
                [REPORT_FOUND] = terminal_found,
                [REPORT_DISPUTE] = terminal_finding,
                [REPORT_SAVED] = terminal_finding},
    .end = terminal_end,
    .campaign = terminal_campaign,
};

static const struct report_sink summary_sink = {
    .name = "summary.json", .form = REPORT_DOCUMENT, .campaign = summary_print};

static const struct report_sink junit_sink = {
    .name = "junit.xml", .form = REPORT_DOCUMENT, .campaign = junit_print};

static const struct report_sink sarif_sink = {
    .name = "results.sarif", .form = REPORT_DOCUMENT, .campaign = sarif_print};

/* These three have something to say only where --annotate asks for it. */
static const struct report_sink gitlab_sink = {
    .name = ANNOTATION_GITLAB_NAME, .form = REPORT_DOCUMENT, .campaign = review_print_gitlab};

static const struct report_sink github_sink = {
    .name = "github", .form = REPORT_COMMANDS, .campaign = review_print_github};

static const struct report_sink step_sink = {
    .name = "github step", .form = REPORT_STEP, .campaign = review_print_step};

const struct report_sink *const report_sinks[] = {&json_sink,   &terminal_sink, &summary_sink,
                                                  &junit_sink,  &sarif_sink,    &gitlab_sink,
                                                  &github_sink, &step_sink,     NULL};

void reporter_init(struct reporter *reporter,
                   bool (*put)(void *context, const struct report_sink *sink, enum report_kind kind,
                               const struct writing *text),
                   void *context)
{
    *reporter = (struct reporter){.put = put, .context = context};
}

void reporter_deinit(struct reporter *reporter)
{
    writing_deinit(&reporter->text);
}

/* Appends what the sink has to say of the value of that kind. */
static void append_value(struct writing *text, const struct report_sink *sink,
                         enum report_kind kind, const void *value)
{
    if (kind == REPORT_START && sink->start != NULL) {
        sink->start(text, value);
    } else if (kind == REPORT_TRIAL && sink->trial != NULL) {
        sink->trial(text, value);
    } else if (kind == REPORT_END && sink->end != NULL) {
        sink->end(text, value);
    } else if (kind == REPORT_CAMPAIGN && sink->campaign != NULL) {
        sink->campaign(text, value);
    } else if (sink->finding[kind] != NULL) {
        sink->finding[kind](text, value);
    }
}

static bool report_value(struct reporter *reporter, enum report_kind kind, const void *value)
{
    bool are_put = true;
    for (size_t i = 0; report_sinks[i] != NULL; i++) {
        append_value(&reporter->text, report_sinks[i], kind, value);
        const bool is_put = reporter->text.length == 0 ||
                            reporter->put(reporter->context, report_sinks[i], kind,
                                          &reporter->text);
        writing_clear(&reporter->text);
        are_put = are_put && is_put;
    }
    return are_put;
}

bool reporter_start(struct reporter *reporter, const struct report_start *start)
{
    return report_value(reporter, REPORT_START, start);
}

bool reporter_finding(struct reporter *reporter, enum report_kind kind,
                      const struct report_finding *finding)
{
    CHECK(kind >= REPORT_OOM && kind <= REPORT_SAVED);
    return report_value(reporter, kind, finding);
}

bool reporter_trial(struct reporter *reporter, const struct report_trial *trial)
{
    return report_value(reporter, REPORT_TRIAL, trial);
}

bool reporter_end(struct reporter *reporter, const struct report_end *end)
{
    return report_value(reporter, REPORT_END, end);
}

bool reporter_campaign(struct reporter *reporter, const struct report_campaign *campaign)
{
    return report_value(reporter, REPORT_CAMPAIGN, campaign);
}
