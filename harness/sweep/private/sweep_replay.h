/* One replay of a sweep: the list with a fault in it, and what is put in after each op that the
 * fault strikes. */
#ifndef HARNESS_SWEEP_PRIVATE_SWEEP_REPLAY_H
#define HARNESS_SWEEP_PRIVATE_SWEEP_REPLAY_H

#include "harness/sweep/sweep.h"

/* Tells the witnesses of a run's devices apart. */
struct sweep_watch {
    struct sweep_replay *replay;
    uint32_t host;
};

enum { SWEEP_PENDING_COUNT_MAX = 256 };

struct sweep_replay {
    const struct sweep *sweep;
    struct sweep_result *result;
    const struct setup *setup; /* complete */
    const struct op_list *ops; /* without faults */
    uint32_t *numbers; /* by op of ops: the number that it, or its repetition, has in this run */
    struct run *run;
    struct sweep_watch watches[OP_HOST_COUNT_MAX];
    int depth;          /* of sweep_step */
    uint64_t countdown; /* calls until the fault strikes; 0 = it is not armed */
    uint64_t pending[SWEEP_PENDING_COUNT_MAX]; /* sites at which it struck in the op under way;
                                                  pending_count */
    size_t pending_count;
    bool has_struck;
};

/* Runs the list once, at result->place.  True: the fault struck.  What broke was told. */
bool sweep_replay(const struct sweep *sweep, struct sweep_result *result, const struct setup *setup,
                  const struct op_list *ops);

/* The counts that result->place goes to. */
struct sweep_count *sweep_count_here(struct sweep_result *result);
/* Counts a finding at result->place and tells it unless there are enough of its rule. */
void sweep_tell(const struct sweep *sweep, struct sweep_result *result,
                const struct sweep_finding *finding);
/* Does the same for an answer to open(), whose reason is the target's; there is no run, and no op.
 */
void sweep_tell_open(const struct sweep *sweep, struct sweep_result *result,
                     const struct setup *setup, const struct verdict *verdict, const char *reason);

/* Kinds of device call that a fault can strike: bit per device_call_kind. */
uint32_t sweep_calls_of(enum fault_kind kind);

#endif
