/* The user's options for a run: the target, its device, what is run on it and for how long.  Every
 * option is one row of one table: the command line and job files are read by it. */
#ifndef CAMPAIGN_PLAN_RUN_OPTIONS_H
#define CAMPAIGN_PLAN_RUN_OPTIONS_H

#include "campaign/base/allowance.h"
#include "campaign/plan/lane_options.h"
#include "campaign/plan/trace_options.h"
#include "harness/base/option.h"
#include "harness/generate/faulting.h"
#include "harness/op/setup.h"
#include "present/annotation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Texts belong to the caller.  What was not given is NULL, 0 or false, or the row's usual value. */
struct run_options {
    const char *const *names; /* name_count scenarios, sections or parts that are wanted; 0 = all */
    size_t name_count;
    char *const *raw; /* raw_count: the words that a campaign is begun with, kept to resume it */
    size_t raw_count;
    /* Sizes in bytes, durations in nanoseconds; 0 of replay_sample: never, of shrink_budget: keep
     * the whole list. */
#define OPTION(kind, member, ...) OPTION_TYPE_##kind member;
#define OPTION_ROW(...)
#include "campaign/plan/run_option_list.h"
#undef OPTION
#undef OPTION_ROW
    struct setup_option options[SETUP_OPTION_COUNT_MAX]; /* option_count, keys unique */
    uint32_t option_count;
    struct setup_option scenario_options[SETUP_SCENARIO_OPTION_COUNT_MAX];
    uint32_t scenario_option_count;    /* keys unique */
    uint64_t shard_index, shard_count; /* index from 0; count 0 = not given */
    bool
        has_auto_shard; /* they are those of a rank (plan/rank.h), once somebody has asked for it */
    struct target_rounding rounding;
    struct rate unknown_rates[OOM_CLASS_COUNT];
    struct fault_options faults;
    uint16_t weights[OP_KIND_COUNT];
    struct lane_options lanes;
    struct trace_vary vary;          /* what trials make of the trace */
    enum annotation_form annotation; /* --annotate */
    bool has_vary;
    bool has_seed, has_regret_max, has_rounding, has_faults, has_keep, has_weights,
        has_unknown_rate;
};

/* Sets all options to "not given": the defaults alone apply. */
void run_options_init(struct run_options *options);

/* The rows of campaign/plan/run_option_list.h; their base is a struct run_options. */
extern const struct option_row run_option_rows[];
extern const size_t run_option_row_count;

/* The row with that name, or with that key of a job file; NULL: there is none. */
const struct option_row *run_option_named(const char *name);
const struct option_row *run_option_keyed(const char *key);

/* Puts what *over gives over *base: every row with a key, chip or capacity together, and options of
 * target and scenario key by key.  The rest of *base stays.  False: too many options. */
bool run_options_merge(struct run_options *base, const struct run_options *over);

#endif
