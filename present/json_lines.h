/* The report as JSON lines: one object a line, each with a "type".  The bytes are a function of
 * what is reported alone; only "seconds" of the last line depends on the clock. */
#ifndef PRESENT_JSON_LINES_H
#define PRESENT_JSON_LINES_H

#include "harness/base/writing.h"
#include "present/report.h"

void json_line_start(struct writing *text, const struct report_start *start);
/* An OOM that was judged. */
void json_line_verdict(struct writing *text, const struct report_finding *finding);
/* The paths of what was kept of a finding: the last members of its line. */
void json_line_paths(struct writing *text, const char *repro, const char *certificate);
/* "after" and "unrepeated", where there is something to say. */
void json_add_repeats(struct writing *text, const struct report_repeats *repeats);
/* An OOM on which our own judges disagree. */
void json_line_dispute(struct writing *text, const struct report_finding *finding);
/* A finding: a `verdict` line for a premature OOM, else a `broken` line. */
void json_line_finding(struct writing *text, const struct report_finding *finding);
/* The first verdict of a finding; a line of its own follows at the end. */
void json_line_found(struct writing *text, const struct report_finding *finding);
/* One trial, after the lines of its verdicts. */
void json_line_trial(struct writing *text, const struct report_trial *trial);
void json_line_canary(struct writing *text, const struct report_canary *canary);
void json_line_result(struct writing *text, const struct report_result *result);
void json_line_end(struct writing *text, const struct report_end *end);
/* Members: how many out-of-memories were asked again, and how many of these were granted where time
 * was not pinned; nothing where there are none. */
void json_add_retries(struct writing *text, const struct run_totals *totals);
/* Where all clients waited, if they did: in all, those that one of them could have ended, those of
 * which that is not known. */
void json_add_standstills(struct writing *text, const struct run_totals *totals);
/* How often a shared device was short of what a host asked of it, as others had it; nothing where
 * it was not. */
void json_add_shortages(struct writing *text, const struct run_totals *totals);
/* Members: what stayed unknown, and what was allowed to; nothing without either. */
void json_add_unknown(struct writing *text, const struct report_end *end);
/* A member: what the campaign left out, why, and how to try it; nothing where it left out nothing.
 */
void json_add_not_tried(struct writing *text, const struct report_campaign *campaign);
/* A member: what the contract leaves open (not_checked.h); nothing where it leaves nothing. */
void json_add_not_checked(struct writing *text, const struct run_totals *totals);
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

#endif
