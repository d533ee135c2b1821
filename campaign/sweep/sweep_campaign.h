/* Sweeps of the parts of a plan, each in a process of its own and several at a time.  A target that
 * ends its process costs one replay: the sweep goes on behind it. */
#ifndef CAMPAIGN_SWEEP_SWEEP_CAMPAIGN_H
#define CAMPAIGN_SWEEP_SWEEP_CAMPAIGN_H

#include "campaign/base/message.h"
#include "campaign/plan/run_options.h"
#include "campaign/trials/trial_result.h"
#include "harness/sweep/sweep.h"

/* A finding with all that is needed to run it again. */
struct sweep_note {
    struct sweep_place place;
    struct verdict verdict;
    char message[OBSERVATION_MESSAGE_BYTES];
    bool has_largest; /* it is a premature out-of-memory */
    struct oracle_largest largest;
    uint64_t trial; /* whose list it is */
    bool is_whole;  /* its process ended with it: no shorter list can be tried */
    struct setup setup;
    struct op_list ops; /* empty: it is of open() */
};

/* The outcome of a part; valid until sweeps_destroy(). */
struct sweep_part {
    const struct sweep_result *result;
    const struct sweep_note *notes; /* note_count of them, in the order in which they were found */
    size_t note_count;
    uint64_t trial; /* whose list was replayed */
    bool is_done;
    bool is_faulty;      /* a CHECK of ours ended it: a message was given */
    const char *refusal; /* the target refused the setup: why; "" = it did not */
};

/* The number of trials from which the list with the most kinds of device call is taken. */
enum { SWEEPS_TRIAL_COUNT = 16 };

struct sweep_campaign;
struct sweep_campaign_setup {
    /* outlives the sweeps; parts with a note are left out; op_count_max: of a list */
    const struct plan *plan;
    uint32_t worker_count;
    uint64_t timeout_ns; /* of one replay */
};
/* NULL: no memory. */
struct sweep_campaign *sweep_campaign_create(const struct sweep_campaign_setup *setup);
/* Ends those that still run. */
void sweep_campaign_destroy(struct sweep_campaign *sweep_campaign);

/* Starts what can be started and waits a little for news.  False: all is done, or *is_failed: no
 * process could be had; errno says why. */
bool sweep_campaign_turn(struct sweep_campaign *sweep_campaign, bool *is_failed);
/* Ends those that still run; what they found until then is in their parts. */
void sweep_campaign_stop(struct sweep_campaign *sweep_campaign);
struct sweep_part sweep_campaign_part(const struct sweep_campaign *sweep_campaign, size_t part);

/* Fails every device call of a list of each scenario (harness/sweep/sweep.h), prints what came of
 * it, and keeps what broke. */

/* Ops of a list when nothing is said, and the most: the work grows with their square. */
enum { SWEEPING_OP_COUNT_DEFAULT = 400 };

/* The exit codes of run; EXIT_UNKNOWN also when a call could not be failed. */
enum exit_code sweeping_run(const struct run_options *options);

#endif
