#include "harness/base/size.h"
#include "harness/op/not_checked.h"
#include "page/campaign_page.h"
#include "present/terminal.h"

#include <inttypes.h>
#include <string.h>

/* The limits of what was not tried, and of texts: enough for what we write. */
enum { ENTRY_COUNT_MAX = 200, HEAD_BYTES_MAX = 256 << 10 };
#define WORDS "%.1000s"

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
    const size_t count = json_array_size(lines->findings), new = campaign_new_findings(lines);
    struct writing text = {0};
    if (lines->end == NULL) {
        writing_append(&text, lines->is_running ? "still running; so far "
                                                : "it has no end, so it was killed; up to there ");
    } else if (end.is_interrupted) {
        writing_append(&text, "interrupted; so far ");
    }
    terminal_meaning(&text, &end);
    if (count > 0) {
        writing_append_format(&text, ": %zu finding%s, %zu new, %zu known", count,
                              plural(count, "", "s"), new, count - new);
    }
    page_print(html, "<p class=\"verdict %s\">%s</p>\n", name_class(lines, end.exit_code),
               writing_string(&text));
    writing_deinit(&text);
}

/* --- facts --- */

static void append_target(struct writing *text, const json_t *part)
{
    const char *key;
    json_t *value;
    writing_append(text, member_text(part, "target"));
    json_object_foreach(json_object_get(part, "options"), key, value)
    {
        const char *string = json_string_value(value);
        writing_append_format(text, " %s=%s", key, string == NULL ? "" : string);
    }
}

static void append_device(struct writing *text, const json_t *part)
{
    const char *chip = member_text(part, "chip");
    const uint64_t capacity = member_number(part, "capacity_bytes");
    if (capacity == 0) {
        return; /* each trial draws its own, or nothing was said */
    }
    writing_append_format(text, "%.60s%s%s", chip, chip[0] == '\0' ? "" : " of ",
                          size_text_of(capacity).text);
    if (member_number(part, "hosts") > 1) {
        writing_append_format(text, " on %" PRIu64 " hosts", member_number(part, "hosts"));
    }
}

/* Adds the words of all parts as one fact, each of them once; what is too long becomes "...". */
static void add_of_parts(struct writing *html, const char *name, const struct campaign_lines *lines,
                         void (*append)(struct writing *text, const json_t *part))
{
    enum { LENGTH_MAX = 2000 };
    json_t *parts = json_object_get(lines->start, "scenarios"), *words = json_object(), *said;
    const size_t count = json_array_size(parts);
    const char *word;
    struct writing text = {0};
    for (size_t i = 0; i < count || i == 0; i++) {
        writing_clear(&text);
        append(&text, count == 0 ? lines->start : json_array_get(parts, i));
        (void)json_object_set_new_nocheck(words, writing_string(&text), json_true());
    }
    writing_clear(&text);
    json_object_foreach(words, word, said)
    {
        const char *shown = text.length + strlen(word) <= LENGTH_MAX ? word : "...";
        if (word[0] != '\0' && (shown == word || strstr(writing_string(&text), "...") == NULL)) {
            writing_append_format(&text, "%s%s", text.length == 0 ? "" : ", ", shown);
        }
    }
    if (text.length > 0) {
        page_fact(html, name, "%s", writing_string(&text));
    }
    writing_deinit(&text);
    json_decref(words);
}

static void add_ops(struct writing *html, const json_t *totals)
{
    const bool has_skipped = member_number(totals, "skipped") > 0;
    page_fact(html, "Ops", "%s%s%s%s", member_count(totals, "ops").text, has_skipped ? ", " : "",
              has_skipped ? member_count(totals, "skipped").text : "",
              has_skipped ? " more skipped" : "");
}

static void add_ooms(struct writing *html, const json_t *totals)
{
    const uint64_t premature = member_number(totals, "premature");
    const uint64_t judged = member_number(totals, "justified") + premature;
    const bool has_excused = member_number(totals, "excused") > 0;
    page_fact(html, "Out-of-memories", "%s (%s justified, %s premature, %s unknown%s%s%s)",
              member_count(totals, "ooms").text, member_count(totals, "justified").text,
              page_count(premature).text, member_count(totals, "unknown").text,
              has_excused ? ", " : "", has_excused ? member_count(totals, "excused").text : "",
              has_excused ? " not judged" : "");
    if (judged > 0) {
        page_fact(html, "Premature share of its refusals", "%s",
                  page_share(premature, judged).text);
    }
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
        if (member_number(totals, counts[i].member) > 0 || i == 0) {
            page_fact(html, counts[i].name, "%s", member_count(totals, counts[i].member).text);
        }
    }
}

static void add_canary(struct writing *html, const struct campaign_lines *lines)
{
    const json_t *canary = lines->canary;
    if (canary == NULL) {
        page_fact(html, "Canary", "%s",
                  lines->end == NULL && !lines->has_no_canary
                      ? "not run yet"
                      : "this run has none: only a job file asks for it");
        return;
    }
    page_fact(html, "Canary", WORDS " %s after %s trial%s", member_text(canary, "target"),
              member_is_true(canary, "reported") ? "was seen" : "was NOT seen",
              member_count(canary, "trials").text,
              plural(member_number(canary, "trials"), "", "s"));
}

static void add_seed(struct writing *html, const struct campaign_lines *lines)
{
    const char *source = member_text(lines->start, "seed_source");
    page_fact(html, "Seed", WORDS "%s" WORDS, member_text(lines->start, "seed"),
              source[0] == '\0' ? "" : ", that ", source);
}

static void add_time(struct writing *html, const json_t *totals)
{
    const double seconds = member_real(totals, "seconds");
    char text[64];
    snprintf(text, sizeof text, seconds >= 120 ? "%.0f min" : "%.1f s",
             seconds >= 120 ? seconds / 60 : seconds);
    page_fact(html, "Duration", "%s", text);
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
    const json_t *not_tried = json_object_get(lines->totals, "not_tried"), *entry;
    size_t i;
    json_array_foreach(not_tried, i, entry)
    {
        const char *how = member_text(entry, "how");
        if (i == ENTRY_COUNT_MAX || html->length > HEAD_BYTES_MAX) {
            break;
        }
        if (i > 0 && json_equal(entry, json_array_get(not_tried, i - 1))) {
            continue; /* another job, for the same reason */
        }
        page_print(html, "<p>Not tried: " WORDS ": " WORDS "%s" WORDS "</p>\n",
                   member_text(entry, "what"), member_text(entry, "why"),
                   how[0] == '\0' ? "" : "; to try it: ", how);
    }
    json_array_foreach(json_object_get(lines->totals, "not_checked"), i, entry)
    {
        if (i == ENTRY_COUNT_MAX || html->length > HEAD_BYTES_MAX) {
            break;
        }
        page_print(html, "<p>Not checked: " WORDS "</p>\n",
                   explain_not_checked(json_string_value(entry)));
    }
}

void campaign_head(struct writing *html, const struct campaign_lines *lines)
{
    const size_t count = json_array_size(lines->findings), new = campaign_new_findings(lines);
    page_section_begin(html, "verdict", "The verdict");
    append_verdict(html, lines);
    writing_append(html, PAGE_FACTS);
    page_fact(html, "Findings", "%s new, %s known", page_count(new).text,
              page_count(count - new).text);
    add_ooms(html, lines->totals);
    if (json_array_size(lines->sweeps) == 0) {
        page_fact(html, "Trials", "%s", page_count(campaign_sum(lines, "trials")).text);
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
    writing_append(html, PAGE_FACTS_END);
    add_not_tried(html, lines);
    if (lines->trials_omitted > 0) {
        page_note(html,
                  "results.jsonl has no lines for %s trials (--results-limit). All numbers are "
                  "those that the campaign saved last.",
                  page_count(lines->trials_omitted).text);
    }
    if (lines->is_cut) {
        page_note(html, "The last line of results.jsonl is not whole; it is left out.");
    }
    page_section_end(html);
}
