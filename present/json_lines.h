/* The report as JSON: lines, one object a line, each with a "type", and a campaign as one document.
 * The bytes are a function of what is reported alone; only "seconds" depend on the clock. */
#ifndef PRESENT_JSON_LINES_H
#define PRESENT_JSON_LINES_H

#include "harness/base/writing.h"
#include "present/report.h"

void json_line_start(struct writing *text, const struct report_start *start);
/* An OOM that was judged. */
void json_line_verdict(struct writing *text, const struct report_finding *finding);
/* The paths of what was kept of a finding: the last members of its line. */
void json_line_paths(struct writing *text, const char *repro, const char *certificate);
/* An OOM on which our own judges disagree. */
void json_line_dispute(struct writing *text, const struct report_finding *finding);
/* A finding: a `verdict` line for a premature OOM, else a `broken` line. */
void json_line_finding(struct writing *text, const struct report_finding *finding);
/* The first verdict of a finding; a line of its own follows at the end. */
void json_line_found(struct writing *text, const struct report_finding *finding);
/* One trial, after the lines of its verdicts. */
void json_line_trial(struct writing *text, const struct report_trial *trial);
void json_line_result(struct writing *text, const struct report_result *result);
void json_line_end(struct writing *text, const struct report_end *end);
/* The lines of the jobs, of the canary, and of the end. */
void json_line_campaign(struct writing *text, const struct report_campaign *campaign);
/* A file that was checked; result is "valid", "refuted" or "unreadable". */
void json_line_certificate(struct writing *text, const char *file, const char *result,
                           const char *reason);
/* One thing of `list`. */
struct report_entry {
    const char *kind, *name, *summary;
    const char *breaks;      /* a planted target's rule; NULL = none */
    const char *options;     /* a target's, one line each; NULL = none */
    const char *path;        /* a job's file; NULL = none */
    uint64_t capacity_bytes; /* a chip's; 0 = no chip */
};
void json_line_entry(struct writing *text, const struct report_entry *entry);

/* A whole campaign as one object, for a program that wants to know how it went without reading
 * every verdict.  Its members are always in the same order, one job, finding and probe a line. What
 * there is not is left out: the note of a job, the repro of a finding that kept none, the canary of
 * a campaign. */
void summary_print(struct writing *text, const struct report_campaign *campaign);

/* --- members that both have --- */

/* The counts of a trial, a job, a whole run; with is_summary those alone that the summary has
 * beside its own.  Nothing of what did not occur. */
void json_add_totals(struct writing *text, const struct run_totals *totals, bool is_summary);
/* The names of all of them, from 0 on; NULL: there are no more. */
const char *json_total_name(size_t i);
/* "after" and "unrepeated", where there is something to say. */
void json_add_repeats(struct writing *text, const struct report_repeats *repeats);
void json_add_canary(struct writing *text, const struct report_canary *canary);
/* What ops cost: device calls and moved bytes of an op, all percentiles, and how both grow with the
 * blocks.  Nothing where the target had the device do nothing. */
void json_add_costs(struct writing *text, const struct run_totals *totals);
/* What stayed unknown, and what was allowed to; nothing without either. */
void json_add_unknown(struct writing *text, const struct report_end *end);
/* What the campaign (NULL: there is none) left out, why, and how to try it; what the contract
 * leaves open (not_checked.h).  Nothing where nothing is. */
void json_add_open(struct writing *text, const struct report_campaign *campaign,
                   const struct run_totals *totals);

#endif
