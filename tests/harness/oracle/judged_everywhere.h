/* States of out-of-memories before all judges. */
#ifndef TESTS_HARNESS_ORACLE_JUDGED_EVERYWHERE_H
#define TESTS_HARNESS_ORACLE_JUDGED_EVERYWHERE_H

#include "harness/base/random.h"
#include "harness/oracle/oracle.h"

/* The checker accepts the certificate, which has the text `says`; NULL: any. */
void require_certificate(const struct oom *oom, const struct proof *proof,
                         const struct verdict *verdict, const char *says);

/* So many states that are drawn one by one: each judge says the same of them, and the oracle of
 * their related states; a fifth at least has each verdict, and certificates have the text. */
void judge_at_random(uint64_t seed, uint64_t count,
                     const struct oom *(*draw)(struct random *random), const char *says);

#endif
