/* The command line of one subcommand as values.  Every option is one row of one table, with the
 * function that checks its value; a subcommand names the rows that it takes. */
#ifndef CLI_ARGUMENTS_H
#define CLI_ARGUMENTS_H

#include "cli/lane_wish.h"
#include "cli/message.h"
#include "harness/generate/faulting.h"
#include "harness/op/setup.h"
#include "reports/writing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What was said; texts point into argv.  What was not said is NULL, 0 or false unless noted. */
struct arguments {
    const char *const *words; /* word_count: what is not an option */
    size_t word_count;
    char *const *raw; /* raw_count: all words after the subcommand's name, as they were given */
    size_t raw_count;
    const char *target, *chip, *job, *out, *output, *format, *certificates, *resume, *what_if_out,
        *checkpoint_tags;
    struct setup_option options[SETUP_OPTION_COUNT_MAX]; /* option_count, keys unique */
    uint32_t option_count;
    uint64_t capacity_bytes, seed, op_count_max, duration_ns;
    uint64_t replay_sample;       /* default 16; 0 = never */
    uint64_t shrink_budget;       /* default 20,000 replays; 0 = keep the whole list */
    uint64_t results_limit_bytes; /* default 64 MiB */
    uint64_t trial_timeout_ns;    /* default 10 min */
    uint64_t op_timeout_ns;       /* default 20 s of processor time */
    uint64_t host_count, worker_count;
    uint64_t kv_bytes_per_token, kv_tokens_per_second; /* 0 = not said */
    uint64_t shard_index, shard_count;                 /* index from 0; count 0 = not said */
    uint64_t regret_max;
    uint64_t trial_count_max; /* --seeds */
    struct fault_wish faults;
    uint16_t weights[OP_KIND_COUNT];
    struct lane_wish lanes;
    uint64_t replay_count;  /* --times; 0 = not said */
    uint64_t alarm_percent; /* 1..100; 0 = not said */
    uint64_t given; /* bit per row of the table: what the command line gave, whatever the value */
    bool has_seed, has_regret_max, has_faults, has_weights, sweep, compare, what_if, follow, json,
        help, version;
};

struct subcommand {
    const char *name;
    const char *summary;        /* one line */
    const char *usage;          /* what follows "hbmstress NAME" */
    const char *description;    /* of --help: sentences, and an example */
    const char *const *options; /* names of rows, NULL at the end; --json, --help and --version are
                                   understood everywhere */
    size_t word_count_min, word_count_max;
    const char *word_name; /* what a word is, for messages: "SCENARIO" */
    enum exit_code (*run)(const struct arguments *arguments);
};

/* Reads argv[count] (the words after the subcommand's name) into *arguments; *words (count of
 * them, the caller's) holds the positional ones.  EXIT_KEPT, or EXIT_USAGE after one message.
 * With --help or --version the rest is not checked. */
enum exit_code arguments_parse(const struct subcommand *subcommand, char **argv, size_t count,
                               const char **words, struct arguments *arguments);

/* Sets one option by its name ("--seed") as if it had been given; value must outlive *arguments.
 * Returns NULL, or what is wrong with the value, to follow the value in quotes; valid until the
 * next call. */
const char *arguments_set(struct arguments *arguments, const char *name, const char *value);

/* Whether the command line gave that option ("--seed"); what arguments_set set does not count. */
bool arguments_gave(const struct arguments *arguments, const char *name);
/* The first option that it gave and that is none of names (NULL at their end); NULL: there is none.
 */
const char *arguments_gave_besides(const struct arguments *arguments, const char *const *names);

/* Puts what *over says over *base: target, target options key by key, chip or capacity, hosts,
 * seed, ops, seeds, time, regrets, faults, lanes, weights (the whole list).  The rest of *base
 * stays.  False: too many target options. */
bool arguments_merge(struct arguments *base, const struct arguments *over);

/* Appends the text of --help. */
void arguments_help(const struct subcommand *subcommand, struct writing *text);

#endif
