/* A campaign as one JSON document, for a program that wants to know how it went without reading
 * every verdict.  The bytes are a function of the campaign; only the "seconds" depend on the clock.
 */
#ifndef PRESENT_SUMMARY_H
#define PRESENT_SUMMARY_H

#include "harness/base/writing.h"
#include "present/report.h"

/* Appends one object, its members always in the same order, one job, finding and probe a line. What
 * there is not is left out: the note of a job, the repro of a finding that kept none, the canary of
 * a campaign. */
void summary_print(struct writing *text, const struct report_campaign *campaign);

#endif
