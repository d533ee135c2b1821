/* Recognises which probes an op hit: from the op, its answer, the device's log and the model, never
 * from inside the target.  Only harness/ includes it. */
#ifndef HARNESS_RUN_PROBE_WATCH_H
#define HARNESS_RUN_PROBE_WATCH_H

#include "harness/call/call.h"
#include "harness/rules/judge.h"
#include "harness/run/probe.h"

/* The facts to remember from one op to the next; zero is a valid start. */
struct probe_watch {
    uint64_t hosts_short; /* bit per host: its last request was refused */
    /* bit per host: a call failed there, and no request has been placed since */
    uint64_t hosts_failed;
    bool was_evicted; /* the program that the op under way executes had no image */
};

/* The traces that one op left behind. */
struct probe_sight {
    const struct host *host;
    const struct call *call;
    const struct observation *seen;
    const struct judge *judge; /* after judge_call, which broke no rule */
};

/* Before the call of an op; the second is its part for an OP_EXECUTE. */
void probe_watch_execution(struct probe_watch *watch, const struct model *model,
                           const struct op *op);
static inline void probe_watch_begin(struct probe_watch *watch, const struct model *model,
                                     const struct op *op)
{
    if (op->kind == OP_EXECUTE) {
        probe_watch_execution(watch, model, op);
    }
}
/* True if an alloc or free that was granted without a device call may hit one: nobody holds then
 * what ended. */
static inline bool probes_may_be_hit(const struct probe_watch *watch, const struct model *model)
{
    return (watch->hosts_failed | watch->hosts_short) != 0 || model_free_bytes(model) == 0;
}
/* After its judgement; not for skipped ops.  A bit for each probe that it hit.  A few branches for
 * an op that made no device call and was granted; else O(blocks + pending events + device calls).
 */
uint64_t probes_hit(struct probe_watch *watch, const struct probe_sight *sight);

#endif
