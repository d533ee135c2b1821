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
#define FUNCTION(name) REAL_##name,
#include "explore/pthreads/list.h"
#undef FUNCTION
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

/* Marks a function that the code under test calls instead of the real one.  Its return address is
 * the place of the step, so it must never become part of its caller. */
#define INTERPOSED __attribute__((visibility("default"), noinline, used))
/* The place of the step, in such a function. */
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
