/* What a user asks of a run: the target, its device, what is run on it and for how long.  Every
 * option is one row of one table: the command line and a job file read it from there. */
#ifndef CAMPAIGN_PLAN_RUN_OPTIONS_H
#define CAMPAIGN_PLAN_RUN_OPTIONS_H

#include "campaign/base/allowance.h"
#include "campaign/plan/lane_options.h"
#include "campaign/plan/trace_options.h"
#include "harness/generate/faulting.h"
#include "harness/op/setup.h"
#include "present/annotation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Texts belong to the caller.  What was not given is NULL, 0 or false unless noted. */
struct run_options {
    const char *const *names; /* name_count scenarios, sections or parts that are wanted; 0 = all */
    size_t name_count;
    char *const *raw; /* raw_count: the words that a campaign is begun with, kept to resume it */
    size_t raw_count;
    const char *target, *chip, *job, *out, *baseline;
    struct setup_option options[SETUP_OPTION_COUNT_MAX]; /* option_count, keys unique */
    uint32_t option_count;
    struct setup_option scenario_options[SETUP_SCENARIO_OPTION_COUNT_MAX];
    uint32_t scenario_option_count; /* keys unique */
    uint64_t until_step;            /* --until */
    uint64_t capacity_bytes, seed, op_count_max, duration_ns;
    uint64_t replay_sample;       /* default 32; 0 = never */
    uint64_t shrink_budget;       /* default 20,000 replays; 0 = keep the whole list */
    uint64_t results_limit_bytes; /* default 64 MiB */
    uint64_t trial_timeout_ns;    /* default 10 min */
    uint64_t op_timeout_ns;       /* default 20 s of processor time */
    uint64_t host_count, worker_count;
    uint64_t shard_index, shard_count; /* index from 0; count 0 = not given */
    bool
        has_auto_shard; /* they are those of a rank (plan/rank.h), once somebody has asked for it */
    uint64_t regret_max;
    struct target_rounding rounding;
    struct rate unknown_rates[OOM_CLASS_COUNT];
    uint64_t unrepeated_max;  /* --allow-unrepeated */
    uint64_t trial_count_max; /* --seeds */
    uint64_t keep_count;      /* --keep */
    struct fault_options faults;
    uint16_t weights[OP_KIND_COUNT];
    struct lane_options lanes;
    const char *trace;               /* --trace: the file of a field trace */
    struct trace_vary vary;          /* --vary: what trials make of it */
    enum annotation_form annotation; /* --annotate */
    bool has_vary;
    bool has_seed, has_regret_max, has_rounding, has_faults, has_keep, has_weights,
        has_unknown_rate, is_json;
};

/* Nothing given: the defaults alone. */
void run_options_init(struct run_options *options);

/* Where the value of a row lies in struct run_options; with flag_offset 0 it is given when it is
 * not zero, otherwise when the bool there is true. */
struct option_field {
    size_t offset, size_bytes, flag_offset;
};

/* One option. */
struct run_option_row {
    const char *name;     /* on the command line: "--seed" */
    const char *alias;    /* one letter; NULL = none */
    const char *argument; /* NULL: takes none */
    const char *summary;
    /* NULL, or what is wrong with the value, to follow it in quotes; valid until the next call. */
    const char *(*set)(struct run_options *options, const char *value);
    const char *key;           /* in a job file; NULL = there is none */
    bool is_global;            /* the key stands in [global] alone */
    struct option_field field; /* of a row with a key */
};
extern const struct run_option_row run_option_rows[];
extern const size_t run_option_row_count;

/* The row with that name, or with that key of a job file; NULL: there is none. */
const struct run_option_row *run_option_named(const char *name);
const struct run_option_row *run_option_keyed(const char *key);

/* Whether a value was given for the row, which has a key. */
bool run_option_is_given(const struct run_options *options, const struct run_option_row *row);

/* Puts what *over gives over *base: every row with a key, chip or capacity together, and options of
 * target and scenario key by key.  The rest of *base stays.  False: too many options. */
bool run_options_merge(struct run_options *base, const struct run_options *over);

/* For rows elsewhere: sets *number to a value from low to high, or *text to one that is not empty.
 * NULL, or what is wrong with it. */
const char *option_set_number(uint64_t *number, const char *value, uint64_t low, uint64_t high,
                              const char *wrong);
const char *option_set_text(const char **text, const char *value);

#endif
