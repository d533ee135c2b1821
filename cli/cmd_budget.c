/* budget: a trace as a test, with limits on what it may have. */
#include "campaign/engine/annotate.h"
#include "campaign/engine/output.h"
#include "cli/subcommands.h"
#include "harness/base/check.h"
#include "ladder/budget/budget.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const limit_options[] = {"--peak", "--tag-peak", "--growth-per-step",
                                            "--fragmentation", "--ooms"};

static enum exit_code check_limits(const struct arguments *arguments)
{
    for (size_t i = 0; i < sizeof limit_options / sizeof *limit_options; i++) {
        if (arguments_has(arguments, limit_options[i])) {
            return EXIT_KEPT;
        }
    }
    return message_fail(EXIT_USAGE, "budget needs a limit: --peak, --tag-peak, --growth-per-step, "
                                    "--fragmentation or --ooms");
}

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

static enum exit_code budget_subcommand(const struct arguments *arguments)
{
    const struct budget_options given = {
        .reading = arguments_reading(arguments),
        .path = arguments->words[0],
        .peak_max = arguments->peak_max,
        .growth_max = arguments->growth_max,
        .oom_max = arguments->oom_max,
        .fragmentation_max = arguments->fragmentation_max,
        .warmup_count = arguments->warmup_count,
        .tag_peaks = arguments->tag_peaks,
        .tag_peak_count = arguments->tag_peak_count,
        .has_peak = arguments_has(arguments, "--peak"),
        .has_growth = arguments_has(arguments, "--growth-per-step"),
        .has_fragmentation = arguments_has(arguments, "--fragmentation"),
        .has_warmups = arguments_has(arguments, "--warmups")};
    enum exit_code code = check_limits(arguments);
    if (code != EXIT_KEPT) {
        return code;
    }
    struct budget *budget = calloc(1, sizeof *budget);
    CHECK(budget != NULL);
    budget->options = &given;
    code = recording_read(arguments->words[0], arguments_reading(arguments), true,
                          &budget->recording);
    code = code == EXIT_KEPT ? budget_plan(budget) : code;
    code = code == EXIT_KEPT ? annotate_begin(&arguments->run) : code;
    code = code == EXIT_KEPT ? run_budget(budget) : code;
    budget_deinit(budget);
    free(budget);
    return code;
}

static const char *const options[] = {"--peak",
                                      "--tag-peak",
                                      "--growth-per-step",
                                      "--fragmentation",
                                      "--ooms",
                                      "--warmups",
                                      "--format",
                                      "--target",
                                      "--target-option",
                                      "--chip",
                                      "--capacity",
                                      "--hosts",
                                      "--kv-bytes-per-token",
                                      "--kv-tokens-per-second",
                                      "--op-timeout",
                                      "--trial-timeout",
                                      "--annotate",
                                      "--out",
                                      "--json",
                                      NULL};

static const char *const examples[] = {
    "hbmstress budget trace.pickle --peak 30G --growth-per-step 0 --warmups 3",
    "hbmstress budget job.ops --fragmentation 5% --tag-peak activations=2G --annotate github",
    NULL,
};

static const char *const exits[EXIT_MEANING_COUNT] = {
    [EXIT_KEPT] = "every limit is met and every promise kept",
    [EXIT_BROKEN] = "a limit is exceeded, a promise is broken, or the target died",
    [EXIT_USAGE] = "bad usage or input; no limit is given, or FILE lacks what a limit needs",
    [EXIT_UNKNOWN] = "every limit is met, but an out-of-memory stayed unknown",
    [EXIT_HARNESS] = "hbmstress itself failed",
};

const struct subcommand subcommand_budget = {
    .name = "budget",
    .summary = "make a trace a test: fail when it needs more memory than it may",
    .usage = "FILE LIMIT ... [options]",
    .description =
        "FILE of any format (list formats) is run on its target and measured, and each LIMIT is checked on\n"
        "each host.  Time is virtual, so the same FILE gives the same result each time (docs/budget.md).\n"
        "--peak and --tag-peak hold for the whole FILE.  --growth-per-step compares the least that is in\n"
        "use in the first half of the steps with that in the last half, without warm-ups and the last step.\n"
        "--fragmentation holds after the warm-ups, while at least half of the device is in use.  An\n"
        "out-of-memory exceeds the budget unless --ooms allows it.\n"
        "For each limit that is exceeded, budget prints by how much, at which op, step and line of FILE, and\n"
        "which tags hold the memory.  --annotate shows them beside the change under review (docs/ci.md).",
    .exits = exits,
    .examples = examples,
    .options = options,
    .word_count_min = 1,
    .word_count_max = 1,
    .word_name = "FILE",
    .run = budget_subcommand,
};
