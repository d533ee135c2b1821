/* budget: all of it, from FILE and its limits to the exit code. */
#include "campaign/engine/output.h"
#include "harness/base/check.h"
#include "ladder/budget/budget.h"
#include "present/json_lines.h"

#include <stdlib.h>

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
    code = code == EXIT_KEPT ? budget_plan(budget) : code;
    code = code == EXIT_KEPT ? annotate_begin(options->reading.run) : code;
    code = code == EXIT_KEPT ? run_budget(budget) : code;
    budget_deinit(budget);
    free(budget);
    return code;
}
