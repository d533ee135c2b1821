/* What explain prints of a list, for a page. */
#ifndef EXPLAIN_EXPLAIN_TEXT_H
#define EXPLAIN_EXPLAIN_TEXT_H

#include "explain/options.h"
#include "harness/base/writing.h"
#include "recording/recording.h"

/* Appends the words, taken in a process of their own; the file's path is the first of the
 * options.  EXIT_KEPT, also where the target died or hung: then nothing is appended, and why says
 * how; or another code after one message. */
enum { EXPLAIN_WHY_BYTES = 512 };
enum exit_code explain_text(const struct explain_options *options,
                            const struct recording *recording, struct writing *text,
                            char why[EXPLAIN_WHY_BYTES]);

#endif
