/* The subcommands of hbmstress; one file each. */
#ifndef CLI_SUBCOMMANDS_H
#define CLI_SUBCOMMANDS_H

#include "cli/arguments.h"

extern const struct subcommand subcommand_list;
extern const struct subcommand subcommand_run;
extern const struct subcommand subcommand_replay;
extern const struct subcommand subcommand_import;
extern const struct subcommand subcommand_export;
extern const struct subcommand subcommand_explain;
extern const struct subcommand subcommand_shrink;
extern const struct subcommand subcommand_check;
extern const struct subcommand subcommand_baseline;
extern const struct subcommand subcommand_merge;
extern const struct subcommand subcommand_watch;
extern const struct subcommand subcommand_new_target;
extern const struct subcommand subcommand_infer;
extern const struct subcommand subcommand_compare;
extern const struct subcommand subcommand_report_bug;
extern const struct subcommand subcommand_pod;
extern const struct subcommand subcommand_scale;
extern const struct subcommand subcommand_bench;
extern const struct subcommand subcommand_report;
extern const struct subcommand subcommand_budget;
extern const struct subcommand subcommand_doctor;

/* In the order of the help; ends with NULL. */
enum { SUBCOMMAND_COUNT = 21 };
extern const struct subcommand *const subcommands[];

/* What each exit code means, by its number, unless a subcommand has its own meanings. */
extern const char *const exit_meanings[EXIT_MEANING_COUNT];
/* Those of a subcommand that judges nothing: it did its work, or it did not. */
extern const char *const exit_meanings_of_work[EXIT_MEANING_COUNT];

#endif
