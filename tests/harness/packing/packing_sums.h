/* The sums that items have, one byte for each, as docs/certificate.md says of fills. */
#ifndef TESTS_HARNESS_PACKING_PACKING_SUMS_H
#define TESTS_HARNESS_PACKING_PACKING_SUMS_H

#include "harness/oracle/packing/packing.h"

/* Whether the numbers are right, and refute.  Up to 2^27 sums, in five bytes for each. */
bool packing_fills_hold(const struct packing_problem *problem, const struct packing_fills *fills);

#endif
