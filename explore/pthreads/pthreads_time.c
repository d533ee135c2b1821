/* Clocks, sleeps and sched_yield.  All clocks of a lane show the virtual time, so a deadline that
 * code computes from any of them is one of the virtual time, too. */
#include "explore/pthreads/private/pthreads_run.h"

#include <errno.h>

const char pthreads_link_time = 1;

static const uint64_t second_ns = UINT64_C(1000000000);

static struct timespec read_clock(const struct scheduler *scheduler)
{
    const uint64_t now_ns = scheduler_now_ns(scheduler);
    return (struct timespec){.tv_sec = (time_t)(now_ns / second_ns),
                             .tv_nsec = (long)(now_ns % second_ns)};
}

/* 0 or EINVAL, like clock_nanosleep. */
static int sleep_for_delay(struct scheduler *scheduler, const struct timespec *delay,
                           const void *place)
{
    uint64_t delay_ns;
    if (delay->tv_sec < 0 || !time_parse(delay, &delay_ns)) {
        return EINVAL;
    }
    scheduler_sleep(scheduler, delay_ns, place);
    return 0;
}

static int sleep_until_time(struct scheduler *scheduler, const struct timespec *time,
                            const void *place)
{
    uint64_t time_ns;
    if (!time_parse(time, &time_ns)) {
        return EINVAL;
    }
    const uint64_t now_ns = scheduler_now_ns(scheduler);
    scheduler_sleep(scheduler, time_ns > now_ns ? time_ns - now_ns : 0, place);
    return 0;
}

/* --- what the code under test calls --- */

INTERPOSE(int, sched_yield, (void), (), (scheduler_yield(scheduler, PLACE), 0))

INTERPOSED int nanosleep(const struct timespec *delay, struct timespec *left)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler == NULL) {
        return REAL(nanosleep)(delay, left);
    }
    const int error = sleep_for_delay(scheduler, delay, PLACE);
    errno = error == 0 ? errno : error;
    return error == 0 ? 0 : -1;
}

INTERPOSE(int, clock_nanosleep,
          (clockid_t clock, int flags, const struct timespec *time, struct timespec *left),
          (clock, flags, time, left),
          (flags & TIMER_ABSTIME) != 0 ? sleep_until_time(scheduler, time, PLACE)
                                       : sleep_for_delay(scheduler, time, PLACE))

INTERPOSE(int, usleep, (useconds_t delay_us), (delay_us),
          (scheduler_sleep(scheduler, (uint64_t)delay_us * 1000, PLACE), 0))

INTERPOSE(unsigned, sleep, (unsigned delay_s), (delay_s),
          (scheduler_sleep(scheduler, delay_s *second_ns, PLACE), 0u))

INTERPOSE(int, clock_gettime, (clockid_t clock, struct timespec *time), (clock, time),
          (*time = read_clock(scheduler), 0))

INTERPOSED int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler == NULL) {
        return REAL(gettimeofday)(time, zone);
    }
    const struct timespec precise = read_clock(scheduler);
    *time = (struct timeval){.tv_sec = precise.tv_sec, .tv_usec = precise.tv_nsec / 1000};
    return 0;
}

INTERPOSED time_t time(time_t *seconds)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler == NULL) {
        return REAL(time)(seconds);
    }
    const time_t now_s = read_clock(scheduler).tv_sec;
    if (seconds != NULL) {
        *seconds = now_s;
    }
    return now_s;
}

INTERPOSED int timespec_get(struct timespec *time, int base)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler == NULL || base != TIME_UTC) {
        return REAL(timespec_get)(time, base);
    }
    *time = read_clock(scheduler);
    return base;
}

/* The same function of C11. */
INTERPOSED void thrd_yield(void)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler == NULL) {
        REAL(thrd_yield)();
        return;
    }
    scheduler_yield(scheduler, PLACE);
}

/* No signal ends a lane's sleep; -1 is for one that was. */
INTERPOSE(int, thrd_sleep, (const struct timespec *delay, struct timespec *left), (delay, left),
          sleep_for_delay(scheduler, delay, PLACE) == 0 ? 0 : -2)
