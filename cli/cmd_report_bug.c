/* report-bug: what a maintainer wants of a finding, in their own API. */
#include "bug/report_bug.h"
#include "cli/subcommands.h"

static enum exit_code report_bug_subcommand(const struct arguments *arguments)
{
    const struct bug_options given = {.reading = arguments_reading(arguments),
                                      .path = arguments->words[0],
                                      .output = arguments->output};
    return bug_report_write(&given);
}

const struct subcommand subcommand_report_bug = {
    .name = "report-bug",
    .summary = "write what a maintainer wants: a program of the allocator's own API, and a report",
    .usage = "FINDING [options]",
    .description =
        "FINDING is an .ops file that breaks a promise, such as those in out/repros.  Its target must\n"
        "bring the texts of its API (struct target_api in harness/target.h).  Report-bug replays the\n"
        "list, writes its calls as a C or C++ program that needs nothing of hbmstress, and builds and\n"
        "runs that.  If the program shows the defect, the new directory DIR gets the program and\n"
        "report.md (default: report-NAME for NAME.ops).  A program that hangs is killed after\n"
        "--op-timeout (docs/report-bug.md).",
    .exits =
        {[EXIT_KEPT] = "the program shows the defect; program and report are written",
         [EXIT_USAGE] = "bad usage or input, or no program can show it",
         [EXIT_UNKNOWN] =
             "the program does not show it: a defect of the adapter rather than of the allocator",
         [EXIT_HARNESS] = "hbmstress itself failed"},
    .examples = {"hbmstress report-bug out/repros/premature-static_plan-7.ops -o shown"},
    .options = "--output --target --target-option --chip --capacity --trial-timeout --op-timeout",
    .word_count_min = 1,
    .word_count_max = 1,
    .word_name = "FINDING",
    .run = report_bug_subcommand,
};
