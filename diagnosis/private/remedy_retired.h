/* Retired memory lies on the device that the list is from: a remedy that takes another device
 * leaves it out. */
#ifndef DIAGNOSIS_PRIVATE_REMEDY_RETIRED_H
#define DIAGNOSIS_PRIVATE_REMEDY_RETIRED_H

#include "diagnosis/remedy.h"

/* Copies the list of the case without its retirements; returns how many those were. */
size_t remedy_leave_out_retired(const struct remedy_case *given, struct remedy_result *result);

/* Says so, where there were any, behind the first used characters of the note. */
void remedy_note_retired(struct remedy_result *result, int used, size_t retired_count);

#endif
