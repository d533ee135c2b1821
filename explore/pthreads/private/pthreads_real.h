/* The functions that ours stand in front of, found when they are first called. */
#ifndef EXPLORE_PTHREADS_PRIVATE_PTHREADS_REAL_H
#define EXPLORE_PTHREADS_PRIVATE_PTHREADS_REAL_H

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum real_name {
    REAL_pthread_mutex_init,
    REAL_pthread_mutex_destroy,
    REAL_pthread_mutex_lock,
    REAL_pthread_mutex_trylock,
    REAL_pthread_mutex_timedlock,
    REAL_pthread_mutex_clocklock,
    REAL_pthread_mutex_unlock,
    REAL_pthread_cond_init,
    REAL_pthread_cond_destroy,
    REAL_pthread_cond_wait,
    REAL_pthread_cond_timedwait,
    REAL_pthread_cond_clockwait,
    REAL_pthread_cond_signal,
    REAL_pthread_cond_broadcast,
    REAL_pthread_rwlock_init,
    REAL_pthread_rwlock_destroy,
    REAL_pthread_rwlock_rdlock,
    REAL_pthread_rwlock_tryrdlock,
    REAL_pthread_rwlock_timedrdlock,
    REAL_pthread_rwlock_clockrdlock,
    REAL_pthread_rwlock_wrlock,
    REAL_pthread_rwlock_trywrlock,
    REAL_pthread_rwlock_timedwrlock,
    REAL_pthread_rwlock_clockwrlock,
    REAL_pthread_rwlock_unlock,
    REAL_pthread_spin_init,
    REAL_pthread_spin_destroy,
    REAL_pthread_spin_lock,
    REAL_pthread_spin_trylock,
    REAL_pthread_spin_unlock,
    REAL_sem_init,
    REAL_sem_destroy,
    REAL_sem_wait,
    REAL_sem_trywait,
    REAL_sem_timedwait,
    REAL_sem_clockwait,
    REAL_sem_post,
    REAL_sem_getvalue,
    REAL_pthread_barrier_init,
    REAL_pthread_barrier_destroy,
    REAL_pthread_barrier_wait,
    REAL_pthread_once,
    REAL_pthread_create,
    REAL_pthread_join,
    REAL_pthread_tryjoin_np,
    REAL_pthread_timedjoin_np,
    REAL_pthread_clockjoin_np,
    REAL_pthread_detach,
    REAL_pthread_exit,
    REAL_pthread_self,
    REAL_pthread_key_create,
    REAL_pthread_key_delete,
    REAL_pthread_getspecific,
    REAL_pthread_setspecific,
    REAL_pthread_setname_np,
    REAL_pthread_getname_np,
    REAL_pthread_getattr_np,
    REAL_pthread_setaffinity_np,
    REAL_pthread_getaffinity_np,
    REAL_pthread_setschedparam,
    REAL_pthread_getschedparam,
    REAL_pthread_setschedprio,
    REAL_pthread_getcpuclockid,
    REAL_pthread_kill,
    REAL_pthread_cancel,
    REAL_sched_yield,
    REAL_nanosleep,
    REAL_usleep,
    REAL_sleep,
    REAL_clock_nanosleep,
    REAL_clock_gettime,
    REAL_gettimeofday,
    REAL_time,
    REAL_timespec_get,
    REAL_mtx_init,
    REAL_mtx_destroy,
    REAL_mtx_lock,
    REAL_mtx_trylock,
    REAL_mtx_timedlock,
    REAL_mtx_unlock,
    REAL_cnd_init,
    REAL_cnd_destroy,
    REAL_cnd_wait,
    REAL_cnd_timedwait,
    REAL_cnd_signal,
    REAL_cnd_broadcast,
    REAL_call_once,
    REAL_thrd_create,
    REAL_thrd_join,
    REAL_thrd_detach,
    REAL_thrd_exit,
    REAL_thrd_current,
    REAL_thrd_sleep,
    REAL_thrd_yield,
    REAL_COUNT
};

extern _Atomic(void *) real_table[REAL_COUNT];
/* Ends the process when the C library has no such function. */
void *real_resolve(enum real_name name);

/* Safe at any time, before constructors, too: all threads find the same. */
static inline void *real_function(enum real_name name)
{
    void *function = atomic_load_explicit(&real_table[name], memory_order_relaxed);
    return function != NULL ? function : real_resolve(name);
}

/* The real function of that name, with its type. */
#define REAL(name) ((__typeof__(&(name)))real_function(REAL_##name))

/* Of a function that the code under test comes to instead of the real one.  Its return address is
 * the place of the step, so it must never become part of its caller. */
#define INTERPOSED __attribute__((visibility("default"), noinline, used))
/* In such a function: that place. */
#define PLACE __builtin_return_address(0)

/* Defines such a function.  Outside of a run it is the real one; in a run its result is that of the
 * expression at the end, which may name the scheduler of the run. */
#define INTERPOSE(type, name, parameters, arguments, ...)                \
    INTERPOSED type name parameters                                      \
    {                                                                    \
        struct scheduler *scheduler = scheduler_current();               \
        return scheduler == NULL ? REAL(name) arguments : (__VA_ARGS__); \
    }
/* Another one: it is the real one, before which the expression at the end is evaluated in a run. */
#define INTERPOSE_BEFORE(type, name, parameters, arguments, ...) \
    INTERPOSED type name parameters                              \
    {                                                            \
        struct scheduler *scheduler = scheduler_current();       \
        if (scheduler != NULL) {                                 \
            __VA_ARGS__;                                         \
        }                                                        \
        return REAL(name) arguments;                             \
    }

#endif
