/* The calls of a run with lanes, whoever decides which lane goes on: what the clients know, which
 * ops have returned, which calls met, and their judgement once none is under way.  For one thread
 * at a time. */
#ifndef HARNESS_LANES_PRIVATE_LANE_CALLS_H
#define HARNESS_LANES_PRIVATE_LANE_CALLS_H

#include "harness/call/clients.h"
#include "harness/rules/overlap.h"
#include "harness/run/run_state.h"
#include "harness/run/trial.h"

struct lane_calls {
    const struct op_list *ops;
    const struct run_listener *listener; /* may be NULL */
    struct trial *trial;
    struct run *run; /* NULL: not opened yet, or given up */
    struct clients *clients;
    /* the calls since the last judgement; zero at first, and kept from run to run */
    struct overlap overlap;
    uint32_t *undone;        /* by op: 1 until it has returned; a gate */
    bool events_never_pause; /* they complete at any instant of a call, not only where it meets the
                                device */
    bool places_may_be_late; /* between a block's making and the look at its address others may move
                                it: where calls met moves or evictions, what seems broken is not
                                told, and the run ends there */
};
/* For runs of a list of op_count ops. */
void lane_calls_init(struct lane_calls *calls, size_t op_count);
void lane_calls_deinit(struct lane_calls *calls); /* the overlap stays */
/* Before each run; what precedes run, and the last two, are set by the caller. */
void lane_calls_reset(struct lane_calls *calls);

/* Between attach and detach the calls of the run go by what clients know, and wait for events as
 * waiter does. */
void lane_calls_attach(struct lane_calls *calls, const struct device_waiter *waiter);
void lane_calls_detach(struct lane_calls *calls);

/* A call of the lane to the host begins; returns its number among those since the last judgement.
 */
uint32_t lane_calls_begin(struct lane_calls *calls, struct host *host, uint8_t lane);
/* No call is under way: judges those since the last judgement, at least one.  Then
 * calls->run->is_broken says whether the run is over; after what does no harm it goes on. */
void lane_calls_judge(struct lane_calls *calls);
/* Tells the listener of the verdict; keeps it when it ends the run.  False: it does. */
bool lane_calls_tell(struct lane_calls *calls);
/* Every lane has ended and the run is not over: cleans up, and judges that.  calls->run is left
 * to the caller, and to collect the trial from. */
void lane_calls_finish(struct lane_calls *calls);

/* --- the events that lanes wait for, in the order in which the device completes them when nobody
 * decides otherwise --- */

/* Writes up to max (at least 1) of the pending events that are coming, those first that are due
 * first; of events due at the same time the one with the lower number.  Returns how many. O(pending
 * * max). */
uint32_t lanes_events_coming(const struct timeline *timeline, uint64_t *events, uint32_t max);

#endif
