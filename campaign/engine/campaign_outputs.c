/* What a target printed while a trial ran, as files. */
#include "campaign/engine/private/campaign_state.h"

#include "campaign/base/message.h"
#include "harness/base/whole_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
    return trial_result->output.length > 0 && !campaign->is_failed && !campaign->output.is_failed &&
           !campaign_results_are_full(campaign) &&
           (trial_result->head.task.trial < OUTPUT_TRIAL_COUNT ||
            has_early_verdict(campaign, &trial_result->head.findings));
}

static bool write_output(struct campaign *campaign, const struct trial_result *trial_result,
                         const char *path)
{
    char directory[FILE_PATH_BYTES];
    const struct writing *output = &trial_result->output;
    if (!make_directory_of(path, directory)) {
        (void)message_fail(EXIT_HARNESS, "%s: %s", directory, strerror(errno));
    } else if (!whole_file_write(path, output->bytes, output->length, false)) {
        (void)message_fail(EXIT_HARNESS, "%s: %s", path, strerror(errno));
    } else {
        return true;
    }
    campaign_note_failure(campaign);
    return false;
}

const char *campaign_save_output(struct campaign *campaign, const struct trial_result *trial_result,
                                 char path[FILE_PATH_BYTES])
{
    char base[FINDING_BASE_BYTES], name[SETUP_NAME_BYTES];
    const struct part *part = &campaign->plan->parts[trial_result->head.task.part];
    if (!is_to_save(campaign, trial_result)) {
        return NULL;
    }
    snprintf(name, sizeof name, "%s", part->name);
    file_name_clean(name);
    snprintf(base, sizeof base, "output/%s-%" PRIu64 ".txt", name,
             plan_trial_seed(part, trial_result->head.task.trial));
    snprintf(path, FILE_PATH_BYTES, "%.3800s/%s", campaign->repro_store.directory, base);
    if (!write_output(campaign, trial_result, path)) {
        return NULL;
    }
    writing_append_bytes(&campaign->at->saved_files, base, strlen(base) + 1);
    return path;
}
