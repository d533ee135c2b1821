/* The name under which equal findings are counted, and which a shrunk list must keep: what is
 * broken and by which mechanism, or else in which kind of op.  "premature: fits after drain",
 * "contents: place after the op", "status: alloc returned FAILED", "not_coalesced at the end". */
#ifndef HARNESS_ORACLE_SIGNATURE_H
#define HARNESS_ORACLE_SIGNATURE_H

#include "harness/op/op.h"
#include "harness/oracle/verdict.h"

#include <stdbool.h>

enum { SIGNATURE_BYTES = 160 };

/* ops is the list as recorded: an op of the verdict beyond it belongs to the last promises.  ""
 * without a verdict. */
void signature_print(const struct verdict *verdict, const struct op_list *ops,
                     char signature[SIGNATURE_BYTES]);

/* True if a list that ends in `signature` shows the finding `wanted`: the same one, or one that is
 * left of the same defect (shortfall.h). */
bool signature_stands_for(const char *signature, const char *wanted);

/* True if the refusal of `signature` explains the refusal `wanted` of the same request, after ops
 * were removed before it, or its alignment (shortfall_explains). */
bool signature_explains(const char *signature, const char *wanted);

/* True if it is that of a refusal that needed mitigations, or was not looked at again after some
 * (shortfall_lacks_mitigation). */
bool signature_lacks_mitigation(const char *signature);

#endif
