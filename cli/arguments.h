/* The command line of one subcommand as values.  Every option is one row of
 * campaign/plan/run_option_list.h or of cli/option_list.h; a subcommand names the rows that it
 * takes. */
#ifndef CLI_ARGUMENTS_H
#define CLI_ARGUMENTS_H

#include "campaign/base/message.h"
#include "campaign/plan/run_options.h"
#include "explain/explain.h"
#include "harness/base/writing.h"
#include "ladder/budget/budget.h"
#include "ladder/scale/scale.h"
#include "recording/recording.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lists that run before the one that is replayed. */
enum { ARGUMENTS_AFTER_COUNT_MAX = 4096 };
enum { ARGUMENTS_ROW_COUNT_MAX = 112, ARGUMENTS_OPTION_LIST_COUNT_MAX = 8 };

/* The values that were given; texts point into argv.  An option that was not given is NULL, 0 or
 * false, or the row's usual value. */
struct arguments {
    struct run_options run;   /* first: rows of a run have the same base as the others */
    const char *const *words; /* word_count: what is not an option */
    size_t word_count;
    /* Sizes in bytes, durations in nanoseconds, shares in percent. */
#define OPTION(kind, member, ...) OPTION_TYPE_##kind member;
#define OPTION_ROW(...)
#include "cli/option_list.h"
#undef OPTION
#undef OPTION_ROW
    const char *output, *at;
    uint64_t fragmentation_max;                                /* percent */
    const char *option_lists[ARGUMENTS_OPTION_LIST_COUNT_MAX]; /* KEY=LIST; option_list_count */
    size_t option_list_count;
    struct budget_tag_peak tag_peaks[BUDGET_TAG_PEAK_COUNT_MAX]; /* tag_peak_count of them */
    size_t tag_peak_count;
    const char *after[ARGUMENTS_AFTER_COUNT_MAX]; /* --after; after_count of them */
    size_t after_count;
    bool has_cost_max;
    bool
        given[ARGUMENTS_ROW_COUNT_MAX]; /* by row: what the command line gave, whatever the value */
};

/* Returns how the arguments want a file to be read. */
static inline struct recording_options arguments_reading(const struct arguments *arguments)
{
    return (struct recording_options){&arguments->run, arguments->format,
                                      arguments->kv_bytes_per_token,
                                      arguments->kv_tokens_per_second};
}

/* Returns what they want explained: of explain, and of a page that has its words. */
struct explain_options arguments_explaining(const struct arguments *arguments);
/* Returns what they want to be scaled. */
struct scale_options arguments_scaling(const struct arguments *arguments);

enum { EXIT_MEANING_COUNT = 5 };

struct subcommand {
    const char *name;
    const char *summary;      /* one line */
    const char *usage;        /* what follows "hbmstress NAME" */
    const char *description;  /* of --help and the manual: sentences */
    const char *const *exits; /* what its exit codes mean: EXIT_MEANING_COUNT texts, NULL where it
                                 never exits so; NULL: what they mean everywhere */
    const char *const *examples; /* commands, NULL at the end */
    const char *const *options;  /* names of rows, NULL at the end; --json, --help and --version are
                                    understood everywhere */
    size_t word_count_min, word_count_max;
    const char *word_name; /* what a word is, for messages: "SCENARIO" */
    const char
        *word_hint; /* what else it may be, for the message that it is missing; NULL = nothing */
    bool takes_own_forms; /* an option of a run that has another form in cli/option_list.h, such
                             as one with several values, has that one */
    enum exit_code (*run)(const struct arguments *arguments);
};

/* Reads argv[count] (the words after the subcommand's name) into *arguments; *words (count of
 * them, the caller's) holds the positional ones.  EXIT_KEPT, or EXIT_USAGE after one message.
 * With --help or --version the rest is not checked. */
enum exit_code arguments_parse(const struct subcommand *subcommand, char **argv, size_t count,
                               const char **words, struct arguments *arguments);

/* Returns true when the command line gave that option ("--seed"). */
bool arguments_has(const struct arguments *arguments, const char *name);
/* The first option that it gave and that is none of names (NULL at their end); NULL: there is none.
 */
const char *arguments_gave_besides(const struct arguments *arguments, const char *const *names);

/* The rows that the subcommand accepts, in the order of --help; returns how many.  Of an argument,
 * words with | between them are all values; for FILE, CHIP and others cli/manual/completion.c says
 * what a shell offers. */
size_t arguments_options(const struct subcommand *subcommand,
                         const struct option_row *options[ARGUMENTS_ROW_COUNT_MAX]);

/* Appends the text of --help. */
void arguments_help(const struct subcommand *subcommand, struct writing *text);

#endif
