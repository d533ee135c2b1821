/* The program of a finding: C or C++ of the allocator's own API alone, a statement for each call.
 * It prints "SHOWN: ..." and exits with 1 when the defect is seen, "NOT SHOWN: ..." and 0
 * otherwise; of a crash or a hang it shows the call before which it printed the last line. */
#ifndef PRESENT_BUG_PROGRAM_H
#define PRESENT_BUG_PROGRAM_H

#include "harness/base/writing.h"
#include "present/bug.h"

/* Appends the source.  What comes from an op list is written as numbers alone. */
void bug_program_append(const struct bug *bug, struct writing *text);

/* Why the calls cannot be written in the texts of the API: an alignment, a size or bytes that it
 * has no text for.  NULL: they can. */
const char *bug_program_flaw(const struct bug *bug);

#endif
