/* The page of one list or field trace, and of two of them on one axis. */
#include "campaign/base/interrupt.h"
#include "campaign/process/background.h"
#include "campaign/process/child.h"
#include "harness/base/check.h"
#include "page/list_page.h"
#include "present/page/page.h"
#include "recording/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_MS = 50 };

/* --- one list, run in a process of its own --- */

static void record_list(void *context, int file)
{
    struct list_run *run = context;
    (void)file; /* the record is shared */
    run_record_run(run->record, run->recording.target);
}

static enum exit_code run_list(struct list_run *run, const struct page_options *options)
{
    struct writing answer = {0};
    enum child_end end;
    struct death death;
    const enum exit_code code = target_child(options->reading.run, &death, record_list, run,
                                             &answer, &end);
    run->has_died = code == EXIT_KEPT && end == CHILD_DIED;
    run->is_stopped = code == EXIT_KEPT && end == CHILD_STOPPED;
    death_describe(&death, run->death);
    death_signature(&death, run->signature);
    writing_deinit(&answer);
    return code;
}

/* Reads the file into a run of zeros.  EXIT_KEPT, or another code after one message;
 * list_run_deinit in both cases. */
static enum exit_code list_run_init(struct list_run *run, const struct page_options *options,
                                    const char *path)
{
    run->path = path;
    return recording_read_to_show(path, options->reading, &run->recording);
}

/* Runs what was read, unless there is no list.  The same codes. */
static enum exit_code list_run_execute(struct list_run *run, const struct page_options *options)
{
    const struct recording *recording = &run->recording;
    if (recording->why_no_list[0] != '\0') {
        return EXIT_KEPT;
    }
    step_axis_init(&run->steps, recording->said, recording->said_count,
                   recording->view == IMPORT_EVENTS ? &recording->ops : NULL,
                   recording->setup.granule_bytes);
    run->record = run_record_create(&recording->setup, &recording->ops);
    if (run->record == NULL) {
        return message_fail(EXIT_HARNESS, "cannot map shared memory: %s", strerror(errno));
    }
    enum exit_code code = run_list(run, options);
    if (code == EXIT_KEPT && run->record->is_refused) {
        code = message_fail(EXIT_HARNESS, "%s: the target refuses the setup: %s", run->path,
                            run->record->why);
    }
    run->peak = run_record_peak(run->record, &run->peak_host);
    run_holders_take(run->record, run->peak, run->peak_host, &run->holders);
    return code;
}

static void list_run_deinit(struct list_run *run)
{
    run_record_destroy(run->record);
    step_axis_deinit(&run->steps);
    recording_deinit(&run->recording);
}

/* --- the words of explain, made at the same time: both take about equally long --- */

/* The process at work; zero before it begins.  options and recording outlive it. */
struct list_words {
    const struct page_options *options;
    const struct recording *recording;
    struct background background;
};

/* The process's answer, before the words. */
struct words_answer {
    enum exit_code code;
    char why[PAGE_WHY_BYTES];
};

static void explain_list(void *context, int file)
{
    const struct list_words *words = context;
    struct words_answer answer = {0};
    struct writing text = {0};
    answer.code = words->options->explain(words->options->context, words->recording, &text,
                                          answer.why);
    (void)(file_write_all(file, &answer, sizeof answer) &&
           file_write_all(file, writing_string(&text), text.length));
    writing_deinit(&text);
}

/* EXIT_KEPT, or EXIT_HARNESS after one message; list_words_deinit in both cases. */
static enum exit_code list_words_start(struct list_words *words, const struct page_options *options,
                                       const struct recording *recording)
{
    words->options = options;
    words->recording = recording;
    return background_start(&words->background, explain_list, words)
               ? EXIT_KEPT
               : message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
}

/* Waits for them: as explain() of the options. */
static enum exit_code list_words_take(struct list_words *words, struct writing *text,
                                      char why[PAGE_WHY_BYTES])
{
    const struct writing *said = &words->background.answer;
    struct words_answer answer;
    bool is_good;
    while (!background_is_done(&words->background, WAIT_MS, &is_good)) {
        if (interrupt_is_requested()) {
            return message_fail(EXIT_HARNESS, "interrupted");
        }
    }
    if (!is_good || said->length < sizeof answer) {
        return message_fail(EXIT_HARNESS, "internal error: the process that explains the list "
                                          "ended early. Please report this.");
    }
    memcpy(&answer, said->bytes, sizeof answer);
    memcpy(why, answer.why, sizeof answer.why);
    writing_append_bytes(text, said->bytes + sizeof answer, said->length - sizeof answer);
    return answer.code;
}

/* Ends the process wherever it is. */
static void list_words_deinit(struct list_words *words)
{
    background_stop(&words->background);
    writing_deinit(&words->background.answer);
}

/* --- the page --- */

/* Appends a section of words that explain prints. */
static void append_words(struct writing *html, const char *id, const char *heading,
                         const struct writing *words)
{
    page_section_begin(html, id, heading);
    writing_append(html, "<pre class=\"words\">");
    page_append_text(html, writing_string(words));
    writing_append(html, "</pre>\n");
    page_section_end(html);
}

/* Appends what `explain` prints. */
static enum exit_code append_meaning(struct list_words *explaining, struct writing *html)
{
    struct writing words = {0};
    char why[PAGE_WHY_BYTES];
    const enum exit_code code = list_words_take(explaining, &words, why);
    if (code == EXIT_KEPT && why[0] != '\0') {
        page_section_begin(html, "meaning", "What it means");
        page_print(html, "<p>It cannot be explained: %s.</p>\n", why);
        page_section_end(html);
    } else if (code == EXIT_KEPT) {
        append_words(html, "meaning", "What it means", &words);
    }
    writing_deinit(&words);
    return code;
}

static void append_data(struct list_run *run, const char *id, struct writing *html)
{
    struct writing json = {0};
    run_data_append(run->record, &run->recording, &run->steps, run->path, &json);
    page_append_data(html, id, &json);
    writing_deinit(&json);
}

/* Appends what `explain A B` prints: A is the earlier one. */
static enum exit_code append_comparison(const struct page_options *options, const char *against,
                                        struct writing *html)
{
    struct writing words = {0};
    const enum exit_code code = options->compare(options->context, against, &words);
    if (code == EXIT_KEPT) {
        append_words(html, "difference", "What changed", &words);
    }
    writing_deinit(&words);
    return code;
}

/* A log of which no list can be made, or a compiler's report: there are only words. */
static enum exit_code append_told(const struct list_run *run, struct list_words *explaining,
                                  struct writing *html)
{
    page_print(html, "<p class=\"verdict warn\">Nothing can be run: %s</p>\n" PAGE_FACTS,
               run->recording.why_no_list);
    page_fact(html, "File", "%s", run->path);
    writing_append(html, PAGE_FACTS_END);
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
