/* Shortages of a shared device in words: who asked, and who had the memory. */
#ifndef DIAGNOSIS_SHORTAGE_H
#define DIAGNOSIS_SHORTAGE_H

#include "harness/base/writing.h"
#include "harness/run/shortages.h"

/* "host 1 ran out at op 7: …", without an end. */
void shortage_append(const struct shortage *shortage, struct writing *text);
/* One line for each; nothing where there are none. */
void shortages_append(const struct shortages *shortages, struct writing *text);
/* Appends the same as JSON lines of the type "shortage". */
void shortages_append_json(const struct shortages *shortages, struct writing *text);

#endif
