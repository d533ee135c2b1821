/* The threads of C11 are those of POSIX under other names: glibc's mtx_t is a pthread_mutex_t,
 * cnd_t a pthread_cond_t, once_flag a pthread_once_t, thrd_t a pthread_t and tss_t a pthread_key_t.
 * Only results and the types of a thread's routine differ. */
#ifndef EXPLORE_PTHREADS_PRIVATE_PTHREADS_C11_H
#define EXPLORE_PTHREADS_PRIVATE_PTHREADS_C11_H

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <threads.h>

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "mtx_lock() takes a mutex of pthreads");
static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "cnd_wait() takes a condition of pthreads");
static_assert(sizeof(once_flag) == sizeof(pthread_once_t), "call_once() takes a once of pthreads");
static_assert(sizeof(thrd_t) == sizeof(pthread_t), "thrd_join() takes an id of pthreads");
static_assert(sizeof(tss_t) == sizeof(pthread_key_t), "tss_get() takes a key of pthreads");

/* The result for an error of pthreads, as glibc has it. */
static inline int c11_result(int error)
{
    switch (error) {
    case 0:
        return thrd_success;
    case ENOMEM:
        return thrd_nomem;
    case ETIMEDOUT:
        return thrd_timedout;
    case EBUSY:
        return thrd_busy;
    default:
        return thrd_error;
    }
}

#endif
