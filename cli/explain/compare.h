/* explain A B: two runs, before and after a change, at the peak of each and over time. */
#ifndef CLI_EXPLAIN_COMPARE_H
#define CLI_EXPLAIN_COMPARE_H

#include "cli/arguments.h"

/* words[0] and words[1] are the files.  EXIT_KEPT when both were compared, whatever failed in them;
 * or another code after one message. */
enum exit_code explain_compare(const struct arguments *arguments);

#endif
