/* What the user says of lanes: how many, which schedules are tried, and how they are run. */
#ifndef CLI_LANE_WISH_H
#define CLI_LANE_WISH_H

#include "harness/lanes/lanes_search.h"
#include "harness/op/setup.h"
#include "reports/report.h"
#include "reports/writing.h"

/* FREE: threads on all cores, and no schedule of ours. */
enum lane_backend {
    LANE_BACKEND_AUTO = 0,
    LANE_BACKEND_THREADS,
    LANE_BACKEND_FIBERS,
    LANE_BACKEND_FREE
};

/* What was not said is 0, NULL or false. */
struct lane_wish {
    uint64_t lane_count;     /* 0 = the ops have no lanes */
    uint64_t schedule_count; /* 0 = until the strategy has nothing left */
    const struct strategy_kind *strategy;
    uint64_t argument; /* of the strategy; 0 = its own default */
    enum lane_backend backend;
    bool has_schedules, has_backend, has_races, checks_races;
};
enum { LANE_SCHEDULE_COUNT_DEFAULT = 200, LANE_STRATEGY_TEXT_BYTES = 32 };

/* Each takes a value of the command line or of a job file.  NULL, or what is wrong with it, to
 * follow it in quotes; valid until the next call. */
const char *lane_wish_set_lanes(struct lane_wish *wish, const char *value);
const char *lane_wish_set_schedules(struct lane_wish *wish, const char *value);
const char *lane_wish_set_strategy(struct lane_wish *wish, const char *value);
const char *lane_wish_set_backend(struct lane_wish *wish, const char *value);
/* value: "yes", "no", or NULL, which means yes. */
const char *lane_wish_set_races(struct lane_wish *wish, const char *value);

/* Whether a user may name it: all may be but the one that repeats what a list says, which looks for
 * nothing. */
bool lane_strategy_searches(const struct strategy_kind *strategy);

void lane_wish_merge(struct lane_wish *base, const struct lane_wish *over);
/* The first option that says how lanes are run; NULL: none was given. */
const char *lane_wish_how(const struct lane_wish *wish);
/* The word for the backend that was said; NULL: none was. */
const char *lane_wish_backend(const struct lane_wish *wish);
/* What is missing, or contradicts itself, in one sentence; NULL: nothing. */
const char *lane_wish_wrong(const struct lane_wish *wish);
/* The same with everything filled in that was not said. */
struct lane_wish lane_wish_completed(const struct lane_wish *wish, const struct setup *setup);

/* A wish that is completed as a search. */
struct lanes_search lane_wish_search(const struct lane_wish *wish, uint64_t seed);
/* The same in words, for reports. */
void lane_wish_report(const struct lane_wish *wish, struct report_lanes *report);
/* "pct=5", or "pct". */
const char *lane_strategy_print(const struct lane_wish *wish, char text[LANE_STRATEGY_TEXT_BYTES]);
/* What a search with that wish knows at its end, as one line without its end. */
void lane_wish_conclude(const struct lane_wish *wish, const struct lanes_found *found,
                        struct writing *text);

#endif
