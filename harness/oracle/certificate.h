/* A verdict on an out-of-memory with its proof as a document that a separate program checks: the
 * form is that of docs/certificate.md. */
#ifndef HARNESS_ORACLE_CERTIFICATE_H
#define HARNESS_ORACLE_CERTIFICATE_H

#include "harness/base/writing.h"
#include "harness/oracle/oom.h"
#include "harness/oracle/proof.h"

enum { CERTIFICATE_VERSION = 1 };

/* Appends the document, which ends with a newline.  O(blocks + moves + length of the log). */
void certificate_print(const struct oom *oom, const struct proof *proof,
                       const struct verdict *verdict, struct writing *text);

#endif
