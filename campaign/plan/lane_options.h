/* The user's options for lanes: how many, which schedules are tried, and how they are run. */
#ifndef CAMPAIGN_PLAN_LANE_OPTIONS_H
#define CAMPAIGN_PLAN_LANE_OPTIONS_H

#include "harness/base/writing.h"
#include "harness/lanes/lanes_search.h"
#include "harness/op/setup.h"
#include "present/report.h"

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

#endif
