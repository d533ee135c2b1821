/* A trial that a CHECK of ours ended: told as a fault of hbmstress, with its list kept, and never
 * as a finding. */
#ifndef CAMPAIGN_ENGINE_FAILED_TRIAL_H
#define CAMPAIGN_ENGINE_FAILED_TRIAL_H

#include "campaign/base/message.h"
#include "campaign/trials/trial_result.h"

/* judgement ended with JUDGEMENT_FAILED.  Keeps its list in directory/disputes, gives one message,
 * and returns EXIT_HARNESS. */
enum exit_code failed_trial_report(const struct plan *plan, const struct trial_result *trial_result,
                                   const char *directory);

#endif
