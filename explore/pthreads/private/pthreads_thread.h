/* The ids of lanes as threads. */
#ifndef EXPLORE_PTHREADS_PRIVATE_PTHREADS_THREAD_H
#define EXPLORE_PTHREADS_PRIVATE_PTHREADS_THREAD_H

#include "explore/scheduler.h"

#include <pthread.h>

/* A real id is an address of the C library's, and no address is this small. */
enum { THREAD_ID_FIRST = 0x1A00 };

static inline pthread_t thread_id(uint8_t lane)
{
    return (pthread_t)THREAD_ID_FIRST + lane;
}

static inline bool thread_id_is_lane(pthread_t id)
{
    return id >= THREAD_ID_FIRST && id < (pthread_t)THREAD_ID_FIRST + LANE_COUNT_MAX;
}

/* False: no lane of this run.  True: *lane is set. */
static inline bool thread_id_find(const struct scheduler *scheduler, pthread_t id, uint8_t *lane)
{
    if (!thread_id_is_lane(id) || id - THREAD_ID_FIRST >= scheduler_lane_count(scheduler)) {
        return false;
    }
    *lane = (uint8_t)(id - THREAD_ID_FIRST);
    return true;
}

#endif
