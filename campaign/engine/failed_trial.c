#include "campaign/engine/failed_trial.h"

#include "campaign/base/message.h"
#include "campaign/base/repro.h"
#include "campaign/engine/output.h"

#include <inttypes.h>
#include <stdio.h>

/* The path of the list; false: it could not be saved. */
static bool save_list(const struct plan *plan, const struct trial_result *trial_result,
                      const char *directory, char path[OUTPUT_PATH_BYTES])
{
    const struct trial_result_head *head = &trial_result->head;
    if (!head->has_list) {
        return false;
    }
    const uint64_t seed = plan_trial_seed(&plan->parts[head->task.part], head->task.trial);
    snprintf(path, OUTPUT_PATH_BYTES, "%.3900s/disputes/failed-%" PRIu64 ".ops", directory, seed);
    const struct repro repro = {
        .setup = &trial_result->setup, .ops = &trial_result->ops, .headline = head->reason};
    return repro_write(path, &repro) == EXIT_KEPT;
}

enum exit_code failed_trial_report(const struct plan *plan, const struct trial_result *trial_result,
                                   const char *directory)
{
    char path[OUTPUT_PATH_BYTES];
    const struct trial_result_head *head = &trial_result->head;
    const bool is_saved = save_list(plan, trial_result, directory, path);
    return message_fail(EXIT_HARNESS, "%s, in trial %" PRIu64 " of %s. %s%s. Please report this.",
                        head->reason, head->task.trial, plan->parts[head->task.part].name,
                        is_saved ? "The op list is in " : "Nothing was saved",
                        is_saved ? path : "");
}
