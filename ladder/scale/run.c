/* scale: all of a ladder, from its axes to the exit code. */
#include "campaign/base/place.h"
#include "campaign/engine/output.h"
#include "harness/base/check.h"
#include "ladder/scale/scale.h"

#include <stdlib.h>

/* A ladder that is under way. */
struct session {
    struct scale scale;
    struct stored stored;
    struct output output;
    struct writing lines; /* for --out */
};

static void print_line(struct session *session, struct writing *line)
{
    output_line(&session->output, line);
    output_flush(&session->output);
    writing_append_bytes(&session->lines, line->bytes, line->length);
    writing_clear(line);
}

/* A broken promise counts before what is not known. */
static enum exit_code worse_of(enum exit_code a, enum exit_code b)
{
    static const int gravity[] = {[EXIT_KEPT] = 0,
                                  [EXIT_UNKNOWN] = 1,
                                  [EXIT_BROKEN] = 2,
                                  [EXIT_USAGE] = 3,
                                  [EXIT_HARNESS] = 4};
    return gravity[a] > gravity[b] ? a : b;
}

static void tell_row(void *context, const struct scale_row *row)
{
    struct session *session = context;
    struct writing line;
    writing_init(&line);
    scale_line_row(&session->scale, row, &line);
    print_line(session, &line);
    writing_deinit(&line);
}

static enum exit_code measure_rows(struct session *session, struct writing *line)
{
    scale_line_start(&session->scale, line);
    print_line(session, line);
    return scale_measure_rows(&session->scale, tell_row, session);
}

/* A ladder without a row that ran says nothing. */
static enum exit_code check_rows_ran(const struct scale *scale)
{
    for (size_t i = 0; i < scale->row_count; i++) {
        if (scale->rows[i].result.end != SCALE_REFUSED) {
            return EXIT_KEPT;
        }
    }
    return message_fail(EXIT_USAGE, "no row can be run: %s", scale->rows[0].result.why);
}

static enum exit_code measure_edges(struct session *session, struct writing *line)
{
    struct scale *scale = &session->scale;
    const enum exit_code code = scale_find_edges(scale);
    for (size_t i = 0; code == EXIT_KEPT && i < scale->edge_count; i++) {
        scale_line_edge(scale, &scale->edges[i], line);
        print_line(session, line);
    }
    return code;
}

static enum exit_code find_exit_code(const struct scale *scale)
{
    enum exit_code code = scale->alarm_count > 0 ? EXIT_BROKEN : EXIT_KEPT;
    for (size_t i = 0; i < scale->row_count; i++) {
        code = worse_of(code, scale->rows[i].result.code);
    }
    for (size_t i = 0; i < scale->edge_count; i++) {
        code = worse_of(code, scale->edges[i].trouble.result.code);
    }
    return code;
}

static void append_closing(const struct scale *scale, struct writing *text)
{
    if (scale->options->against != NULL) {
        writing_append(text, "\nAgainst ");
        writing_append_visible(text, scale->options->against);
        writing_append(text, scale->change_count == 0 ? ": nothing changed\n" : "\n");
        writing_append_bytes(text, scale->changes.bytes, scale->changes.length);
    }
    writing_append_format(text, "\n%zu of %zu fit", scale_count_fits(scale), scale->row_count);
    if (scale->options->against != NULL) {
        writing_append(text, "; ");
        writing_append_count(text, scale->change_count, "change");
        writing_append(text, ", ");
        writing_append_count(text, scale->alarm_count, "alarm");
    }
    writing_append(text, "\n");
}

/* The stored lines are those of this run alone: without what changed. */
static void print_end(struct session *session, enum exit_code code, struct writing *line)
{
    struct scale *scale = &session->scale;
    if (scale->options->run->is_json) {
        output_line(&session->output, &scale->changes);
        scale_line_end(scale, (int)code, line);
        print_line(session, line);
        return;
    }
    scale_line_end(scale, (int)code, line);
    writing_append_bytes(&session->lines, line->bytes, line->length);
    writing_clear(line);
    scale_text(scale, line);
    append_closing(scale, line);
    output_text(&session->output, line);
    output_flush(&session->output);
}

static enum exit_code run_session(struct session *session)
{
    struct scale *scale = &session->scale;
    const struct scale_options *options = scale->options;
    struct writing line;
    writing_init(&line);
    enum exit_code code = measure_rows(session, &line);
    code = code == EXIT_KEPT ? check_rows_ran(scale) : code;
    code = code == EXIT_KEPT ? measure_edges(session, &line) : code;
    if (code == EXIT_KEPT) {
        if (options->against != NULL) {
            stored_compare(&session->stored, scale);
        }
        code = find_exit_code(scale);
        print_end(session, code, &line);
        if (options->run->out != NULL) {
            code = worse_of(code, picture_write(options->run->out, session->lines.bytes,
                                                session->lines.length));
        }
    }
    writing_deinit(&line);
    return session->output.is_failed ? EXIT_HARNESS : code;
}

/* All that can be wrong with what was asked, before anything is run. */
static enum exit_code plan_session(struct session *session)
{
    struct scale *scale = &session->scale;
    const struct scale_options *options = scale->options;
    struct output_place place;
    if (options->against == NULL && options->has_grew_max) {
        return message_fail(EXIT_USAGE, "--grew applies to --against FILE");
    }
    enum exit_code code = scale_plan(scale);
    if (code == EXIT_KEPT && options->against != NULL) {
        code = stored_read(options->against, scale, &session->stored);
    }
    if (code == EXIT_KEPT && options->run->out != NULL) {
        code = place_find(options->run->out, options->against, &place);
    }
    return code;
}

enum exit_code scale_run(const struct scale_options *options)
{
    struct session *session = calloc(1, sizeof *session);
    CHECK(session != NULL);
    session->scale.options = options;
    output_init(&session->output, options->run->is_json);
    enum exit_code code = plan_session(session);
    code = code == EXIT_KEPT ? run_session(session) : code;
    writing_deinit(&session->lines);
    stored_deinit(&session->stored);
    scale_deinit(&session->scale);
    free(session);
    return code;
}
