/* Standstills of clients in words: who waited, and which of them could have gone on. */
#ifndef DIAGNOSIS_STANDSTILL_H
#define DIAGNOSIS_STANDSTILL_H

#include "harness/base/writing.h"
#include "harness/run/standstills.h"

/* One of them, without a full stop. */
void standstill_append(const struct setup *setup, const struct standstill *found,
                       struct writing *text);
/* One line for each; nothing where there are none. */
void standstills_append(const struct setup *setup, const struct standstills *standstills,
                        struct writing *text);
/* Appends the same as JSON lines of the type "standstill". */
void standstills_append_json(const struct setup *setup, const struct standstills *standstills,
                             struct writing *text);

#endif
