/* A campaign as JUnit XML, the form in which continuous integration shows tests: a suite for each
 * job, and one, "campaign", for what the campaign says of itself.  The bytes are a function of the
 * campaign; only the times depend on the clock. */
#ifndef PRESENT_JUNIT_H
#define PRESENT_JUNIT_H

#include "harness/base/writing.h"
#include "present/report.h"

/* Appends one XML document (tests/reports/junit.xsd).  campaign->result_count equals
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

#endif
