#include "harness/base/check.h"
#include "harness/base/json.h"
#include "harness/oracle/rule.h"
#include "present/review.h"
#include "present/say.h"
#include "present/version.h"

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
    json_add_string(text, "text", value[0] == '\0' ? "no words" : value);
    json_unnest(text, '}');
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
    json_nest(text, "artifactLocation", '{');
    json_add_string(text, "uri", writing_string(&uri));
    json_unnest(text, '}');
    writing_deinit(&uri);
}

/* --- the tool --- */

static void add_rule(struct writing *text, const char *id, const char *summary, const char *page)
{
    json_break(text, 0);
    json_nest(text, NULL, '{');
    json_add_string(text, "id", id);
    add_message(text, "shortDescription", summary);
    add_message(text, "fullDescription", summary);
    add_message(text, "help", page);
    json_unnest(text, '}');
}

/* The rules of the table, then what a job may leave open. */
static void add_tool(struct writing *text)
{
    json_nest(text, "tool", '{');
    json_nest(text, "driver", '{');
    json_add_string(text, "name", "hbmstress");
    json_add_string(text, "version", version_text());
    json_nest(text, "rules", '[');
    for (int rule = RULE_NONE + 1; rule < RULE_COUNT; rule++) {
        const struct rule_info *info = rule_info((enum rule)rule);
        add_rule(text, info->name, info->summary, "docs/promise.md");
    }
    for (int open = 0; open < REVIEW_OPEN_COUNT; open++) {
        const struct review_open_info *info = review_open_info((enum review_open)open);
        add_rule(text, info->name, info->summary, "docs/campaigns.md");
    }
    json_unnest(text, ']');
    json_unnest(text, '}');
    json_unnest(text, '}');
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
    json_nest(text, "physicalLocation", '{');
    add_artifact(text, file);
    if (line > 0) {
        json_nest(text, "region", '{');
        json_add_number(text, "startLine", line);
        json_unnest(text, '}');
    }
    json_unnest(text, '}');
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
        json_nest(text, "locations", '[');
        json_nest(text, NULL, '{');
        add_place(text, annotation->file, annotation->line);
        json_unnest(text, '}');
        json_unnest(text, ']');
    }
    /* GitHub compares the second alone.  Without it, it makes one of the line where a result is:
     * then all findings of a section would be one. */
    json_nest(text, "partialFingerprints", '{');
    json_add_string(text, "signature/v1", annotation->fingerprint);
    json_add_string(text, "primaryLocationLineHash", annotation->fingerprint);
    json_unnest(text, '}');
}

static void add_related(struct writing *text, uint64_t id, const char *path, const char *what)
{
    json_nest(text, NULL, '{');
    json_add_number(text, "id", id);
    add_place(text, path, 0);
    add_message(text, "message", what);
    json_unnest(text, '}');
}

/* The lists that show it, in the order in which they run. */
static void add_related_lists(struct writing *text, const struct report_known *finding)
{
    if (finding->repro == NULL) {
        return;
    }
    json_nest(text, "relatedLocations", '[');
    for (size_t i = 0; i < finding->repeats.after_count; i++) {
        add_related(text, i, finding->repeats.after[i], "runs before the repro");
    }
    add_related(text, finding->repeats.after_count, finding->repro, "the repro");
    json_unnest(text, ']');
}

static void add_attachment(struct writing *text, const char *path, const char *what)
{
    if (path != NULL) {
        json_nest(text, NULL, '{');
        add_message(text, "description", what);
        add_artifact(text, path);
        json_unnest(text, '}');
    }
}

static void add_attachments(struct writing *text, const struct report_known *finding)
{
    if (finding->repro == NULL && finding->certificate == NULL) {
        return;
    }
    json_nest(text, "attachments", '[');
    add_attachment(text, finding->repro, "the repro: an op list");
    add_attachment(text, finding->certificate, "the proof, for hbmstress check");
    json_unnest(text, ']');
}

static void add_finding(struct writing *text, const struct report_known *finding)
{
    add_related_lists(text, finding);
    add_attachments(text, finding);
    json_add_number(text, "occurrenceCount", finding->count);
    json_nest(text, "properties", '{');
    add_visible(text, "signature", finding->signature);
    add_visible(text, "job", finding->first.scenario);
    json_add_number(text, "trial", finding->first.trial);
    json_add_digits(text, "seed", finding->seed);
    json_add_number(text, "count", finding->count);
    json_add_number(text, "ops", finding->op_count);
    add_visible(text, "replay", finding->replay);
    json_unnest(text, '}');
}

static void add_results(struct writing *text, const struct report_campaign *campaign)
{
    struct annotations annotations = {0};
    review_add_findings(campaign, &annotations);
    CHECK(annotations.count == campaign->finding_count);
    review_add_open(campaign, &annotations);
    json_nest(text, "results", '[');
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
        json_unnest(text, '}');
    }
    json_unnest(text, ']');
    annotations_deinit(&annotations);
}

/* --- the run --- */

static void add_notification(struct writing *text, const struct annotation *annotation)
{
    struct writing words = {0};
    writing_append_format(&words, "%s: %s", annotation->title, annotation->message);
    json_nest(text, NULL, '{');
    json_add_string(text, "level", annotation->level == ANNOTATION_ERROR ? "error" : "warning");
    add_message(text, "message", writing_string(&words));
    json_unnest(text, '}');
    writing_deinit(&words);
}

static void add_invocation(struct writing *text, const struct report_campaign *campaign)
{
    struct annotations failures = {0};
    const uint64_t exit_code = (uint64_t)campaign->end->exit_code;
    review_add_failures(campaign, &failures);
    json_nest(text, "invocations", '[');
    json_nest(text, NULL, '{');
    json_add_boolean(text, "executionSuccessful", exit_code != REPORT_EXIT_HARNESS);
    json_add_number(text, "exitCode", exit_code);
    json_nest(text, "toolExecutionNotifications", '[');
    for (size_t i = 0; i < failures.count; i++) {
        add_notification(text, &failures.items[i]);
    }
    json_unnest(text, ']');
    json_unnest(text, '}');
    json_unnest(text, ']');
    annotations_deinit(&failures);
}

void sarif_print(struct writing *text, const struct report_campaign *campaign)
{
    CHECK(campaign->start != NULL && campaign->start->setup != NULL && campaign->end != NULL);
    writing_append(text, "{");
    json_add_string(text, "$schema", schema_uri);
    json_add_string(text, "version", "2.1.0");
    json_nest(text, "runs", '[');
    json_break(text, 0);
    json_nest(text, NULL, '{');
    add_tool(text);
    json_break(text, 0);
    add_invocation(text, campaign);
    json_break(text, 0);
    add_results(text, campaign);
    json_break(text, 0);
    json_nest(text, "properties", '{');
    add_visible(text, "target", campaign->start->setup->target);
    json_add_digits(text, "seed", campaign->end->seed);
    json_unnest(text, '}');
    json_unnest(text, '}');
    json_unnest(text, ']');
    json_close(text);
}
