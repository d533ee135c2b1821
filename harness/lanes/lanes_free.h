/* Runs a list whose ops belong to several lanes truly in parallel: a thread for each lane, as fast
 * as it goes, and nobody who decides.  What a scheduler cannot show may show here: memory that is
 * not seen in time, and windows narrower than a step.  The price: no two runs are the same.
 *
 * The rules for the client are those of harness/lanes/lanes.h, and so is the judgement: begin and
 * return of each call are marked under one lock, the begin before the call and the return after it,
 * so no call is held to a shorter time than it took.  Now and then new calls are held back until
 * none is under way, and what was called since is judged.
 *
 * Events are completed by a thread, in the order in which they are due and after real delays of no
 * meaning.  A call that never returns is not noticed here: that is for who watches the process
 * (harness/call/progress.h; of several calls under way it names the one that began last).  A target
 * with threads of its own must leave the device alone while it is not being called. */
#ifndef HARNESS_LANES_LANES_FREE_H
#define HARNESS_LANES_LANES_FREE_H

#include "harness/lanes/lanes.h"
#include "harness/run/trial.h"

/* The share of a run that was parallel.  Calls meet when there is no instant between them at which
 * none is under way. */
struct lanes_free_found {
    uint64_t call_count;
    uint64_t overlapping_count; /* of them met another */
    uint64_t longest_count;     /* that met in a row */
};

/* Runs plan->ops once; of plan only target, setup and ops are read.  Of seed come the delays of
 * events and how many calls are judged together.  trial->ops is the list, its digest is 0, and the
 * reason of each finding says that the run cannot be repeated exactly.  The listener is told by
 * one thread at a time, not always the same.  False: as for lanes_run().  Not from within a lane of
 * a scheduler. */
bool lanes_run_free(const struct lanes_plan *plan, uint64_t seed,
                    const struct run_listener *listener, struct trial *trial,
                    struct lanes_free_found *found, char reason[RUN_REASON_BYTES]);

#endif
