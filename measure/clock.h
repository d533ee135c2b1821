/* The time that a measurement counts. */
#ifndef MEASURE_CLOCK_H
#define MEASURE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t read_clock_ns(clockid_t clock)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Reads this process's own time, the kernel's work for it included, so that other programs of the
 * machine count little. */
static inline double read_cpu_ns(void)
{
    return (double)read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

#endif
