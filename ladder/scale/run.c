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
    struct facts facts;
    struct writing lines; /* for --out */
};

/* JSON lines are printed as they come; words at the end, when the tables have all rows. */
static void print_facts(struct session *session, bool is_end)
{
    if (session->output.is_json || is_end) {
        facts_print(&session->facts, FACTS_JSON, &session->lines);
        output_facts(&session->output, &session->facts);
    }
}

static void tell_row(void *context, const struct scale_row *row)
{
    struct session *session = context;
    scale_tell_row(&session->scale, row, &session->facts);
    print_facts(session, false);
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

static enum exit_code measure(struct session *session)
{
    struct scale *scale = &session->scale;
    scale_tell_start(scale, &session->facts);
    print_facts(session, false);
    enum exit_code code = scale_measure_rows(scale, tell_row, session);
    code = code == EXIT_KEPT ? check_rows_ran(scale) : code;
    return code == EXIT_KEPT ? scale_find_edges(scale) : code;
}

static enum exit_code find_exit_code(const struct scale *scale)
{
    enum exit_code code = scale->alarm_count > 0 ? EXIT_BROKEN : EXIT_KEPT;
    for (size_t i = 0; i < scale->row_count; i++) {
        code = exit_code_worse(code, scale->rows[i].result.code);
    }
    for (size_t i = 0; i < scale->edge_count; i++) {
        code = exit_code_worse(code, scale->edges[i].trouble.result.code);
    }
    return code;
}

/* The stored lines are those of this run alone: without what changed. */
static enum exit_code conclude(struct session *session)
{
    struct scale *scale = &session->scale;
    const struct scale_options *options = scale->options;
    if (options->against != NULL) {
        stored_compare(&session->stored, scale);
    }
    const enum exit_code code = find_exit_code(scale);
    scale_tell_edges(scale, &session->facts);
    print_facts(session, true);
    output_facts(&session->output, &scale->changes);
    scale_tell_end(scale, code, &session->facts);
    print_facts(session, true);
    return options->run->out == NULL
               ? code
               : exit_code_worse(code, picture_write(options->run->out, session->lines.bytes,
                                                     session->lines.length));
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
    code = code == EXIT_KEPT ? measure(session) : code;
    code = code == EXIT_KEPT ? conclude(session) : code;
    code = session->output.is_failed ? EXIT_HARNESS : code;
    writing_deinit(&session->lines);
    facts_deinit(&session->facts);
    stored_deinit(&session->stored);
    scale_deinit(&session->scale);
    free(session);
    return code;
}
