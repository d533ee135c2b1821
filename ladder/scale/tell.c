/* What scale measured, as facts: JSON lines, which --out writes and --against reads back, and for
 * people the rows as a table, what broke, and where each axis stops to fit. */
#include "campaign/base/file.h"
#include "harness/base/shell.h"
#include "ladder/scale/scale.h"
#include "present/version.h"

#include <inttypes.h>
#include <string.h>

static const char not_known[] = "n/a", nothing[] = "-";

const char *scale_end_name(enum scale_end end)
{
    static const char *const names[SCALE_END_COUNT] = {[SCALE_FITS] = "fits",
                                                       [SCALE_NO_MEMORY] = "out of memory",
                                                       [SCALE_BROKEN] = "broken",
                                                       [SCALE_DIED] = "crashed",
                                                       [SCALE_REFUSED] = "not accepted"};
    return names[end];
}

bool scale_has_run(const struct scale_result *result)
{
    return result->end == SCALE_FITS || result->end == SCALE_NO_MEMORY ||
           result->end == SCALE_BROKEN;
}

static size_t count_fits(const struct scale *scale)
{
    size_t count = 0;
    for (size_t i = 0; i < scale->row_count; i++) {
        count += scale->rows[i].result.end == SCALE_FITS;
    }
    return count;
}

static const char *name_job(const struct scale *scale)
{
    return scale->scenario != NULL ? scale->scenario->name : scale->options->words[0];
}

/* --- tables --- */

/* Begins a table: the axes, but for `without` (axis_count: none is left out), then other columns.
 * Their members have a blank in the name, as no axis has. */
static void begin_table(struct scale *scale, size_t without, const struct facts_column *others,
                        size_t other_count, struct facts *facts)
{
    struct facts_column *columns = scale->columns[without];
    size_t count = 0;
    for (size_t i = 0; i < scale->axis_count; i++) {
        if (i != without) {
            columns[count++] = (struct facts_column){scale->axes[i].name, scale->axes[i].name};
        }
    }
    memcpy(&columns[count], others, other_count * sizeof *others);
    facts_table(facts, columns, count + other_count);
}

static void add_axes(const struct scale *scale, const struct scale_point *point, size_t without,
                     struct facts *facts)
{
    for (size_t i = 0; i < scale->axis_count; i++) {
        if (i != without) {
            facts_cell(facts, scale->axes[i].name, point->values[i]);
        }
    }
}

static void add_size(struct facts *facts, const char *name, bool is_there, uint64_t bytes)
{
    if (is_there) {
        facts_cell_size(facts, name, bytes);
    } else {
        facts_cell(facts, name, nothing);
    }
}

/* --- the start --- */

void scale_tell_start(struct scale *scale, struct facts *facts)
{
    static const struct facts_column columns[] = {{"runs out", "runs out"},
                                                  {"limited by", "limit"},
                                                  {"peak size", "#peak"},
                                                  {"of device", "#of device"},
                                                  {"room left", "#headroom"},
                                                  {"refused size", "#refused"},
                                                  {"program size", "#largest program"},
                                                  {"stack size", "#stack"}};
    const struct setup *base = &scale->base;
    const bool has_end = base->until_step != 0 && scale->scenario != NULL;
    struct writing until = {0};
    if (has_end) {
        writing_append_format(&until, ", until step %" PRIu64, base->until_step);
    }
    facts_open(facts, "start");
    facts_text(facts, "subcommand", "scale");
    facts_text(facts, "hbmstress", version_text());
    facts_text(facts, "job", name_job(scale));
    facts_target(facts, base);
    facts_digits(facts, "seed", base->seed);
    facts_count(facts, "until", base->until_step);
    facts_count(facts, "ops_max", scale->options->run->op_count_max);
    facts_nest(facts, "axes", '[');
    for (size_t i = 0; i < scale->axis_count; i++) {
        facts_text(facts, NULL, scale->axes[i].name);
    }
    facts_unnest(facts, ']');
    facts_count(facts, "rows", scale->row_count);
    facts_close(facts);
    facts_line(facts, "%s on target %s%s; seed %" PRIu64, name_job(scale), base->target,
               writing_string(&until), base->seed);
    facts_line(facts, "%s", "");
    begin_table(scale, scale->axis_count, columns, sizeof columns / sizeof *columns, facts);
    writing_deinit(&until);
}

/* --- rows --- */

/* The line that runs a row alone. */
static void add_replay(const struct scale *scale, const struct scale_point *point,
                       struct facts *facts)
{
    struct setup setup;
    struct writing line = {0};
    char reason[RUN_REASON_BYTES], word[SHELL_WORD_BYTES(FILE_PATH_BYTES)];
    const bool is_list = scale->scenario == NULL;
    (void)scale_make_setup(scale, point, &setup, reason);
    writing_append_format(&line, "hbmstress %s %s", is_list ? "replay" : "run",
                          shell_word(name_job(scale), word));
    writing_append_format(&line, " --target %s", shell_word(setup.target, word));
    for (uint32_t i = 0; !is_list && i < setup.option_count; i++) {
        writing_append_format(&line, " --target-option %s=%s", setup.options[i].key,
                              setup.options[i].value);
    }
    if (setup.chip[0] != '\0') {
        writing_append_format(&line, " --chip %s", setup.chip);
    } else {
        writing_append_format(&line, " --capacity %" PRIu64, setup.capacity_bytes);
    }
    if (!is_list) {
        writing_append_format(&line, " --hosts %" PRIu32 " --seed %" PRIu64, setup.host_count,
                              setup.seed);
    }
    if (setup.until_step != 0 && !is_list) {
        writing_append_format(&line, " --until %" PRIu64, setup.until_step);
    }
    for (uint32_t i = 0; i < setup.scenario_option_count; i++) {
        writing_append_format(&line, " -S %s=%s", setup.scenario_options[i].key,
                              setup.scenario_options[i].value);
    }
    facts_text(facts, "command", writing_string(&line));
    writing_deinit(&line);
}

static void add_refusal(const struct scale_result *result, struct facts *facts)
{
    if (result->op != OP_NONE) {
        facts_count(facts, "op", result->op);
    }
    if (result->end != SCALE_NO_MEMORY || result->op == OP_NONE) {
        facts_cell(facts, "runs out", scale_end_name(result->end));
        return;
    }
    const bool has_step = result->step != SCALE_NO_STEP;
    facts_count(facts, "host", result->host);
    facts_count_or_null(facts, "step", has_step, result->step);
    facts_count(facts, "requested_bytes", result->requested_bytes);
    facts_cell_format(facts, "runs out", "%s %" PRIu64 ", host %" PRIu32, has_step ? "step" : "op",
                      has_step ? result->step : result->op, result->host);
}

void scale_tell_row(const struct scale *scale, const struct scale_row *row, struct facts *facts)
{
    const struct scale_result *result = &row->result;
    const bool is_known = scale_has_run(result);
    const struct run_totals *totals = &result->totals;
    const uint64_t hundredth = result->capacity_bytes / 100;
    char name[SCALE_NAME_BYTES];
    scale_name(scale, &row->point, scale->axis_count, name);
    facts_open(facts, "scale_row");
    add_axes(scale, &row->point, scale->axis_count, facts);
    facts_text(facts, "row", name);
    facts_text(facts, "result", scale_end_name(result->end));
    add_refusal(result, facts);
    facts_count_or_null(facts, "steps", result->steps != SCALE_NO_STEP, result->steps);
    facts_count(facts, "capacity_bytes", result->capacity_bytes);
    facts_count(facts, "peak_bytes", result->peak_bytes);
    facts_count(facts, "peak_host", result->peak_host);
    facts_count(facts, "headroom_bytes", result->headroom_bytes);
    facts_count(facts, "largest_program_bytes", result->image_bytes);
    facts_count(facts, "largest_stack_bytes", result->stack_bytes);
    facts_text(facts, "limit", result->limit);
    facts_cell(facts, "limited by", result->limit[0] == '\0' ? not_known : result->limit);
    add_size(facts, "peak size", is_known, result->peak_bytes);
    if (is_known) {
        facts_cell_format(facts, "of device", "%" PRIu64 " %%",
                          hundredth == 0 ? 0 : result->peak_bytes / hundredth);
    } else {
        facts_cell(facts, "of device", nothing);
    }
    add_size(facts, "room left", result->end == SCALE_FITS, result->headroom_bytes);
    add_size(facts, "refused size", result->end == SCALE_NO_MEMORY, result->requested_bytes);
    add_size(facts, "program size", is_known && result->image_bytes > 0, result->image_bytes);
    add_size(facts, "stack size", is_known && result->stack_bytes > 0, result->stack_bytes);
    facts_count(facts, "ops", totals->ops + totals->skipped);
    facts_count(facts, "ooms", totals->ooms);
    facts_count(facts, "justified", totals->justified);
    facts_count(facts, "premature", totals->premature);
    facts_count(facts, "unknown", totals->unknown);
    facts_count(facts, "excused", totals->excused);
    facts_count(facts, "broken", totals->broken);
    facts_text_if(facts, "why", result->why);
    if (scale_batch_percent(scale, &row->point) == 0) { /* otherwise no file has the list */
        add_replay(scale, &row->point, facts);
    }
    facts_close(facts);
}

/* What is more to say of a row. */
static void say_trouble(const struct scale *scale, const struct scale_row *row, struct facts *facts)
{
    const struct scale_result *result = &row->result;
    char name[SCALE_NAME_BYTES];
    scale_name(scale, &row->point, scale->axis_count, name);
    if (result->why[0] != '\0') {
        facts_answer(facts, "%s: %s: %s", name,
                     result->code == EXIT_BROKEN && scale_has_run(result)
                         ? "a promise was broken"
                         : scale_end_name(result->end),
                     result->why);
    } else if (result->totals.unknown > 0) {
        facts_answer(facts, "%s: %" PRIu64 " out-of-memories stayed unknown", name,
                     result->totals.unknown);
    }
}

/* --- edges --- */

static void add_value(const struct scale *scale, const struct scale_edge *edge, const char *name,
                      uint64_t number, struct facts *facts)
{
    char value[SCALE_VALUE_BYTES];
    scale_print_value(scale, edge->axis, number, value);
    facts_cell(facts, name, edge->is_mixed ? not_known : number == 0 ? "none" : value);
}

static void tell_edge(const struct scale *scale, const struct scale_edge *edge, struct facts *facts)
{
    char name[SCALE_NAME_BYTES];
    const char *kind = edge->is_mixed ? "mixed" : edge->is_smallest ? "smallest" : "largest";
    scale_name(scale, &edge->point, edge->axis, name);
    facts_open(facts, "scale_edge");
    add_axes(scale, &edge->point, edge->axis, facts);
    facts_cell(facts, "which one", edge->is_mixed ? not_known : kind);
    add_value(scale, edge, "it fits", edge->edge.holds, facts);
    add_value(scale, edge, "does not", edge->edge.fails, facts);
    facts_text(facts, "row", name);
    facts_text(facts, "axis", scale->axes[edge->axis].name);
    facts_text(facts, "kind", kind);
    facts_count(facts, "fits", edge->edge.holds);
    facts_count(facts, "fails", edge->edge.fails);
    if (edge->trouble.result.code != EXIT_KEPT) {
        scale_name(scale, &edge->trouble.point, scale->axis_count, name);
        facts_text(facts, "trouble", name);
        facts_text(facts, "why", edge->trouble.result.why);
    }
    facts_close(facts);
}

void scale_tell_edges(struct scale *scale, struct facts *facts)
{
    static const struct facts_column columns[] = {
        {"which one", ""}, {"it fits", "#fits"}, {"does not", "does not"}};
    const char *against = scale->options->against;
    facts_table_end(facts);
    for (size_t i = 0; i < scale->row_count; i++) {
        say_trouble(scale, &scale->rows[i], facts);
    }
    for (size_t i = 0; i < scale->edge_count; i++) {
        say_trouble(scale, &scale->edges[i].trouble, facts);
    }
    for (size_t i = 0; i < scale->edge_count; i++) {
        const size_t axis = scale->edges[i].axis;
        if (i == 0 || axis != scale->edges[i - 1].axis) {
            facts_heading(facts, "Where %s stops to fit", scale->axes[axis].name);
            begin_table(scale, axis, columns, sizeof columns / sizeof *columns, facts);
        }
        tell_edge(scale, &scale->edges[i], facts);
        if (i + 1 == scale->edge_count || axis != scale->edges[i + 1].axis) {
            facts_table_end(facts);
        }
    }
    if (against != NULL) {
        facts_heading(facts, "Against %s%s", against,
                      scale->change_count == 0 ? ": nothing changed" : "");
    }
}

/* --- the end --- */

void scale_tell_end(const struct scale *scale, enum exit_code code, struct facts *facts)
{
    const bool is_compared = scale->options->against != NULL;
    struct writing changes = {0};
    facts_open(facts, "end");
    facts_count(facts, "rows", scale->row_count);
    facts_count(facts, "fit", count_fits(scale));
    if (is_compared) {
        facts_count(facts, "changes", scale->change_count);
        facts_count(facts, "alarms", scale->alarm_count);
        writing_append(&changes, "; ");
        writing_append_count(&changes, scale->change_count, "change");
        writing_append(&changes, ", ");
        writing_append_count(&changes, scale->alarm_count, "alarm");
    }
    facts_count(facts, "exit_code", (uint64_t)code);
    facts_close(facts);
    facts_heading(facts, "%zu of %zu fit%s", count_fits(scale), scale->row_count,
                  writing_string(&changes));
    writing_deinit(&changes);
}
