/* The hash by which a certificate names its list: docs/certificate.md, "The list". */
#ifndef HARNESS_OP_OPS_HASH_H
#define HARNESS_OP_OPS_HASH_H

#include "harness/op/op.h"
#include "harness/op/setup.h"

enum { OPS_HASH_BYTES = 65 };

/* SHA-256, in lower-case hexadecimal, of what ops_file_print() prints of the head and of the first
 * op_count ops (at most list->count), without the empty line and without switches.  O(op_count). */
void ops_hash(const struct setup *setup, const struct op_list *list, size_t op_count,
              char hash[OPS_HASH_BYTES]);

#endif
