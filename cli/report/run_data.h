/* The data of a run for the scripts of a page: JSON, as reports/page/README.md has it. */
#ifndef CLI_REPORT_RUN_DATA_H
#define CLI_REPORT_RUN_DATA_H

#include "cli/recording.h"
#include "cli/report/run_record.h"
#include "cli/step_axis.h"
#include "harness/base/writing.h"

/* Appends the object.  The record is thinned where it is too large for a page; O(record). */
void run_data_append(struct run_record *record, const struct recording *recording,
                     const struct step_axis *steps, const char *title, struct writing *json);

#endif
