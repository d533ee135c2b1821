/* budget: FILE, its limits and what they need, to the exit code. */
#include "campaign/engine/output.h"
#include "campaign/plan/lookup.h"
#include "harness/base/check.h"
#include "ladder/budget/budget.h"
#include "present/json_lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void add_limit(struct budget *budget, bool is_given, enum budget_kind kind, uint64_t most)
{
    if (is_given) {
        budget->limits[budget->limit_count++] = (struct budget_limit){kind, most, 0};
    }
}

/* A tag that blocks of the list have, by its name as explain prints it. */
static bool find_tag(const struct recording *recording, const char *name, uint8_t *tag)
{
    char text[SETUP_NAME_BYTES];
    for (size_t i = 0; i < recording->ops.count; i++) {
        const struct op *op = &recording->ops.ops[i];
        const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
        if ((info->makes_block || info->makes_program) &&
            strcmp(setup_tag_name(&recording->setup, op->tag, text), name) == 0) {
            *tag = op->tag;
            return true;
        }
    }
    return false;
}

static enum exit_code add_tag_peak(struct budget *budget, const struct budget_tag_peak *given)
{
    struct budget_limit limit = {BUDGET_TAG_PEAK, given->bytes, 0};
    char name[SETUP_NAME_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)given->name_length, given->name);
    if (given->name_length >= sizeof name || !find_tag(&budget->recording, name, &limit.tag)) {
        return message_fail(EXIT_USAGE,
                            "--tag-peak: no block of %s has the tag '%.*s'; hbmstress explain "
                            "prints the tags",
                            budget->options->path, (int)given->name_length, given->name);
    }
    budget->limits[budget->limit_count++] = limit;
    return EXIT_KEPT;
}

static enum exit_code take_limits(struct budget *budget)
{
    const struct budget_options *options = budget->options;
    enum exit_code code = EXIT_KEPT;
    add_limit(budget, options->has_peak, BUDGET_PEAK, options->peak_max);
    for (size_t i = 0; i < options->tag_peak_count && code == EXIT_KEPT; i++) {
        code = add_tag_peak(budget, &options->tag_peaks[i]);
    }
    add_limit(budget, options->has_growth, BUDGET_GROWTH, options->growth_max);
    add_limit(budget, options->has_fragmentation, BUDGET_FRAGMENTATION, options->fragmentation_max);
    budget->limits[budget->limit_count++] = (struct budget_limit){BUDGET_OOMS, options->oom_max, 0};
    return code;
}

static bool has_limit(const struct budget *budget, enum budget_kind kind)
{
    for (size_t i = 0; i < budget->limit_count; i++) {
        if (budget->limits[i].kind == kind) {
            return true;
        }
    }
    return false;
}

/* --- steps --- */

static enum exit_code fail_short(const struct budget *budget, const char *what)
{
    const struct budget_steps *steps = &budget->steps;
    return message_fail(EXIT_USAGE,
                        "%s: %s needs more steps: it has %zu, of which %zu are warm-ups "
                        "(--warmups)",
                        budget->options->path, what, steps->axis.count, steps->warmup_count);
}

static enum exit_code fail_without_steps(const struct budget *budget, const char *what)
{
    const bool has_events = budget->recording.view == IMPORT_EVENTS;
    return message_fail(EXIT_USAGE, "%s: %s needs steps: %s", budget->options->path, what,
                        has_events ? "the file numbers none, and its requests do not repeat"
                                   : "the file shows one moment");
}

static enum exit_code split_steps(struct budget *budget)
{
    struct budget_steps *steps = &budget->steps;
    const size_t left_out = steps->warmup_count + 1; /* the last one may be cut off */
    const size_t count = steps->axis.count > left_out ? steps->axis.count - left_out : 0;
    if (steps->axis.count == 0) {
        return fail_without_steps(budget, "--growth-per-step");
    }
    if (count < TREND_STEP_COUNT_MIN) {
        return fail_short(budget, "--growth-per-step");
    }
    steps->half_count = count / 2;
    steps->distance = count - steps->half_count;
    steps->first = steps->warmup_count;
    steps->last = steps->first + steps->distance;
    return EXIT_KEPT;
}

static enum exit_code plan_steps(struct budget *budget)
{
    const struct recording *recording = &budget->recording;
    const bool has_growth = has_limit(budget, BUDGET_GROWTH);
    const bool has_fragmentation = has_limit(budget, BUDGET_FRAGMENTATION);
    const bool is_given = budget->options->has_warmups;
    struct budget_steps *steps = &budget->steps;
    if (is_given && !has_growth && !has_fragmentation) {
        return message_fail(EXIT_USAGE,
                            "--warmups applies to --growth-per-step and --fragmentation");
    }
    step_axis_init(&steps->axis, recording->said, recording->said_count,
                   recording->view == IMPORT_EVENTS ? &recording->ops : NULL,
                   recording->setup.granule_bytes);
    if (has_growth && recording->view == IMPORT_EVENTS) {
        step_axis_find_cycles(&steps->axis, &recording->ops, recording->setup.granule_bytes);
    }
    steps->warmup_count = is_given                ? budget->options->warmup_count
                          : steps->axis.count > 0 ? BUDGET_WARMUP_COUNT
                                                  : 0;
    if (is_given && steps->axis.count == 0) {
        return fail_without_steps(budget, "--warmups");
    }
    if (has_fragmentation && steps->warmup_count > 0 && steps->warmup_count >= steps->axis.count) {
        return fail_short(budget, "--fragmentation");
    }
    return has_growth ? split_steps(budget) : EXIT_KEPT;
}

/* --- all --- */

static enum exit_code check_fragmentation(const struct budget *budget)
{
    if (has_limit(budget, BUDGET_FRAGMENTATION) &&
        recording_capacity_is_assumed(&budget->recording)) {
        return message_fail(EXIT_USAGE,
                            "%s: --fragmentation needs the capacity, which is not in the file: "
                            "give --capacity or --chip",
                            budget->options->path);
    }
    return EXIT_KEPT;
}

/* Reads the limits of the command line, and checks that FILE has what they need.  After
 * recording_read(). */
static enum exit_code plan_budget(struct budget *budget)
{
    enum exit_code code = take_limits(budget);
    code = code == EXIT_KEPT ? check_fragmentation(budget) : code;
    code = code == EXIT_KEPT ? plan_steps(budget) : code;
    budget->hosts = calloc(budget->recording.setup.host_count, sizeof *budget->hosts);
    CHECK(budget->hosts != NULL);
    return code;
}

/* --- the run --- */

/* A budget that is exceeded, a promise that is broken and a target that died are one answer. */
static enum exit_code find_exit_code(const struct budget *budget, bool died)
{
    const enum exit_code code = died ? EXIT_BROKEN : budget->run.code;
    return code != EXIT_HARNESS && budget_count_exceeded(budget) > 0 ? EXIT_BROKEN : code;
}

static enum exit_code put_annotations(const struct budget *budget, const char *death,
                                      struct output *output)
{
    struct annotations annotations = {0};
    struct writing heading = {0};
    writing_append(&heading, "budget of ");
    writing_append_visible(&heading, budget->options->path);
    budget_annotate(budget, death, &annotations);
    const enum exit_code code = annotate_put(budget->options->reading.run, output,
                                             writing_string(&heading), &annotations);
    annotations_deinit(&annotations);
    writing_deinit(&heading);
    return code;
}

static void print_start(const struct budget *budget, struct output *output)
{
    const struct report_start start = {.subcommand = "budget",
                                       .setup = &budget->recording.setup,
                                       .file = budget->options->path,
                                       .duration_ns = UINT64_MAX};
    struct writing line = {0};
    json_line_start(&line, &start);
    output_line(output, &line);
    writing_deinit(&line);
}

static enum exit_code print_budget(const struct budget *budget, const char *death)
{
    const struct run_options *run = budget->options->reading.run;
    const enum exit_code code = find_exit_code(budget, death != NULL);
    struct output output;
    struct facts facts = {0};
    output_init(&output, run->is_json);
    output.is_of_github = run->annotation == ANNOTATION_GITHUB;
    print_start(budget, &output);
    budget_tell(budget, death, code, &facts);
    output_facts(&output, &facts);
    facts_deinit(&facts);
    const enum exit_code put = output.is_failed ? EXIT_HARNESS
                                                : put_annotations(budget, death, &output);
    return put == EXIT_KEPT ? code : put;
}

static enum exit_code run_budget(struct budget *budget)
{
    bool died = false;
    char death[DEATH_WORDS_BYTES];
    const enum exit_code code = budget_measure(budget, &died);
    if (died) {
        death_describe(&budget->death, death);
    }
    return code == EXIT_KEPT ? print_budget(budget, died ? death : NULL) : code;
}

enum exit_code budget_run(const struct budget_options *options)
{
    struct budget *budget = calloc(1, sizeof *budget);
    CHECK(budget != NULL);
    budget->options = options;
    enum exit_code code = recording_read(options->path, options->reading, true, &budget->recording);
    code = code == EXIT_KEPT ? plan_budget(budget) : code;
    code = code == EXIT_KEPT ? annotate_begin(options->reading.run) : code;
    code = code == EXIT_KEPT ? run_budget(budget) : code;
    step_axis_deinit(&budget->steps.axis);
    recording_deinit(&budget->recording);
    free(budget->hosts);
    free(budget->rows);
    free(budget);
    return code;
}
