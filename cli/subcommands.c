#include "cli/subcommands.h"

#include <assert.h>

const struct subcommand *const subcommands[] = {&subcommand_list,       &subcommand_run,
                                                &subcommand_replay,     &subcommand_import,
                                                &subcommand_export,     &subcommand_explain,
                                                &subcommand_shrink,     &subcommand_check,
                                                &subcommand_baseline,   &subcommand_merge,
                                                &subcommand_watch,      &subcommand_new_target,
                                                &subcommand_infer,      &subcommand_compare,
                                                &subcommand_report_bug, &subcommand_pod,
                                                &subcommand_scale,      &subcommand_bench,
                                                &subcommand_report,     &subcommand_budget,
                                                &subcommand_doctor,     NULL};
static_assert(sizeof subcommands / sizeof *subcommands == SUBCOMMAND_COUNT + 1,
              "one row for each, and NULL");

const char *const exit_meanings[EXIT_MEANING_COUNT] = {
    "every promise kept, or nothing but known findings",
    "a promise was broken",
    "bad usage or input",
    "an out-of-memory stayed unknown, a verdict was not repeated or a trial was not modelled",
    "hbmstress itself failed or its judges disagree",
};

const char *const exit_meanings_of_work[EXIT_MEANING_COUNT] = {
    [EXIT_KEPT] = "it is done",
    [EXIT_USAGE] = "bad usage or input",
    [EXIT_HARNESS] = "hbmstress itself failed",
};
