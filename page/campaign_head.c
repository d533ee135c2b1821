#include "harness/base/size.h"
#include "harness/op/not_checked.h"
#include "page/campaign_sections.h"
#include "present/page/page.h"
#include "present/page/parts.h"
#include "present/terminal.h"

#include <inttypes.h>
#include <string.h>

/* The limits of texts, and of what was not tried: enough for what we write. */
enum { WORDS_BYTES_MAX = 1000, ENTRY_COUNT_MAX = 200, HEAD_BYTES_MAX = 256 << 10 };

/* --- the verdict --- */

/* Reads the end as the closing line has it: from the line `end`, or from the trials so far. */
static struct report_end read_end(const struct campaign_lines *lines)
{
    const json_t *totals = lines->totals;
    const json_t *unknown = json_object_get(totals, "unknown_by_class");
    const json_t *allowed = json_object_get(totals, "unknown_allowed");
    struct report_end end = {
        .exit_code = (int)(member_number(totals, "exit") % 256),
        .is_interrupted = member_is_true(totals, "interrupted"),
        .known_count = member_number(totals, "known_findings"),
        .allowed = {.has_unknown_rate = allowed != NULL,
                    .unrepeated = member_number(totals, "unrepeated_allowed")},
        .totals = {.excused = member_number(totals, "excused"),
                   .unknown = member_number(totals, "unknown"),
                   .unrepeated = member_number(totals, "unrepeated"),
                   .not_modelled = member_number(totals, "not_modelled"),
                   .disputed = member_number(totals, "disputed"),
                   .premature = member_number(totals, "premature"),
                   .broken = member_number(totals, "broken")},
    };
    for (unsigned i = 0; i < OOM_CLASS_COUNT; i++) {
        const char *name = oom_class_name((enum oom_class)i);
        end.totals.unknown_by_class[i] = member_number(unknown, name);
        end.allowed.unknown[i] = member_number(allowed, name);
    }
    if (lines->end == NULL) {
        end.exit_code = (int)(end.totals.premature + end.totals.broken > 0 ||
                                      campaign_new_findings(lines) > 0
                                  ? EXIT_BROKEN
                                  : totals_exit_code(&end.totals));
    }
    return end;
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

static void append_findings(struct writing *text, const struct campaign_lines *lines)
{
    const size_t count = json_array_size(lines->findings);
    const size_t new_count = campaign_new_findings(lines);
    if (count > 0) {
        writing_append_format(text, ": %zu finding%s, %zu new, %zu known", count,
                              count == 1 ? "" : "s", new_count, count - new_count);
    }
}

/* The class that colours it. */
static const char *name_class(const struct campaign_lines *lines, int exit_code)
{
    static const char *const names[] = {"kept", "broken", "failed", "unknown", "failed"};
    if (lines->end == NULL && exit_code == EXIT_KEPT) {
        return "running";
    }
    return names[exit_code <= EXIT_HARNESS ? exit_code : EXIT_HARNESS];
}

static void append_verdict(struct writing *html, const struct campaign_lines *lines)
{
    const struct report_end end = read_end(lines);
    struct writing text;
    writing_init(&text);
    if (lines->end == NULL) {
        writing_append(&text, lines->is_running ? "still running; so far "
                                                : "it has no end, so it was killed; up to there ");
    } else if (end.is_interrupted) {
        writing_append(&text, "interrupted; so far ");
    }
    terminal_meaning(&text, &end);
    append_findings(&text, lines);
    writing_append_format(html, "<p class=\"verdict %s\">", name_class(lines, end.exit_code));
    page_append_text(html, writing_string(&text));
    writing_append(html, "</p>\n");
    writing_deinit(&text);
}

/* --- facts --- */

uint64_t campaign_trials(const struct campaign_lines *lines)
{
    const char *name;
    const json_t *part;
    uint64_t count = 0;
    json_object_foreach(lines->parts, name, part)
    {
        count += member_number(part, "trials");
    }
    return count;
}

/* Returns true if the word is an item of the list, whose items are separated by ", ". */
static bool is_listed(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = strstr(list, word); at != NULL; at = strstr(at + 1, word)) {
        const bool is_first = at == list || (at - list >= 2 && strncmp(at - 2, ", ", 2) == 0);
        if (is_first && (at[length] == '\0' || strncmp(at + length, ", ", 2) == 0)) {
            return true;
        }
    }
    return false;
}

/* Appends it behind a comma, once; what is too long becomes "...". */
static void append_once(struct writing *text, const char *word)
{
    enum { LENGTH_MAX = 2000 };
    const size_t room = text->length < LENGTH_MAX ? LENGTH_MAX - text->length : 0;
    const char *shown = strlen(word) <= room ? word : "...";
    if (!is_listed(writing_string(text), shown)) {
        writing_append(text, text->length == 0 ? "" : ", ");
        writing_append(text, shown);
    }
}

static void append_target(struct writing *text, const json_t *part)
{
    struct writing target;
    const char *key;
    const json_t *value;
    writing_init(&target);
    writing_append(&target, member_text(part, "target"));
    json_object_foreach(json_object_get(part, "options"), key, value)
    {
        const char *string = json_string_value(value);
        writing_append_format(&target, " %s=%s", key, string == NULL ? "" : string);
    }
    append_once(text, writing_string(&target));
    writing_deinit(&target);
}

static void append_device(struct writing *text, const json_t *part)
{
    char device[160], size[SIZE_TEXT_BYTES];
    const char *chip = member_text(part, "chip");
    const uint64_t hosts = member_number(part, "hosts");
    const uint64_t capacity = member_number(part, "capacity_bytes");
    if (capacity == 0) {
        return; /* each trial draws its own, or nothing was said */
    }
    size_print_field(capacity, size);
    snprintf(device, sizeof device, "%.60s%s%s", chip, chip[0] == '\0' ? "" : " of ", size);
    if (hosts > 1) {
        const size_t length = strlen(device);
        snprintf(device + length, sizeof device - length, " on %" PRIu64 " hosts", hosts);
    }
    append_once(text, device);
}

/* Adds the words of all parts as one fact. */
static void add_of_parts(struct writing *html, const char *name, const struct campaign_lines *lines,
                         void (*append)(struct writing *text, const json_t *part))
{
    const json_t *parts = json_object_get(lines->start, "scenarios");
    const json_t *part;
    struct writing text;
    size_t i;
    writing_init(&text);
    json_array_foreach(parts, i, part)
    {
        append(&text, part);
    }
    if (json_array_size(parts) == 0) {
        append(&text, lines->start);
    }
    if (text.length > 0) {
        page_fact(html, name, writing_string(&text));
    }
    writing_deinit(&text);
}

static void add_ops(struct writing *html, const json_t *totals)
{
    const uint64_t ops = member_number(totals, "ops"), skipped = member_number(totals, "skipped");
    page_fact_begin(html, "Ops");
    page_append_count(html, ops);
    if (skipped > 0) {
        writing_append(html, ", ");
        page_append_count(html, skipped);
        writing_append(html, " more skipped");
    }
    page_fact_end(html);
}

static void add_ooms(struct writing *html, const json_t *totals)
{
    static const char *const verdicts[] = {"justified", "premature", "unknown", "excused"};
    const uint64_t judged = member_number(totals, "justified") + member_number(totals, "premature");
    const char *separator = " (";
    page_fact_begin(html, "Out-of-memories");
    page_append_count(html, member_number(totals, "ooms"));
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        const uint64_t count = member_number(totals, verdicts[i]);
        if (count > 0 || i < 3) {
            writing_append(html, separator);
            page_append_count(html, count);
            writing_append_format(html, " %s", i < 3 ? verdicts[i] : "not judged");
            separator = ", ";
        }
    }
    writing_append(html, ")");
    page_fact_end(html);
    if (judged > 0) {
        page_fact_begin(html, "Premature share of its refusals");
        page_append_share(html, member_number(totals, "premature"), judged);
        page_fact_end(html);
    }
}

static void add_findings(struct writing *html, const struct campaign_lines *lines)
{
    const size_t new_count = campaign_new_findings(lines);
    page_fact_begin(html, "Findings");
    page_append_count(html, new_count);
    writing_append(html, " new, ");
    page_append_count(html, json_array_size(lines->findings) - new_count);
    writing_append(html, " known");
    page_fact_end(html);
}

/* Adds the counts that are not 0; the first is always added. */
static void add_counts(struct writing *html, const json_t *totals)
{
    static const struct {
        const char *member, *name;
    } counts[] = {{"broken", "Other broken promises"},
                  {"unrepeated", "Unrepeated verdicts"},
                  {"not_modelled", "Trials not modelled"},
                  {"disputed", "Disputes of our own judges"},
                  {"late", "Granted late"},
                  {"hangs", "Hangs of the job"},
                  {"standstills", "Standstills of the clients"},
                  {"shortages", "Shortages of a shared device"},
                  {"schedules", "Schedules of lanes"},
                  {"certificates_checked", "Certificates checked"},
                  {"verdicts_omitted", "Justified verdicts not listed"}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const uint64_t count = member_number(totals, counts[i].member);
        if (count > 0 || i == 0) {
            page_fact_count(html, counts[i].name, count);
        }
    }
}

static void add_canary(struct writing *html, const struct campaign_lines *lines)
{
    const json_t *canary = lines->canary;
    if (canary == NULL) {
        page_fact(html, "Canary",
                  lines->end == NULL && !lines->has_no_canary
                      ? "not run yet"
                      : "this run has none: only a job file asks for it");
        return;
    }
    page_fact_begin(html, "Canary");
    page_append_cut(html, member_text(canary, "target"), WORDS_BYTES_MAX);
    writing_append(html, member_is_true(canary, "reported") ? " was seen after "
                                                            : " was NOT seen after ");
    page_append_count(html, member_number(canary, "trials"));
    writing_append(html, member_number(canary, "trials") == 1 ? " trial" : " trials");
    page_fact_end(html);
}

static void add_seed(struct writing *html, const struct campaign_lines *lines)
{
    const char *source = member_text(lines->start, "seed_source");
    page_fact_begin(html, "Seed");
    page_append_cut(html, member_text(lines->start, "seed"), WORDS_BYTES_MAX);
    if (source[0] != '\0') {
        writing_append(html, ", that ");
        page_append_cut(html, source, WORDS_BYTES_MAX);
    }
    page_fact_end(html);
}

static void add_time(struct writing *html, const json_t *totals)
{
    const double seconds = member_real(totals, "seconds");
    char text[64];
    if (seconds >= 120) {
        snprintf(text, sizeof text, "%.0f min", seconds / 60);
    } else {
        snprintf(text, sizeof text, "%.1f s", seconds);
    }
    page_fact(html, "Duration", text);
}

/* Explains what was not checked, and why; an unknown name is returned as it is. */
static const char *explain_not_checked(const char *name)
{
    for (unsigned i = 0; i < NOT_CHECKED_COUNT && name != NULL; i++) {
        const struct not_checked_info *info = not_checked_info((enum not_checked)i);
        if (strcmp(info->name, name) == 0) {
            return info->what;
        }
    }
    return name == NULL ? "" : name;
}

static void add_not_tried(struct writing *html, const struct campaign_lines *lines)
{
    const json_t *entry;
    size_t i;
    json_array_foreach(json_object_get(lines->totals, "not_tried"), i, entry)
    {
        if (i == ENTRY_COUNT_MAX || html->length > HEAD_BYTES_MAX) {
            break;
        }
        if (i > 0 &&
            json_equal(entry, json_array_get(json_object_get(lines->totals, "not_tried"), i - 1))) {
            continue; /* another job, for the same reason */
        }
        writing_append(html, "<p>Not tried: ");
        page_append_cut(html, member_text(entry, "what"), WORDS_BYTES_MAX);
        writing_append(html, ": ");
        page_append_cut(html, member_text(entry, "why"), WORDS_BYTES_MAX);
        if (member_text(entry, "how")[0] != '\0') {
            writing_append(html, "; to try it: ");
            page_append_cut(html, member_text(entry, "how"), WORDS_BYTES_MAX);
        }
        writing_append(html, "</p>\n");
    }
    json_array_foreach(json_object_get(lines->totals, "not_checked"), i, entry)
    {
        if (i == ENTRY_COUNT_MAX || html->length > HEAD_BYTES_MAX) {
            break;
        }
        writing_append(html, "<p>Not checked: ");
        page_append_cut(html, explain_not_checked(json_string_value(entry)), WORDS_BYTES_MAX);
        writing_append(html, "</p>\n");
    }
}

void campaign_head(struct writing *html, const struct campaign_lines *lines)
{
    page_section_begin(html, "verdict", "The verdict");
    append_verdict(html, lines);
    page_facts_begin(html);
    add_findings(html, lines);
    add_ooms(html, lines->totals);
    if (json_array_size(lines->sweeps) == 0) {
        page_fact_count(html, "Trials", campaign_trials(lines));
    }
    add_ops(html, lines->totals);
    if (lines->end != NULL) {
        add_time(html, lines->totals);
    }
    add_of_parts(html, "Target", lines, append_target);
    add_of_parts(html, "Device", lines, append_device);
    add_seed(html, lines);
    add_counts(html, lines->totals);
    add_canary(html, lines);
    page_facts_end(html);
    add_not_tried(html, lines);
    if (lines->trials_omitted > 0) {
        writing_append(html, "<p class=\"note\">results.jsonl has no lines for ");
        page_append_count(html, lines->trials_omitted);
        writing_append(html, " trials (--results-limit). All numbers are those that the campaign "
                             "saved last.</p>\n");
    }
    if (lines->is_cut) {
        page_append_note(html, "The last line of results.jsonl is not whole; it is left out.");
    }
    page_section_end(html);
}
