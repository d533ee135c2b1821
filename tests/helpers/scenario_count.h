/* For tests that run once for each scenario: TEST(name, .count = count_scenarios). */
#ifndef TESTS_HELPERS_SCENARIO_COUNT_H
#define TESTS_HELPERS_SCENARIO_COUNT_H

#include "scenarios/scenarios.h"

static inline int count_scenarios(void)
{
    int count = 0;
    while (scenarios[count] != NULL) {
        count++;
    }
    return count;
}

#endif
