/* Asks whether a target accepts a setup, in a process of its own and before anything runs.  A
 * target that crashes or never returns when it is opened damages nothing else. */
#ifndef CAMPAIGN_PROCESS_TARGET_PROBE_H
#define CAMPAIGN_PROCESS_TARGET_PROBE_H

#include "campaign/base/message.h"
#include "harness/run/run.h"

/* What the target reported when it was opened. */
struct target_probe {
    bool has_programs;                   /* it loads and executes programs */
    bool has_regions;                    /* it takes its memory in regions */
    bool sleeps;                         /* it sleeps and wakes */
    char why_no_lanes[RUN_REASON_BYTES]; /* why it cannot be run with lanes; "" = it can */
};

/* Opens and closes the target with that setup, within duration_ns.  where (NULL: nowhere) begins
 * the message of a failure.  EXIT_KEPT and *opening; or after one message EXIT_USAGE when it
 * refuses, EXIT_BROKEN when it crashes or hangs, EXIT_HARNESS when there is no process for it. */
enum exit_code target_probe_run(const struct target *target, const struct setup *setup,
                                const char *where, uint64_t duration_ns,
                                struct target_probe *target_probe);

#endif
