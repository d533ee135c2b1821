/* explain --what-if: the table of what would have helped, and each variant as a list that anyone
 * can replay. */
#ifndef EXPLAIN_WHAT_IF_H
#define EXPLAIN_WHAT_IF_H

#include "explain/options.h"
#include "recording/recording.h"

/* Whether what the options of --what-if name is there, and makes the folder of --what-if-out:
 * EXIT_KEPT, or after one message EXIT_USAGE or EXIT_HARNESS. */
enum exit_code what_if_check(const struct explain_options *options,
                             const struct recording *recording);

/* After the explanation, which ended with code: prints the table (with --json a line for each row)
 * and writes the lists to --what-if-out.  Does nothing unless an option asks for it; what_if_check
 * was KEPT.  Returns code, or after one message EXIT_BROKEN when the target crashes or hangs under
 * a variant, EXIT_HARNESS when a list cannot be written or the user interrupted. */
enum exit_code what_if_explain(const struct explain_options *options,
                               const struct recording *recording, enum exit_code code);

#endif
