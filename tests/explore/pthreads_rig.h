/* Runs a body many times under schedules that a coin decides, and keeps what came out. */
#ifndef TESTS_EXPLORE_PTHREADS_RIG_H
#define TESTS_EXPLORE_PTHREADS_RIG_H

#include "explore/scheduler.h"

struct outcomes {
    uint32_t counts[SCHEDULER_STOPPED + 1];
    uint64_t step_count;             /* of all runs */
    uint64_t decisions_hash;         /* of all decisions of all runs */
    char text[SCHEDULER_TEXT_BYTES]; /* of the last run that did not finish */
};

/* Runs it run_count times, with the seeds 0, 1, 2 ... */
void rig_run(enum scheduler_backend backend, uint32_t run_count, void (*body)(void *context),
             struct outcomes *outcomes);
/* The same once, for a body that reaches no step: the plan's stuck_after_ms, 0 for the default. */
void rig_run_stuck(enum scheduler_backend backend, uint32_t stuck_after_ms,
                   void (*body)(void *context), struct outcomes *outcomes);
/* Every schedule of both backends finishes, and both take the same steps and decisions. */
void rig_check_finishes(uint32_t run_count, void (*body)(void *context));
/* Some schedule, with either backend, has this outcome, and no schedule another one but FINISHED.
 * The text of one is left in `text`. */
void rig_check_finds(enum scheduler_outcome outcome, void (*body)(void *context),
                     char text[SCHEDULER_TEXT_BYTES]);

#endif
