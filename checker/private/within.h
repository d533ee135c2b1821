/* The limit of steps of a proof by patterns, and a check with another one: to reach this one takes
 * a minute. */
#ifndef CHECKER_PRIVATE_WITHIN_H
#define CHECKER_PRIVATE_WITHIN_H
#include "checker/certificate_check.h"

#include <stdint.h>

enum { PATTERN_STEPS_MAX = 1 << 27 }; /* so that there is time for them */

/* Does as certificate_check_with(), which passes PATTERN_STEPS_MAX. */
enum certificate_result certificate_check_within(const char *text, size_t length,
                                                 const struct certificate_history *history,
                                                 uint64_t pattern_steps_max,
                                                 char reason[CERTIFICATE_REASON_BYTES]);
#endif
