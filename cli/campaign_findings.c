#include "cli/campaign_parts.h"

#include "cli/child.h"
#include "cli/interrupt.h"
#include "reports/json_lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- what is known of them --- */

/* One that was not seen before. */
static struct finding *add_finding(struct campaign *campaign, const struct judgement *judgement)
{
    const struct judgement_head *head = &judgement->head;
    struct finding first;
    memset(&first, 0, sizeof first);
    snprintf(first.signature, sizeof first.signature, "%s", head->signature);
    snprintf(first.rule, sizeof first.rule, "%s", judgement_rule(judgement));
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
                                           const struct judgement *judgement)
{
    struct finding *known = findings_find(&campaign->at->findings, judgement->head.signature);
    if (known == NULL) {
        known = add_finding(campaign, judgement);
    }
    known->count++;
    return known;
}

/* Takes in the files of a verdict.  A longer repro of the same is removed later: see
 * campaign_end_finding. */
static void take_kept(struct campaign *campaign, const struct judgement *judgement,
                      const struct kept *kept)
{
    struct finding *known = findings_find(&campaign->at->findings, judgement->head.signature);
    if (strcmp(known->base, kept->base) != 0) {
        memcpy(campaign->superseded, known->base, sizeof campaign->superseded);
    }
    campaign->at->state.certificate_count -= known->base[0] != '\0' && known->has_certificate;
    snprintf(known->base, sizeof known->base, "%s", kept->base);
    snprintf(known->reason, sizeof known->reason, "%s", judgement->head.first.reason);
    snprintf(known->message, sizeof known->message, "%s", judgement->head.message);
    known->op_count = kept->op_count;
    known->has_certificate = kept->has_certificate;
    campaign->at->state.certificate_count += kept->has_certificate;
}

/* --- what is said of one --- */

/* kept NULL: the verdict is only counted. */
static void say_finding(struct campaign *campaign, const struct judgement *judgement,
                        const struct kept *kept)
{
    const struct judgement_head *head = &judgement->head;
    struct report_finding finding = campaign_finding(campaign, judgement, &head->first,
                                                     head->message);
    struct keeper_paths paths;
    finding.rule = judgement_rule(judgement);
    finding.signature = head->signature;
    if (kept != NULL && kept->result == KEEPER_KEPT) {
        keeper_paths_init(&paths, &campaign->keeper, "repros", kept->base);
        campaign_add_files(&finding, &paths, kept);
        finding.lane_count = kept->lane_count;
        finding.switch_count = kept->switch_count;
        finding.certificate = kept->has_certificate ? paths.certificate : NULL;
    }
    json_finding(&campaign->text, &finding);
    campaign_say_line(campaign);
    const bool is_first = findings_find(&campaign->at->findings, head->signature)->count == 1;
    if (finding.repro != NULL || is_first) {
        campaign_say_kept(campaign, &finding);
    }
    campaign->at->parts[head->task.part].findings_only_counted += finding.repro == NULL &&
                                                                  !is_first;
}

/* --- shrunk in the background --- */

/* What the process in the background works on: it has its own copy of all of it. */
static void shrink_pending(void *context, int file)
{
    const struct campaign *campaign = context;
    const struct judgement *judgement = &campaign->pending;
    const struct finding *known = findings_find(&campaign->at->findings, judgement->head.signature);
    struct kept kept;
    memset(&kept, 0, sizeof kept);
    kept = keeper_take(&campaign->keeper, campaign->plan, judgement, known->op_count);
    (void)file_write_all(file, &kept, sizeof kept);
}

bool campaign_begin_finding(struct campaign *campaign)
{
    const struct finding *known = count_finding(campaign, &campaign->pending);
    if (!campaign->pending.head.has_list || known->count > FINDING_SHRUNK_COUNT_MAX) {
        return false;
    }
    if (background_start(&campaign->shrinking, shrink_pending, campaign)) {
        return true;
    }
    campaign->is_failed = message_fail(EXIT_HARNESS, "no process could be had: %s",
                                       strerror(errno)) != EXIT_KEPT;
    return false;
}

void campaign_end_finding(struct campaign *campaign, const struct kept *kept)
{
    const struct judgement *judgement = &campaign->pending;
    if (kept != NULL && kept->result == KEEPER_DISPUTED) {
        campaign_say_shrunk_dispute(campaign, judgement, kept);
    } else {
        if (kept != NULL && kept->result == KEEPER_FAILED) {
            campaign_take_failure(campaign);
        }
        if (kept != NULL && kept->result == KEEPER_KEPT) {
            take_kept(campaign, judgement, kept);
        }
        say_finding(campaign, judgement, kept);
    }
    campaign_say_trial(campaign, judgement);
    judgement_deinit(&campaign->pending);
    /* The old files go when the state on the disk names the new ones. */
    if (campaign_save(campaign, true) && campaign->superseded[0] != '\0') {
        keeper_forget(&campaign->keeper, campaign->superseded);
    }
    campaign->superseded[0] = '\0';
}

void campaign_look_after_shrinking(struct campaign *campaign)
{
    struct kept kept;
    bool is_good = false;
    if (interrupt_asked()) {
        background_stop(&campaign->shrinking);
        campaign->is_cut = true;
    } else if (!background_is_done(&campaign->shrinking,
                                   workers_have_busy(campaign->workers) ? 0 : WAIT_SHRINKING_MS,
                                   &is_good)) {
        return;
    }
    /* What did not answer is kept whole. */
    const bool is_answered = is_good && campaign->shrinking.answer.length == sizeof kept;
    if (is_answered) {
        memcpy(&kept, campaign->shrinking.answer.bytes, sizeof kept);
    } else {
        kept = keeper_take_whole(
            &campaign->keeper, campaign->plan, &campaign->pending,
            findings_find(&campaign->at->findings, campaign->pending.head.signature)->op_count);
    }
    campaign_end_finding(campaign, &kept);
    if (!is_answered && !campaign->is_cut) {
        campaign->is_failed = message_fail(EXIT_HARNESS,
                                           "the process that shrank a finding died: a fault of "
                                           "hbmstress, or it was killed") != EXIT_KEPT;
    }
}
