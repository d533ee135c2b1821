/* Sweeps of the parts of a plan, each in a process of its own and several at a time.  A target that
 * ends its process costs one replay: the sweep goes on behind it. */
#ifndef CLI_SWEEPS_H
#define CLI_SWEEPS_H

#include "cli/judgement.h"
#include "harness/sweep/sweep.h"

/* A finding with all that is needed to run it again. */
struct sweep_note {
    struct sweep_place place;
    struct verdict verdict;
    char message[OBSERVATION_MESSAGE_BYTES];
    uint64_t trial; /* whose list it is */
    bool is_whole;  /* its process ended with it: no shorter list can be tried */
    struct setup setup;
    struct op_list ops; /* empty: it is of open() */
};

/* What a part came to; valid until sweeps_destroy. */
struct sweep_part {
    const struct sweep_result *result;
    const struct sweep_note *notes; /* note_count of them, in the order in which they were found */
    size_t note_count;
    uint64_t trial; /* whose list was replayed */
    bool is_done;
    bool is_faulty;      /* a CHECK of ours ended it: a message was given */
    const char *refusal; /* the target refused the setup: why; "" = it did not */
};

/* From how many trials the list with the most kinds of device call is taken. */
enum { SWEEPS_TRIAL_COUNT = 16 };

struct sweeps;
struct sweeps_setup {
    /* outlives the sweeps; parts with a note are left out; op_count_max: of a list */
    const struct plan *plan;
    uint32_t worker_count;
    uint64_t timeout_ns; /* of one replay */
};
/* NULL: no memory. */
struct sweeps *sweeps_create(const struct sweeps_setup *setup);
/* Ends those that still run. */
void sweeps_destroy(struct sweeps *sweeps);

/* Starts what can be started and waits a little for news.  False: all is done, or *is_failed: no
 * process could be had; errno says why. */
bool sweeps_turn(struct sweeps *sweeps, bool *is_failed);
/* Ends those that still run; what they found until then is in their parts. */
void sweeps_stop(struct sweeps *sweeps);
struct sweep_part sweeps_part(const struct sweeps *sweeps, size_t part);

#endif
