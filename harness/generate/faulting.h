/* Slips faults into the ops of any scenario, in two stages as FoundationDB's BUGGIFY does (Zhou et
 * al., SIGMOD 2021, section 4): first each kind of fault is on or off for the whole trial, then
 * each that is on strikes with a chance of its own.  So there are trials with one kind alone, with
 * many, and with none. */
#ifndef HARNESS_GENERATE_FAULTING_H
#define HARNESS_GENERATE_FAULTING_H

#include "harness/generate/scenario.h"

/* The kinds of fault, and memory that goes bad. */
enum { FAULTING_RETIRE = FAULT_KIND_COUNT, FAULTING_KIND_COUNT };
#define FAULTING_ALL ((UINT32_C(1) << FAULTING_KIND_COUNT) - 1)

/* The faults that a user may ask of a trial; zero: none. */
struct fault_options {
    uint32_t kinds; /* bit per enum fault_kind, and FAULTING_RETIRE */
};

enum {
    FAULTING_ON_PERCENT = 25,   /* of trials have a kind on */
    FAULTING_PERIOD_MIN = 20,   /* a kind that is on strikes once in so many ops, ... */
    FAULTING_PERIOD_MAX = 2000, /* ... log-uniform between the two */
    FAULTING_OPS_PER_FAULT =
        10, /* at least, over the trial: beyond it nothing but faults would be tested */
    FAULTING_NTH_MAX = 8,         /* the call that is struck; small ones are likelier */
    FAULTING_NTH_POLL_MAX = 1024, /* the same of polls, of which one op makes many */
    FAULTING_LAST_OPS_MIN =
        10, /* a fault that strikes for ever is disarmed after so many ops, ... */
    FAULTING_LAST_OPS_MAX = 500,        /* ... uniform between the two */
    FAULTING_RETIRE_PERIOD_FACTOR = 10, /* memory goes bad more rarely, ... */
    FAULTING_RETIRE_COUNT_MAX = 4, /* ... and so often in a trial at most: it never comes back */
};

/* The faults that were drawn for a trial, and those that are armed; an open value. */
struct faulting {
    /* a stream of its own: the scenario's draws are the same with and without faults */
    struct random random;
    uint32_t fault_count, retire_count; /* slipped in; those that disarm not counted */
    uint32_t on;                        /* bit per kind: those that have a period */
    struct {
        uint32_t period;    /* strikes once in so many ops; 0 = off */
        uint32_t disarm_at; /* the op number from which it is disarmed; 0 = nothing to disarm */
        uint8_t host;       /* where it is armed */
    } kinds[FAULTING_KIND_COUNT];
};

/* Draws what is on, from the trial's seed.  Which kinds are on depends on nothing else than the
 * seed and the options. */
void faulting_init(struct faulting *faulting, const struct fault_options *options, uint64_t seed);

/* True if an op comes before the scenario's next one: *op is set then, for any of the view's hosts.
 * The caller asks again for the op after it, with a new view.  A kind that waits to be disarmed is
 * not armed again. */
bool faulting_next(struct faulting *faulting, const struct scenario_view *view, struct op *op);

#endif
