#include "explore/pthreads/private/pthreads_real.h"

#include "explore/private/check.h"

#include <dlfcn.h>
#include <string.h>

static const char *const names[REAL_COUNT] = {
    [REAL_pthread_mutex_init] = "pthread_mutex_init",
    [REAL_pthread_mutex_destroy] = "pthread_mutex_destroy",
    [REAL_pthread_mutex_lock] = "pthread_mutex_lock",
    [REAL_pthread_mutex_trylock] = "pthread_mutex_trylock",
    [REAL_pthread_mutex_timedlock] = "pthread_mutex_timedlock",
    [REAL_pthread_mutex_clocklock] = "pthread_mutex_clocklock",
    [REAL_pthread_mutex_unlock] = "pthread_mutex_unlock",
    [REAL_pthread_cond_init] = "pthread_cond_init",
    [REAL_pthread_cond_destroy] = "pthread_cond_destroy",
    [REAL_pthread_cond_wait] = "pthread_cond_wait",
    [REAL_pthread_cond_timedwait] = "pthread_cond_timedwait",
    [REAL_pthread_cond_clockwait] = "pthread_cond_clockwait",
    [REAL_pthread_cond_signal] = "pthread_cond_signal",
    [REAL_pthread_cond_broadcast] = "pthread_cond_broadcast",
    [REAL_pthread_rwlock_init] = "pthread_rwlock_init",
    [REAL_pthread_rwlock_destroy] = "pthread_rwlock_destroy",
    [REAL_pthread_rwlock_rdlock] = "pthread_rwlock_rdlock",
    [REAL_pthread_rwlock_tryrdlock] = "pthread_rwlock_tryrdlock",
    [REAL_pthread_rwlock_timedrdlock] = "pthread_rwlock_timedrdlock",
    [REAL_pthread_rwlock_clockrdlock] = "pthread_rwlock_clockrdlock",
    [REAL_pthread_rwlock_wrlock] = "pthread_rwlock_wrlock",
    [REAL_pthread_rwlock_trywrlock] = "pthread_rwlock_trywrlock",
    [REAL_pthread_rwlock_timedwrlock] = "pthread_rwlock_timedwrlock",
    [REAL_pthread_rwlock_clockwrlock] = "pthread_rwlock_clockwrlock",
    [REAL_pthread_rwlock_unlock] = "pthread_rwlock_unlock",
    [REAL_pthread_spin_init] = "pthread_spin_init",
    [REAL_pthread_spin_destroy] = "pthread_spin_destroy",
    [REAL_pthread_spin_lock] = "pthread_spin_lock",
    [REAL_pthread_spin_trylock] = "pthread_spin_trylock",
    [REAL_pthread_spin_unlock] = "pthread_spin_unlock",
    [REAL_sem_init] = "sem_init",
    [REAL_sem_destroy] = "sem_destroy",
    [REAL_sem_wait] = "sem_wait",
    [REAL_sem_trywait] = "sem_trywait",
    [REAL_sem_timedwait] = "sem_timedwait",
    [REAL_sem_clockwait] = "sem_clockwait",
    [REAL_sem_post] = "sem_post",
    [REAL_sem_getvalue] = "sem_getvalue",
    [REAL_pthread_barrier_init] = "pthread_barrier_init",
    [REAL_pthread_barrier_destroy] = "pthread_barrier_destroy",
    [REAL_pthread_barrier_wait] = "pthread_barrier_wait",
    [REAL_pthread_once] = "pthread_once",
    [REAL_pthread_create] = "pthread_create",
    [REAL_pthread_join] = "pthread_join",
    [REAL_pthread_tryjoin_np] = "pthread_tryjoin_np",
    [REAL_pthread_timedjoin_np] = "pthread_timedjoin_np",
    [REAL_pthread_clockjoin_np] = "pthread_clockjoin_np",
    [REAL_pthread_detach] = "pthread_detach",
    [REAL_pthread_exit] = "pthread_exit",
    [REAL_pthread_self] = "pthread_self",
    [REAL_pthread_key_create] = "pthread_key_create",
    [REAL_pthread_key_delete] = "pthread_key_delete",
    [REAL_pthread_getspecific] = "pthread_getspecific",
    [REAL_pthread_setspecific] = "pthread_setspecific",
    [REAL_pthread_setname_np] = "pthread_setname_np",
    [REAL_pthread_getname_np] = "pthread_getname_np",
    [REAL_pthread_getattr_np] = "pthread_getattr_np",
    [REAL_pthread_setaffinity_np] = "pthread_setaffinity_np",
    [REAL_pthread_getaffinity_np] = "pthread_getaffinity_np",
    [REAL_pthread_setschedparam] = "pthread_setschedparam",
    [REAL_pthread_getschedparam] = "pthread_getschedparam",
    [REAL_pthread_setschedprio] = "pthread_setschedprio",
    [REAL_pthread_getcpuclockid] = "pthread_getcpuclockid",
    [REAL_pthread_kill] = "pthread_kill",
    [REAL_pthread_cancel] = "pthread_cancel",
    [REAL_sched_yield] = "sched_yield",
    [REAL_nanosleep] = "nanosleep",
    [REAL_usleep] = "usleep",
    [REAL_sleep] = "sleep",
    [REAL_clock_nanosleep] = "clock_nanosleep",
    [REAL_clock_gettime] = "clock_gettime",
    [REAL_gettimeofday] = "gettimeofday",
    [REAL_time] = "time",
    [REAL_timespec_get] = "timespec_get",
    [REAL_mtx_init] = "mtx_init",
    [REAL_mtx_destroy] = "mtx_destroy",
    [REAL_mtx_lock] = "mtx_lock",
    [REAL_mtx_trylock] = "mtx_trylock",
    [REAL_mtx_timedlock] = "mtx_timedlock",
    [REAL_mtx_unlock] = "mtx_unlock",
    [REAL_cnd_init] = "cnd_init",
    [REAL_cnd_destroy] = "cnd_destroy",
    [REAL_cnd_wait] = "cnd_wait",
    [REAL_cnd_timedwait] = "cnd_timedwait",
    [REAL_cnd_signal] = "cnd_signal",
    [REAL_cnd_broadcast] = "cnd_broadcast",
    [REAL_call_once] = "call_once",
    [REAL_thrd_create] = "thrd_create",
    [REAL_thrd_join] = "thrd_join",
    [REAL_thrd_detach] = "thrd_detach",
    [REAL_thrd_exit] = "thrd_exit",
    [REAL_thrd_current] = "thrd_current",
    [REAL_thrd_sleep] = "thrd_sleep",
    [REAL_thrd_yield] = "thrd_yield",
};

_Atomic(void *) real_table[REAL_COUNT];

/* The sanitizers of clang are part of the program: what they put in front of thread creation is no
 * `next' symbol. */
extern int __interceptor_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                                        void *) __attribute__((weak));

static void *find_real_function(enum real_name name)
{
    if (name == REAL_pthread_create && __interceptor_pthread_create != NULL) {
        return (void *)__interceptor_pthread_create;
    }
#if defined(__x86_64__)
    /* The wait of the thread sanitizer is in front of the system's, and has no version. */
    if (strncmp(names[name], "pthread_cond_", strlen("pthread_cond_")) == 0 &&
        dlsym(RTLD_DEFAULT, "__tsan_init") == NULL) {
        /* The functions of the first version take another structure, and a search by name alone may
         * find them. */
        void *function = dlvsym(RTLD_NEXT, names[name], "GLIBC_2.3.2");
        return function != NULL ? function : dlsym(RTLD_NEXT, names[name]);
    }
#endif
    return dlsym(RTLD_NEXT, names[name]);
}

void *real_resolve(enum real_name name)
{
    void *function = find_real_function(name);
    EXPLORE_CHECK(function != NULL);
    atomic_store_explicit(&real_table[name], function, memory_order_relaxed);
    return function;
}
