#include "harness/base/check.h"
#include "harness/base/json.h"
#include "harness/oracle/rule.h"
#include "present/review.h"
#include "present/say.h"
#include "present/version.h"

#include <inttypes.h>
#include <string.h>

static const char schema_uri[] =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/* --- texts --- */

/* Foreign text, on one line and without control characters; nothing for NULL. */
static void add_visible(struct writing *text, const char *key, const char *value)
{
    struct writing visible = {0};
    if (value != NULL) {
        writing_append_visible(&visible, value);
        json_add_string(text, key, writing_string(&visible));
    }
    writing_deinit(&visible);
}

/* {"text": value}; value has lines of ours, each made visible before. */
static void add_message(struct writing *text, const char *key, const char *value)
{
    json_nest(text, key, '{');
    say_json(text, "text:%s}", value[0] == '\0' ? "no words" : value);
}

static bool is_plain_in_uri(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || (byte != '\0' && strchr("-._~/", byte) != NULL);
}

/* A reference from the root of the repository, or of the file system.  RFC 3986, section 2. */
static void append_uri(struct writing *uri, const char *path)
{
    path = annotation_path(path);
    writing_append(uri, path[0] == '/' ? "file://" : "");
    for (; *path != '\0'; path++) {
        if (is_plain_in_uri(*path)) {
            writing_append_bytes(uri, path, 1);
        } else {
            writing_append_format(uri, "%%%02X", (unsigned)(unsigned char)*path);
        }
    }
}

static void add_artifact(struct writing *text, const char *path)
{
    struct writing uri = {0};
    append_uri(&uri, path);
    say_json(text, "artifactLocation:{uri:%s}", writing_string(&uri));
    writing_deinit(&uri);
}

/* --- the tool --- */

static void add_rule(struct writing *text, const char *id, const char *summary, const char *page)
{
    json_break(text, 0);
    say_json(text, "{id:%s shortDescription:{text:%s} fullDescription:{text:%s} help:{text:%s}}",
             id, summary, summary, page);
}

/* The rules of the table, then what a job may leave open. */
static void add_tool(struct writing *text)
{
    say_json(text, "tool:{driver:{name:%s version:%s rules:[", "hbmstress", version_text());
    for (int rule = RULE_NONE + 1; rule < RULE_COUNT; rule++) {
        const struct rule_info *info = rule_info((enum rule)rule);
        add_rule(text, info->name, info->summary, "docs/promise.md");
    }
    for (int open = 0; open < REVIEW_OPEN_COUNT; open++) {
        const struct review_open_info *info = review_open_info((enum review_open)open);
        add_rule(text, info->name, info->summary, "docs/campaigns.md");
    }
    say_json(text, "]}}");
}

/* Where the name stands in the rules above; -1: nowhere. */
static int find_rule_index(const char *name)
{
    for (int open = 0; open < REVIEW_OPEN_COUNT; open++) {
        if (strcmp(review_open_info((enum review_open)open)->name, name) == 0) {
            return RULE_COUNT - 1 + open;
        }
    }
    return (int)rule_find(name) - 1;
}

/* --- results --- */

static void add_place(struct writing *text, const char *file, uint64_t line)
{
    say_json(text, "physicalLocation:{");
    add_artifact(text, file);
    if (line > 0) {
        say_json(text, "region:{startLine:%" PRIu64 "}", line);
    }
    say_json(text, "}");
}

/* level, rule, words, place and fingerprint: what every result has. */
static void begin_result(struct writing *text, const struct annotation *annotation)
{
    static const char *const levels[ANNOTATION_LEVEL_COUNT] = {"error", "warning", "note"};
    const int rule = find_rule_index(annotation->rule);
    json_break(text, 0);
    json_nest(text, NULL, '{');
    add_visible(text, "ruleId", annotation->rule);
    if (rule >= 0) {
        json_add_number(text, "ruleIndex", (uint64_t)rule);
    }
    json_add_string(text, "level", levels[annotation->level]);
    struct writing words = {0};
    say(&words, "%s\n", annotation->title);
    writing_append(&words, annotation->message);
    add_message(text, "message", writing_string(&words));
    writing_deinit(&words);
    if (annotation->file != NULL) {
        say_json(text, "locations:[{");
        add_place(text, annotation->file, annotation->line);
        say_json(text, "}]");
    }
    /* GitHub compares the second alone.  Without it, it makes one of the line where a result is:
     * then all findings of a section would be one. */
    say_json(text, "partialFingerprints:{signature/v1:%s primaryLocationLineHash:%s}",
             annotation->fingerprint, annotation->fingerprint);
}

static void add_related(struct writing *text, size_t id, const char *path, const char *what)
{
    say_json(text, "{id:%zu", id);
    add_place(text, path, 0);
    say_json(text, "message:{text:%s}}", what);
}

/* The lists that show it, in the order in which they run. */
static void add_related_lists(struct writing *text, const struct report_known *finding)
{
    const size_t count = finding->repeats.after_count;
    if (finding->repro == NULL) {
        return;
    }
    say_json(text, "relatedLocations:[");
    for (size_t i = 0; i < count; i++) {
        add_related(text, i, finding->repeats.after[i], "runs before the repro");
    }
    add_related(text, count, finding->repro, "the repro");
    say_json(text, "]");
}

static void add_attachment(struct writing *text, const char *path, const char *what)
{
    if (path != NULL) {
        say_json(text, "{description:{text:%s}", what);
        add_artifact(text, path);
        say_json(text, "}");
    }
}

static void add_finding(struct writing *text, const struct report_known *finding)
{
    add_related_lists(text, finding);
    if (finding->repro != NULL || finding->certificate != NULL) {
        say_json(text, "attachments:[");
        add_attachment(text, finding->repro, "the repro: an op list");
        add_attachment(text, finding->certificate, "the proof, for hbmstress check");
        say_json(text, "]");
    }
    say_json(text, "occurrenceCount:%" PRIu64 " properties:{", finding->count);
    add_visible(text, "signature", finding->signature);
    add_visible(text, "job", finding->first.scenario);
    say_json(text, "trial:%" PRIu64 " seed:'%" PRIu64 "' count:%" PRIu64 " ops:%" PRIu64,
             finding->first.trial, finding->seed, finding->count, finding->op_count);
    add_visible(text, "replay", finding->replay);
    say_json(text, "}");
}

static void add_results(struct writing *text, const struct report_campaign *campaign)
{
    struct annotations annotations = {0};
    review_add_findings(campaign, &annotations);
    CHECK(annotations.count == campaign->finding_count);
    review_add_open(campaign, &annotations);
    say_json(text, "results:[");
    for (size_t i = 0; i < annotations.count; i++) {
        const struct report_known *finding = i < campaign->finding_count ? &campaign->findings[i]
                                                                         : NULL;
        begin_result(text, &annotations.items[i]);
        if (campaign->end->has_baseline) {
            json_add_string(text, "baselineState",
                            finding != NULL && finding->is_known ? "unchanged" : "new");
        }
        if (finding != NULL) {
            add_finding(text, finding);
        }
        say_json(text, "}");
    }
    say_json(text, "]");
    annotations_deinit(&annotations);
}

/* --- the run --- */

static void add_notification(struct writing *text, const struct annotation *annotation)
{
    struct writing words = {0};
    writing_append_format(&words, "%s: %s", annotation->title, annotation->message);
    say_json(text, "{level:%s message:{text:%s}}",
             annotation->level == ANNOTATION_ERROR ? "error" : "warning", writing_string(&words));
    writing_deinit(&words);
}

static void add_invocation(struct writing *text, const struct report_campaign *campaign)
{
    struct annotations failures = {0};
    const unsigned exit_code = (unsigned)campaign->end->exit_code;
    review_add_failures(campaign, &failures);
    say_json(text, "invocations:[{executionSuccessful:%d exitCode:%u toolExecutionNotifications:[",
             exit_code != REPORT_EXIT_HARNESS, exit_code);
    for (size_t i = 0; i < failures.count; i++) {
        add_notification(text, &failures.items[i]);
    }
    say_json(text, "]}]");
    annotations_deinit(&failures);
}

void sarif_print(struct writing *text, const struct report_campaign *campaign)
{
    CHECK(campaign->start != NULL && campaign->start->setup != NULL && campaign->end != NULL);
    writing_append(text, "{");
    say_json(text, "$schema:%s version:%s runs:[", schema_uri, "2.1.0");
    json_break(text, 0);
    say_json(text, "{");
    add_tool(text);
    json_break(text, 0);
    add_invocation(text, campaign);
    json_break(text, 0);
    add_results(text, campaign);
    json_break(text, 0);
    say_json(text, "properties:{");
    add_visible(text, "target", campaign->start->setup->target);
    say_json(text, "seed:'%" PRIu64 "'}}]", campaign->end->seed);
    json_close(text);
}
