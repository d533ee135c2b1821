/* What scale measured, as JSON lines: --json prints them, --out writes them, and --against reads
 * them back. */
#include "campaign/engine/output.h"
#include "harness/base/json.h"
#include "harness/base/shell.h"
#include "ladder/scale/scale.h"
#include "present/version.h"

#include <inttypes.h>
#include <string.h>

const char *scale_end_name(enum scale_end end)
{
    static const char *const names[SCALE_END_COUNT] = {[SCALE_FITS] = "fits",
                                                       [SCALE_NO_MEMORY] = "out of memory",
                                                       [SCALE_BROKEN] = "broken",
                                                       [SCALE_DIED] = "crashed",
                                                       [SCALE_REFUSED] = "not accepted"};
    return names[end];
}

void scale_line_start(const struct scale *scale, struct writing *text)
{
    json_open(text, "start");
    json_add_string(text, "subcommand", "scale");
    json_add_string(text, "hbmstress", version_text());
    json_add_string(text, "job",
                    scale->scenario != NULL ? scale->scenario->name : scale->options->words[0]);
    setup_add_target_json(&scale->base, text);
    json_add_digits(text, "seed", scale->base.seed);
    json_add_number(text, "until", scale->base.until_step);
    json_add_number(text, "ops_max", scale->options->run->op_count_max);
    json_nest(text, "axes", '[');
    for (size_t i = 0; i < scale->axis_count; i++) {
        json_add_string(text, NULL, scale->axes[i].name);
    }
    json_unnest(text, ']');
    json_add_number(text, "rows", scale->row_count);
    json_close(text);
}

/* The line that runs a row alone. */
static void add_replay(const struct scale *scale, const struct scale_point *point,
                       struct writing *text)
{
    struct setup setup;
    struct writing line;
    char reason[RUN_REASON_BYTES], word[SHELL_WORD_BYTES(OUTPUT_PATH_BYTES)];
    (void)scale_make_setup(scale, point, &setup, reason);
    writing_init(&line);
    writing_append_format(
        &line, "hbmstress %s %s", scale->scenario != NULL ? "run" : "replay",
        shell_word(scale->scenario != NULL ? scale->scenario->name : scale->options->words[0],
                   word));
    writing_append_format(&line, " --target %s", shell_word(setup.target, word));
    for (uint32_t i = 0; scale->scenario != NULL && i < setup.option_count; i++) {
        writing_append_format(&line, " --target-option %s=%s", setup.options[i].key,
                              setup.options[i].value);
    }
    if (setup.chip[0] != '\0') {
        writing_append_format(&line, " --chip %s", setup.chip);
    } else {
        writing_append_format(&line, " --capacity %" PRIu64, setup.capacity_bytes);
    }
    if (scale->scenario != NULL) {
        writing_append_format(&line, " --hosts %" PRIu32 " --seed %" PRIu64, setup.host_count,
                              setup.seed);
    }
    if (setup.until_step != 0 && scale->scenario != NULL) {
        writing_append_format(&line, " --until %" PRIu64, setup.until_step);
    }
    for (uint32_t i = 0; i < setup.scenario_option_count; i++) {
        writing_append_format(&line, " -S %s=%s", setup.scenario_options[i].key,
                              setup.scenario_options[i].value);
    }
    json_add_string(text, "command", writing_string(&line));
    writing_deinit(&line);
}

static void add_step(struct writing *text, const char *key, uint64_t step)
{
    if (step == SCALE_NO_STEP) {
        json_add_null(text, key);
    } else {
        json_add_number(text, key, step);
    }
}

static void add_refusal(struct writing *text, const struct scale_result *result)
{
    if (result->op == OP_NONE) {
        return;
    }
    json_add_number(text, "op", result->op);
    if (result->end == SCALE_NO_MEMORY) {
        json_add_number(text, "host", result->host);
        add_step(text, "step", result->step);
        json_add_number(text, "requested_bytes", result->requested_bytes);
    }
}

void scale_line_row(const struct scale *scale, const struct scale_row *row, struct writing *text)
{
    const struct scale_result *result = &row->result;
    char name[SCALE_NAME_BYTES];
    scale_name(scale, &row->point, scale->axis_count, name);
    json_open(text, "scale_row");
    json_add_string(text, "row", name);
    json_add_string(text, "result", scale_end_name(result->end));
    add_refusal(text, result);
    add_step(text, "steps", result->steps);
    json_add_number(text, "capacity_bytes", result->capacity_bytes);
    json_add_number(text, "peak_bytes", result->peak_bytes);
    json_add_number(text, "peak_host", result->peak_host);
    json_add_number(text, "headroom_bytes", result->headroom_bytes);
    json_add_number(text, "largest_program_bytes", result->image_bytes);
    json_add_number(text, "largest_stack_bytes", result->stack_bytes);
    json_add_string(text, "limit", result->limit);
    json_add_number(text, "ops", result->ops);
    json_add_number(text, "ooms", result->ooms);
    json_add_number(text, "justified", result->justified);
    json_add_number(text, "premature", result->premature);
    json_add_number(text, "unknown", result->unknown);
    json_add_number(text, "excused", result->excused);
    json_add_number(text, "broken", result->broken);
    if (result->why[0] != '\0') {
        json_add_string(text, "why", result->why);
    }
    if (scale_batch_percent(scale, &row->point) == 0) { /* else no file has the list */
        add_replay(scale, &row->point, text);
    }
    json_close(text);
}

void scale_line_edge(const struct scale *scale, const struct scale_edge *edge, struct writing *text)
{
    char name[SCALE_NAME_BYTES];
    scale_name(scale, &edge->point, edge->axis, name);
    json_open(text, "scale_edge");
    json_add_string(text, "row", name);
    json_add_string(text, "axis", scale->axes[edge->axis].name);
    json_add_string(text, "kind",
                    edge->is_mixed      ? "mixed"
                    : edge->is_smallest ? "smallest"
                                        : "largest");
    json_add_number(text, "fits", edge->edge.holds);
    json_add_number(text, "fails", edge->edge.fails);
    if (edge->trouble.result.code != EXIT_KEPT) {
        scale_name(scale, &edge->trouble.point, scale->axis_count, name);
        json_add_string(text, "trouble", name);
        json_add_string(text, "why", edge->trouble.result.why);
    }
    json_close(text);
}

bool scale_has_run(const struct scale_result *result)
{
    return result->end == SCALE_FITS || result->end == SCALE_NO_MEMORY ||
           result->end == SCALE_BROKEN;
}

size_t scale_count_fits(const struct scale *scale)
{
    size_t count = 0;
    for (size_t i = 0; i < scale->row_count; i++) {
        count += scale->rows[i].result.end == SCALE_FITS;
    }
    return count;
}

void scale_line_end(const struct scale *scale, int exit_code, struct writing *text)
{
    json_open(text, "end");
    json_add_number(text, "rows", scale->row_count);
    json_add_number(text, "fit", scale_count_fits(scale));
    if (scale->options->against != NULL) {
        json_add_number(text, "changes", scale->change_count);
        json_add_number(text, "alarms", scale->alarm_count);
    }
    json_add_number(text, "exit_code", (uint64_t)exit_code);
    json_close(text);
}
