/* budget: all of it, from FILE and its limits to the exit code. */
#include "campaign/engine/output.h"
#include "harness/base/check.h"
#include "ladder/budget/budget.h"

#include <stdlib.h>

/* A budget that is exceeded, a promise that is broken and a target that died are one answer. */
static enum exit_code find_exit_code(const struct budget *budget, bool died)
{
    const enum exit_code code = died ? EXIT_BROKEN : budget->run.code;
    return code != EXIT_HARNESS && budget_count_exceeded(budget) > 0 ? EXIT_BROKEN : code;
}

static enum exit_code put_annotations(const struct budget *budget, bool died, struct output *output)
{
    struct annotations annotations = {0};
    struct writing heading;
    writing_init(&heading);
    writing_append(&heading, "budget of ");
    writing_append_visible(&heading, budget->options->path);
    budget_annotate(budget, died, &annotations);
    const enum exit_code code = annotate_put(budget->options->reading.run, output,
                                             writing_string(&heading), &annotations);
    annotations_deinit(&annotations);
    writing_deinit(&heading);
    return code;
}

static enum exit_code print_budget(const struct budget *budget, bool died)
{
    const bool is_json = budget->options->reading.run->is_json;
    const enum exit_code code = find_exit_code(budget, died);
    struct output output;
    struct writing text;
    output_init(&output, is_json);
    output.is_of_github = budget->options->reading.run->annotation == ANNOTATION_GITHUB;
    writing_init(&text);
    if (is_json) {
        budget_lines(budget, died, (int)code, &text);
        output_line(&output, &text);
    } else {
        budget_text(budget, died, &text);
        output_text(&output, &text);
    }
    output_flush(&output);
    writing_deinit(&text);
    const enum exit_code put = output.is_failed ? EXIT_HARNESS
                                                : put_annotations(budget, died, &output);
    return put == EXIT_KEPT ? code : put;
}

static enum exit_code run_budget(struct budget *budget)
{
    bool died = false;
    const enum exit_code code = budget_measure(budget, &died);
    return code == EXIT_KEPT ? print_budget(budget, died) : code;
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
