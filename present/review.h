/* A whole campaign for those who review a change: each finding, what was left open, and what the
 * campaign could not show, as annotations (present/annotation.h). */
#ifndef PRESENT_REVIEW_H
#define PRESENT_REVIEW_H

#include "present/annotation.h"
#include "present/report.h"

/* Where a finding is shown, for it has no line in the source: the section of its job file, or the
 * trace that its job ran, or its repro.  Annotations without any of these are at the results.jsonl
 * of the campaign. */
struct review_place {
    const char *file; /* NULL: there is none */
    uint64_t line;    /* 0: of none */
};
struct review_place review_find_place(const struct report_campaign *campaign,
                                      const struct report_known *finding);
/* The section of a job, or its trace. */
struct review_place review_job_place(const struct report_part *part);

/* One for each finding: an error, or a notice where the baseline knows it. */
void review_add_findings(const struct report_campaign *campaign, struct annotations *annotations);

/* Rules of what a job leaves open.  No promise is broken by it, and none of it is in rule_list.h.
 */
enum review_open { REVIEW_UNKNOWN, REVIEW_UNREPEATED, REVIEW_NOT_MODELLED, REVIEW_OPEN_COUNT };
struct review_open_info {
    const char *name;    /* as a rule */
    const char *summary; /* what is then so, in a sentence */
};
const struct review_open_info *review_open_info(enum review_open open);

/* One for each job and each kind of what it left open: a warning beyond what the job allows, else a
 * notice. */
void review_add_open(const struct report_campaign *campaign, struct annotations *annotations);

/* Why the campaign as a whole cannot be believed, or was not run to its end.  Rule "campaign". */
void review_add_failures(const struct report_campaign *campaign, struct annotations *annotations);

/* Each appends one form of all of these, and nothing unless campaign->annotation asks for it:
 * workflow commands, the summary of a step, a Code Quality report. */
void review_print_github(struct writing *text, const struct report_campaign *campaign);
void review_print_step(struct writing *text, const struct report_campaign *campaign);
void review_print_gitlab(struct writing *text, const struct report_campaign *campaign);

#endif
