/* Whole trials: a scenario or a recorded list from the first op to the final promises. */
#ifndef HARNESS_TRIAL_TRIAL_RUN_H
#define HARNESS_TRIAL_TRIAL_RUN_H

#include "harness/generate/faulting.h"
#include "harness/run/trial.h"

/* The parts of a trial; all of them outlive the call. */
struct trial_plan {
    const struct target *target;
    const struct scenario *scenario;
    const struct setup *setup; /* its seed is the trial's */
    bool capacity_is_free;     /* the scenario may choose another one */
    /* besides the scenario's own bound; both count faults that are slipped in */
    uint64_t op_count_max;
    bool is_for_lanes;           /* hosts share one time, whatever the scenario draws */
    struct fault_options faults; /* what is slipped in between the scenario's ops; zero: nothing */
    /* Run in place of what the scenario would choose, which gives its name alone; but for faults
     * nothing is slipped in.  NULL: the scenario chooses. */
    const struct op_list *given;
    /* Told of the setup before the target is opened, and of each op before it is run.  NULL: nobody
     * is. */
    void (*begun)(void *context, const struct setup *setup);
    void (*chosen)(void *context, const struct op *op);
    void *context;
};
/* One trial of a scenario.  It goes on after what does no harm, and so does a replay.
 * False: the target refused the setup (reason). */
bool trial_run(const struct trial_plan *plan, const struct run_listener *listener,
               struct trial *trial, char reason[RUN_REASON_BYTES]);
/* Runs a recorded list. */
bool trial_replay(const struct target *target, const struct setup *setup, const struct op_list *ops,
                  const struct run_listener *listener, struct trial *trial,
                  char reason[RUN_REASON_BYTES]);
/* Does the same for a caller with the list: if it is the recorded one, trial->ops stays empty. */
bool trial_repeat(const struct target *target, const struct setup *setup, const struct op_list *ops,
                  const struct run_listener *listener, struct trial *trial,
                  char reason[RUN_REASON_BYTES]);
/* Does the same for a caller that asks what it breaks and what is observed: without lanes its
 * totals lack probes, regrets and standstills. */
bool trial_confirm(const struct target *target, const struct setup *setup,
                   const struct op_list *ops, struct trial *trial, char reason[RUN_REASON_BYTES]);
/* Does the same under other ids (run_rename); no lanes. */
bool trial_confirm_renamed(const struct target *target, const struct setup *setup,
                           const struct op_list *ops, struct trial *trial,
                           char reason[RUN_REASON_BYTES]);

#endif
