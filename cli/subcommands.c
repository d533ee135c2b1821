#include "cli/subcommands.h"

const struct subcommand *const subcommands[] = {
#define GROUP(words)
#define SUBCOMMAND(name) &subcommand_##name,
#include "cli/list.h"
#undef GROUP
#undef SUBCOMMAND
    NULL,
};

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
