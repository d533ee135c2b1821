/* The first broken promise of a list, or else its first out-of-memory, in words and numbers, and
 * why it came. */
#ifndef EXPLAIN_EXPLAIN_H
#define EXPLAIN_EXPLAIN_H

#include "explain/options.h"

/* Explains the file, and prints.  The usual codes. */
enum exit_code explain_run(const struct explain_options *options);

#endif
