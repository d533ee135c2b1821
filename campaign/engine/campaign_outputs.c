/* What a target printed while a trial ran, and the logs of the hosts of a trial that counts steps,
 * as files. */
#include "campaign/engine/private/campaign_state.h"

#include "campaign/base/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* --- the target --- */

void campaign_print_base(const struct campaign *campaign, const struct task *task,
                         char base[FINDING_BASE_BYTES])
{
    const struct part *part = &campaign->plan->parts[task->part];
    char name[SETUP_NAME_BYTES];
    snprintf(name, sizeof name, "%s", part->name);
    file_name_clean(name); /* a section's name may be any text */
    snprintf(base, FINDING_BASE_BYTES, "%s-%" PRIu64, name, plan_trial_seed(part, task->trial));
}

static bool has_early_verdict(const struct campaign *campaign, const struct run_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *known = findings_find(&campaign->at->findings,
                                                    findings->findings[i].signature);
        if (known == NULL || known->seen_count <= OUTPUT_VERDICT_COUNT) {
            return true;
        }
    }
    return false;
}

/* The line of the trial names the file, so it must be there. */
static bool is_to_save(const struct campaign *campaign, const struct trial_result *trial_result)
{
    return trial_result->output.length > 0 && campaign_is_sound(campaign) &&
           !campaign_results_are_full(campaign) &&
           (trial_result->head.task.trial < OUTPUT_TRIAL_COUNT ||
            has_early_verdict(campaign, &trial_result->head.findings));
}

const char *campaign_save_output(struct campaign *campaign, const struct trial_result *trial_result,
                                 char path[FILE_PATH_BYTES])
{
    char base[FINDING_BASE_BYTES];
    const struct writing *output = &trial_result->output;
    if (!is_to_save(campaign, trial_result)) {
        return NULL;
    }
    campaign_print_base(campaign, &trial_result->head.task, base);
    snprintf(path, FILE_PATH_BYTES, "%.3800s/output/%s.txt", campaign->repro_store.directory, base);
    if (!place_write(path, output->bytes, output->length)) {
        campaign_note_failure(campaign);
        return NULL;
    }
    writing_append_format(&campaign->at->saved_files, "output/%s.txt", base);
    writing_append_bytes(&campaign->at->saved_files, "", 1);
    return path;
}

/* --- the hosts of a job --- */

/* Its path; false: it is too long, which was said. */
static bool print_log_path(const struct campaign *campaign, uint32_t host,
                           char path[FILE_PATH_BYTES])
{
    const char *directory = campaign->repro_store.directory;
    const int used = host == JOB_LOG_LAUNCHER
                         ? snprintf(path, FILE_PATH_BYTES, "%s/logs/launcher.log", directory)
                         : snprintf(path, FILE_PATH_BYTES, "%s/logs/host-%" PRIu32 ".log",
                                    directory, host);
    if (used < FILE_PATH_BYTES) {
        return true;
    }
    (void)message_fail(EXIT_HARNESS, "%.3800s: the path is too long", directory);
    return false;
}

void campaign_save_logs(struct campaign *campaign, const struct trial_result *trial_result)
{
    const struct trial_result_head *head = &trial_result->head;
    const char *from = trial_result->logs.bytes;
    if (trial_result->logs.length == 0) {
        return;
    }
    for (uint32_t host = 0; host < JOB_LOG_COUNT && !campaign->is_failed; host++) {
        char path[FILE_PATH_BYTES];
        bool is_good = print_log_path(campaign, host, path);
        if (is_good && head->log_bytes[host] == 0) {
            (void)unlink(path); /* of an earlier run, with more hosts */
        } else if (is_good) {
            is_good = place_write(path, from, head->log_bytes[host]);
        }
        if (!is_good) {
            campaign_note_failure(campaign);
        }
        from += head->log_bytes[host];
    }
}
