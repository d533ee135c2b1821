/* A verdict on an out-of-memory with its proof as a document that a separate program checks: the
 * form is that of docs/certificate.md. */
#ifndef HARNESS_ORACLE_CERTIFICATE_H
#define HARNESS_ORACLE_CERTIFICATE_H

#include "harness/oracle/oom.h"
#include "harness/oracle/proof.h"

#include <stdio.h>

enum { CERTIFICATE_VERSION = 1 };

/* Prints the document, which ends with a newline.  Failed writes are the caller's to notice
 * (ferror).  O(blocks + moves + length of the log). */
void certificate_print(const struct oom *oom, const struct proof *proof,
                       const struct verdict *verdict, FILE *file);

#endif
