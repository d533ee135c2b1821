/* The page of one list or field trace, and of two of them on one axis. */
#include "harness/base/check.h"
#include "page/list_run.h"
#include "page/list_sections.h"
#include "page/list_words.h"
#include "page/report_page.h"
#include "page/run_data.h"
#include "present/page/page.h"
#include "present/page/parts.h"

#include <stdio.h>
#include <stdlib.h>

static void append_words(struct writing *html, const struct writing *words)
{
    writing_append(html, "<pre class=\"words\">");
    page_append_text(html, writing_string(words));
    writing_append(html, "</pre>\n");
}

/* Appends what `explain` prints. */
static enum exit_code append_meaning(struct list_words *explaining, struct writing *html)
{
    struct writing words;
    char why[PAGE_WHY_BYTES];
    writing_init(&words);
    const enum exit_code code = list_words_take(explaining, &words, why);
    if (code == EXIT_KEPT) {
        page_section_begin(html, "meaning", "What it means");
        if (why[0] != '\0') {
            writing_append(html, "<p>It cannot be explained: ");
            page_append_text(html, why);
            writing_append(html, ".</p>\n");
        } else {
            append_words(html, &words);
        }
        page_section_end(html);
    }
    writing_deinit(&words);
    return code;
}

static void append_data(struct list_run *run, const char *id, struct writing *html)
{
    struct writing json;
    writing_init(&json);
    run_data_append(run->record, &run->recording, &run->steps, run->path, &json);
    page_append_data(html, id, &json);
    writing_deinit(&json);
}

/* Appends what `explain A B` prints: A is the earlier one. */
static enum exit_code append_comparison(const struct page_options *options, const char *against,
                                        struct writing *html)
{
    struct writing words;
    writing_init(&words);
    const enum exit_code code = options->compare(options->context, against, &words);
    if (code == EXIT_KEPT) {
        page_section_begin(html, "difference", "What changed");
        append_words(html, &words);
        page_section_end(html);
    }
    writing_deinit(&words);
    return code;
}

/* A log of which no list can be made, or a compiler's report: there are only words. */
static enum exit_code append_told(const struct list_run *run, struct list_words *explaining,
                                  struct writing *html)
{
    writing_append(html, "<p class=\"verdict warn\">Nothing can be run: ");
    page_append_text(html, run->recording.why_no_list);
    writing_append(html, "</p>\n");
    page_facts_begin(html);
    page_fact(html, "File", run->path);
    page_facts_end(html);
    return append_meaning(explaining, html);
}

/* Pictures come before words. */
static enum exit_code append_page(const struct page_options *options, struct list_run runs[2],
                                  struct list_words *explaining, struct writing *html)
{
    const char *against = options->against;
    if (runs[0].record == NULL) {
        return append_told(&runs[0], explaining, html);
    }
    list_sections_head(&runs[0], html);
    list_sections_pictures(&runs[0], "run-0", against == NULL ? NULL : "run-1", html);
    enum exit_code code = append_meaning(explaining, html);
    if (code == EXIT_KEPT && against != NULL) {
        code = append_comparison(options, against, html);
    }
    if (code != EXIT_KEPT) {
        return code;
    }
    list_sections_failures(&runs[0], html);
    list_sections_tables(&runs[0], html);
    append_data(&runs[0], "run-0", html);
    if (against != NULL) {
        append_data(&runs[1], "run-1", html);
    }
    return EXIT_KEPT;
}

static enum exit_code read_lists(const struct page_options *options, struct list_run runs[2])
{
    const char *against = options->against;
    enum exit_code code = list_run_init(&runs[0], options, options->path);
    if (code == EXIT_KEPT && against != NULL) {
        code = list_run_init(&runs[1], options, against);
    }
    for (size_t i = 0; code == EXIT_KEPT && against != NULL && i < 2; i++) {
        if (runs[i].recording.why_no_list[0] != '\0') {
            code = message_fail(EXIT_USAGE, "--against: %s: %s", runs[i].path,
                                runs[i].recording.why_no_list);
        }
    }
    return code;
}

static enum exit_code run_lists(const struct page_options *options, struct list_run runs[2],
                                struct list_words *explaining)
{
    enum exit_code code = list_words_start(explaining, options, &runs[0].recording);
    code = code == EXIT_KEPT ? list_run_execute(&runs[0], options) : code;
    if (code == EXIT_KEPT && options->against != NULL) {
        code = list_run_execute(&runs[1], options);
    }
    return code;
}

enum exit_code report_list(const struct page_options *options, struct writing *html)
{
    struct list_words explaining = {0};
    struct list_run *runs = calloc(2, sizeof *runs);
    CHECK(runs != NULL);
    enum exit_code code = read_lists(options, runs);
    code = code == EXIT_KEPT ? run_lists(options, runs, &explaining) : code;
    if (code == EXIT_KEPT) {
        page_begin(html, options->path);
        code = append_page(options, runs, &explaining, html);
        page_end(html);
    }
    list_words_deinit(&explaining);
    list_run_deinit(&runs[0]);
    list_run_deinit(&runs[1]);
    free(runs);
    return code;
}

bool report_run_data(const struct page_options *options, const char *path, struct writing *json,
                     char why[REPORT_WHY_BYTES])
{
    struct list_run *run = calloc(1, sizeof *run);
    CHECK(run != NULL);
    const bool is_run = list_run_init(run, options, path) == EXIT_KEPT &&
                        list_run_execute(run, options) == EXIT_KEPT && run->record != NULL;
    if (is_run) {
        run_data_append(run->record, &run->recording, &run->steps, path, json);
    } else {
        snprintf(why, REPORT_WHY_BYTES, "%.200s cannot be run", path);
    }
    list_run_deinit(run);
    free(run);
    return is_run;
}
