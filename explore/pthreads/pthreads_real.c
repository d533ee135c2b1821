#include "explore/private/check.h"
#include "explore/pthreads/private/pthreads_run.h"
#include "explore/pthreads/pthreads.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

static const char *const names[REAL_COUNT] = {
#define FUNCTION(name) #name,
#include "explore/pthreads/list.h"
#undef FUNCTION
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

static atomic_bool is_linked;

void pthreads_link(void)
{
    static const char *const files[] = {
        &pthreads_link_mutex,  &pthreads_link_rwlock, &pthreads_link_semaphore,
        &pthreads_link_thread, &pthreads_link_key,    &pthreads_link_time,
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        EXPLORE_CHECK(*(const volatile char *)files[i] == 1);
    }
    atomic_store_explicit(&is_linked, true, memory_order_relaxed);
}

bool pthreads_are_linked(void)
{
    return atomic_load_explicit(&is_linked, memory_order_relaxed);
}
