#include "campaign/engine/private/campaign_state.h"

#include "campaign/base/interrupt.h"
#include "campaign/base/message.h"
#include "campaign/process/child.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- what is known of them --- */

/* The largest request that would have been served, if it is a refusal. */
static void note_largest(const struct trial_result *trial_result, struct finding *finding)
{
    const struct saved_oom *premature = trial_result_premature(trial_result);
    finding->has_largest = premature != NULL;
    if (premature != NULL) { /* member by member: what is saved has no padding of unknown bytes */
        finding->largest.bytes = premature->largest.bytes;
        finding->largest.is_exact = premature->largest.is_exact;
    }
}

/* One that was not seen before. */
static struct finding *add_finding(struct campaign *campaign,
                                   const struct trial_result *trial_result, const char *signature)
{
    const struct trial_result_head *head = &trial_result->head;
    struct finding first;
    memset(&first, 0, sizeof first);
    snprintf(first.signature, sizeof first.signature, "%s", signature);
    snprintf(first.rule, sizeof first.rule, "%s", trial_result_rule(trial_result));
    snprintf(first.reason, sizeof first.reason, "%s", head->first.reason);
    snprintf(first.message, sizeof first.message, "%s", head->message);
    note_largest(trial_result, &first);
    first.part = head->task.part;
    first.trial = head->task.trial;
    first.seed = plan_trial_seed(&campaign->plan->parts[head->task.part], head->task.trial);
    first.is_known = baseline_has(&campaign->baseline, signature);
    return findings_add(&campaign->at->findings, &first);
}

/* The finding of that signature that this verdict is one of, counted. */
static struct finding *count_finding(struct campaign *campaign,
                                     const struct trial_result *trial_result, const char *signature)
{
    struct finding *known = findings_find(&campaign->at->findings, signature);
    if (known == NULL) {
        known = add_finding(campaign, trial_result, signature);
    }
    known->count++;
    return known;
}

/* The verdict is one of another finding than it seemed. */
static void move_finding(struct campaign *campaign, const char *to)
{
    struct trial_result *trial_result = &campaign->pending;
    struct finding *from = findings_find(&campaign->at->findings, trial_result->head.signature);
    char signature[SIGNATURE_BYTES]; /* `to` may be in a finding, and those may move */
    snprintf(signature, sizeof signature, "%s", to);
    from->moved_count++;
    memcpy(from->moved_to, signature, sizeof signature);
    (void)count_finding(campaign, trial_result, signature);
    memcpy(trial_result->head.signature, signature, sizeof signature);
}

/* Takes in the files of a verdict.  A longer repro of the same is removed later: see
 * end_pending. */
static void note_saved_files(struct campaign *campaign, const struct trial_result *trial_result,
                             const struct saved_repro *saved)
{
    struct finding *known = findings_find(&campaign->at->findings, trial_result->head.signature);
    if (known->base[0] != '\0' && strcmp(known->base, saved->base) != 0) {
        memcpy(campaign->superseded[campaign->superseded_count++], known->base,
               sizeof campaign->superseded[0]);
    }
    campaign->at->state.certificate_count -= known->base[0] != '\0' && known->has_certificate;
    snprintf(known->base, sizeof known->base, "%s", saved->base);
    snprintf(known->reason, sizeof known->reason, "%s", trial_result->head.first.reason);
    snprintf(known->message, sizeof known->message, "%s", trial_result->head.message);
    note_largest(trial_result, known);
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
    const struct saved_oom *premature = trial_result_premature(trial_result);
    finding.largest = premature == NULL ? NULL : &premature->largest;
    if (saved != NULL && saved->result == REPRO_STORE_SAVED) {
        repro_store_paths_init(&paths, &campaign->repro_store, "repros", saved->base);
        campaign_add_files(&finding, &paths, saved);
        finding.lane_count = saved->lane_count;
        finding.switch_count = saved->switch_count;
        finding.certificate = saved->has_certificate ? paths.certificate : NULL;
    }
    const struct finding *known = findings_find(&campaign->at->findings, head->signature);
    const bool is_first = known->count == 1;
    finding.is_known = known->is_known != 0;
    finding.is_only_counted = finding.repro == NULL && !is_first;
    (void)reporter_finding(&campaign->reporter, REPORT_FINDING, &finding);
    campaign->at->parts[head->task.part].findings_only_counted += finding.is_only_counted;
}

/* --- shrunk in the background --- */

/* What the process in the background works on: it has its own copy of all of it. */
static void shrink_pending(void *context, int file)
{
    struct campaign *campaign = context;
    struct trial_result *trial_result = &campaign->pending;
    const struct finding *known = findings_find(&campaign->at->findings,
                                                trial_result->head.signature);
    struct saved_repro saved;
    struct op_list shown;
    memset(&saved, 0, sizeof saved);
    op_list_init(&shown);
    /* A second one of a finding needs no proof that there is such a finding. */
    if (known->count == 1 && known->moved_count == 0 &&
        campaign_may_be_unrepeated(campaign, trial_result) &&
        !campaign_repeats(campaign, trial_result, &shown)) {
        saved = repro_store_take_unrepeated(&campaign->repro_store, campaign->plan, trial_result);
    } else {
        if (shown.count > 0) {
            op_list_copy(&trial_result->ops, &shown);
        }
        saved = repro_store_take(&campaign->repro_store, campaign->plan, trial_result,
                                 campaign->pending_finding == 0, &campaign->at->findings);
    }
    op_list_deinit(&shown);
    (void)file_write_all(file, &saved, sizeof saved);
}

/* Counts the finding that is selected, and begins to shrink it.  False: nothing is to be shrunk, or
 * no process could be had. */
static bool begin_finding(struct campaign *campaign)
{
    struct trial_result *trial_result = &campaign->pending;
    const struct finding *known = count_finding(campaign, trial_result,
                                                trial_result->head.signature);
    if (!trial_result->head.has_list || !finding_is_to_shrink(known)) {
        if (known->count == known->moved_count + 1 && known->moved_count > 0) {
            move_finding(campaign, known->moved_to);
        }
        return false;
    }
    if (background_start(&campaign->shrink_process, shrink_pending, campaign)) {
        return true;
    }
    (void)message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
    campaign->is_failed = true;
    return false;
}

/* saved NULL: it was only counted. */
static void end_finding(struct campaign *campaign, const struct saved_repro *saved)
{
    const struct trial_result *trial_result = &campaign->pending;
    if (saved != NULL && saved->result == REPRO_STORE_UNREPEATED) {
        campaign_end_unrepeated(campaign, saved);
        return;
    }
    if (saved != NULL && saved->result == REPRO_STORE_DISPUTED) {
        campaign_report_shrunk_dispute(campaign, trial_result, saved);
        return;
    }
    if (saved != NULL && strcmp(saved->signature, trial_result->head.signature) != 0) {
        move_finding(campaign, saved->signature);
    }
    if (saved != NULL && saved->result == REPRO_STORE_FAILED) {
        campaign_note_failure(campaign);
    }
    if (saved != NULL && saved->result == REPRO_STORE_SAVED) {
        note_saved_files(campaign, trial_result, saved);
    }
    report_one_finding(campaign, trial_result, saved);
}

/* The rest of a trial with findings. */
static void end_pending(struct campaign *campaign)
{
    trial_result_select(&campaign->pending, 0);
    campaign_report_trial(campaign, &campaign->pending);
    trial_result_deinit(&campaign->pending);
    /* The old files go when the state on the disk names the new ones. */
    if (campaign_save(campaign, true)) {
        for (size_t i = 0; i < campaign->superseded_count; i++) {
            repro_store_forget(&campaign->repro_store, campaign->superseded[i]);
        }
    }
    campaign->superseded_count = 0;
}

/* From the one that is selected on, up to one that is shrunk. */
static void go_on_with_findings(struct campaign *campaign)
{
    const size_t count = campaign->pending.head.findings.count;
    while (campaign->pending_finding < count && !campaign->is_cut) {
        trial_result_select(&campaign->pending, campaign->pending_finding);
        if (begin_finding(campaign)) {
            return;
        }
        end_finding(campaign, NULL);
        campaign->pending_finding++;
    }
    end_pending(campaign);
}

void campaign_take_findings(struct campaign *campaign)
{
    campaign->pending_finding = 0;
    go_on_with_findings(campaign);
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
        saved = repro_store_take_whole(&campaign->repro_store, campaign->plan, &campaign->pending,
                                       campaign->pending_finding == 0, &campaign->at->findings);
    }
    end_finding(campaign, &saved);
    campaign->pending_finding++;
    go_on_with_findings(campaign);
    if (!is_answered && !campaign->is_cut) {
        (void)message_fail(EXIT_HARNESS,
                           "the process that shrank a finding died: it was killed, or "
                           "hbmstress has an internal error");
        campaign->is_failed = true;
    }
}
