/* A free run of lanes, as these share it: the lanes with their calls (lanes_free.c) and the device
 * that goes on beside them (lanes_free_device.c). */
#ifndef HARNESS_LANES_PRIVATE_LANES_FREE_STATE_H
#define HARNESS_LANES_PRIVATE_LANES_FREE_STATE_H

#include "harness/base/random.h"
#include "harness/device/device_guard.h"
#include "harness/lanes/lanes_list.h"
#include "harness/lanes/private/lane_calls.h"

#include <pthread.h>
#include <stdatomic.h>

struct lanes_plan;
struct lanes_free_found;

struct free_lane {
    struct free_lanes *lanes;
    pthread_t thread;
    bool is_started;
    uint8_t number;
};

/* Everything belongs to who holds the guard; while is_judging, calls (but for the run's devices'
 * services) belong to the lane that judges. */
struct free_lanes {
    struct device_guard guard;
    struct lane_calls calls;
    const struct lanes_plan *plan;
    struct device_waiter waiter;
    struct random random;
    struct random device_random; /* of the device's thread alone */
    pthread_t device_thread;
    struct lanes_free_found *found;
    uint64_t met_count;          /* calls since none was under way */
    uint64_t together_count_max; /* so many are judged together */
    uint32_t lane_count;         /* lanes that have ops left */
    atomic_uint under_way_count; /* calls; the one number that is read without the guard */
    uint32_t awaiting_count;     /* calls that wait for an event */
    bool is_judging, is_over, is_device_off;
    struct free_lane lanes[LANES_CLIENT_COUNT_MAX];
};

/* Before the run is opened.  Its delays are drawn from the seed. */
void lanes_free_device_init(struct free_lanes *lanes, uint64_t seed);
/* Starts the thread that completes events, and ends it: from then on it completes none.  Without
 * the guard. */
void lanes_free_device_start(struct free_lanes *lanes);
void lanes_free_device_end(struct free_lanes *lanes);

#endif
