/* A campaign as SARIF 2.1.0, the form in which services show what an analysis found: each finding
 * is a result, the promises are its rules.  The bytes are a function of the campaign; no time is in
 * them. */
#ifndef PRESENT_SARIF_H
#define PRESENT_SARIF_H

#include "harness/base/writing.h"
#include "present/report.h"

/* Appends one document of one run.
 *
 * A result is a finding, or what a job left open (present/review.h), at the place that
 * review_find_place() names.  Its partialFingerprints has the hash of its signature.  baselineState
 * is there only with campaign->end->has_baseline: "unchanged" for a finding that the baseline
 * knows, else "new".  Why the campaign cannot be believed is a notification of its invocation.
 * Source: Static Analysis Results Interchange Format (SARIF) Version 2.1.0, OASIS, sections 3.13 to
 * 3.58. */
void sarif_print(struct writing *text, const struct report_campaign *campaign);

#endif
