#include "explore/pthreads/private/pthreads_link.h"

#include "explore/private/check.h"
#include "explore/pthreads/pthreads.h"

#include <stdatomic.h>
#include <stddef.h>

static atomic_bool is_linked;

void pthreads_link(void)
{
    static const char *const files[] = {
        &pthreads_link_mutex,  &pthreads_link_condition, &pthreads_link_rwlock,
        &pthreads_link_spin,   &pthreads_link_semaphore, &pthreads_link_barrier,
        &pthreads_link_thread, &pthreads_link_identity,  &pthreads_link_key,
        &pthreads_link_time,
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
