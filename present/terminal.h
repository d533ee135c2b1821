/* The report for people: what starts, each finding, what it all means at the end.  Text that came
 * from a file or a target never reaches the terminal with its control characters. */
#ifndef PRESENT_TERMINAL_H
#define PRESENT_TERMINAL_H

#include "harness/base/writing.h"
#include "present/report.h"

/* Target, device, options and seed; one line a part. */
void terminal_start(struct writing *text, const struct report_start *start);

/* A verdict worth a person's time, with its reason, the target's words, the line that runs it again
 * and the files that were kept: a broken promise, an OOM that stayed unknown, or one on which our
 * own judges disagree.  Nothing for a finding that is only counted. */
void terminal_finding(struct writing *text, const struct report_finding *finding);

/* One line, as soon as a finding is seen. */
void terminal_found(struct writing *text, const struct report_finding *finding);

/* One judged OOM, as a replay lists it. */
void terminal_oom(struct writing *text, const struct report_finding *finding);

/* The tables: verdicts, mitigations, costs, each of the jobs that have any; then notes, and how
 * many probes were hit. */
void terminal_results(struct writing *text, const struct report_result *results, size_t count);

/* The last lines of a list: the share of premature refusals, and those of terminal_closing(). */
void terminal_end(struct writing *text, const struct report_end *end);
/* The last lines of everything: what was not checked or was regretted, what it all means, and the
 * seed again. */
void terminal_closing(struct writing *text, const struct report_end *end);

/* ", 1 unknown of 2 allowed (aligned)" for each class that stayed unknown; nothing without any. */
void terminal_unknown(struct writing *text, const struct report_end *end);
/* What it all means, the words before the numbers: "every promise kept, every OOM judged". */
void terminal_meaning(struct writing *text, const struct report_end *end);

/* The end of a campaign: what was found, what it means and what to do next; the tables; where its
 * files are; whether the planted defect was reported; the closing lines.  Where nothing new was
 * found the tables are first. */
void terminal_campaign(struct writing *text, const struct report_campaign *campaign);

/* "2.500 s"; and how many a second, 0 when no time passed. */
void terminal_seconds(struct writing *text, uint64_t duration_ns);
uint64_t per_second(uint64_t count, uint64_t duration_ns);

#endif
