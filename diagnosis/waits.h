/* Waits in vain, in words and JSON: hangs of a job (their facts are harness/run/hangs.h),
 * standstills of clients, and shortages of a shared device: who waited or asked, and who had the
 * memory. */
#ifndef DIAGNOSIS_WAITS_H
#define DIAGNOSIS_WAITS_H

#include "harness/base/writing.h"
#include "harness/op/setup.h"
#include "harness/run/hangs.h"
#include "harness/run/shortages.h"
#include "harness/run/standstills.h"

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

/* One of them, without a full stop. */
void standstill_append(const struct setup *setup, const struct standstill *found,
                       struct writing *text);
/* One line for each; nothing where there are none. */
void standstills_append(const struct setup *setup, const struct standstills *standstills,
                        struct writing *text);
/* Appends the same as JSON lines of the type "standstill". */
void standstills_append_json(const struct setup *setup, const struct standstills *standstills,
                             struct writing *text);

/* "host 1 ran out at op 7: …", without an end. */
void shortage_append(const struct shortage *shortage, struct writing *text);
/* One line for each; nothing where there are none. */
void shortages_append(const struct shortages *shortages, struct writing *text);
/* Appends the same as JSON lines of the type "shortage". */
void shortages_append_json(const struct shortages *shortages, struct writing *text);

#endif
