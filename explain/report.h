/* explain of a compiler's report: what the program needs, what of it is lost, the largest
 * allocations, and what the numbers say; no run is needed, since nothing ran. */
#ifndef EXPLAIN_REPORT_H
#define EXPLAIN_REPORT_H

#include "explain/options.h"
#include "harness/base/writing.h"
#include "recording/recording.h"

/* Whether FILE is told as a report, and not by a replay: it has one, and that is of a compiler or
 * there is no list to replay. */
bool explain_report_is_told(const struct recording *recording);
/* Prints it, with --json as lines.  EXIT_KEPT, or EXIT_HARNESS when it cannot be written. */
enum exit_code explain_report(const struct explain_options *options,
                              const struct recording *recording);
/* The same, appended. */
void explain_report_append(const struct explain_options *options, const struct recording *recording,
                           struct writing *text);
/* After the explanation of a replay: what the runtime's failure adds of the program's plan.  Does
 * nothing without a report.  Returns code, or EXIT_HARNESS. */
enum exit_code explain_report_after(const struct explain_options *options,
                                    const struct recording *recording, enum exit_code code);

#endif
