/* libhbm with two defects at once: one on every third request of six granules or more, one on the
 * third free. */
#ifndef TESTS_CAMPAIGN_PROCESS_TWO_DEFECTS_H
#define TESTS_CAMPAIGN_PROCESS_TWO_DEFECTS_H

#include "harness/target.h"

extern struct target two_rules;      /* too_small in an answer, counters in free */
extern struct target rule_and_crash; /* too_small in an answer, SIGABRT in free */
extern struct target two_crashes;    /* SIGABRT in both */

#endif
