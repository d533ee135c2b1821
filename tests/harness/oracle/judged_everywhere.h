/* One state of an out-of-memory before all judges. */
#ifndef TESTS_HARNESS_ORACLE_JUDGED_EVERYWHERE_H
#define TESTS_HARNESS_ORACLE_JUDGED_EVERYWHERE_H

#include "harness/oracle/oracle.h"

/* The oracle's verdict.  The second judge comes to the same, the checker accepts its certificate,
 * and that has the text `says`; otherwise the test fails. */
enum verdict_kind judged_everywhere(struct oracle *oracle, const struct oom *oom, const char *says);

#endif
