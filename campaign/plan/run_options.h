/* The user's options for a run: the target, its device, what is run on it and for how long.  Every
 * option is one row of one table: the command line and job files are read by it. */
#ifndef CAMPAIGN_PLAN_RUN_OPTIONS_H
#define CAMPAIGN_PLAN_RUN_OPTIONS_H

#include "harness/base/option.h"
#include "harness/base/writing.h"
#include "harness/generate/faulting.h"
#include "harness/generate/variation.h"
#include "harness/lanes/lanes_search.h"
#include "harness/op/setup.h"
#include "present/annotation.h"
#include "present/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The limits up to which a job passes without a failure: the rate of out-of-memories that may stay
 * unknown, and the number of verdicts that nobody can repeat. */

/* part / whole of all out-of-memories, at most 1; whole 0 = none. */
struct rate {
    uint64_t part, whole;
};

/* Saved as bytes, so without padding. */
struct allowance {
    struct rate unknown_rates[OOM_CLASS_COUNT];
    uint64_t has_unknown_rate, unrepeated;
};

/* "plain:1e-8 aligned:1/1000": each class at most once, separated by commas or blanks.  Returns
 * NULL, or what is wrong with the text, to follow it in quotes, and then rates is untouched. */
const char *allowance_parse_rates(const char *text, struct rate rates[OOM_CLASS_COUNT]);

/* The counts that this comes to in a whole run with so many out-of-memories: of each class the rate
 * times ooms, rounded down. */
struct report_allowed allowance_of_run(const struct allowance *allowance, uint64_t ooms);

/* The user's options for lanes: how many, which schedules are tried, and how they are run. */

/* FREE: threads on all cores, and no schedule of ours. */
enum lane_backend {
    LANE_BACKEND_AUTO = 0,
    LANE_BACKEND_THREADS,
    LANE_BACKEND_FIBERS,
    LANE_BACKEND_FREE
};

/* An option that was not given is 0, NULL or false. */
struct lane_options {
    uint64_t lane_count;     /* 0 = the ops have no lanes */
    uint64_t schedule_count; /* 0 = until the strategy has nothing left */
    const struct strategy_kind *strategy;
    uint64_t argument; /* of the strategy; 0 = its own default */
    enum lane_backend backend;
    bool has_lanes; /* lane_count was said, 0 ("none") included */
    bool has_schedules, has_backend, has_races, checks_races;
};
enum { LANE_SCHEDULE_COUNT_DEFAULT = 200, LANE_STRATEGY_TEXT_BYTES = 32 };

/* Each takes a value of the command line or of a job file.  NULL, or what is wrong with it, to
 * follow it in quotes; valid until the next call. */
const char *lane_options_set_lanes(struct lane_options *wanted, const char *value);
const char *lane_options_set_strategy(struct lane_options *wanted, const char *value);

/* True if a user may name the strategy: all but the one that repeats the schedule of a list, which
 * searches for nothing. */
bool lane_strategy_is_search(const struct strategy_kind *strategy);

/* The first option that says how lanes are run; NULL: none was given. */
const char *lane_options_how(const struct lane_options *wanted);
/* The word for the backend that was said; NULL: none was. */
const char *lane_options_backend(const struct lane_options *wanted);
/* Returns what is missing or contradictory, in one sentence; NULL: nothing. */
const char *lane_options_wrong(const struct lane_options *wanted);
/* Returns the options with a default for everything that was not given. */
struct lane_options lane_options_completed(const struct lane_options *wanted,
                                           const struct setup *setup);

/* Completed options as a search. */
struct lanes_search lane_options_search(const struct lane_options *wanted, uint64_t seed);
/* Puts completed options in words, for reports. */
void lane_options_report(const struct lane_options *wanted, struct report_lanes *report);
/* "pct=5", or "pct". */
const char *lane_strategy_print(const struct lane_options *wanted,
                                char text[LANE_STRATEGY_TEXT_BYTES]);
/* Appends what a search with these options has shown at its end: one line without its newline. */
void lane_options_conclude(const struct lane_options *wanted, const struct lanes_found *found,
                           struct writing *text);

/* The user's options for a field trace that is run as a workload: its file, and how trials vary
 * it. */

enum { TRACE_FORMAT_BYTES = 32, TRACE_PATH_BYTES = 1024 };

/* How trials vary a trace (harness/generate/variation.h).  Open; trace_vary_init() fills it. */
struct trace_vary {
    char format[TRACE_FORMAT_BYTES];   /* "auto", or a format's name */
    char interleave[TRACE_PATH_BYTES]; /* "self", "none", or the file of another trace */
    uint64_t repeat_count_max;
    uint64_t skew_ns;
    uint16_t percents[VARIATION_PERCENT_COUNT_MAX]; /* percent_count of them */
    uint32_t percent_count;
};

/* Everything: up to three times, with itself, half and double sizes, hosts up to 1 s apart. */
void trace_vary_init(struct trace_vary *vary);

/* "amplify=3 interleave=self scale=50,200 skew=1s format=auto", any of them, the rest as above; or
 * "none", which leaves the trace as it is in each trial.  NULL, or what is wrong with it, to follow
 * it in quotes; valid until the next call. */
const char *trace_vary_parse(const char *text, struct trace_vary *vary);

/* True if interleave is a file. */
bool trace_vary_names_file(const struct trace_vary *vary);

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
    bool has_auto_shard; /* they are those of a rank (campaign/plan/plan.h), once somebody has asked
                            for it */
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

/* Reads the words of a job file or the command line about ops: which faults the trials get, and how
 * often the generator draws each kind of op. */

/* Both return NULL, or what is wrong with the text, to follow it in quotes: a text that is valid
 * until the next call. The output is then untouched.  Words are separated by commas or blanks.
 *
 * "none", "all", or names of harness/op/fault.h and "retire". */
const char *op_options_parse_faults(const char *text, struct fault_options *faults);

/* The words for them: "" = none, "all", or the names by commas.  Returns text. */
const char *op_options_print_faults(const struct fault_options *faults, char *text,
                                    size_t text_bytes);

/* KIND:PERCENT each; what is not named keeps its 100. */
const char *op_options_parse_weights(const char *text, uint16_t weights[OP_KIND_COUNT]);

/* Returns what is wrong with a word that is none of names[count], to follow it in quotes: `what`,
 * and the nearest name, or all of them behind `valid` ("valid names").  Valid until the next call.
 */
const char *option_words_unknown(const char *what, const char *word, const char *valid,
                                 const char *const *names, size_t count);

#endif
