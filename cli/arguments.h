/* The command line of one subcommand as values.  Every option is one row, with the function that
 * checks its value: of campaign/plan/run_options.h, or of the table here; a subcommand names the
 * rows that it takes. */
#ifndef CLI_ARGUMENTS_H
#define CLI_ARGUMENTS_H

#include "campaign/base/message.h"
#include "campaign/plan/run_options.h"
#include "harness/base/writing.h"
#include "recording/recording.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lists that run before the one that is replayed. */
enum { ARGUMENTS_AFTER_COUNT_MAX = 4096 };
enum {
    ARGUMENTS_ROW_COUNT_MAX = 112,
    ARGUMENTS_OPTION_LIST_COUNT_MAX = 8,
    ARGUMENTS_TAG_PEAK_COUNT_MAX = 16
};

/* NAME=SIZE of --tag-peak; name points into argv. */
struct tag_peak {
    const char *name;
    size_t name_length;
    uint64_t bytes;
};

/* What was given; texts point into argv.  What was not given is NULL, 0 or false. */
struct arguments {
    struct run_options run;
    const char *const *words; /* word_count: what is not an option */
    size_t word_count;
    const char *output, *format, *certificates, *resume, *what_if_out, *checkpoint_tags;
    const char *svg;                                   /* of explain */
    const char *at;                                    /* of export */
    const char *language, *returns;                    /* of new-target */
    const char *list, *observations;                   /* of certificates that are checked */
    uint64_t kv_bytes_per_token, kv_tokens_per_second; /* 0 = not given */
    uint64_t replay_count;                             /* --times; 0 = not given */
    uint64_t alarm_percent;                            /* 1..100; 0 = not given */
    const char *contract;                              /* of compare */
    const char *meet, *merge, *pace;                   /* of pod */
    uint64_t rank, patience_ns;
    uint64_t refused_max;                           /* requests */
    uint64_t premature_max, capacity_max, cost_max; /* percent */
    /* of scale: values separated by commas */
    const char *host_list, *chip_list, *capacity_list, *batch_list;
    const char *option_lists[ARGUMENTS_OPTION_LIST_COUNT_MAX]; /* KEY=LIST; option_list_count */
    size_t option_list_count;
    const char *against;
    uint64_t grew_max;                              /* percent */
    uint64_t search_count;                          /* runs of one search */
    uint64_t block_count, full_percent, step_count; /* of bench; 0 = not given */
    /* of budget */
    uint64_t peak_max, growth_max, oom_max; /* bytes, bytes, requests */
    uint64_t fragmentation_max;             /* percent */
    uint64_t warmup_count;
    struct tag_peak tag_peaks[ARGUMENTS_TAG_PEAK_COUNT_MAX]; /* tag_peak_count of them */
    size_t tag_peak_count;
    bool varies_one_axis;
    bool
        given[ARGUMENTS_ROW_COUNT_MAX]; /* by row: what the command line gave, whatever the value */
    const char *after[ARGUMENTS_AFTER_COUNT_MAX]; /* --after; after_count of them */
    size_t after_count;
    bool has_sweep, has_compare, has_what_if, has_timeline, has_follow, has_cost_max, has_robson,
        has_help, has_version;
};

/* How they have a file read. */
static inline struct recording_options arguments_reading(const struct arguments *arguments)
{
    return (struct recording_options){&arguments->run, arguments->format,
                                      arguments->kv_bytes_per_token,
                                      arguments->kv_tokens_per_second};
}

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
        *word_hint;   /* what else it may be, for the message that it is missing; NULL = nothing */
    bool takes_lists; /* options of a run that have a form with several values have that one */
    enum exit_code (*run)(const struct arguments *arguments);
};

/* Reads argv[count] (the words after the subcommand's name) into *arguments; *words (count of
 * them, the caller's) holds the positional ones.  EXIT_KEPT, or EXIT_USAGE after one message.
 * With --help or --version the rest is not checked. */
enum exit_code arguments_parse(const struct subcommand *subcommand, char **argv, size_t count,
                               const char **words, struct arguments *arguments);

/* Whether the command line gave that option ("--seed"). */
bool arguments_has(const struct arguments *arguments, const char *name);
/* The first option that it gave and that is none of names (NULL at their end); NULL: there is none.
 */
const char *arguments_gave_besides(const struct arguments *arguments, const char *const *names);

/* An option as --help, the manual and the completions show it.  argument says what a value is:
 * words with | between them are all values; for FILE, CHIP and others cli/manual/completion.c says
 * what a shell offers.  NULL: it takes none. */
struct option_shown {
    const char *name;  /* "--seed" */
    const char *alias; /* "-s"; NULL = none */
    const char *argument, *summary;
};
/* The options that the subcommand accepts, in the order of --help; returns how many. */
size_t arguments_options(const struct subcommand *subcommand,
                         struct option_shown options[ARGUMENTS_ROW_COUNT_MAX]);

/* Appends the text of --help. */
void arguments_help(const struct subcommand *subcommand, struct writing *text);

#endif
