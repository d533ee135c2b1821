#include "present/annotation.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/hash.h"
#include "harness/base/json.h"
#include "harness/oracle/rule.h"
#include "present/bug.h"
#include "present/say.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Of each level: more than ten are not shown by a step, and 50 rows are what a person reads. */
enum { GITHUB_COUNT_MAX = 10, MARKDOWN_COUNT_MAX = 50 };

static const char *const level_names[ANNOTATION_LEVEL_COUNT] = {"error", "warning", "notice"};

const char *annotation_path(const char *file)
{
    while (strncmp(file, "./", 2) == 0) {
        file += 2 + strspn(file + 2, "/");
    }
    return file;
}

static void print_hash(uint64_t hash, char text[ANNOTATION_HASH_BYTES])
{
    (void)snprintf(text, ANNOTATION_HASH_BYTES, "%016" PRIx64, hash);
}

void annotation_print_hash(const char *string, char text[ANNOTATION_HASH_BYTES])
{
    print_hash(hash_string(HASH_START, string), text);
}

/* --- adding --- */

static const char *copy_text(const char *text)
{
    char *copy = text == NULL ? NULL : strdup(text);
    CHECK(text == NULL || copy != NULL);
    return copy;
}

void annotation_print_fingerprint(const struct annotation *annotation,
                                  char text[ANNOTATION_HASH_BYTES])
{
    const char *file = annotation->file == NULL ? "" : annotation_path(annotation->file);
    uint64_t hash = hash_bytes(HASH_START, annotation->rule, strlen(annotation->rule) + 1);
    hash = hash_bytes(hash, annotation->title, strlen(annotation->title) + 1);
    print_hash(hash_string(hash, file), text);
}

void annotations_add(struct annotations *annotations, const struct annotation *annotation)
{
    CHECK(annotation->rule != NULL && annotation->title != NULL && annotation->message != NULL);
    CHECK(annotation->level < ANNOTATION_LEVEL_COUNT);
    char fingerprint[ANNOTATION_HASH_BYTES];
    annotation_print_fingerprint(annotation, fingerprint);
    annotations->items = array_grown(annotations->items, annotations->count, &annotations->capacity,
                                     sizeof *annotations->items);
    annotations->items[annotations->count++] = (struct annotation){
        .level = annotation->level,
        .file = copy_text(annotation->file),
        .line = annotation->line,
        .title = copy_text(annotation->title),
        .message = copy_text(annotation->message),
        .rule = copy_text(annotation->rule),
        .fingerprint = copy_text(annotation->fingerprint == NULL ? fingerprint
                                                                 : annotation->fingerprint)};
}

void annotations_deinit(struct annotations *annotations)
{
    for (size_t i = 0; i < annotations->count; i++) {
        const struct annotation *annotation = &annotations->items[i];
        free((char *)annotation->file);
        free((char *)annotation->title);
        free((char *)annotation->message);
        free((char *)annotation->rule);
        free((char *)annotation->fingerprint);
    }
    free(annotations->items);
    *annotations = (struct annotations){0};
}

/* Appends lines, each made harmless, with separator between them. */
static void append_lines(struct writing *text, const char *lines, const char *separator,
                         void (*append)(struct writing *text, const char *line))
{
    while (*lines != '\0') {
        const size_t length = strcspn(lines, "\n");
        char *line = strndup(lines, length);
        CHECK(line != NULL);
        append(text, line);
        free(line);
        lines += length + (lines[length] == '\n');
        writing_append(text, *lines == '\0' ? "" : separator);
    }
}

/* --- GitHub --- */

/* escaped: the bytes that the place of the string gives a meaning; the runner turns them back. */
static void append_escaped(struct writing *text, const char *string, const char *escaped)
{
    struct writing visible = {0};
    append_lines(&visible, string, "\n", writing_append_visible);
    for (const char *at = writing_string(&visible); *at != '\0'; at++) {
        if (strchr(escaped, *at) != NULL) {
            writing_append_format(text, "%%%02X", (unsigned)(unsigned char)*at);
        } else {
            writing_append_bytes(text, at, 1);
        }
    }
    writing_deinit(&visible);
}

static void append_command(struct writing *text, const struct annotation *annotation)
{
    writing_append_format(text, "::%s ", level_names[annotation->level]);
    if (annotation->file != NULL) {
        writing_append(text, "file=");
        append_escaped(text, annotation_path(annotation->file), "%\r\n:,");
        if (annotation->line > 0) {
            say(text, ",line=%" PRIu64, annotation->line);
        }
        writing_append(text, ",");
    }
    writing_append(text, "title=");
    append_escaped(text, annotation->title, "%\r\n:,");
    writing_append(text, "::");
    append_escaped(text, annotation->message, "%\r\n");
    writing_append(text, "\n");
}

void annotations_print_github(struct writing *text, const struct annotations *annotations)
{
    for (unsigned level = 0; level < ANNOTATION_LEVEL_COUNT; level++) {
        size_t count = 0, shown = 0;
        for (size_t i = 0; i < annotations->count; i++) {
            count += annotations->items[i].level == level;
        }
        const size_t shown_max = count > GITHUB_COUNT_MAX ? GITHUB_COUNT_MAX - 1 : count;
        for (size_t i = 0; i < annotations->count && shown < shown_max; i++) {
            if (annotations->items[i].level == level) {
                append_command(text, &annotations->items[i]);
                shown++;
            }
        }
        if (shown < count) {
            writing_append_format(
                text, "::%s title=hbmstress::%zu more are not shown here: a step shows %d\n",
                level_names[level], count - shown, GITHUB_COUNT_MAX);
        }
    }
}

void annotation_append_disarmed(struct writing *disarmed, const struct writing *text, bool is_json)
{
    bool is_before_words =
        true; /* of the line: a runner leaves out blanks, those of Unicode, too */
    for (const char *at = writing_string(text); *at != '\0'; at++) {
        if (is_before_words && strncmp(at, "::", 2) == 0) {
            writing_append(disarmed, ": ");
        } else if (strncmp(at, "##[", 3) == 0) {
            writing_append(disarmed, is_json ? "#\\u0023" : "## ");
            at++;
        } else {
            writing_append_bytes(disarmed, at, 1);
        }
        const unsigned char byte = (unsigned char)*at;
        is_before_words = byte == '\n' || (is_before_words && (byte <= ' ' || byte > '~'));
    }
}

/* --- GitLab --- */

static const char *severity_of(const struct annotation *annotation)
{
    static const char *const names[] = {
        [GRAVITY_NUMBERS] = "major", [GRAVITY_ANSWER] = "critical", [GRAVITY_HARM] = "blocker"};
    if (annotation->level != ANNOTATION_ERROR) {
        return annotation->level == ANNOTATION_WARNING ? "minor" : "info";
    }
    const enum rule rule = rule_find(annotation->rule);
    return rule == RULE_NONE ? "major" : names[rule_gravity(rule)];
}

/* As it is shown: control characters as text. */
static void add_visible(struct writing *text, const char *key, const char *value)
{
    struct writing visible = {0};
    append_lines(&visible, value, "; ", writing_append_visible);
    json_add_string(text, key, writing_string(&visible));
    writing_deinit(&visible);
}

static void append_issue(struct writing *text, const struct annotation *annotation)
{
    struct writing description = {0};
    writing_append_format(&description, "%s: %s", annotation->title, annotation->message);
    json_break(text, 0);
    say_json(text, "{");
    add_visible(text, "description", writing_string(&description));
    add_visible(text, "check_name", annotation->rule);
    add_visible(text, "fingerprint", annotation->fingerprint);
    json_add_string(text, "severity", severity_of(annotation));
    say_json(text, "location:{");
    add_visible(text, "path", annotation->file == NULL ? "." : annotation_path(annotation->file));
    say_json(text, "lines:{begin:%" PRIu64 "}}}", annotation->line == 0 ? 1 : annotation->line);
    writing_deinit(&description);
}

void annotations_print_gitlab(struct writing *text, const struct annotations *annotations)
{
    writing_append(text, "[");
    for (size_t i = 0; i < annotations->count; i++) {
        append_issue(text, &annotations->items[i]);
    }
    writing_append(text, annotations->count == 0 ? "]\n" : "\n]\n");
}

/* --- Markdown --- */

static void append_row(struct writing *text, const struct annotation *annotation)
{
    writing_append_format(text, "| %s | ", level_names[annotation->level]);
    if (annotation->file != NULL) {
        append_lines(text, annotation_path(annotation->file), "<br>", bug_text_append_markdown);
    }
    if (annotation->file != NULL && annotation->line > 0) {
        writing_append_format(text, ":%" PRIu64, annotation->line);
    }
    writing_append(text, " | **");
    append_lines(text, annotation->title, "<br>", bug_text_append_markdown);
    writing_append(text, "**<br>");
    append_lines(text, annotation->message, "<br>", bug_text_append_markdown);
    writing_append(text, " |\n");
}

void annotations_print_markdown(struct writing *text, const char *heading,
                                const struct annotations *annotations)
{
    const size_t shown = annotations->count < MARKDOWN_COUNT_MAX ? annotations->count
                                                                 : MARKDOWN_COUNT_MAX;
    writing_append(text, "### hbmstress\n\n");
    bug_text_append_markdown(text, heading);
    writing_append(text, "\n\n");
    if (shown > 0) {
        writing_append(text, "| | where | what |\n|---|---|---|\n");
    }
    for (size_t i = 0; i < shown; i++) {
        append_row(text, &annotations->items[i]);
    }
    if (shown < annotations->count) {
        writing_append_format(text, "\n%zu more are not shown here.\n", annotations->count - shown);
    }
    writing_append(text, shown > 0 ? "\n" : "");
}
