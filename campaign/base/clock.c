#include "campaign/base/clock.h"

#include "harness/base/random.h"

#include <time.h>

static uint64_t read_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_seed(void)
{
    return random_derive(read_ns(CLOCK_REALTIME), 0) >> 16;
}
