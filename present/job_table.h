/* How each job of a campaign stands, a line each, made to fit the width of a terminal. */
#ifndef PRESENT_JOB_TABLE_H
#define PRESENT_JOB_TABLE_H

#include "present/report.h"
#include "present/screen_line.h"

/* Appends a line of titles, at most job_count_max jobs in their order and, where there are more, a
 * line for the others together: those that run or found something get the lines first.  No line
 * takes more than width (> 0) columns: names are shortened as far as they can still be told apart,
 * then columns are left out, what was found last. */
void job_table_draw(const struct report_campaign *campaign, size_t job_count_max, size_t width,
                    struct screen_line *line);

#endif
