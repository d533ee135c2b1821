/* explain --what-if: the table of what would have helped, and each variant as a list. */
#include "diagnosis/what_if.h"
#include "campaign/base/ops_output.h"
#include "campaign/base/partial.h"
#include "campaign/base/place.h"
#include "campaign/base/repro.h"
#include "campaign/base/target_path.h"
#include "campaign/engine/output.h"
#include "campaign/process/child.h"
#include "explain/private/explanation.h"
#include "explain/private/files.h"
#include "harness/op/ops_file.h"

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

static bool is_estimate(const struct what_if_row *row)
{
    return row->remedy != NULL && row->remedy->is_estimate;
}

/* --- lists --- */

static void append_outcome(const struct what_if_row *row, struct writing *text)
{
    if (row->end == WHAT_IF_FITS) {
        writing_append_format(text, "fits, headroom %s",
                              size_text_of(what_if_headroom_bytes(row)).text);
    } else if (row->end == WHAT_IF_NO_MEMORY) {
        writing_append_format(text, "op %" PRIu32 " is refused %s", row->failed_op,
                              size_text_of(row->requested_bytes).text);
    } else {
        writing_append(text, what_if_end_name(row->end));
    }
}

static void append_comments(const struct what_if_row *row, struct writing *comments)
{
    struct writing outcome = {0};
    append_outcome(row, &outcome);
    comment_append(comments, "what if: ", row->title);
    comment_append(comments, "change: ", row->remedy == NULL ? "none" : row->remedy->summary);
    comment_append(comments, "in numbers: ", row->note);
    comment_append(comments, is_estimate(row) ? "an estimate that assumes: " : "assumes: ",
                   row->remedy == NULL ? "" : row->remedy->assumes);
    comment_append(comments, "result: ", writing_string(&outcome));
    writing_deinit(&outcome);
}

static void write_list(void *context, const struct what_if_row *row, const struct setup *setup,
                       const struct op_list *ops)
{
    struct work *work = context;
    char path[OUTPUT_PATH_BYTES];
    struct writing comments = {0};
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
    append_comments(row, &comments);
    target_path_append_comment(&comments, setup->target, path);
    if (ops_output_through(work->partial, path, setup, ops, writing_string(&comments)) !=
        EXIT_KEPT) {
        work->code = EXIT_HARNESS;
    }
    writing_deinit(&comments);
}

/* --- what is told --- */

/* How far the list was run under each change. */
static void say_how(struct facts *facts, const struct what_if *what_if)
{
    struct writing words = {0};
    if (what_if->op == OP_NONE) {
        writing_append(&words, "The whole list was run under each change.  ");
    } else if (what_if->is_whole) {
        facts_answer(facts,
                     "The whole list was run under each change: later ops use what op %" PRIu32
                     " asks for, so it was",
                     what_if->op);
        writing_append(&words, "granted where the list comes from.  ");
    } else {
        writing_append_format(&words, "The list up to op %" PRIu32 " was run under each change.  ",
                              what_if->op);
    }
    if (what_if->left_out_count == 1) {
        writing_append(&words, "1 op that did nothing, or was refused before, is omitted.  ");
    } else if (what_if->left_out_count > 1) {
        writing_append_format(&words,
                              "%zu ops that did nothing, or were refused before, are omitted.  ",
                              what_if->left_out_count);
    }
    if (what_if->has_lanes) {
        writing_append(&words, "One client makes all calls, in the order of the list.  ");
    }
    facts_answer(facts, "%sdocs/what-if.md describes the changes.", writing_string(&words));
    writing_deinit(&words);
}

static void say_smallest(struct facts *facts, const struct what_if *what_if, uint64_t until_step)
{
    if (what_if->smallest == what_if->count) {
        facts_answer(facts, "None of the changes that were tried makes it fit.");
        return;
    }
    const struct what_if_row *row = &what_if->rows[what_if->smallest];
    if (row->remedy == NULL) {
        facts_answer(facts, "It fits as it is, headroom %s.",
                     size_text_of(what_if_headroom_bytes(row)).text);
        return;
    }
    facts_answer(facts, "The smallest change that fits: %s (%s%s)", row->title,
                 row->remedy->summary, is_estimate(row) ? "; an estimate" : "");
    facts_answer(facts, "  It assumes: %s", row->remedy->assumes);
    if (row->full.at > 0) { /* it fits as far as the list goes, and not much further */
        facts_answer(facts, "  The list still grows from step to step: %s%s",
                     projection_text_of(&row->full, until_step).text,
                     until_step > 0 && row->full.from > until_step
                         ? "."
                         : ".  No change that was tried ends that.");
    }
}

static void put_note(struct facts *facts, const struct what_if_row *row, bool is_run,
                     uint64_t until_step)
{
    struct writing note = {0};
    if (row->end != WHAT_IF_FITS && row->end != WHAT_IF_DOES_NOT_APPLY) {
        append_outcome(row, &note);
        writing_append(&note, row->note[0] == '\0' ? "" : "; ");
    }
    writing_append(&note, row->note);
    if (row->full.at > 0) {
        writing_append_format(&note, "; still grows: %s",
                              projection_text_of(&row->full, until_step).text);
    }
    if (row->sign[0] != '\0' && is_run) {
        writing_append_format(&note, "; sign: %s", row->sign);
    }
    facts_cell(facts, "told", writing_string(&note));
    writing_deinit(&note);
}

static void put_cells(struct facts *facts, const struct what_if_row *row, uint64_t until_step)
{
    const bool fits = row->end == WHAT_IF_FITS;
    const bool is_run = fits || row->end == WHAT_IF_NO_MEMORY || row->end == WHAT_IF_BROKEN;
    facts_cell_format(facts, "fit", "%s%s",
                      row->end == WHAT_IF_DOES_NOT_APPLY ? "-"
                      : fits                             ? "yes"
                                                         : "no",
                      is_estimate(row) && row->end != WHAT_IF_DOES_NOT_APPLY ? ", estimate" : "");
    facts_cell(facts, "peak", is_run ? size_text_of(row->peak_bytes).text : "-");
    facts_cell(facts, "headroom", fits ? size_text_of(what_if_headroom_bytes(row)).text : "-");
    facts_cell(facts, "hole", is_run ? size_text_of(row->largest_hole_bytes).text : "-");
    facts_cell(facts, "same",
               is_run && row->remedy != NULL ? advice_results_name(advice_results(row->remedy))
                                             : "-");
    put_note(facts, row, is_run, until_step);
}

static void add_numbers(struct facts *facts, const struct what_if_row *row)
{
    facts_size(facts, "capacity_bytes", row->capacity_bytes);
    facts_count(facts, "ops", row->op_count);
    facts_size(facts, "peak_bytes", row->peak_bytes);
    if (row->end == WHAT_IF_FITS) {
        facts_size(facts, "headroom_bytes", what_if_headroom_bytes(row));
    }
    facts_size(facts, "largest_hole_bytes", row->largest_hole_bytes);
    if (row->end == WHAT_IF_NO_MEMORY || row->end == WHAT_IF_BROKEN) {
        facts_count(facts, "failed_op", row->failed_op);
    }
    if (row->end == WHAT_IF_NO_MEMORY) {
        facts_size(facts, "requested_bytes", row->requested_bytes);
    }
}

static void tell_row(struct facts *facts, const struct setup *setup, const struct what_if *what_if,
                     const struct what_if_row *row)
{
    char words[ADVICE_WORDS_BYTES];
    facts_open(facts, "what_if");
    facts_text(facts, "title", row->title);
    facts_text(facts, "remedy", row->remedy == NULL ? "as-it-is" : row->remedy->name);
    facts_text(facts, "result", what_if_end_name(row->end));
    facts_boolean(facts, "fits", row->end == WHAT_IF_FITS);
    facts_boolean(facts, "estimate", is_estimate(row));
    facts_boolean(facts, "smallest", row == &what_if->rows[what_if->smallest]);
    if (row->end != WHAT_IF_DOES_NOT_APPLY && row->end != WHAT_IF_REFUSED) {
        add_numbers(facts, row);
    }
    if (what_if->op != OP_NONE) {
        facts_count(facts, "oom_op", what_if->op);
    }
    facts_boolean(facts, "whole_list", what_if->op == OP_NONE || what_if->is_whole);
    facts_count(facts, "left_out_ops", what_if->left_out_count);
    facts_text(facts, "note", row->note);
    if (row->full.at > 0) {
        projection_add(facts, &row->full, setup->until_step);
    }
    if (row->remedy != NULL) {
        what_if_advice(setup, row, words);
        facts_text(facts, "assumes", row->remedy->assumes);
        facts_text(facts, "advice", words);
        facts_text(facts, "results", advice_results_name(advice_results(row->remedy)));
        facts_text_if(facts, "sign", row->sign);
    }
    put_cells(facts, row, setup->until_step);
    facts_close(facts);
}

/* What to do for each change that fits, once for each remedy. */
static void say_advice(struct facts *facts, const struct setup *setup,
                       const struct what_if *what_if)
{
    const struct remedy *before = NULL;
    for (size_t i = 0; i < what_if->count && what_if->smallest > 0; i++) {
        const struct what_if_row *row = &what_if->rows[i];
        char words[ADVICE_WORDS_BYTES];
        if (row->remedy == NULL || row->remedy == before || row->end != WHAT_IF_FITS) {
            continue;
        }
        if (before == NULL) {
            facts_heading(facts, "How, for each change that fits (docs/advice.md)");
        }
        before = row->remedy;
        what_if_advice(setup, row, words);
        facts_answer(facts, "  %s: %s", row->remedy->name, words);
    }
}

static void tell_result(struct facts *facts, const struct setup *setup, enum what_if_result result,
                        const struct what_if *what_if)
{
    static const struct facts_column columns[] = {
        {"title", "change"},      {"fit", "fits"},     {"peak", "peak"}, {"headroom", "headroom"},
        {"hole", "largest hole"}, {"same", "results"}, {"told", "note"}};
    facts_heading(facts, "What if");
    if (result == WHAT_IF_DONE) {
        say_how(facts, what_if);
        say_smallest(facts, what_if, setup->until_step);
        facts_line(facts, "%s", "");
    } else {
        facts_answer(facts, "The first failure is not an out-of-memory, so no change was tried.");
    }
    facts_table_in(facts, 2, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < what_if->count; i++) {
        tell_row(facts, setup, what_if, &what_if->rows[i]);
    }
    facts_table_end(facts);
    say_advice(facts, setup, what_if);
}

/* --- the child --- */

/* Answers with the exit code, then the text. */
static void try_and_answer(void *context, int file)
{
    struct work *work = context;
    const struct what_if_wish wanted = {
        .take = write_list,
        .context = work,
        .named_tags = work->options->checkpoint_tags == NULL ? NULL : work->named_tags};
    struct what_if what_if;
    struct facts facts = {0};
    struct writing text = {0};
    const enum what_if_result result = what_if_run(work->recording->target, &work->recording->setup,
                                                   &work->recording->ops, &wanted, &what_if);
    if (result != WHAT_IF_TARGET_REFUSED) {
        tell_result(&facts, &work->recording->setup, result, &what_if);
        facts_print(&facts, work->options->is_json ? FACTS_JSON : FACTS_WORDS, &text);
        (void)(file_write_all(file, &work->code, sizeof work->code) &&
               file_write_all(file, text.bytes, text.length));
    }
    what_if_deinit(&what_if);
    facts_deinit(&facts);
    writing_deinit(&text);
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
    static const struct explain_failure failure = {"--what-if has no table", "--what-if",
                                                   " under --what-if", ""};
    struct writing answer = {0};
    char death[CHILD_DEATH_BYTES];
    const enum child_end end = child_run(
        try_and_answer, &work, options->reading.run->trial_timeout_ns, true, &answer, death);
    partial_remove(work.partial);
    const bool is_answered = end == CHILD_DONE && answer.length >= sizeof(enum exit_code);
    code = is_answered ? output_answer(options->is_json, &answer)
                       : explain_fail(&failure, options->paths[0], end, death);
    writing_deinit(&answer);
    return code;
}
