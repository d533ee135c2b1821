/* What the folder of a campaign says. */
#include "campaign/base/file.h"
#include "campaign/engine/campaign_view.h"
#include "harness/base/check.h"
#include "harness/oracle/rule.h"
#include "page/campaign_page.h"
#include "present/json_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { LINE_BYTES_MAX = 64 << 20, SUMMARY_BYTES_MAX = 256 << 20 };
/* No campaign has more than this; the rest is left out. */
enum { PART_COUNT_MAX = 1 << 12, FINDING_COUNT_MAX = 1 << 14, CAUSE_COUNT_MAX = 256 };
enum { PROOF_COUNT_MAX = 3 };
enum { SAVED_BYTES_MAX = 256 << 20 };

/* --- members --- */

uint64_t member_number(const json_t *object, const char *name)
{
    const json_t *member = json_object_get(object, name);
    const json_int_t value = json_integer_value(member);
    if (json_is_real(member) && json_real_value(member) > 0) { /* see campaign_lines_parse */
        const double real = json_real_value(member);
        return real < (double)(UINT64_MAX >> 1) ? (uint64_t)real : UINT64_MAX >> 1;
    }
    return value > 0 ? (uint64_t)value : 0;
}

double member_real(const json_t *object, const char *name)
{
    const double value = json_number_value(json_object_get(object, name));
    return value > 0 ? value : 0;
}

const char *member_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text == NULL ? "" : text;
}

bool member_is_true(const json_t *object, const char *name)
{
    return json_is_true(json_object_get(object, name));
}

struct page_text member_count(const json_t *object, const char *name)
{
    return page_count(member_number(object, name));
}

void member_add(json_t *object, const char *name, uint64_t more)
{
    const uint64_t sum = member_number(object, name) + more, most = UINT64_MAX >> 1;
    (void)json_object_set_new(object, name, json_integer((json_int_t)(sum < most ? sum : most)));
}

/* Copies the members that there are; names are parted by blanks. */
static void copy_members(json_t *to, const json_t *from, const char *names)
{
    char name[32];
    for (size_t length; *names != '\0'; names += length + (names[length] == ' ')) {
        length = strcspn(names, " ");
        snprintf(name, sizeof name, "%.*s", (int)length, names);
        json_t *value = json_object_get(from, name);
        if (value != NULL) {
            (void)json_object_set(to, name, value);
        }
    }
}

const char *campaign_lines_file(const char *path)
{
    static const char *const folders[] = {"repros/", "certificates/", "unrepeated/", "kept/",
                                          "output/"};
    const char *file = strrchr(path, '/');
    if (file == NULL || file[1] == '\0' || strcmp(file, "/..") == 0 || strcmp(file, "/.") == 0) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const size_t length = strlen(folders[i]);
        const char *folder = file + 1 - length;
        if ((size_t)(file + 1 - path) >= length && strncmp(folder, folders[i], length) == 0 &&
            (folder == path || folder[-1] == '/')) {
            return folder;
        }
    }
    return NULL;
}

/* --- lines into the record --- */

/* Adds what the line `trial` counts: the line `scenario` has sums of it under the same names. */
static void add_counts(json_t *to, const json_t *trial)
{
    member_add(to, "trials", 1);
    for (size_t i = 0; json_total_name(i) != NULL; i++) {
        const uint64_t more = member_number(trial, json_total_name(i));
        if (more > 0) {
            member_add(to, json_total_name(i), more);
        }
    }
}

/* NULL: there are too many. */
static json_t *find_or_add(json_t *objects, const char *name, size_t count_max)
{
    json_t *found = json_object_get(objects, name);
    if (found != NULL || json_object_size(objects) >= count_max) {
        return found;
    }
    return json_object_set_new(objects, name, json_object()) == 0 ? json_object_get(objects, name)
                                                                  : NULL;
}

static void take_start(struct campaign_lines *lines, json_t *line)
{
    const json_t *part;
    size_t i;
    if (lines->start != NULL) {
        return;
    }
    lines->start = json_incref(line);
    json_array_foreach(json_object_get(line, "scenarios"), i, part)
    {
        (void)find_or_add(lines->parts, member_text(part, "name"), PART_COUNT_MAX);
    }
}

static void take_trial(struct campaign_lines *lines, json_t *line)
{
    json_t *part = find_or_add(lines->parts, member_text(line, "scenario"), PART_COUNT_MAX);
    json_t *finding = json_object_get(lines->found, member_text(line, "signature"));
    add_counts(lines->totals, line);
    if (part != NULL) {
        add_counts(part, line);
    }
    if (finding != NULL && json_object_get(finding, "seed") == NULL &&
        member_number(finding, "trial") == member_number(line, "trial") &&
        strcmp(member_text(finding, "job"), member_text(line, "scenario")) == 0) {
        copy_members(finding, line, "seed");
    }
}

/* Sums of trials give way to what the campaign says at its end. */
static void take_part(struct campaign_lines *lines, json_t *line)
{
    const char *name = member_text(line, "name");
    if (json_object_get(lines->parts, name) != NULL ||
        json_object_size(lines->parts) < PART_COUNT_MAX) {
        (void)json_object_set(lines->parts, name, line);
    }
}

/* The members that a finding has of the line that tells it. */
#define FINDING_WORDS "reason message repro certificate after known unrepeated hang"

/* first: it is the line `found`, which counts nothing. */
static void take_finding(struct campaign_lines *lines, const json_t *line, const char *rule,
                         bool first)
{
    const char *signature = member_text(line, "signature");
    json_t *finding = find_or_add(lines->found, signature, FINDING_COUNT_MAX);
    if (signature[0] == '\0' || finding == NULL) {
        return;
    }
    if (json_object_get(finding, "signature") == NULL) {
        copy_members(finding, line, "signature trial op " FINDING_WORDS);
        (void)json_object_set_new(finding, "rule", json_string(rule));
        (void)json_object_set_new(finding, "job", json_string(member_text(line, "scenario")));
    }
    if (!first) {
        member_add(finding, "count", 1);
    }
    if (json_object_get(line, "repro") != NULL) {
        copy_members(finding, line, FINDING_WORDS);
    }
}

static void take_verdict(struct campaign_lines *lines, json_t *line)
{
    json_t *proofs = lines->proofs;
    if (strcmp(member_text(line, "verdict"), "premature") == 0) {
        take_finding(lines, line, "premature", false);
    } else if (json_object_get(line, "certificate") != NULL &&
               json_array_size(proofs) < PROOF_COUNT_MAX) {
        (void)json_array_append(proofs, line);
    }
}

static void take_diagnosis(struct campaign_lines *lines, json_t *line)
{
    const json_t *first = json_array_get(json_object_get(line, "causes"), 0);
    if (first == NULL) {
        return;
    }
    const char *kind = member_text(first, "kind");
    struct writing name = {0};
    writing_append_format(&name, "%s%s%s", member_text(first, "cause"), kind[0] == '\0' ? "" : ": ",
                          kind);
    json_t *cause = find_or_add(lines->causes, writing_string(&name), CAUSE_COUNT_MAX);
    writing_deinit(&name);
    if (cause == NULL) {
        return;
    }
    member_add(cause, "count", 1);
    if (member_number(cause, "count") == 1) {
        copy_members(cause, first, "text");
        copy_members(cause, line, "scenario trial op");
    }
    member_add(cause, member_text(line, "verdict"), 1);
}

static void take_broken(struct campaign_lines *lines, json_t *line)
{
    const bool first = strcmp(member_text(line, "type"), "found") == 0;
    take_finding(lines, line, member_text(line, "rule"), first);
}

static void take_sweep(struct campaign_lines *lines, json_t *line)
{
    if (json_array_size(lines->sweeps) < PART_COUNT_MAX) {
        (void)json_array_append(lines->sweeps, line);
    }
}

static void take_canary(struct campaign_lines *lines, json_t *line)
{
    lines->canary = lines->canary == NULL ? json_incref(line) : lines->canary;
}

static void take_end(struct campaign_lines *lines, json_t *line)
{
    lines->end = lines->end == NULL ? json_incref(line) : lines->end;
}

static void take_line(struct campaign_lines *lines, json_t *line)
{
    static const struct {
        const char *type;
        void (*take)(struct campaign_lines *lines, json_t *line);
    } types[] = {{"verdict", take_verdict},     {"trial", take_trial},
                 {"broken", take_broken},       {"found", take_broken},
                 {"start", take_start},         {"scenario", take_part},
                 {"diagnosis", take_diagnosis}, {"sweep", take_sweep},
                 {"canary", take_canary},       {"end", take_end}};
    const char *type = member_text(line, "type");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].type, type) == 0) {
            types[i].take(lines, line);
        }
    }
}

/* --- the file --- */

static enum exit_code refuse(const struct campaign_lines *lines, const char *why)
{
    return message_fail(EXIT_USAGE, "%.3800s/results.jsonl:%llu: %s", lines->directory,
                        (unsigned long long)lines->line_count, why);
}

json_t *campaign_lines_parse(const char *text, size_t length, json_error_t *error)
{
    json_t *parsed = json_loadb(text, length, 0, error);
    if (parsed == NULL && json_error_code(error) == json_error_numeric_overflow) {
        parsed = json_loadb(text, length, JSON_DECODE_INT_AS_REAL, error);
    }
    return parsed;
}

static enum exit_code parse_line(struct campaign_lines *lines, const struct writing *text)
{
    json_error_t error;
    lines->line_count++;
    json_t *line = campaign_lines_parse(writing_string(text), text->length, &error);
    if (line == NULL) {
        return refuse(lines, error.text);
    }
    const bool is_object = json_is_object(line);
    if (is_object) {
        take_line(lines, line);
    }
    json_decref(line);
    return is_object ? EXIT_KEPT : refuse(lines, "a line must be an object");
}

/* Takes all whole lines of bytes; what follows them stays in *line. */
static enum exit_code take_bytes(struct campaign_lines *lines, const char *bytes, size_t length,
                                 struct writing *line)
{
    enum exit_code code = EXIT_KEPT;
    while (length > 0 && code == EXIT_KEPT) {
        const char *end = memchr(bytes, '\n', length);
        const size_t piece = end == NULL ? length : (size_t)(end - bytes);
        writing_append_bytes(line, bytes, piece);
        if (line->length > LINE_BYTES_MAX) {
            lines->line_count++;
            return refuse(lines, "the line is longer than 64M");
        }
        if (end == NULL) {
            break;
        }
        code = parse_line(lines, line);
        writing_clear(line);
        bytes += piece + 1;
        length -= piece + 1;
    }
    return code;
}

static enum exit_code take_file(struct campaign_lines *lines, int file)
{
    enum { PIECE_BYTES = 1 << 16 };
    static char bytes[PIECE_BYTES];
    struct writing line = {0};
    enum exit_code code = EXIT_KEPT;
    ssize_t got = 1;
    while (got > 0 && code == EXIT_KEPT) {
        got = read(file, bytes, PIECE_BYTES);
        if (got < 0 && errno == EINTR) {
            got = 1;
        } else if (got < 0) {
            code = message_fail(EXIT_USAGE, "%.3800s/results.jsonl: %s", lines->directory,
                                strerror(errno));
        } else {
            code = take_bytes(lines, bytes, (size_t)got, &line);
        }
    }
    lines->is_cut = line.length > 0;
    writing_deinit(&line);
    return code;
}

/* --- findings --- */

/* Takes the findings of the summary, in its order: its counts include verdicts that were only
 * counted. */
static void take_summary(struct campaign_lines *lines)
{
    const json_t *summary;
    size_t i;
    json_array_foreach(json_object_get(lines->summary, "findings"), i, summary)
    {
        json_t *known = json_object_get(lines->found, member_text(summary, "signature"));
        json_t *finding = known == NULL ? json_object() : json_incref(known);
        copy_members(finding, summary, "signature rule count ops job trial seed " FINDING_WORDS);
        (void)json_array_append_new(lines->findings, finding);
    }
}

/* Sorts the findings of a campaign without a summary: the gravest first, otherwise as they were
 * found.  One that ended has counted all that stayed findings. */
static void sort_findings(struct campaign_lines *lines)
{
    const bool has_ended = lines->end != NULL;
    for (int gravity = GRAVITY_HARM; gravity >= GRAVITY_NUMBERS; gravity--) {
        const char *signature;
        json_t *finding;
        json_object_foreach(lines->found, signature, finding)
        {
            const enum rule rule = rule_find(member_text(finding, "rule"));
            if ((int)rule_gravity(rule) == gravity &&
                (!has_ended || member_number(finding, "count") > 0)) {
                (void)json_array_append(lines->findings, finding);
            }
        }
    }
}

static enum exit_code read_summary(struct campaign_lines *lines)
{
    struct writing text = {0};
    json_error_t error;
    const char *why;
    enum exit_code code = EXIT_KEPT;
    if (below_read(lines->directory, "summary.json", SUMMARY_BYTES_MAX, &text, &why)) {
        lines->summary = campaign_lines_parse(writing_string(&text), text.length, &error);
        if (!json_is_object(lines->summary)) {
            code = message_fail(EXIT_USAGE, "%.3800s/summary.json:%d: %s", lines->directory,
                                lines->summary == NULL ? error.line : 1,
                                lines->summary == NULL ? error.text : "it must be an object");
        }
    } else if (errno != ENOENT) {
        code = message_fail(EXIT_USAGE, "%.3800s/summary.json: %s", lines->directory, why);
    }
    writing_deinit(&text);
    return code;
}

static enum exit_code read_open(struct campaign_lines *lines, int file)
{
    lines->is_running = flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    enum exit_code code = take_file(lines, file);
    if (code == EXIT_KEPT && lines->end != NULL) {
        code = read_summary(lines);
    }
    if (code == EXIT_KEPT && lines->start == NULL) {
        code = message_fail(EXIT_USAGE, "%.3800s/results.jsonl: it has no line of type start",
                            lines->directory);
    }
    if (code != EXIT_KEPT) {
        return code;
    }
    if (lines->summary != NULL) {
        take_summary(lines);
    } else {
        sort_findings(lines);
    }
    if (lines->end != NULL) {
        (void)json_object_update(lines->totals, lines->end);
    }
    return EXIT_KEPT;
}

enum exit_code campaign_lines_read(const char *directory, struct campaign_lines *lines)
{
    const char *why;
    *lines = (struct campaign_lines){.directory = directory,
                                     .found = json_object(),
                                     .parts = json_object(),
                                     .totals = json_object(),
                                     .findings = json_array(),
                                     .causes = json_object(),
                                     .proofs = json_array(),
                                     .sweeps = json_array()};
    const int file = below_open(directory, "results.jsonl", &why);
    if (file < 0) {
        return message_fail(EXIT_USAGE, "%.3800s/results.jsonl: %s", directory, why);
    }
    const enum exit_code code = read_open(lines, file);
    (void)close(file);
    return code;
}

void campaign_lines_deinit(struct campaign_lines *lines)
{
    json_t *const all[] = {lines->start,  lines->end,    lines->canary,   lines->summary,
                           lines->parts,  lines->totals, lines->findings, lines->causes,
                           lines->proofs, lines->sweeps, lines->found};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        json_decref(all[i]);
    }
    *lines = (struct campaign_lines){0};
}

/* --- the saved state --- */

const char *campaign_saved_load(const char *directory, struct campaign_saved *saved,
                                char reason[CHECKPOINT_REASON_BYTES])
{
    struct writing bytes = {0};
    const char *why = NULL;
    *saved = (struct campaign_saved){0};
    if (!below_read(directory, "campaign", SAVED_BYTES_MAX, &bytes, &why)) {
        why = errno == ENOENT ? "" : why;
    } else {
        why = campaign_description_parse(&bytes, &saved->description, reason);
    }
    writing_clear(&bytes);
    if (why == NULL && below_read(directory, "checkpoint", SAVED_BYTES_MAX, &bytes, &why)) {
        why = checkpoint_parse(&bytes, &saved->description, &saved->checkpoint, reason);
    }
    writing_deinit(&bytes);
    return why;
}

void campaign_saved_deinit(struct campaign_saved *saved)
{
    checkpoint_deinit(&saved->checkpoint);
    campaign_description_deinit(&saved->description);
}

/* A line that json_lines.h printed. */
static void take_saved_line(struct campaign_lines *lines, const char *text, size_t length)
{
    json_error_t error;
    json_t *line = campaign_lines_parse(text, length, &error);
    const char *type = member_text(line, "type");
    if (strcmp(type, "scenario") == 0) {
        (void)json_object_set(lines->parts, member_text(line, "name"), line);
    } else if (strcmp(type, "end") == 0) {
        (void)json_object_clear(lines->totals);
        (void)json_object_update(lines->totals, line);
    }
    json_decref(line);
}

/* The lines that would end the campaign if it ended now. */
static void take_saved_end(struct campaign_lines *lines, const struct campaign_saved *saved)
{
    struct campaign_view view;
    struct writing text = {0};
    campaign_view_init(&view, &saved->description, lines->directory);
    const struct report_campaign campaign = campaign_view_report(&view, &saved->checkpoint);
    json_line_campaign(&text, &campaign);
    campaign_view_deinit(&view);
    const char *line = writing_string(&text);
    for (const char *end = strchr(line, '\n'); end != NULL; end = strchr(line, '\n')) {
        take_saved_line(lines, line, (size_t)(end - line));
        line = end + 1;
    }
    writing_deinit(&text);
}

void campaign_saved_take(struct campaign_lines *lines)
{
    struct campaign_saved saved;
    char reason[CHECKPOINT_REASON_BYTES];
    if (campaign_saved_load(lines->directory, &saved, reason) == NULL) {
        lines->has_no_canary = saved.description.head.has_canary == 0;
        lines->trials_omitted = saved.checkpoint.state.end.trials_omitted;
        if (lines->trials_omitted > 0) {
            take_saved_end(lines, &saved);
        }
    }
    campaign_saved_deinit(&saved);
}

/* --- sums --- */

uint64_t campaign_sum(const struct campaign_lines *lines, const char *member)
{
    const char *name;
    json_t *part;
    uint64_t sum = 0;
    json_object_foreach(lines->parts, name, part)
    {
        sum += member_number(part, member) +
               member_number(json_object_get(part, "by_kind"), member);
    }
    return sum;
}

size_t campaign_new_findings(const struct campaign_lines *lines)
{
    const json_t *finding;
    size_t i, count = 0;
    json_array_foreach(lines->findings, i, finding)
    {
        count += !member_is_true(finding, "known");
    }
    return count;
}
