/* Makes the table of docs/certificate.md, from that page alone. */
#ifndef TESTS_HARNESS_PACKING_PACKING_TABLE_H
#define TESTS_HARNESS_PACKING_PACKING_TABLE_H

#include "harness/oracle/packing/packing.h"

/* Whether so many sets are reached, and that of all items is not.  For some thousand sets. */
bool packing_table_holds(const struct packing_problem *problem, uint64_t sets);

#endif
