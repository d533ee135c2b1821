/* infer: finds out by experiment which contract a target keeps. */
#include "cli/subcommands.h"
#include "infer/infer.h"

static enum exit_code infer_subcommand(const struct arguments *arguments)
{
    const struct infer_options given = {.run = &arguments->run, .target = arguments->words[0]};
    return infer_run(&given);
}

const struct subcommand subcommand_infer = {
    .name = "infer",
    .summary = "find out by experiment which contract a target keeps",
    .usage = "TARGET [--target-option KEY=VALUE ...] [--capacity SIZE] [--out DIR] [--json]",
    .description =
        "Makes small experiments on TARGET, a listed target or a plug-in, and prints a contract to copy,\n"
        "each line with the experiment that shows it.  What the target declares is compared with it: a\n"
        "promise that an experiment refutes is a finding.  Each value of each option is tried, too; an option\n"
        "that changes nothing is reported.  The capacity is 1M, or 32M for a target that takes its memory in\n"
        "regions, unless it is given.  --out DIR saves the op list of each experiment as\n"
        "DIR/EXPERIMENT.ops, which hbmstress replay runs again.  docs/infer.md says more.",
    .exits =
        {[EXIT_KEPT] = "no promise is refuted",
         [EXIT_BROKEN] = "a promise is refuted, or the target crashed or hung in an experiment",
         [EXIT_USAGE] = "bad usage, or the target refuses the setup",
         [EXIT_HARNESS] = "hbmstress itself failed"},
    .examples = {"hbmstress infer first_fit --target-option drains=yes"},
    .options =
        "--target-option --capacity --chip --rounding --out --trial-timeout --op-timeout --json",
    .word_count_min = 1,
    .word_count_max = 1,
    .word_name = "TARGET",
    .run = infer_subcommand,
};
