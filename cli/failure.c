#include "cli/failure.h"

#include "cli/output.h"
#include "harness/op/ops_file.h"

#include <stdio.h>

/* The path of the list; false: it could not be kept. */
static bool keep_list(const struct plan *plan, const struct judgement *judgement,
                      const char *directory, char path[OUTPUT_PATH_BYTES])
{
    struct ops_file_error error = {0};
    const struct judgement_head *head = &judgement->head;
    snprintf(path, OUTPUT_PATH_BYTES, "%.3900s/disputes", directory);
    if (!head->has_list || !make_directories(path)) {
        return false;
    }
    unsigned long long seed = plan_trial_seed(&plan->parts[head->task.part], head->task.trial);
    snprintf(path, OUTPUT_PATH_BYTES, "%.3900s/disputes/failed-%llu.ops", directory, seed);
    return ops_file_write(path, &judgement->setup, &judgement->ops, head->reason, &error) ==
           OPS_FILE_OK;
}

enum exit_code failure_tell(const struct plan *plan, const struct judgement *judgement,
                            const char *directory)
{
    char path[OUTPUT_PATH_BYTES];
    const struct judgement_head *head = &judgement->head;
    bool is_kept = keep_list(plan, judgement, directory, path);
    return message_fail(EXIT_HARNESS, "%s; in trial %llu of %s, kept in %s", head->reason,
                        (unsigned long long)head->task.trial, plan->parts[head->task.part].name,
                        is_kept ? path : "no file");
}
