/* A scenario whose device refuses something all the time: what an allocator does then shows in few
 * ops. */
#ifndef TESTS_HELPERS_FAULTY_SCENARIO_H
#define TESTS_HELPERS_FAULTY_SCENARIO_H

#include "harness/generate/scenario.h"

extern const struct scenario faulty_scenario;

#endif
