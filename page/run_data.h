/* The data of a run for the scripts of a page: JSON, as reports/page/README.md has it. */
#ifndef PAGE_RUN_DATA_H
#define PAGE_RUN_DATA_H

#include "harness/base/writing.h"
#include "page/run_record.h"
#include "recording/recording.h"
#include "recording/step_axis.h"

/* Appends the object.  The record is thinned where it is too large for a page; O(record). */
void run_data_append(struct run_record *record, const struct recording *recording,
                     const struct step_axis *steps, const char *title, struct writing *json);

#endif
