/* Runs a list whose ops belong to several client threads, its lanes, under a scheduler that decides
 * who goes on.
 *
 * Lane 0 begins alone; another lane begins where its first op stands in the list, once lane 0 has
 * ended its ops before that.  Each lane runs its own ops in the order of the list.  An op waits
 * until the ops have returned that made what it names, and until no other call is under way that
 * would be misuse by the client: a free of what is being used, a use of what is being freed. Events
 * complete when the schedule says, whatever their delay; lost ones never.  Calls that overlapped
 * are judged when none is under way any more (harness/rules/overlap.h).
 *
 * The schedule is part of the list (harness/lanes/lanes_list.h). */
#ifndef HARNESS_LANES_LANES_H
#define HARNESS_LANES_LANES_H

#include "harness/lanes/lanes_list.h"
#include "harness/run/run.h"
#include "harness/run/trial.h"

struct lanes;
struct lanes *lanes_create(enum scheduler_backend backend);
void lanes_destroy(struct lanes *lanes);

/* Told of what is no step of a lane. */
struct lanes_watch {
    void *context;
    void (*completed)(void *context, uint64_t event); /* as the schedule says */
    void (*returned)(void *context, uint32_t op);     /* the call of the lane that runs is over */
};

struct lanes_plan {
    const struct target *target;
    const struct setup *setup;
    const struct op_list *ops; /* resolved: nothing in them is relative; none is an OP_SWITCH */
    const struct strategy_kind *strategy;
    void *state;         /* the strategy's; begin() is called here, end() is not */
    uint64_t run;        /* its number, for begin() */
    struct order *order; /* NULL: plain accesses are not checked */
    bool is_again; /* target, setup and ops are as in the run before of these lanes.  What that one
                      made is used again, and trial->setup and ops are not set unless something is
                      found */
    const struct scheduler_trace *trace;
    const struct lanes_watch *watch; /* NULL: nobody is told */
};
/* Runs the list once; the run goes on after what does no harm.  trial->findings are what it found,
 * trial->first the gravest.  trial->ops is the list with the schedule that was taken; *report (its
 * pointers valid until the next run of lanes) says how the scheduler ended.  A run that met what
 * the scheduler does not see counts in trial->totals.not_modelled, and is over; these lanes are not
 * to run again.  False: the target cannot be opened, or not be run so (reason). */
bool lanes_run(struct lanes *lanes, const struct lanes_plan *plan,
               const struct run_listener *listener, struct trial *trial,
               struct scheduler_report *report, char reason[RUN_REASON_BYTES]);
/* Runs the plan's list once in the same way, where such lanes run when nobody says, with the order
 * of accesses checked if the setup says so. */
bool lanes_run_once(struct lanes_plan plan, const struct run_listener *listener,
                    struct trial *trial, char reason[RUN_REASON_BYTES]);
/* Why a target with that contract cannot be run with lanes, in words; NULL: it can. */
const char *lanes_why_not(const struct target_contract *contract);

/* Why a scheduler cannot run lanes of that target, in words; false: it can.  Lanes that run freely
 * need no scheduler. */
enum { LANES_WHY_NOT_BYTES = 224 };
bool lanes_why_not_scheduled(const struct target *target, char reason[LANES_WHY_NOT_BYTES]);

/* Returns where the lanes of that target run when nobody says. */
enum scheduler_backend lanes_backend(const struct setup *setup);

/* Runs the list with the schedule that is in it.  traced (NULL: nothing): its trace and its watch
 * report the run.  False: as for lanes_run(). */
bool lanes_replay_traced(const struct target *target, const struct setup *setup,
                         const struct op_list *ops, const struct lanes_plan *traced,
                         const struct run_listener *listener, struct trial *trial,
                         char reason[RUN_REASON_BYTES]);
/* Replays in the same way, without a trace and a watch. */
bool lanes_replay(const struct target *target, const struct setup *setup, const struct op_list *ops,
                  const struct run_listener *listener, struct trial *trial,
                  char reason[RUN_REASON_BYTES]);

#endif
