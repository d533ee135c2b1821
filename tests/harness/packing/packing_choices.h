/* Which choices of items bins can hold together, by trying all sums of all choices: what a proof by
 * patterns is compared with. */
#ifndef TESTS_HARNESS_PACKING_PACKING_CHOICES_H
#define TESTS_HARNESS_PACKING_PACKING_CHOICES_H

#include "harness/oracle/packing/packing.h"

/* Whether so many choices are reached before no choice is left. */
bool packing_patterns_hold(const struct packing_problem *problem, uint64_t sets);

#endif
