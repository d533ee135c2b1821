/* These functions also take a thread's id.  The real ones would take a lane's for an address. */
#include "explore/pthreads/private/pthreads_link.h"
#include "explore/pthreads/private/pthreads_real.h"
#include "explore/pthreads/private/pthreads_thread.h"

#include <errno.h>
#include <stdio.h>

const char pthreads_link_identity = 1;

/* Returns the thread that really runs the lane. */
static pthread_t find_carrier(pthread_t id)
{
    return thread_id_is_lane(id) ? REAL(pthread_self)() : id;
}

INTERPOSED int pthread_setname_np(pthread_t id, const char *name)
{
    return thread_id_is_lane(id) ? 0 : REAL(pthread_setname_np)(id, name);
}

INTERPOSED int pthread_getname_np(pthread_t id, char *name, size_t name_bytes)
{
    if (!thread_id_is_lane(id)) {
        return REAL(pthread_getname_np)(id, name, name_bytes);
    }
    const int length = snprintf(name, name_bytes, "lane %u", (unsigned)(id - THREAD_ID_FIRST));
    return length < 0 || (size_t)length >= name_bytes ? ERANGE : 0;
}

INTERPOSED int pthread_getattr_np(pthread_t id, pthread_attr_t *attributes)
{
    return REAL(pthread_getattr_np)(find_carrier(id), attributes);
}

INTERPOSED int pthread_setaffinity_np(pthread_t id, size_t set_bytes, const cpu_set_t *set)
{
    return thread_id_is_lane(id) ? 0 : REAL(pthread_setaffinity_np)(id, set_bytes, set);
}

INTERPOSED int pthread_getaffinity_np(pthread_t id, size_t set_bytes, cpu_set_t *set)
{
    return REAL(pthread_getaffinity_np)(find_carrier(id), set_bytes, set);
}

INTERPOSED int pthread_setschedparam(pthread_t id, int policy, const struct sched_param *parameters)
{
    return thread_id_is_lane(id) ? 0 : REAL(pthread_setschedparam)(id, policy, parameters);
}

INTERPOSED int pthread_getschedparam(pthread_t id, int *policy, struct sched_param *parameters)
{
    return REAL(pthread_getschedparam)(find_carrier(id), policy, parameters);
}

INTERPOSED int pthread_setschedprio(pthread_t id, int priority)
{
    return thread_id_is_lane(id) ? 0 : REAL(pthread_setschedprio)(id, priority);
}

INTERPOSED int pthread_getcpuclockid(pthread_t id, clockid_t *clock)
{
    if (!thread_id_is_lane(id)) {
        return REAL(pthread_getcpuclockid)(id, clock);
    }
    *clock = CLOCK_THREAD_CPUTIME_ID;
    return 0;
}

INTERPOSED int pthread_kill(pthread_t id, int signal_number)
{
    if (!thread_id_is_lane(id)) {
        return REAL(pthread_kill)(id, signal_number);
    }
    uint8_t lane;
    struct scheduler *scheduler = scheduler_current();
    if (scheduler == NULL || !thread_id_find(scheduler, id, &lane)) {
        return ESRCH;
    }
    return signal_number == 0 ? 0 : ENOTSUP;
}

INTERPOSED int pthread_cancel(pthread_t id)
{
    return thread_id_is_lane(id) ? ENOTSUP : REAL(pthread_cancel)(id);
}
