#include "page/campaign_lines.h"

#include "campaign/base/file.h"
#include "harness/base/check.h"
#include "harness/oracle/rule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { LINE_BYTES_MAX = 64 << 20, SUMMARY_BYTES_MAX = 256 << 20 };
/* No campaign has more than this; the rest is left out. */
enum { PART_COUNT_MAX = 1 << 12, FINDING_COUNT_MAX = 1 << 14, CAUSE_COUNT_MAX = 256 };
enum { PROOF_COUNT_MAX = 3 };

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

static void set_number(json_t *object, const char *name, uint64_t value)
{
    const json_int_t most = (json_int_t)(UINT64_MAX >> 1);
    (void)json_object_set_new(object, name,
                              json_integer(value < (uint64_t)most ? (json_int_t)value : most));
}

static void add_number(json_t *object, const char *name, uint64_t more)
{
    set_number(object, name, member_number(object, name) + more); /* both are below 2^63 */
}

/* Copies the member's value, if there is one. */
static void copy_member(json_t *to, const char *name, const json_t *from, const char *from_name)
{
    json_t *value = json_object_get(from, from_name);
    if (value != NULL) {
        (void)json_object_set(to, name, value);
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

/* The line `trial` has these; a sum of them is named as in the line `scenario`. */
static const char *const counts[] = {
    "ops",
    "skipped",
    "ooms",
    "justified",
    "premature",
    "unknown",
    "excused",
    "broken",
    "unrepeated",
    "not_modelled",
    "retries",
    "late",
    "hangs",
    "standstills",
    "retries_granted",
    "hangs_after_oom",
    "hangs_without_word",
    "shortages",
    "points",
    "schedules",
    "switches",
};

static void add_counts(json_t *to, const json_t *trial)
{
    add_number(to, "trials", 1);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const uint64_t more = member_number(trial, counts[i]);
        if (more > 0) {
            add_number(to, counts[i], more);
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

/* While it is read. */
struct reading {
    struct campaign_lines *lines;
    json_t *found; /* findings by signature */
};

static void take_start(struct reading *reading, json_t *line)
{
    struct campaign_lines *lines = reading->lines;
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

static void take_trial(struct reading *reading, const json_t *line)
{
    struct campaign_lines *lines = reading->lines;
    json_t *part = find_or_add(lines->parts, member_text(line, "scenario"), PART_COUNT_MAX);
    json_t *finding = json_object_get(reading->found, member_text(line, "signature"));
    lines->trial_count++;
    add_counts(lines->totals, line);
    if (part != NULL) {
        add_counts(part, line);
    }
    if (finding != NULL && json_object_get(finding, "seed") == NULL &&
        member_number(finding, "trial") == member_number(line, "trial") &&
        strcmp(member_text(finding, "job"), member_text(line, "scenario")) == 0) {
        copy_member(finding, "seed", line, "seed");
    }
}

/* Sums of trials give way to what the campaign says at its end. */
static void take_part(struct reading *reading, json_t *line)
{
    struct campaign_lines *lines = reading->lines;
    const char *name = member_text(line, "name");
    if (json_object_get(lines->parts, name) != NULL ||
        json_object_size(lines->parts) < PART_COUNT_MAX) {
        (void)json_object_set(lines->parts, name, line);
    }
}

static void take_words(json_t *finding, const json_t *line)
{
    static const char *const words[] = {"reason", "message", "repro",      "certificate",
                                        "after",  "known",   "unrepeated", "hang"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        copy_member(finding, words[i], line, words[i]);
    }
}

/* first: it is the line `found`, which counts nothing. */
static void take_finding(struct reading *reading, const json_t *line, const char *rule, bool first)
{
    const char *signature = member_text(line, "signature");
    json_t *finding = find_or_add(reading->found, signature, FINDING_COUNT_MAX);
    if (signature[0] == '\0' || finding == NULL) {
        return;
    }
    if (json_object_get(finding, "signature") == NULL) {
        copy_member(finding, "signature", line, "signature");
        (void)json_object_set_new(finding, "rule", json_string(rule));
        copy_member(finding, "job", line, "scenario");
        copy_member(finding, "trial", line, "trial");
        copy_member(finding, "op", line, "op");
        take_words(finding, line);
    }
    if (!first) {
        add_number(finding, "count", 1);
    }
    if (json_object_get(line, "repro") != NULL) {
        take_words(finding, line);
    }
}

static void take_verdict(struct reading *reading, json_t *line)
{
    json_t *proofs = reading->lines->proofs;
    if (strcmp(member_text(line, "verdict"), "premature") == 0) {
        take_finding(reading, line, "premature", false);
    } else if (json_object_get(line, "certificate") != NULL &&
               json_array_size(proofs) < PROOF_COUNT_MAX) {
        (void)json_array_append(proofs, line);
    }
}

static void take_diagnosis(struct reading *reading, const json_t *line)
{
    const json_t *first = json_array_get(json_object_get(line, "causes"), 0);
    if (first == NULL) {
        return;
    }
    const char *kind = member_text(first, "kind");
    struct writing name;
    writing_init(&name);
    writing_append(&name, member_text(first, "cause"));
    writing_append(&name, kind[0] == '\0' ? "" : ": ");
    writing_append(&name, kind);
    json_t *cause = find_or_add(reading->lines->causes, writing_string(&name), CAUSE_COUNT_MAX);
    writing_deinit(&name);
    if (cause == NULL) {
        return;
    }
    add_number(cause, "count", 1);
    if (member_number(cause, "count") == 1) {
        copy_member(cause, "cause", first, "cause");
        copy_member(cause, "kind", first, "kind");
        copy_member(cause, "text", first, "text");
        copy_member(cause, "scenario", line, "scenario");
        copy_member(cause, "trial", line, "trial");
        copy_member(cause, "op", line, "op");
    }
    add_number(cause, member_text(line, "verdict"), 1);
}

static void take_line(struct reading *reading, json_t *line)
{
    struct campaign_lines *lines = reading->lines;
    const char *type = member_text(line, "type");
    if (strcmp(type, "verdict") == 0) {
        take_verdict(reading, line);
    } else if (strcmp(type, "trial") == 0) {
        take_trial(reading, line);
    } else if (strcmp(type, "broken") == 0) {
        take_finding(reading, line, member_text(line, "rule"), false);
    } else if (strcmp(type, "found") == 0) {
        take_finding(reading, line, member_text(line, "rule"), true);
    } else if (strcmp(type, "diagnosis") == 0) {
        take_diagnosis(reading, line);
    } else if (strcmp(type, "scenario") == 0) {
        take_part(reading, line);
    } else if (strcmp(type, "sweep") == 0) {
        if (json_array_size(lines->sweeps) < PART_COUNT_MAX) {
            (void)json_array_append(lines->sweeps, line);
        }
    } else if (strcmp(type, "start") == 0) {
        take_start(reading, line);
    } else if (strcmp(type, "canary") == 0 && lines->canary == NULL) {
        lines->canary = json_incref(line);
    } else if (strcmp(type, "end") == 0 && lines->end == NULL) {
        lines->end = json_incref(line);
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

static enum exit_code parse_line(struct reading *reading, const struct writing *text)
{
    json_error_t error;
    reading->lines->line_count++;
    json_t *line = campaign_lines_parse(writing_string(text), text->length, &error);
    if (line == NULL) {
        return refuse(reading->lines, error.text);
    }
    const bool is_object = json_is_object(line);
    if (is_object) {
        take_line(reading, line);
    }
    json_decref(line);
    return is_object ? EXIT_KEPT : refuse(reading->lines, "a line must be an object");
}

/* Takes all whole lines of bytes; what follows them stays in *line. */
static enum exit_code take_bytes(struct reading *reading, const char *bytes, size_t length,
                                 struct writing *line)
{
    enum exit_code code = EXIT_KEPT;
    while (length > 0 && code == EXIT_KEPT) {
        const char *end = memchr(bytes, '\n', length);
        const size_t piece = end == NULL ? length : (size_t)(end - bytes);
        writing_append_bytes(line, bytes, piece);
        if (line->length > LINE_BYTES_MAX) {
            reading->lines->line_count++;
            return refuse(reading->lines, "the line is longer than 64M");
        }
        if (end == NULL) {
            break;
        }
        code = parse_line(reading, line);
        writing_clear(line);
        bytes += piece + 1;
        length -= piece + 1;
    }
    return code;
}

static enum exit_code take_file(struct reading *reading, int file)
{
    enum { PIECE_BYTES = 1 << 16 };
    char *bytes = malloc(PIECE_BYTES);
    struct writing line;
    enum exit_code code = EXIT_KEPT;
    ssize_t got = 1;
    CHECK(bytes != NULL);
    writing_init(&line);
    while (got > 0 && code == EXIT_KEPT) {
        got = read(file, bytes, PIECE_BYTES);
        if (got < 0 && errno == EINTR) {
            got = 1;
        } else if (got < 0) {
            code = message_fail(EXIT_USAGE, "%.3800s/results.jsonl: %s", reading->lines->directory,
                                strerror(errno));
        } else {
            code = take_bytes(reading, bytes, (size_t)got, &line);
        }
    }
    reading->lines->is_cut = line.length > 0;
    writing_deinit(&line);
    free(bytes);
    return code;
}

/* --- findings --- */

/* Takes the summary's members: its count includes verdicts that were only counted. */
static void take_summary_of(json_t *finding, const json_t *summary)
{
    static const char *const names[] = {"signature", "rule",  "count", "ops",
                                        "job",       "trial", "seed"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        copy_member(finding, names[i], summary, names[i]);
    }
    take_words(finding, summary);
}

/* Takes the findings of the summary, in its order. */
static void take_summary(struct reading *reading)
{
    const json_t *summary;
    size_t i;
    json_array_foreach(json_object_get(reading->lines->summary, "findings"), i, summary)
    {
        json_t *known = json_object_get(reading->found, member_text(summary, "signature"));
        json_t *finding = known == NULL ? json_object() : json_incref(known);
        take_summary_of(finding, summary);
        (void)json_array_append_new(reading->lines->findings, finding);
    }
}

/* Sorts the findings of a campaign without a summary: the gravest first, otherwise as they were
 * found.  One that ended has counted all that stayed findings. */
static void sort_findings(struct reading *reading)
{
    const bool has_ended = reading->lines->end != NULL;
    for (int gravity = GRAVITY_HARM; gravity >= GRAVITY_NUMBERS; gravity--) {
        const char *signature;
        json_t *finding;
        json_object_foreach(reading->found, signature, finding)
        {
            const enum rule rule = rule_find(member_text(finding, "rule"));
            if ((int)rule_gravity(rule) == gravity &&
                (!has_ended || member_number(finding, "count") > 0)) {
                (void)json_array_append(reading->lines->findings, finding);
            }
        }
    }
}

static enum exit_code read_summary(struct campaign_lines *lines)
{
    struct writing text;
    json_error_t error;
    const char *why;
    enum exit_code code = EXIT_KEPT;
    writing_init(&text);
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

static enum exit_code read_open(struct reading *reading, int file)
{
    struct campaign_lines *lines = reading->lines;
    lines->is_running = flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    enum exit_code code = take_file(reading, file);
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
        take_summary(reading);
    } else {
        sort_findings(reading);
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
                                     .parts = json_object(),
                                     .totals = json_object(),
                                     .findings = json_array(),
                                     .causes = json_object(),
                                     .proofs = json_array(),
                                     .sweeps = json_array()};
    struct reading reading = {.lines = lines, .found = json_object()};
    const int file = below_open(directory, "results.jsonl", &why);
    enum exit_code code = EXIT_USAGE;
    if (file < 0) {
        (void)message_fail(EXIT_USAGE, "%.3800s/results.jsonl: %s", directory, why);
    } else {
        code = read_open(&reading, file);
        (void)close(file);
    }
    json_decref(reading.found);
    return code;
}

void campaign_lines_deinit(struct campaign_lines *lines)
{
    json_t *const all[] = {lines->start,  lines->end,    lines->canary,   lines->summary,
                           lines->parts,  lines->totals, lines->findings, lines->causes,
                           lines->proofs, lines->sweeps};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        json_decref(all[i]);
    }
    *lines = (struct campaign_lines){0};
}
