/* Lists of scenarios that several lanes call at once, under a portfolio of schedules: no promise
 * broken.  HBMSTRESS_SEEDS says how many lists of each scenario, HBMSTRESS_FIRST_SEED which is the
 * first; with HBMSTRESS_PRINT those that break one are printed. */
#ifndef TESTS_SCENARIOS_DRAWN_LANES_H
#define TESTS_SCENARIOS_DRAWN_LANES_H

#include "harness/generate/scenario.h"
#include "harness/target.h"

struct drawn_lanes {
    const struct target *target;
    uint64_t seed_count;                /* where HBMSTRESS_SEEDS says nothing */
    uint8_t lanes_least, lanes_variety; /* so many, and up to so many different numbers of them */
    uint64_t schedule_count;
    bool has_threads; /* one list in eight is run by threads, not fibers */
};
void drawn_lanes_keep_promises(const struct drawn_lanes *lanes, const struct scenario *scenario);

#endif
