/* The body of struct run, and how calls get into it.  Only what runs ops includes it. */
#ifndef HARNESS_RUN_RUN_STATE_H
#define HARNESS_RUN_RUN_STATE_H

#include "harness/device/device.h"
#include "harness/rules/judge.h"
#include "harness/run/growth.h"
#include "harness/run/probe_watch.h"
#include "harness/run/run.h"

struct run {
    struct setup setup;
    struct timeline *timelines[OP_HOST_COUNT_MAX]; /* of each host; or the first, of all */
    struct collectives *collectives;
    struct host hosts[OP_HOST_COUNT_MAX]; /* setup.host_count of them */
    struct device_pool pool;              /* of setup.shared_hosts */
    const struct model *models[OP_HOST_COUNT_MAX];
    struct growth_samples *growth; /* growth_count of them, at least one per host */
    uint32_t growth_count;
    struct judge judge;
    struct probe_watch watch;
    struct verdict verdict;
    struct observation observation;
    struct call call; /* of the op under way, where ops are executed one by one */
    struct op_list ops;
    const struct op_list
        *given; /* ops has its memory: they are equal so far.  NULL: ops owns its */
    struct run_totals totals;
    struct plain_costs plain;
    struct run_findings findings;
    struct waits waits;
    struct hang_watch *hangs;             /* NULL: one host */
    struct standstill_watch *standstills; /* NULL: no clients are named */
    struct shortages shortages;           /* of setup.shared_hosts */
    char message[OBSERVATION_MESSAGE_BYTES];
    uint64_t digest;
    uint32_t unrecorded_count; /* ops of run_finish */
    bool is_verdict_clear;     /* of verdict only the number of its op was set since it began */
    bool is_broken;            /* and over */
    bool promises_only;
};

/* Creates a run as run_create() does, for several threads that call.  guard says whose turn it is
 * at the devices, and outlives the run. */
struct run *run_create_guarded(const struct target *target, const struct setup *setup,
                               struct device_guard *guard, char reason[RUN_REASON_BYTES]);
/* A call that met no other one is over: it is observed, judged and counted; run->verdict is on it.
 * message: its error text, NULL = none; the target may keep one for each thread, and know it no
 * more. */
void run_take_call(struct run *run, struct host *host, const struct call *call,
                   const char *message);
/* A call that met others, and on which run->verdict was said. */
void run_take_overlapping(struct run *run, struct host *host, const struct call *call,
                          const char *message);
/* The device calls of all calls that overlapped, once. */
void run_count_device_calls(struct run *run, const struct host *host);
/* run_step.c and run_finish.c share this.  It calls the target with an op that the host can take as
 * op `number`, and takes what came of it. */
void run_execute(struct run *run, struct host *host, const struct op *op, uint32_t number);
/* run->verdict is that on op `number` from here on, and on nothing yet. */
void run_begin_verdict(struct run *run, uint32_t number);
/* Keeps what run->verdict finds, and says in run->is_broken whether the run is over. */
void run_note_finding(struct run *run);
struct wait_place run_wait_place(const struct run *run);
/* Before the first op: the ops to come are likely to be those of that list, which outlives the run.
 * As long as they are they are not recorded a second time. */
void run_expect(struct run *run, const struct op_list *given);
/* Ends a run as run_destroy() does, but keeps what it worked with for another one with the same
 * setup, which run_begin_again() makes of it as run_create() does.  NULL: the target refused, and
 * the run is gone. */
void run_end(struct run *run);
struct run *run_begin_again(struct run *run, const struct target *target, const struct setup *setup,
                            char reason[RUN_REASON_BYTES]);
/* Begins in the same way with any other target and setup. */
struct run *run_begin_other(struct run *run, const struct target *target, const struct setup *setup,
                            char reason[RUN_REASON_BYTES]);
/* For who asks whether the promises are kept and reads no totals: probes and growth are not looked
 * for any more, regrets only where the setup has a regret_max, and a justified verdict has no
 * reason. */
void run_judge_promises_only(struct run *run);
/* Destroys a run whose targets cannot be closed any more: lanes stand in the middle of their calls.
 */
void run_abandon(struct run *run);

#endif
