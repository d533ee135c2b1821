/* Which remedy answers a cause. */
#ifndef DIAGNOSIS_CAUSE_REMEDY_H
#define DIAGNOSIS_CAUSE_REMEDY_H

#include "diagnosis/remedy.h"

/* By the name of the cause, ended by NULL: the first that makes the list fit is the one.  NULL: no
 * remedy answers it, as of a premature out-of-memory, which is the allocator's. */
const struct remedy *const *cause_remedies(const char *cause_name);

#endif
