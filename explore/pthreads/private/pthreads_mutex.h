/* The two halves of a condition's wait that concern its mutex. */
#ifndef EXPLORE_PTHREADS_PRIVATE_PTHREADS_MUTEX_H
#define EXPLORE_PTHREADS_PRIVATE_PTHREADS_MUTEX_H

#include "explore/scheduler.h"

#include <pthread.h>

/* Gives the mutex back without a step.  0, or the error of an unlock by who does not hold it. */
int mutex_leave(struct scheduler *scheduler, pthread_mutex_t *mutex, const void *place);
/* Takes it, as pthread_mutex_lock. */
int mutex_enter(struct scheduler *scheduler, pthread_mutex_t *mutex, const void *place);

#endif
