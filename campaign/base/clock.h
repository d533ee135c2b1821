/* The wall clock of the program itself: for bounds and for "seconds", never for an op. */
#ifndef CAMPAIGN_BASE_CLOCK_H
#define CAMPAIGN_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some point in the past; never runs backwards. */
uint64_t clock_now_ns(void);

/* A seed of at most 48 bits that differs from run to run; small enough for every JSON reader. */
uint64_t clock_seed(void);

#endif
