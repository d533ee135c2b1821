/* A verdict on an out-of-memory with its proof as a document that a separate program checks: the
 * form is that of docs/certificate.md. */
#ifndef HARNESS_ORACLE_CERTIFICATE_H
#define HARNESS_ORACLE_CERTIFICATE_H

#include "harness/base/writing.h"
#include "harness/op/ops_file.h"
#include "harness/oracle/oom.h"
#include "harness/oracle/proof.h"

enum { CERTIFICATE_VERSION = 1 };

/* The list that has the out-of-memory. */
struct certificate_list {
    const struct setup *setup; /* target and options */
    uint32_t op, host;
    char hash[OPS_HASH_BYTES];
};

/* Appends the document, which ends with a newline.  list: NULL = of no list.  O(blocks + moves +
 * length of the log). */
void certificate_print(const struct oom *oom, const struct proof *proof,
                       const struct verdict *verdict, const struct certificate_list *list,
                       struct writing *text);

#endif
