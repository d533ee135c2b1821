/* A run of lanes under a scheduler, as these share it: the run itself (lanes.c), the ops of the
 * lanes (lanes_ops.c) and the device that they meet (lanes_device.c). */
#ifndef HARNESS_LANES_PRIVATE_LANES_STATE_H
#define HARNESS_LANES_PRIVATE_LANES_STATE_H

#include "harness/lanes/lanes_list.h"
#include "harness/lanes/private/lane_calls.h"

struct lanes_plan;

struct lanes {
    struct scheduler *scheduler;
    const struct lanes_plan *plan;
    struct lane_calls calls;
    struct run *spare; /* one that ended; NULL: none */
    char *reason;
    struct device_waiter waiter;
    uint32_t *unfinished; /* by event: 1 until it is done, or lost while somebody waits; a gate */
    uint64_t *awaited;    /* by lane: the event that it waits for */
    uint64_t awaiting;    /* bit per lane that waits for one */
    uint64_t completed_count, look_count;
    bool is_refused;
    bool is_collected; /* the ops are over, and the trial has all of them */
    struct lane_task {
        struct lanes *lanes;
        uint8_t lane;
    } tasks[LANES_CLIENT_COUNT_MAX];
};

/* --- ops --- */

/* Runs the ops of all lanes, as lane 0: returns when every other lane has ended, too. */
void lanes_ops_run(struct lanes *lanes);

/* --- the device --- */

/* Once, for all runs; deinit() frees what it made. */
void lanes_device_init(struct lanes *lanes);
void lanes_device_deinit(struct lanes *lanes);
/* For runs of a list of op_count ops; then before each run. */
void lanes_device_make(struct lanes *lanes, size_t op_count);
void lanes_device_reset(struct lanes *lanes);
/* From here on each device call of the run is a point, and a wait for an event is a step. */
void lanes_device_attach(struct lanes *lanes);

/* The timeline went on: opens the gates of what is done, and of what is waited for in vain. */
void lanes_device_open_gates(struct lanes *lanes);
/* Completes every event that is pending, lost ones, too: a thread of the target may await one that
 * no client needs, which run_finish() completes, and so it must wake. */
void lanes_device_complete_all(struct lanes *lanes);

/* The functions that struct scheduler_plan asks for; context: the lanes. */
uint32_t lanes_device_events(void *context, uint64_t *events, uint32_t max);
void lanes_device_complete(void *context, uint64_t event);

#endif
