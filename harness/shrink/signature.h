/* The name under which equal findings are counted, and which a shrunk list must keep: what is
 * broken, and in which kind of op.  "premature in alloc", "contents in defragment", "host_memory at
 * the end", "replay". */
#ifndef HARNESS_SHRINK_SIGNATURE_H
#define HARNESS_SHRINK_SIGNATURE_H

#include "harness/op/op.h"
#include "harness/oracle/verdict.h"

enum { SIGNATURE_BYTES = 160 };

/* ops is the list as recorded: an op of the verdict beyond it belongs to the last promises.  ""
 * without a verdict. */
void signature_print(const struct verdict *verdict, const struct op_list *ops,
                     char signature[SIGNATURE_BYTES]);

#endif
