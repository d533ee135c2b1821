#include "campaign/base/file.h"
#include "campaign/process/child.h"
#include "harness/base/check.h"
#include "harness/base/shell.h"
#include "harness/lanes/lanes.h"
#include "harness/lanes/lanes_list.h"
#include "harness/op/ops_file.h"
#include "harness/oracle/rule.h"
#include "page/campaign_page.h"
#include "recording/lane_columns.h"
#include "targets/adapters/adapters.h"
#include "targets/targets.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    CARD_COUNT_MAX = 100,
    MAP_COUNT_MAX = 12,
    LIST_BYTES_MAX = 64 << 20,
    SHOWN_BYTES_MAX = 12 << 10,  /* of a list */
    COLUMN_BYTES_MAX = 32 << 10, /* of an interleaving */
    CERTIFICATE_BYTES_MAX = 64 << 20
};
/* The words of a card, each of the longest, escaped; its pictures and lists come where there is
 * room. */
enum { CARD_BYTES_MAX = 360 << 10, COMMAND_BYTES_MAX = 8000 };
#define COLUMN_DURATION_NS_MAX UINT64_C(10000000000)
/* A reason, a message. */
#define WORDS "%.4000s"

/* One card, and what its files say. */
struct card {
    const struct page_options *options;
    const char *directory;
    const json_t *finding;
    unsigned number;            /* from 1 */
    size_t length_max;          /* of the section */
    struct writing list;        /* of the repro; empty: it is not there */
    char path[FILE_PATH_BYTES]; /* of the repro; "" = there is none */
    bool may_run, has_lanes;
};

/* --- files of the finding --- */

/* Reads a file that a line names.  False: a note says why, where there should be one. */
static bool read_named(struct writing *html, const struct card *card, const char *path,
                       size_t length_max, struct writing *bytes)
{
    const char *why = "it is no file of this campaign";
    const char *name = campaign_lines_file(path);
    if (path[0] == '\0') {
        return false;
    }
    if (name != NULL && below_read(card->directory, name, length_max, bytes, &why)) {
        return true;
    }
    page_note(html, WORDS " is left out: %s", path, why);
    writing_clear(bytes);
    return false;
}

/* Finds where a file of the finding lies now; false: it is not one of the campaign's. */
static bool find_path(const struct card *card, const char *path, char found[FILE_PATH_BYTES])
{
    const char *name = campaign_lines_file(path);
    const int length = name == NULL
                           ? 0
                           : snprintf(found, FILE_PATH_BYTES, "%.3800s/%s", card->directory, name);
    return length > 0 && length < FILE_PATH_BYTES;
}

/* A list may name a target that loads a file, and loading one runs it: only the user asks for that.
 */
static bool may_run_target(const struct page_options *options, const struct setup *setup)
{
    return options->reading.run->target != NULL ||
           (!adapter_is_named(setup->target) && target_find(setup->target) != NULL);
}

/* Sets what the list of the card allows. */
static void look_at_list(struct card *card)
{
    struct setup setup;
    struct op_list ops;
    struct ops_file_error error;
    op_list_init(&ops);
    if (ops_file_parse(writing_string(&card->list), card->list.length, &setup, &ops, &error) ==
        OPS_FILE_OK) {
        card->may_run = may_run_target(card->options, &setup);
        card->has_lanes = lanes_are_in(&ops);
    }
    op_list_deinit(&ops);
}

/* --- its parts --- */

/* Appends a part of the card, or says that there is no room for it. */
static void append_part(struct writing *html, const struct card *card, const struct writing *part,
                        const char *name)
{
    if (html->length + part->length <= card->length_max) {
        writing_append_bytes(html, part->bytes, part->length);
        return;
    }
    page_note(html, "%s left out: the page has no room for it.", name);
}

/* A paragraph; nothing where there is no text. */
static void append_named(struct writing *html, const char *name, const char *text)
{
    if (text[0] != '\0') {
        page_print(html, "<p><strong>%s:</strong> " WORDS "</p>\n", name, text);
    }
}

static void append_head(struct writing *html, const struct card *card)
{
    const bool is_known = member_is_true(card->finding, "known");
    page_print(html,
               "<article class=\"finding\" id=\"finding-%u\">\n<h3>%u. " WORDS
               " <span class=\"%s\">%s</span></h3>\n",
               card->number, card->number, member_text(card->finding, "signature"),
               is_known ? "quiet" : "worse", is_known ? "known" : "new");
}

static void append_facts(struct writing *html, const json_t *finding)
{
    const char *name = member_text(finding, "rule"), *seed = member_text(finding, "seed");
    const enum rule rule = rule_find(name);
    const uint64_t count = member_number(finding, "count");
    const bool has_op = json_object_get(finding, "op") != NULL;
    if (rule != RULE_NONE) {
        append_named(html, "The promise", rule_info(rule)->summary);
    }
    append_named(html, "What broke it", member_text(finding, "reason"));
    append_named(html, "The message when it was first seen", member_text(finding, "message"));
    append_named(html, "Who waited", member_text(finding, "hang"));
    if (member_is_true(finding, "unrepeated")) {
        append_named(html, "Unrepeated", "its list did not show it again");
    }
    writing_append(html, PAGE_FACTS);
    page_fact(html, "Rule", WORDS, name);
    page_fact(html, "First seen", "trial %s of " WORDS "%s%s%s" WORDS,
              member_count(finding, "trial").text, member_text(finding, "job"),
              has_op ? ", at op " : "", has_op ? member_count(finding, "op").text : "",
              seed[0] == '\0' ? "" : ", seed ", seed);
    page_fact(html, "Seen", "%s%s", count == 0 ? "" : page_count(count).text,
              count == 0 ? "its list is still being shrunk" : plural(count, " time", " times"));
    writing_append(html, PAGE_FACTS_END);
}

/* "hbmstress replay PATH", as a shell reads it.  Words of the file itself never become a command.
 */
static void append_command(struct writing *html, const char *words, const char *path,
                           const struct card *card, bool with_earlier)
{
    char word[SHELL_WORD_BYTES(FILE_PATH_BYTES)], earlier[FILE_PATH_BYTES];
    const json_t *entry;
    struct writing command = {0};
    size_t i;
    writing_append_format(&command, "%s%s", words, shell_word(path, word));
    json_array_foreach(json_object_get(card->finding, "after"), i, entry)
    {
        const char *name = json_string_value(entry);
        if (with_earlier && name != NULL && find_path(card, name, earlier)) {
            writing_append_format(&command, " --after %s", shell_word(earlier, word));
        }
    }
    if (command.length <= COMMAND_BYTES_MAX) {
        page_print(html, "<code class=\"copy\">%.8000s</code>\n", writing_string(&command));
    } else {
        page_note(html, "A line that is too long is left out.");
    }
    writing_deinit(&command);
}

static void append_commands(struct writing *html, const struct card *card)
{
    char path[FILE_PATH_BYTES];
    const bool has_proof = find_path(card, member_text(card->finding, "certificate"), path);
    writing_append(html, has_proof ? "<p>Run it again, have it explained, check its proof:</p>\n"
                                   : "<p>Run it again, have it explained:</p>\n");
    append_command(html, "hbmstress replay ", card->path, card, true);
    append_command(html, "hbmstress explain ", card->path, card, false);
    if (has_proof) {
        append_command(html, "hbmstress check ", path, card, false);
    }
}

/* The first lines of the list, as many as are shown. */
static void append_lines(struct writing *html, const struct card *card)
{
    char *shown = strndup(writing_string(&card->list), SHOWN_BYTES_MAX);
    CHECK(shown != NULL);
    char *end = strrchr(shown, '\n');
    if (card->list.length > SHOWN_BYTES_MAX && end != NULL) {
        end[1] = '\0';
    }
    writing_append(html, "<pre>");
    page_append_text(html, shown);
    writing_append(html, "</pre>\n");
    free(shown);
}

static void append_list(struct writing *html, const struct card *card)
{
    const bool is_long = card->list.length > SHOWN_BYTES_MAX;
    const bool has_count = member_number(card->finding, "ops") > 0;
    struct writing part = {0};
    page_print(&part, "<details%s><summary>The list: %s ops</summary>\n", is_long ? "" : " open",
               has_count ? member_count(card->finding, "ops").text : "its");
    append_lines(&part, card);
    if (is_long) {
        page_note(&part, "The rest is in the file.");
    }
    writing_append(&part, "</details>\n");
    append_part(html, card, &part, "The list is");
    writing_deinit(&part);
}

/* --- its interleaving --- */

static void write_columns(void *context, int file)
{
    const struct recording *recording = context;
    struct lane_columns *columns = lane_columns_create(&recording->ops);
    const struct scheduler_trace trace = lane_columns_trace(columns);
    const struct lanes_watch watch = lane_columns_watch(columns);
    const struct lanes_plan told = {.trace = &trace, .watch = &watch};
    struct trial trial;
    struct writing text = {0};
    char reason[RUN_REASON_BYTES];
    if (lanes_replay_traced(recording->target, &recording->setup, &recording->ops, &told, NULL,
                            &trial, reason)) {
        lane_columns_print(columns, &trial.first, &text);
        (void)file_write_all(file, writing_string(&text), text.length);
        trial_deinit(&trial);
    }
    lane_columns_destroy(columns);
    writing_deinit(&text);
}

/* Runs the list, which has lanes, in a process of its own: what every lane of it did, in columns.
 * Nothing where it could not be run. */
static void find_columns(const struct card *card, struct writing *columns)
{
    struct recording recording;
    char death[CHILD_DEATH_BYTES];
    const uint64_t asked_ns = card->options->reading.run->trial_timeout_ns;
    if (recording_read(card->path, card->options->reading, false, &recording) == EXIT_KEPT) {
        (void)child_run(write_columns, &recording,
                        asked_ns < COLUMN_DURATION_NS_MAX ? asked_ns : COLUMN_DURATION_NS_MAX, true,
                        columns, death);
    }
    recording_deinit(&recording);
    if (columns->length > COLUMN_BYTES_MAX) { /* whole lines that fit */
        columns->length = COLUMN_BYTES_MAX;
        while (columns->length > 0 && columns->bytes[columns->length - 1] != '\n') {
            columns->length--;
        }
        columns->bytes[columns->length] = '\0';
        writing_append(columns, "(the rest is left out)\n");
    }
}

static void append_columns(struct writing *html, const struct card *card)
{
    struct writing columns = {0}, part = {0};
    if (!card->has_lanes || !card->may_run || html->length > card->length_max) {
        return;
    }
    find_columns(card, &columns);
    if (columns.length > 0) {
        writing_append(&part, "<details open><summary>The interleaving, a column for each lane"
                              "</summary>\n<pre>");
        page_append_text(&part, writing_string(&columns));
        writing_append(&part, "</pre></details>\n");
        append_part(html, card, &part, "The interleaving is");
    }
    writing_deinit(&columns);
    writing_deinit(&part);
}

/* --- its proof and its map --- */

static void append_certificate(struct writing *html, const struct card *card)
{
    struct writing text = {0}, part = {0};
    if (read_named(html, card, member_text(card->finding, "certificate"), CERTIFICATE_BYTES_MAX,
                   &text)) {
        json_t *certificate = json_loadb(writing_string(&text), text.length, 0, NULL);
        writing_append(&part, "<details open><summary>The proof, in words</summary>\n");
        proof_words(&part, certificate, card->number * 2);
        writing_append(&part, "</details>\n");
        append_part(html, card, &part, "The proof is");
        json_decref(certificate);
    }
    writing_deinit(&text);
    writing_deinit(&part);
}

static void append_map(struct writing *html, const struct card *card)
{
    struct writing data = {0}, part = {0};
    char why[REPORT_WHY_BYTES], id[16];
    snprintf(id, sizeof id, "run-%u", card->number);
    if (!card->may_run) {
        page_note(html, "The memory map is left out: its target is no part of hbmstress, and such "
                        "a one is loaded only when you name it");
        append_command(html, "hbmstress report --target FILE.so ", card->path, card, false);
    } else if (!report_run_data(card->options, card->path, &data, why)) {
        page_note(html, "The memory map is left out: %s", why);
    } else {
        page_print(&part, "<div class=\"map\" data-run=\"%s\"></div>\n", id);
        page_append_data(&part, id, &data);
        append_part(html, card, &part, "The memory map is");
    }
    writing_deinit(&data);
    writing_deinit(&part);
}

static void append_card(struct writing *html, struct card *card)
{
    const char *repro = member_text(card->finding, "repro");
    append_head(html, card);
    append_facts(html, card->finding);
    const bool has_list = read_named(html, card, repro, LIST_BYTES_MAX, &card->list) &&
                          find_path(card, repro, card->path);
    if (has_list) {
        look_at_list(card);
        append_commands(html, card);
        append_columns(html, card);
    }
    append_certificate(html, card);
    if (has_list && card->number <= MAP_COUNT_MAX) {
        append_map(html, card);
    }
    if (has_list) {
        append_list(html, card);
    }
    writing_append(html, "</article>\n");
}

void campaign_findings(struct writing *html, const struct campaign_lines *lines,
                       const struct page_options *options, size_t length_max)
{
    const size_t count = json_array_size(lines->findings);
    const json_t *finding;
    size_t i, shown_count = 0;
    page_section_begin(html, "findings", "Findings");
    if (count == 0) {
        page_note(html, "None.");
    }
    json_array_foreach(lines->findings, i, finding)
    {
        struct card card = {.options = options,
                            .directory = lines->directory,
                            .finding = finding,
                            .number = (unsigned)i + 1,
                            .length_max = length_max};
        if (i == CARD_COUNT_MAX || html->length + CARD_BYTES_MAX > length_max) {
            break;
        }
        shown_count++;
        append_card(html, &card);
        writing_deinit(&card.list);
    }
    if (count > shown_count) {
        page_note(html, "%zu more findings are left out.", count - shown_count);
    }
    page_section_end(html);
}
