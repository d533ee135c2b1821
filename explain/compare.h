/* explain A B: two runs, before and after a change, at the peak of each and over time. */
#ifndef EXPLAIN_COMPARE_H
#define EXPLAIN_COMPARE_H

#include "explain/options.h"
#include "harness/base/writing.h"

/* words[0] and words[1] are the files.  EXIT_KEPT when both were compared, whatever failed in them;
 * or another code after one message. */
enum exit_code explain_compare(const struct explain_options *options);
/* The same of these two files, in words that are appended. */
enum exit_code explain_compare_text(const struct explain_options *options,
                                    const char *const paths[2], struct writing *text);

#endif
