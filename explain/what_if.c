#include "explain/what_if.h"

#include "campaign/base/interrupt.h"
#include "campaign/base/place.h"
#include "campaign/base/repro.h"
#include "campaign/base/target_path.h"
#include "campaign/engine/output.h"
#include "campaign/process/child.h"
#include "diagnosis/what_if.h"
#include "explain/projection.h"
#include "harness/base/json.h"
#include "harness/base/size.h"
#include "harness/op/ops_file.h"
#include "present/table.h"
#include "present/wrap.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* What the child works on. */
struct work {
    const struct explain_options *options;
    const struct recording *recording;
    const char *directory;         /* NULL: no lists are wanted */
    char partial[FILE_PATH_BYTES]; /* where each of them is written until it is whole */
    enum exit_code code;
    bool named_tags[OP_TAG_COUNT];
};

static const char *print_size(uint64_t size_bytes, char text[SIZE_TEXT_BYTES])
{
    size_print_field(size_bytes, text);
    return text;
}

static const char *name_fit(const struct what_if_row *row)
{
    const bool is_estimate = row->remedy != NULL && row->remedy->is_estimate;
    if (row->end == WHAT_IF_DOES_NOT_APPLY) {
        return "-";
    }
    if (row->end == WHAT_IF_FITS) {
        return is_estimate ? "yes, estimate" : "yes";
    }
    return is_estimate ? "no, estimate" : "no";
}

/* --- lists --- */

static void append_outcome(const struct what_if_row *row, struct writing *text)
{
    char size[SIZE_TEXT_BYTES];
    if (row->end == WHAT_IF_FITS) {
        writing_append_format(text, "fits, headroom %s",
                              print_size(what_if_headroom_bytes(row), size));
    } else if (row->end == WHAT_IF_NO_MEMORY) {
        writing_append_format(text, "op %lu is refused %s", (unsigned long)row->failed_op,
                              print_size(row->requested_bytes, size));
    } else {
        writing_append_format(text, "%s", what_if_end_name(row->end));
    }
}

static void append_comments(const struct what_if_row *row, struct writing *comments)
{
    struct writing outcome;
    writing_init(&outcome);
    append_outcome(row, &outcome);
    comment_append(comments, "what if: ", row->title);
    comment_append(comments, "change: ", row->remedy == NULL ? "none" : row->remedy->summary);
    comment_append(comments, "in numbers: ", row->note);
    const bool is_estimate = row->remedy != NULL && row->remedy->is_estimate;
    comment_append(comments, is_estimate ? "an estimate that assumes: " : "assumes: ",
                   row->remedy == NULL ? "" : row->remedy->assumes);
    comment_append(comments, "result: ", writing_string(&outcome));
    writing_deinit(&outcome);
}

static void write_list(void *context, const struct what_if_row *row, const struct setup *setup,
                       const struct op_list *ops)
{
    struct work *work = context;
    char path[OUTPUT_PATH_BYTES];
    struct writing comments;
    if (work->directory == NULL || work->code == EXIT_HARNESS) {
        return;
    }
    if ((size_t)snprintf(path, sizeof path, "%s/%s.ops", work->directory, row->title) >=
        sizeof path) {
        work->code = message_fail(EXIT_HARNESS, "%.80s...: %s", path, strerror(ENAMETOOLONG));
        return;
    }
    if (file_is_same(path, work->options->paths[0])) {
        work->code = message_fail(
            EXIT_HARNESS, "%s: this is the file that is explained, and it is not overwritten",
            path);
        return;
    }
    writing_init(&comments);
    append_comments(row, &comments);
    target_path_append_comment(&comments, setup->target, path);
    if (ops_output_through(work->partial, path, setup, ops, writing_string(&comments)) !=
        EXIT_KEPT) {
        work->code = EXIT_HARNESS;
    }
    writing_deinit(&comments);
}

/* --- the table --- */

/* It fits as far as the list goes, and not much further. */
static struct projection project(const struct what_if_row *row)
{
    return (struct projection){row->full_step, row->full_from, row->full_to};
}

static void append_growth(const struct what_if_row *row, uint64_t until_step, struct writing *text)
{
    const struct projection projection = project(row);
    if (row->full_step > 0) {
        writing_append(text, "  The list still grows from step to step: ");
        projection_append(&projection, until_step, text);
        writing_append(text, until_step > 0 && row->full_from > until_step
                                 ? ".\n"
                                 : ".  No change that was tried ends that.\n");
    }
}

static void append_smallest(const struct work *work, const struct what_if *what_if,
                            struct writing *text)
{
    char size[SIZE_TEXT_BYTES];
    if (what_if->smallest == what_if->count) {
        writing_append(text, "None of the changes that were tried makes it fit.\n\n");
        return;
    }
    const struct what_if_row *row = &what_if->rows[what_if->smallest];
    if (row->remedy == NULL) {
        writing_append_format(text, "It fits as it is, headroom %s.\n\n",
                              print_size(what_if_headroom_bytes(row), size));
        return;
    }
    writing_append(text, "The smallest change that fits: ");
    writing_append_visible(text, row->title);
    writing_append_format(text, " (%s%s)\n  It assumes: %s\n", row->remedy->summary,
                          row->remedy->is_estimate ? "; an estimate" : "", row->remedy->assumes);
    append_growth(row, work->recording->setup.until_step, text);
    writing_append(text, "\n");
}

static void put_row(struct table *table, const struct what_if_row *row, uint64_t until_step)
{
    char size[SIZE_TEXT_BYTES];
    const bool is_run = row->end == WHAT_IF_FITS || row->end == WHAT_IF_NO_MEMORY ||
                        row->end == WHAT_IF_BROKEN;
    struct writing note;
    writing_init(&note);
    if (row->end != WHAT_IF_FITS && row->end != WHAT_IF_DOES_NOT_APPLY) {
        append_outcome(row, &note);
        writing_append(&note, row->note[0] == '\0' ? "" : "; ");
    }
    writing_append(&note, row->note);
    if (row->full_step > 0) {
        const struct projection projection = project(row);
        writing_append(&note, "; still grows: ");
        projection_append(&projection, until_step, &note);
    }
    if (row->sign[0] != '\0' && is_run) {
        writing_append(&note, "; sign: ");
        writing_append(&note, row->sign);
    }
    table_put(table, row->title);
    table_put(table, name_fit(row));
    table_put(table, is_run ? print_size(row->peak_bytes, size) : "-");
    table_put(table,
              row->end == WHAT_IF_FITS ? print_size(what_if_headroom_bytes(row), size) : "-");
    table_put(table, is_run ? print_size(row->largest_hole_bytes, size) : "-");
    table_put(table, is_run && row->remedy != NULL
                         ? advice_results_name(advice_results(row->remedy))
                         : "-");
    table_put(table, writing_string(&note));
    writing_deinit(&note);
}

static void append_table(const struct work *work, const struct what_if *what_if,
                         struct writing *text)
{
    static const char *const heads[] = {"change",       "fits",    "peak", "headroom",
                                        "largest hole", "results", "note"};
    enum { HEAD_COUNT = sizeof heads / sizeof *heads };
    struct table table;
    table_init(&table, HEAD_COUNT, HEAD_COUNT);
    for (size_t i = 0; i < HEAD_COUNT; i++) {
        table_put(&table, heads[i]);
    }
    for (size_t i = 0; i < what_if->count; i++) {
        put_row(&table, &what_if->rows[i], work->recording->setup.until_step);
    }
    table_print(&table, 2, text);
    table_deinit(&table);
}

/* What to do for each change that fits, once for each remedy. */
static void append_advice(const struct work *work, const struct what_if *what_if,
                          struct writing *text)
{
    const struct remedy *before = NULL;
    const struct setup *setup = &work->recording->setup;
    if (what_if->smallest == 0) {
        return;
    }
    for (size_t i = 0; i < what_if->count; i++) {
        const struct what_if_row *row = &what_if->rows[i];
        char words[ADVICE_WORDS_BYTES];
        if (row->remedy == NULL || row->remedy == before || row->end != WHAT_IF_FITS) {
            continue;
        }
        if (before == NULL) {
            writing_append(text, "\nHow, for each change that fits (docs/advice.md)\n");
        }
        before = row->remedy;
        what_if_advice(setup, row, words);
        writing_append_format(text, "  %s: ", row->remedy->name);
        writing_append_visible(text, words);
        writing_append(text, "\n");
    }
}

static void append_in_words(const struct work *work, const struct what_if *what_if,
                            struct writing *text)
{
    writing_append(text, "\nWhat if\n");
    if (what_if->op == OP_NONE) {
        writing_append(text, "The whole list was run under each change.  ");
    } else if (what_if->is_whole) {
        writing_append_format(
            text,
            "The whole list was run under each change: later ops use what op %lu asks for, so it was\n"
            "granted where the list comes from.  ",
            (unsigned long)what_if->op);
    } else {
        writing_append_format(text, "The list up to op %lu was run under each change.  ",
                              (unsigned long)what_if->op);
    }
    if (what_if->left_out_count > 0) {
        writing_append_format(
            text,
            what_if->left_out_count == 1
                ? "%zu op that did nothing, or was refused before, is omitted.  "
                : "%zu ops that did nothing, or were refused before, are omitted.  ",
            what_if->left_out_count);
    }
    if (what_if->has_lanes) {
        writing_append(text, "One client makes all calls, in the order of the list.  ");
    }
    writing_append(text, "docs/what-if.md describes the changes.\n");
    append_smallest(work, what_if, text);
    append_table(work, what_if, text);
    append_advice(work, what_if, text);
}

/* --- JSON lines --- */

static void append_json_numbers(const struct what_if_row *row, struct writing *text)
{
    json_add_number(text, "capacity_bytes", row->capacity_bytes);
    json_add_number(text, "ops", row->op_count);
    json_add_number(text, "peak_bytes", row->peak_bytes);
    if (row->end == WHAT_IF_FITS) {
        json_add_number(text, "headroom_bytes", what_if_headroom_bytes(row));
    }
    json_add_number(text, "largest_hole_bytes", row->largest_hole_bytes);
    if (row->end == WHAT_IF_NO_MEMORY || row->end == WHAT_IF_BROKEN) {
        json_add_number(text, "failed_op", row->failed_op);
    }
    if (row->end == WHAT_IF_NO_MEMORY) {
        json_add_number(text, "requested_bytes", row->requested_bytes);
    }
}

static void append_json_advice(const struct work *work, const struct what_if_row *row,
                               struct writing *text)
{
    const struct setup *setup = &work->recording->setup;
    char words[ADVICE_WORDS_BYTES];
    what_if_advice(setup, row, words);
    json_add_string(text, "assumes", row->remedy->assumes);
    json_add_string(text, "advice", words);
    json_add_string(text, "results", advice_results_name(advice_results(row->remedy)));
    if (row->sign[0] != '\0') {
        json_add_string(text, "sign", row->sign);
    }
}

static void append_json_row(const struct work *work, const struct what_if *what_if, size_t i,
                            struct writing *text)
{
    const struct what_if_row *row = &what_if->rows[i];
    const bool is_run = row->end != WHAT_IF_DOES_NOT_APPLY && row->end != WHAT_IF_REFUSED;
    json_open(text, "what_if");
    json_add_string(text, "title", row->title);
    json_add_string(text, "remedy", row->remedy == NULL ? "as-it-is" : row->remedy->name);
    json_add_string(text, "result", what_if_end_name(row->end));
    json_add_boolean(text, "fits", row->end == WHAT_IF_FITS);
    json_add_boolean(text, "estimate", row->remedy != NULL && row->remedy->is_estimate);
    json_add_boolean(text, "smallest", i == what_if->smallest);
    if (is_run) {
        append_json_numbers(row, text);
    }
    if (what_if->op != OP_NONE) {
        json_add_number(text, "oom_op", what_if->op);
    }
    json_add_boolean(text, "whole_list", what_if->op == OP_NONE || what_if->is_whole);
    json_add_number(text, "left_out_ops", what_if->left_out_count);
    json_add_string(text, "note", row->note);
    if (row->full_step > 0) {
        const struct projection projection = project(row);
        projection_add(&projection, work->recording->setup.until_step, text);
    }
    if (row->remedy != NULL) {
        append_json_advice(work, row, text);
    }
    json_close(text);
}

/* --- the child --- */

static void append_result(const struct work *work, enum what_if_result result,
                          const struct what_if *what_if, struct writing *text)
{
    if (work->options->is_json) {
        for (size_t i = 0; i < what_if->count; i++) {
            append_json_row(work, what_if, i, text);
        }
    } else if (result == WHAT_IF_DONE) {
        append_in_words(work, what_if, text);
    } else {
        writing_append(
            text,
            "\nWhat if\nThe first failure is not an out-of-memory, so no change was tried.\n");
    }
}

/* Answers with the exit code, then the text. */
static void try_and_answer(void *context, int file)
{
    struct work *work = context;
    const struct what_if_wish wanted = {
        .take = write_list,
        .context = work,
        .named_tags = work->options->checkpoint_tags == NULL ? NULL : work->named_tags};
    struct what_if what_if;
    struct writing text;
    writing_init(&text);
    const enum what_if_result result = what_if_run(work->recording->target, &work->recording->setup,
                                                   &work->recording->ops, &wanted, &what_if);
    if (result != WHAT_IF_TARGET_REFUSED) {
        append_result(work, result, &what_if, &text);
        if (!work->options->is_json) {
            wrap_answer(&text, 0);
        }
        (void)(file_write_all(file, &work->code, sizeof work->code) &&
               file_write_all(file, text.bytes, text.length));
    }
    what_if_deinit(&what_if);
    writing_deinit(&text);
}

static enum exit_code fail_without_answer(const char *path, enum child_end end, const char *death)
{
    if (end == CHILD_NOT_BORN) {
        return message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
    }
    if (end == CHILD_STOPPED && interrupt_is_requested()) {
        return message_fail(EXIT_HARNESS, "interrupted: --what-if has no table");
    }
    if (end == CHILD_STOPPED) {
        return message_fail(
            EXIT_BROKEN, "%s: --what-if did not end within --trial-timeout or --op-timeout", path);
    }
    if (end == CHILD_FAULTY) {
        return message_fail(EXIT_HARNESS, "%s: internal error under --what-if: %s", path, death);
    }
    if (end == CHILD_DIED) {
        return message_fail(EXIT_BROKEN, "%s: the target ended its process under --what-if: %s",
                            path, death);
    }
    return message_fail(EXIT_HARNESS,
                        "%s: the target now refuses the setup that it accepted before", path);
}

/* --- named tags --- */

/* By name, each of them where several have it, or by number.  False: the list has none such. */
static bool name_tag(struct work *work, const char *word, size_t length)
{
    const struct setup *setup = &work->recording->setup;
    uint64_t number;
    bool is_there = false;
    for (size_t tag = 0; tag < OP_TAG_COUNT; tag++) {
        const char *name = setup->tags[tag];
        if (length > 0 && strlen(name) == length && memcmp(name, word, length) == 0) {
            is_there = work->named_tags[tag] = true;
        }
    }
    if (!is_there && number_parse(word, length, &number) && number < OP_TAG_COUNT) {
        is_there = work->named_tags[number] = true;
    }
    return is_there;
}

/* A value that is the name of a tag as it stands may have commas. */
static enum exit_code name_tags(struct work *work, const char *value)
{
    if (value == NULL || name_tag(work, value, strlen(value))) {
        return EXIT_KEPT;
    }
    for (const char *word = value;; word++) {
        const size_t length = strcspn(word, ",");
        if (!name_tag(work, word, length)) {
            return message_fail(EXIT_USAGE, "--checkpoint-tags: %s has no tag '%.*s'",
                                work->options->paths[0],
                                (int)(length < SETUP_NAME_BYTES ? length : SETUP_NAME_BYTES), word);
        }
        word += length;
        if (*word == '\0') {
            return EXIT_KEPT;
        }
    }
}

enum exit_code what_if_check(const struct explain_options *options,
                             const struct recording *recording)
{
    struct work work = {.options = options, .recording = recording};
    const enum exit_code code = name_tags(&work, options->checkpoint_tags);
    return code == EXIT_KEPT && options->what_if_out != NULL
               ? place_make_folder(options->what_if_out)
               : code;
}

/* False: errno says why. */
static bool begin_lists(struct work *work)
{
    char beside[FILE_PATH_BYTES];
    if (work->directory == NULL) {
        return true;
    }
    snprintf(beside, sizeof beside, "%s/", work->directory);
    return partial_create(beside, work->partial);
}

enum exit_code what_if_explain(const struct explain_options *options,
                               const struct recording *recording, enum exit_code code)
{
    struct work work = {.options = options,
                        .recording = recording,
                        .directory = options->what_if_out,
                        .code = code};
    const bool is_explained = code == EXIT_KEPT || code == EXIT_BROKEN || code == EXIT_UNKNOWN;
    if (!is_explained || (!options->has_what_if && options->what_if_out == NULL)) {
        return code;
    }
    (void)name_tags(&work, options->checkpoint_tags);
    if (!begin_lists(&work)) {
        return message_fail(EXIT_HARNESS, "%s: %s", work.directory, strerror(errno));
    }
    struct writing answer;
    char death[CHILD_DEATH_BYTES];
    writing_init(&answer);
    const enum child_end end = child_run(
        try_and_answer, &work, options->reading.run->trial_timeout_ns, true, &answer, death);
    partial_remove(work.partial);
    const bool is_answered = end == CHILD_DONE && answer.length >= sizeof(enum exit_code);
    code = is_answered ? output_answer(options->is_json, &answer)
                       : fail_without_answer(options->paths[0], end, death);
    writing_deinit(&answer);
    return code;
}
