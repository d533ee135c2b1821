/* The subcommands of hbmstress; one file each. */
#ifndef CLI_SUBCOMMANDS_H
#define CLI_SUBCOMMANDS_H

#include "cli/arguments.h"

#define GROUP(words)
#define SUBCOMMAND(name) extern const struct subcommand subcommand_##name;
#include "cli/list.h"
#undef GROUP
#undef SUBCOMMAND

/* The subcommands of cli/list.h; ends with NULL. */
extern const struct subcommand *const subcommands[];
#define GROUP(words)
#define SUBCOMMAND(name) +1
enum {
    SUBCOMMAND_COUNT = 0
#include "cli/list.h"
};
#undef GROUP
#undef SUBCOMMAND

/* The meaning of each exit code, by its number, unless a subcommand has its own meanings. */
extern const char *const exit_meanings[EXIT_MEANING_COUNT];
/* The meanings of a subcommand that judges nothing: it did its work, or it did not. */
extern const char *const exit_meanings_of_work[EXIT_MEANING_COUNT];

#endif
