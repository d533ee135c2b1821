/* A hang of a job in words and in JSON: who waits for whom, since when, and why that one does not
 * come.  The facts are harness/run/hangs.h's. */
#ifndef DIAGNOSIS_HANG_H
#define DIAGNOSIS_HANG_H

#include "harness/base/writing.h"
#include "harness/op/setup.h"
#include "harness/run/hangs.h"

/* True if there is a hang to report. */
bool hangs_are_there(const struct hangs *hangs);

/* Returns what became of the host that does not come: "one host ran out of memory". */
const char *hang_cause_summary(enum hang_cause cause);

/* Appends one sentence without a full stop or a new line: "host 0 and 1 wait in collective 'data 0'
 * since step 812 (op 5120): host 3 does not come: it ran out of memory at step 811 (op 5093), and
 * nothing of it follows". */
void hang_append(const struct setup *setup, const struct hang *hang, struct writing *text);
/* A line for each, with a full stop. */
void hangs_append(const struct setup *setup, const struct hangs *hangs, struct writing *text);
/* A line of type "hang" for each; docs/hangs.md lists the members. */
void hangs_append_json(const struct setup *setup, const struct hangs *hangs, struct writing *text);
/* Appends the same for a trial of a campaign.  Each line names the trial: merge sorts lines by
 * that. */
void hangs_append_trial_json(const struct setup *setup, const struct hangs *hangs,
                             const char *scenario, uint64_t trial, struct writing *text);

#endif
