/* run --sweep as its parts share it: what one list came to (sweep_list.c), and the sweep of all of
 * them (sweeping.c).  Only these two include it. */
#ifndef CAMPAIGN_SWEEP_PRIVATE_SWEEP_PARTS_H
#define CAMPAIGN_SWEEP_PRIVATE_SWEEP_PARTS_H

#include "campaign/engine/output.h"
#include "campaign/plan/plan.h"
#include "campaign/plan/run_options.h"
#include "campaign/sweep/sweep_campaign.h"
#include "present/reporter.h"

enum { FAULTS_REFUSING = ((1u << FAULT_CALL_COUNT) - 1u) | 1u << FAULT_ANY | 1u << FAULT_REGION };

struct sweeping {
    const struct run_options *options;
    const struct plan *plan;
    const char *directory;
    struct output output;
    struct sweep_campaign *sweep_campaign;
    struct sweep_sites sites; /* of all parts */
    struct report_end end;
    uint64_t swept_count, calls, failed_once, failed_for_ever, findings;
    uint64_t start_ns;
    bool is_failed; /* a message was given */
    bool is_disputed, is_incomplete;
    bool is_stopped;              /* by ctrl-C, before all was swept */
    char path[OUTPUT_PATH_BYTES]; /* of the last list that was saved */
    char replay[OUTPUT_REPLAY_BYTES];
    struct verdict shown; /* what that list shows, when it was shrunk */
    struct reporter reporter;
    struct writing text;
};

/* Print the text, for people or as a line of JSON, and clear it. */
void sweeping_put_text(struct sweeping *sweeping);
void sweeping_put_line(struct sweeping *sweeping);

/* Prints what the list of the plan's part i came to, saves what broke, and adds its counts to those
 * of the sweep.  is_failed: a message was given. */
void sweeping_report_list(struct sweeping *sweeping, size_t i);

#endif
