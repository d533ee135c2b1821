#include "campaign/engine/private/campaign_state.h"

#include "campaign/base/interrupt.h"
#include "campaign/base/message.h"
#include "campaign/process/child.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- what is known of them --- */

/* One that was not seen before. */
static struct finding *add_finding(struct campaign *campaign,
                                   const struct trial_result *trial_result)
{
    const struct trial_result_head *head = &trial_result->head;
    struct finding first;
    memset(&first, 0, sizeof first);
    snprintf(first.signature, sizeof first.signature, "%s", head->signature);
    snprintf(first.rule, sizeof first.rule, "%s", trial_result_rule(trial_result));
    snprintf(first.reason, sizeof first.reason, "%s", head->first.reason);
    snprintf(first.message, sizeof first.message, "%s", head->message);
    first.part = head->task.part;
    first.trial = head->task.trial;
    first.seed = plan_trial_seed(&campaign->plan->parts[head->task.part], head->task.trial);
    campaign->at->parts[head->task.part].finding_count++;
    return findings_add(&campaign->at->findings, &first);
}

/* The finding that this verdict is one of, counted. */
static const struct finding *count_finding(struct campaign *campaign,
                                           const struct trial_result *trial_result)
{
    struct finding *known = findings_find(&campaign->at->findings, trial_result->head.signature);
    if (known == NULL) {
        known = add_finding(campaign, trial_result);
    }
    known->count++;
    return known;
}

/* Takes in the files of a verdict.  A longer repro of the same is removed later: see
 * campaign_end_finding. */
static void note_saved_files(struct campaign *campaign, const struct trial_result *trial_result,
                             const struct saved_repro *saved)
{
    struct finding *known = findings_find(&campaign->at->findings, trial_result->head.signature);
    if (strcmp(known->base, saved->base) != 0) {
        memcpy(campaign->superseded, known->base, sizeof campaign->superseded);
    }
    campaign->at->state.certificate_count -= known->base[0] != '\0' && known->has_certificate;
    snprintf(known->base, sizeof known->base, "%s", saved->base);
    snprintf(known->reason, sizeof known->reason, "%s", trial_result->head.first.reason);
    snprintf(known->message, sizeof known->message, "%s", trial_result->head.message);
    known->op_count = saved->op_count;
    known->has_certificate = saved->has_certificate;
    campaign->at->state.certificate_count += saved->has_certificate;
}

/* --- what is said of one --- */

/* saved NULL: the verdict is only counted. */
static void report_one_finding(struct campaign *campaign, const struct trial_result *trial_result,
                               const struct saved_repro *saved)
{
    const struct trial_result_head *head = &trial_result->head;
    struct report_finding finding = campaign_finding(campaign, trial_result, &head->first,
                                                     head->message);
    struct repro_store_paths paths;
    finding.rule = trial_result_rule(trial_result);
    finding.signature = head->signature;
    if (saved != NULL && saved->result == REPRO_STORE_SAVED) {
        repro_store_paths_init(&paths, &campaign->repro_store, "repros", saved->base);
        campaign_add_files(&finding, &paths, saved);
        finding.lane_count = saved->lane_count;
        finding.switch_count = saved->switch_count;
        finding.certificate = saved->has_certificate ? paths.certificate : NULL;
    }
    const bool is_first = findings_find(&campaign->at->findings, head->signature)->count == 1;
    finding.is_only_counted = finding.repro == NULL && !is_first;
    (void)reporter_finding(&campaign->reporter, REPORT_FINDING, &finding);
    campaign->at->parts[head->task.part].findings_only_counted += finding.is_only_counted;
}

/* --- shrunk in the background --- */

/* What the process in the background works on: it has its own copy of all of it. */
static void shrink_pending(void *context, int file)
{
    const struct campaign *campaign = context;
    const struct trial_result *trial_result = &campaign->pending;
    const struct finding *known = findings_find(&campaign->at->findings,
                                                trial_result->head.signature);
    struct saved_repro saved;
    memset(&saved, 0, sizeof saved);
    saved = repro_store_take(&campaign->repro_store, campaign->plan, trial_result, known->op_count);
    (void)file_write_all(file, &saved, sizeof saved);
}

bool campaign_begin_finding(struct campaign *campaign)
{
    const struct finding *known = count_finding(campaign, &campaign->pending);
    if (!campaign->pending.head.has_list || known->count > FINDING_SHRUNK_COUNT_MAX) {
        return false;
    }
    if (background_start(&campaign->shrink_process, shrink_pending, campaign)) {
        return true;
    }
    (void)message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
    campaign->is_failed = true;
    return false;
}

void campaign_end_finding(struct campaign *campaign, const struct saved_repro *saved)
{
    const struct trial_result *trial_result = &campaign->pending;
    if (saved != NULL && saved->result == REPRO_STORE_DISPUTED) {
        campaign_report_shrunk_dispute(campaign, trial_result, saved);
    } else {
        if (saved != NULL && saved->result == REPRO_STORE_FAILED) {
            campaign_note_failure(campaign);
        }
        if (saved != NULL && saved->result == REPRO_STORE_SAVED) {
            note_saved_files(campaign, trial_result, saved);
        }
        report_one_finding(campaign, trial_result, saved);
    }
    campaign_report_trial(campaign, trial_result);
    trial_result_deinit(&campaign->pending);
    /* The old files go when the state on the disk names the new ones. */
    if (campaign_save(campaign, true) && campaign->superseded[0] != '\0') {
        repro_store_forget(&campaign->repro_store, campaign->superseded);
    }
    campaign->superseded[0] = '\0';
}

void campaign_poll_shrinking(struct campaign *campaign)
{
    struct saved_repro saved;
    bool is_good = false;
    if (interrupt_is_requested()) {
        background_stop(&campaign->shrink_process);
        campaign->is_cut = true;
    } else if (!background_is_done(&campaign->shrink_process,
                                   workers_have_busy(campaign->workers) ? 0 : WAIT_SHRINKING_MS,
                                   &is_good)) {
        return;
    }
    /* What did not answer is saved whole. */
    const bool is_answered = is_good && campaign->shrink_process.answer.length == sizeof saved;
    if (is_answered) {
        memcpy(&saved, campaign->shrink_process.answer.bytes, sizeof saved);
    } else {
        saved = repro_store_take_whole(
            &campaign->repro_store, campaign->plan, &campaign->pending,
            findings_find(&campaign->at->findings, campaign->pending.head.signature)->op_count);
    }
    campaign_end_finding(campaign, &saved);
    if (!is_answered && !campaign->is_cut) {
        (void)message_fail(EXIT_HARNESS,
                           "the process that shrank a finding died: it was killed, or "
                           "hbmstress has an internal error");
        campaign->is_failed = true;
    }
}
