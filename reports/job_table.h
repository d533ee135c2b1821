/* How each job of a campaign stands, a line each, made to fit the width of a terminal. */
#ifndef REPORTS_JOB_TABLE_H
#define REPORTS_JOB_TABLE_H

#include "reports/report.h"
#include "reports/screen_line.h"

/* Appends a line of titles, at most job_count_max jobs in their order and, where there are more, a
 * line for the others together: those that run or found something get the lines first.  Each line
 * is cut at width (> 0) columns. Returns how many lines that were. */
size_t job_table_draw(const struct report_campaign *campaign, size_t job_count_max, size_t width,
                      struct screen_line *line);

#endif
