/* Looks for a schedule of a list under which a promise is broken: the list is run again and again,
 * as a strategy decides. */
#ifndef HARNESS_LANES_LANES_SEARCH_H
#define HARNESS_LANES_LANES_SEARCH_H

#include "harness/lanes/lanes_free.h"
#include "harness/run/trial.h"

/* Told while it goes on, so that whoever shares memory with this process knows what it ran if it
 * dies. */
struct lanes_witness {
    void *context;
    void (*begins)(void *context, const struct setup *setup,
                   const struct op_list *ops); /* a schedule of that list */
    void (*decided)(void *context,
                    const struct schedule_switch *taken); /* enough of them to repeat it */
};

struct lanes_search {
    const struct strategy_kind *strategy;
    uint64_t seed, argument;     /* of the strategy */
    uint64_t schedule_count_max; /* 0 = until the strategy has nothing left, which only "exhaustive"
                                    ever says */
    enum scheduler_backend backend;
    bool goes_on; /* behind findings that do no harm, to the last schedule; else the first run that
                     finds something is the last */
    const char *signature; /* the run that shows this finding is the last; NULL: none is */
    bool checks_order;     /* plain accesses of a target that is built for it */
    const struct lanes_witness *witness; /* NULL: nobody is told */
    bool is_free_running; /* the lanes are threads and nobody decides (harness/lanes/lanes_free.h):
                             seed says what is drawn, strategy, backend and order are not used; 0
                             schedules = until broken */
};

/* The schedules that the search tried. */
struct lanes_found {
    uint64_t schedule_count;            /* runs */
    uint64_t point_count, switch_count; /* of all of them */
    bool is_complete;                   /* nothing is left within the bound */
    uint64_t interleavings,
        pruned; /* exhaustive: different ones, and runs that turned out to be the same as others */
    uint64_t bound; /* exhaustive: preemptions; 0 = none */
    bool diverged;  /* exhaustive: the same decisions led elsewhere; the target is not deterministic
                     */
    double probability; /* pct: at least this often a run finds a defect of that depth; 0 = not
                           known */
    uint64_t pct_participants, pct_decisions, pct_depth;
    struct lanes_free_found free_running; /* of all runs; longest_count is that of the longest */
};

/* Runs like lanes_run(), schedule after schedule, until one does harm, or finds anything if the
 * search does not go on.  trial->findings are those of all runs, each with the list that showed it
 * first (trial_list), schedule included unless runs are free-running.  trial->first is the gravest,
 * trial->ops its list, or the list if nothing was found.  Totals are those of all runs. */
bool lanes_search(const struct target *target, const struct setup *setup, const struct op_list *ops,
                  const struct lanes_search *search, const struct run_listener *listener,
                  struct trial *trial, struct lanes_found *found, char reason[RUN_REASON_BYTES]);

#endif
