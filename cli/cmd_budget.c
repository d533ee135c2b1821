/* budget: a trace as a test, with limits on what it may have. */
#include "cli/subcommands.h"
#include "ladder/budget/budget.h"

static enum exit_code check_limits(const struct arguments *arguments)
{
    if (arguments_has(arguments, "--peak --tag-peak --growth-per-step --fragmentation --ooms")) {
        return EXIT_KEPT;
    }
    return message_fail(EXIT_USAGE, "budget needs a limit: --peak, --tag-peak, --growth-per-step, "
                                    "--fragmentation or --ooms");
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
    const enum exit_code code = check_limits(arguments);
    return code == EXIT_KEPT ? budget_run(&given) : code;
}

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
    .exits =
        {[EXIT_KEPT] = "every limit is met and every promise kept",
         [EXIT_BROKEN] = "a limit is exceeded, a promise is broken, or the target died",
         [EXIT_USAGE] = "bad usage or input; no limit is given, or FILE lacks what a limit needs",
         [EXIT_UNKNOWN] = "every limit is met, but an out-of-memory stayed unknown",
         [EXIT_HARNESS] = "hbmstress itself failed"},
    .examples =
        {"hbmstress budget trace.pickle --peak 30G --growth-per-step 0 --warmups 3",
         "hbmstress budget job.ops --fragmentation 5% --tag-peak activations=2G --annotate github"},
    .options =
        "--peak --tag-peak --growth-per-step --fragmentation --ooms --warmups --format --target "
        "--target-option --chip --capacity --hosts --kv-bytes-per-token --kv-tokens-per-second "
        "--op-timeout --trial-timeout --annotate --out --json",
    .word_count_min = 1,
    .word_count_max = 1,
    .word_name = "FILE",
    .run = budget_subcommand,
};
