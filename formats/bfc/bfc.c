/* The format: finds the dumps of a log, takes the first that is complete, and says how many there
 * are. */
#include "formats/bfc/private/bfc.h"
#include "formats/common/phrase.h"

#include <stdio.h>
#include <string.h>

/* Returns how sure the line at byte *at is, which begins at or after byte `from`; *at becomes its
 * end.  A line that no other program prints is enough.  A sentence that a dump may follow, or the
 * map behind a dump, is only a hint. */
static unsigned score_line(const char *text, size_t length, size_t from, size_t *at)
{
    const char *before = memrchr(text + from, '\n', *at - from);
    const char *end = memchr(text + *at, '\n', length - *at);
    const char *begin = before == NULL ? text + from : before + 1;
    struct bfc_line line;
    end = end == NULL ? text + length : end;
    bfc_line_read(begin, (size_t)(end - begin), false, &line);
    *at = (size_t)(end - text);
    /* A log with only lines that stand around a dump may say more in another format.  A hint is
     * below the statistics of a GPU's program, which may stand beside it. */
    const bool is_around = line.kind == BFC_LINE_REQUEST || line.kind == BFC_LINE_EPILOGUE ||
                           line.kind == BFC_LINE_MAP;
    return is_around ? 50 : line.is_unmistakable ? 90 : 0;
}

/* The next line with the allocator's prefix, from byte `at` on; length: there is none. */
static size_t next_prefix(const char *text, size_t length, size_t at)
{
    static const char prefix[] = "bfc_allocator.cc:";
    const char *found = memmem(text + at, length - at, prefix, sizeof prefix - 1);
    return found == NULL ? length : (size_t)(found - text);
}

/* The next line that may be known without a prefix: bins and summaries, the sum of these, the pool,
 * names, requests. */
static size_t next_words(const char *text, size_t length, size_t at)
{
    static const char *const words[] = {"Chunks", "Sum Total of", "Total bytes in pool",
                                        "Allocator", "Ran out of"};
    for (; (at = phrase_next_beginning(text, length, at)) < length; at++) {
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
            if (text[at] == words[i][0] && length - at >= strlen(words[i]) &&
                memcmp(text + at, words[i], strlen(words[i])) == 0) {
                return at;
            }
        }
    }
    return length;
}

/* Whole texts are searched, not lines one by one: logs of gigabytes without a dump are passed over
 * quickly.  Linear: each line is read at most twice. */
static unsigned recognise_bfc(const char *text, size_t length)
{
    static size_t (*const searches[])(const char *text, size_t length, size_t at) = {next_prefix,
                                                                                     next_words};
    unsigned best = 0;
    for (size_t i = 0; i < sizeof searches / sizeof searches[0]; i++) {
        for (size_t from = 0, at; best < 90 && (at = searches[i](text, length, from)) < length;
             from = at) {
            const unsigned score = score_line(text, length, from, &at);
            best = score > best ? score : best;
        }
    }
    return best;
}

/* --- dumps of a log --- */

struct bfc_survey {
    struct bfc_dump dump;   /* being read */
    struct bfc_dump chosen; /* the first that is complete */
    size_t complete_count;
    size_t unused_count;       /* cut, or at odds with themselves */
    size_t bare_count;         /* requests without a dump */
    enum import_result result; /* of the first that is not complete; IMPORT_OK: none was, so far */
    struct import_error error; /* of that one */
    bool is_of_chunks;         /* that one is more than a request that no dump follows */
};

/* A contradiction says more than a cut, and a cut dump more than a request without one. */
static void keep_failure(struct bfc_survey *survey, enum import_result result,
                         const struct import_error *error)
{
    const bool is_of_chunks = survey->dump.last > BFC_LINE_NAME;
    const bool is_better = survey->result == IMPORT_OK ||
                           (survey->result == IMPORT_INCOMPLETE && result == IMPORT_INVALID) ||
                           (survey->result == result && !survey->is_of_chunks && is_of_chunks);
    if (survey->complete_count == 0 && is_better) {
        survey->result = result;
        survey->error = *error;
        survey->is_of_chunks = is_of_chunks;
    }
    const struct bfc_dump *dump = &survey->dump;
    const bool is_bare = dump->request_line != 0 && !dump->has_parts && dump->wrong == NULL;
    *(is_bare ? &survey->bare_count : &survey->unused_count) += 1;
}

static void end_dump(struct bfc_survey *survey)
{
    struct import_error error = {0};
    if (survey->dump.last == BFC_LINE_NONE && survey->dump.wrong == NULL) {
        return;
    }
    const enum import_result result = bfc_dump_check(&survey->dump, &error);
    if (result != IMPORT_OK) {
        keep_failure(survey, result, &error);
    } else if (survey->complete_count++ == 0) {
        const struct bfc_dump chosen = survey->dump;
        survey->dump = survey->chosen;
        survey->chosen = chosen;
    }
    bfc_dump_clear(&survey->dump);
}

static void survey_log(const char *text, size_t length, struct bfc_survey *survey)
{
    struct cursor lines = cursor_make(text, length);
    for (struct cursor here; cursor_next_line(&lines, &here);) {
        const bool is_open = text[length - 1] != '\n' && lines.at == lines.end; /* may be cut */
        struct bfc_line line;
        const enum bfc_line_kind last = survey->dump.last;
        bfc_line_read(here.at, (size_t)(here.end - here.at),
                      last == BFC_LINE_STATS || last == BFC_LINE_STAT, &line);
        /* A last line without its end may have lost digits: only what closes a dump is taken. */
        const bool is_usable = line.kind != BFC_LINE_NONE &&
                               (!is_open || line.kind == BFC_LINE_MAP ||
                                line.kind == BFC_LINE_SHAPE || line.kind == BFC_LINE_EPILOGUE);
        if (is_usable && !bfc_dump_take(&survey->dump, &line, here.line)) {
            end_dump(survey);
            (void)bfc_dump_take(&survey->dump, &line, here.line);
        }
    }
    end_dump(survey);
}

static void note_others(const struct bfc_survey *survey, struct import *import)
{
    if (survey->complete_count > 1) {
        import_note(import, "%zu dumps in the log; this is the first", survey->complete_count);
    }
    if (survey->unused_count > 0) {
        import_note(import,
                    "%zu dumps in the log are cut or contradict themselves and are not used",
                    survey->unused_count);
    }
    if (survey->bare_count > 0) {
        import_note(import, "%zu requests in the log failed without a dump", survey->bare_count);
    }
}

/* The lines name their source file: TensorFlow's is below tensorflow/, XLA's below external/ or
 * xla/.  Old logs name it without its folder.  line: in which the allocator says what it was asked
 * for; 0: it is not there. */
static void name_and_quote(const struct import_input *input, size_t line, struct import *import)
{
    struct cursor lines = cursor_make(input->text, input->length);
    struct cursor here;
    const bool is_xla = text_has(input->text, input->length, "tsl/framework/bfc_allocator") &&
                        !text_has(input->text, input->length,
                                  "tensorflow/tsl/framework/bfc_allocator");
    snprintf(import->setup.system, sizeof import->setup.system, "%s",
             is_xla ? "xla_gpu" : "tensorflow");
    while (lines.line <= line && cursor_next_line(&lines, &here)) {
        if (here.line == line) {
            const size_t has_return = here.end < lines.end && *here.end == '\r' ? 1 : 0;
            import_quote(import, here.at, (size_t)(here.end - here.at) + has_return, line);
        }
    }
}

/* A contradiction before the first complete dump is not passed over: it may be the same dump, mixed
 * with another. */
static enum import_result import_bfc(const struct import_input *input, struct import *import,
                                     struct import_error *error)
{
    struct bfc_survey survey = {.result = IMPORT_OK};
    survey_log(input->text, input->length, &survey);
    enum import_result result = survey.result;
    if (result == IMPORT_INVALID || (result != IMPORT_OK && survey.complete_count == 0)) {
        *error = survey.error;
    } else if (survey.complete_count == 0) {
        result = IMPORT_LACKS(error, "no out-of-memory dump of a BFC allocator in this text");
    } else {
        name_and_quote(input, survey.chosen.request_line, import);
        result = bfc_dump_build(&survey.chosen, input, import, error);
        note_others(&survey, import);
    }
    bfc_dump_deinit(&survey.dump);
    bfc_dump_deinit(&survey.chosen);
    return result;
}

const struct format format_bfc = {
    .name = "bfc",
    .summary = "an out-of-memory dump of the BFC allocator of TensorFlow or XLA in any log",
    .recognise = recognise_bfc,
    .import = import_bfc,
};
