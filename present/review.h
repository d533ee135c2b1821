/* A whole campaign for those who review a change: each finding, what was left open, and what the
 * campaign could not show, as annotations (present/annotation.h), as JUnit XML and as SARIF.  The
 * bytes are a function of the campaign; only the times of JUnit depend on the clock. */
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

/* Appends one document of JUnit XML (tests/present/junit.xsd), the form in which continuous
 * integration shows tests: a suite for each job, and one, "campaign", for what the campaign says of
 * itself.  campaign->result_count equals
 * campaign->start->part_count.
 *
 * The suite of a job has the cases "every promise is kept" and "every out-of-memory is judged",
 * both skipped when the job did not run (the second also when all that was not judged is excused or
 * allowed), and a failed one for each finding that was seen first in it, named by its signature.
 * They name the job file and the line of its section, or the trace.  The suite "campaign" has the
 * canary, the probes, whether the harness kept running, and findings of no listed job.
 *
 * A failure is the target's (or, of a probe, that nobody got there); an error is the harness's own.
 */
void junit_print(struct writing *text, const struct report_campaign *campaign);

/* Appends one document of SARIF 2.1.0, the form in which services show what an analysis found: a
 * run whose rules are the promises.
 *
 * A result is a finding, or what a job left open (present/review.h), at the place that
 * review_find_place() names.  Its partialFingerprints has the hash of its signature.  baselineState
 * is there only with campaign->end->has_baseline: "unchanged" for a finding that the baseline
 * knows, else "new".  Why the campaign cannot be believed is a notification of its invocation.
 * Source: Static Analysis Results Interchange Format (SARIF) Version 2.1.0, OASIS, sections 3.13 to
 * 3.58. */
void sarif_print(struct writing *text, const struct report_campaign *campaign);

#endif
