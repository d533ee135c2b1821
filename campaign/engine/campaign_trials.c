#include "campaign/engine/private/campaign_state.h"

#include "campaign/base/message.h"
#include "campaign/base/repro.h"
#include "campaign/plan/widen.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Noise makes some tag grow in some trial: a scenario's tag is named when most of the trials that
 * were long enough for a look end with one that grows; then the one that grew most. */
static void part_take_growth(struct part_state *part, const struct trial_result_head *head)
{
    part->look_count += head->looked_op_count > 0;
    if (!head->is_growing) {
        return;
    }
    part->growing_count++;
    const uint64_t most = part->growth.last_bytes - part->growth.first_bytes;
    if (head->growth.last_bytes - head->growth.first_bytes <= most) {
        return;
    }
    part->growth = head->growth;
    part->growth_trial = head->task.trial;
    snprintf(part->growing_tag, sizeof part->growing_tag, "%s", head->growing_tag);
}

static void report_trial(struct campaign *campaign, const struct trial_result *trial_result)
{
    const struct trial_result_head *head = &trial_result->head;
    const struct part *part = &campaign->plan->parts[head->task.part];
    char path[FILE_PATH_BYTES];
    const struct report_trial trial = {
        .place = {part->name, head->task.trial},
        .seed = plan_trial_seed(part, head->task.trial),
        .totals = &head->totals,
        .signature = head->signature,
        .kept = trial_result->kept,
        .digest = head->digest,
        .output = campaign_save_output(campaign, trial_result, path)};
    (void)reporter_trial(&campaign->reporter, &trial);
}

static void count_trial(struct campaign *campaign, const struct trial_result_head *head)
{
    struct part_state *part = &campaign->at->parts[head->task.part];
    struct report_end *end = &campaign->at->state.end;
    part->trials++;
    part->elapsed_ns += head->elapsed_ns;
    run_totals_add(&part->totals, &head->totals);
    part_take_growth(part, head);
    if (head->fullest.capacity_bytes > 0) {
        memory_track_add(&part->memory,
                         (struct memory_point){part->totals.ops + part->totals.skipped,
                                               head->fullest.used_bytes,
                                               head->fullest.capacity_bytes});
    }
    end->trials++;
    end->certificates_checked += head->certificates_checked;
    run_totals_add(&end->totals, &head->totals);
}

static void take_refusal(struct campaign *campaign, const struct trial_result_head *head)
{
    struct part_state *part = &campaign->at->parts[head->task.part];
    if (!plan_trial_is_small(&campaign->plan->parts[head->task.part], head->task.trial)) {
        part->note_trial = head->task.trial;
        snprintf(part->note, sizeof part->note,
                 "ended at trial %" PRIu64 ": the target refuses its setup: %s", head->task.trial,
                 head->reason);
    } else if (part->note[0] == '\0') {
        part->note_trial = head->task.trial;
        snprintf(part->note, sizeof part->note,
                 "trial %" PRIu64 " and others like it: the target refuses a small device: %s",
                 head->task.trial, head->reason);
    }
}

/* The canary's verdicts are what is to be seen, not what is wrong. */
static void take_canary(struct campaign *campaign, const struct trial_result *trial_result)
{
    const struct part *canary = canary_of(campaign->plan);
    const struct run_findings *findings = &trial_result->head.findings;
    campaign->at->state.canary_trials++;
    for (size_t i = 0; i < findings->count && trial_result_rule(trial_result) != NULL; i++) {
        const char *rule = rule_info(findings->findings[i].verdict.rule)->name;
        campaign->at->state.is_canary_reported |= strcmp(rule, canary->target->breaks) == 0;
    }
    if (campaign->at->state.is_canary_reported ||
        campaign->at->state.canary_trials >= CANARY_TRIAL_COUNT_MAX) {
        trials_finish(campaign->trials, trial_result->head.task.part);
    }
}

/* Notes it once in a part: its other trials meet the same. */
static void note_not_modelled(const struct campaign *campaign, const struct trial_result_head *head)
{
    const struct part *part = &campaign->plan->parts[head->task.part];
    if (head->totals.not_modelled > 0 &&
        campaign->at->parts[head->task.part].totals.not_modelled == 0) {
        message_note("%s, trial %" PRIu64 " was not modelled: %s", part->name, head->task.trial,
                     head->reason);
    }
}

/* Lanes that nobody asked for: what cannot be modelled is no failure, and not tried any more.  The
 * trials of these parts count up to this one, whichever were started. */
static void end_tentative_lanes(struct campaign *campaign, struct trial_result_head *head)
{
    if (head->totals.not_modelled == 0 || !campaign->plan->parts[head->task.part].is_tentative) {
        return;
    }
    struct part_state *part = &campaign->at->parts[head->task.part];
    part->note_trial = head->task.trial;
    snprintf(part->note, sizeof part->note, "ended at trial %" PRIu64 ": %s%s", head->task.trial,
             widen_not_modelled, head->reason);
    head->totals.not_modelled = 0;
    for (size_t i = 0; i < campaign->plan->count; i++) {
        if (campaign->plan->parts[i].is_tentative) {
            trials_finish(campaign->trials, i);
        }
    }
}

/* Takes in a trial of the jobs: counts it, reports its OOMs and findings, and saves its files. */
static void take_trial(struct campaign *campaign, struct trial_result *trial_result)
{
    end_tentative_lanes(campaign, &trial_result->head);
    note_not_modelled(campaign, &trial_result->head);
    count_trial(campaign, &trial_result->head);
    campaign_report_ooms(campaign, trial_result);
    campaign_keep_trial(campaign, trial_result);
    campaign_save_logs(campaign, trial_result);
    campaign_report_dispute(campaign, trial_result);
    if (trial_result_rule(trial_result) != NULL && campaign_is_sound(campaign)) {
        campaign_take_findings(campaign, trial_result);
    }
    report_trial(campaign, trial_result);
}

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

/* A trial that a CHECK of ours ended: a fault of hbmstress, and never a finding. */
static enum exit_code report_failed(const struct plan *plan,
                                    const struct trial_result *trial_result, const char *directory)
{
    char path[OUTPUT_PATH_BYTES];
    const struct trial_result_head *head = &trial_result->head;
    const bool is_saved = save_list(plan, trial_result, directory, path);
    return message_fail(EXIT_HARNESS, "%s, in trial %" PRIu64 " of %s. %s%s. Please report this.",
                        head->reason, head->task.trial, plan->parts[head->task.part].name,
                        is_saved ? "The op list is in " : "Nothing was saved",
                        is_saved ? path : "");
}

void campaign_accept_trial(struct campaign *campaign, struct trial_result *trial_result)
{
    const struct trial_result_head *head = &trial_result->head;
    const bool is_canary = canary_of(campaign->plan) != NULL &&
                           head->task.part == campaign->plan->count - 1;
    if (head->end == TRIAL_RESULT_FAILED) {
        campaign->is_failed = report_failed(campaign->plan, trial_result,
                                            campaign->repro_store.directory) != EXIT_KEPT;
    } else if (is_canary) {
        campaign_report_dispute(campaign, trial_result);
        take_canary(campaign, trial_result);
    } else if (head->end == TRIAL_RESULT_REFUSED) {
        take_refusal(campaign, head);
    } else {
        take_trial(campaign, trial_result);
    }
    trial_result_deinit(trial_result);
}
