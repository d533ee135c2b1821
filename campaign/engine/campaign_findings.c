#include "campaign/engine/private/campaign_state.h"

#include "campaign/base/message.h"
#include "campaign/engine/findings.h"
#include "campaign/process/attempt.h"
#include "campaign/process/child.h"
#include "explore/strategies/strategies.h"
#include "harness/lanes/lanes_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- verdicts of free-running lanes that cannot be repeated: they are counted, and no findings ---
 */

/* How many times the list is run again, on all cores and under schedules.  Each is a few times what
 * a trial runs by default. */
enum { REPEAT_FREE_COUNT = 400, REPEAT_SCHEDULE_COUNT = 2000 };
#define REPEAT_DURATION_NS UINT64_C(60000000000)

/* True if the verdict of the trial counts only if it can be repeated: nobody scheduled the lanes,
 * and it is no crash, hang or overrun. */
static bool may_be_unrepeated(const struct campaign *campaign,
                              const struct trial_result *trial_result)
{
    const struct lane_options *lanes = &campaign->plan->parts[trial_result->head.task.part].lanes;
    /* A crash, a hang or an overrun was certainly seen: it needs no second time. */
    return lanes->lane_count != 0 && lanes->backend == LANE_BACKEND_FREE &&
           trial_result->head.end == TRIAL_RESULT_DONE && trial_result->head.has_list &&
           lanes_are_in(&trial_result->ops) && trial_result->head.first.rule != RULE_OVERRUN;
}

/* Looks for it again, for a minute at most.  *shown: the list with the schedule that shows it, or
 * empty. */
static bool repeats_verdict(const struct campaign *campaign,
                            const struct trial_result *trial_result, struct op_list *shown)
{
    const struct part *part = &campaign->plan->parts[trial_result->head.task.part];
    const uint64_t seed = plan_trial_seed(part, trial_result->head.task.trial);
    struct lane_options free_running = part->lanes;
    struct lane_options scheduled = part->lanes;
    free_running.schedule_count = REPEAT_FREE_COUNT;
    scheduled.backend = LANE_BACKEND_AUTO;
    scheduled.strategy = &strategy_portfolio;
    scheduled.schedule_count = REPEAT_SCHEDULE_COUNT;
    scheduled.has_schedules = true;
    scheduled = lane_options_completed(&scheduled, &trial_result->setup);
    const struct lanes_search searches[] = {lane_options_search(&scheduled, seed),
                                            lane_options_search(&free_running, seed)};
    const struct repeat repeat = {.target = part->target,
                                  .setup = &trial_result->setup,
                                  .ops = &trial_result->ops,
                                  .signature = trial_result->head.signature,
                                  .searches = searches,
                                  .search_count = sizeof searches / sizeof searches[0],
                                  .duration_ns = REPEAT_DURATION_NS};
    return repeat_shows(&repeat, shown);
}

/* A trial that died has counted less than it had seen. */
static void discount_verdicts(struct run_totals *totals, bool is_premature, uint64_t verdict_count)
{
    uint64_t *count = is_premature ? &totals->premature : &totals->broken;
    *count -= verdict_count < *count ? verdict_count : *count;
    totals->unrepeated += verdict_count;
}

/* Returns how many verdicts of that signature the trial has. */
static uint64_t count_verdicts(const struct trial_result *trial_result, const char *signature)
{
    const struct run_finding *found = run_findings_find(&trial_result->head.findings, signature);
    return found == NULL ? 0 : found->count;
}

/* Describes the search that did not show the verdict again. */
static void describe_search(const struct campaign *campaign,
                            const struct trial_result *trial_result, char words[128])
{
    if (may_be_unrepeated(campaign, trial_result)) {
        snprintf(words, 128, "%d schedules and %d runs on all cores did not show it again",
                 REPEAT_SCHEDULE_COUNT, REPEAT_FREE_COUNT);
    } else {
        snprintf(words, 128,
                 "its op list did not show it again, alone or after the trials before it");
    }
}

/* The verdict, counted as a finding, is none after all: it counts as unrepeated. */
static void end_unrepeated(struct campaign *campaign, const struct shrink_entry *entry,
                           const struct saved_repro *saved)
{
    const struct trial_result *trial_result = shrink_queue_list(&campaign->at->queue, entry);
    const uint64_t verdict_count = count_verdicts(trial_result, entry->seen_as);
    const bool is_premature = trial_result->head.first.kind == VERDICT_PREMATURE;
    struct repro_store_paths paths;
    char words[128];
    discount_verdicts(&campaign->at->parts[entry->task.part].totals, is_premature, verdict_count);
    discount_verdicts(&campaign->at->state.end.totals, is_premature, verdict_count);
    findings_find(&campaign->at->findings, entry->seen_as)->unrepeated_count++;
    describe_search(campaign, trial_result, words);
    repro_store_paths_init(&paths, &campaign->repro_store, "unrepeated", saved->base);
    campaign_note_saved(campaign, "unrepeated", saved->base, ".ops");
    message_note("unrepeated: %s, in trial %" PRIu64 " of %s: %s; the op list is in %s",
                 entry->seen_as, entry->task.trial, campaign->plan->parts[entry->task.part].name,
                 words, paths.repro);
}

/* The time to wait for a process that was asked to end, before the clock is read again. */
enum { WAIT_GRACE_MS = 20 };

/* --- what is known of them --- */

/* The largest request that would have been served, if it is a refusal. */
static void note_largest(const struct trial_result *trial_result, uint64_t *has_largest,
                         struct oracle_largest *largest)
{
    const struct saved_oom *premature = trial_result_premature(trial_result);
    *has_largest = premature != NULL;
    if (premature != NULL) { /* member by member: what is saved has no padding of unknown bytes */
        largest->bytes = premature->largest.bytes;
        largest->is_exact = premature->largest.is_exact;
    }
}

/* Adds a finding that was not seen before.  It counts no verdict yet. */
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
    note_largest(trial_result, &first.has_largest, &first.largest);
    first.first_order = UINT64_MAX;
    first.is_known = baseline_has(&campaign->baseline, signature);
    return findings_add(&campaign->at->findings, &first);
}

/* The finding of that signature that this verdict is one of, counted; trials that came later may be
 * counted by now. */
static struct finding *count_finding(struct campaign *campaign,
                                     const struct trial_result *trial_result, const char *signature,
                                     uint64_t order)
{
    const struct task *task = &trial_result->head.task;
    struct finding *known = findings_find(&campaign->at->findings, signature);
    if (known == NULL) {
        known = add_finding(campaign, trial_result, signature);
    }
    known->count++;
    finding_note_first(known, order, task->part, task->trial,
                       plan_trial_seed(&campaign->plan->parts[task->part], task->trial));
    return known;
}

/* --- what is said of one --- */

/* Reports a verdict that is only counted, or has no list. */
static void report_counted(struct campaign *campaign, const struct trial_result *trial_result,
                           struct finding *known)
{
    const struct trial_result_head *head = &trial_result->head;
    struct report_finding finding = campaign_finding(campaign, trial_result, &head->first,
                                                     head->message);
    const struct saved_oom *premature = trial_result_premature(trial_result);
    finding.rule = trial_result_rule(trial_result);
    finding.signature = head->signature;
    finding.largest = premature == NULL ? NULL : &premature->largest;
    finding.is_known = known->is_known != 0;
    finding.is_only_counted = known->seen_count > 1;
    (void)reporter_finding(&campaign->reporter, REPORT_FINDING, &finding);
    campaign->at->parts[head->task.part].findings_only_counted += finding.is_only_counted;
    known->counted_verdicts += count_verdicts(trial_result, head->signature);
}

/* Reports an entry of the queue that waits no more: a line, or the text for people. */
static void report_entry(struct campaign *campaign, const struct shrink_entry *entry,
                         enum campaign_audience audience)
{
    struct repro_store_paths paths;
    const struct part *part = &campaign->plan->parts[entry->task.part];
    const struct finding *known = findings_find(&campaign->at->findings, entry->signature);
    const bool is_saved = entry->state == SHRINK_SAVED;
    struct writing replay;
    struct report_finding finding = shrink_entry_report(entry, part->name, known);
    if (!finding_is_shown(known)) {
        return; /* nobody could repeat any of it, or all was another finding */
    }
    finding.seed = plan_trial_seed(part, entry->task.trial);
    writing_init(&replay);
    if (is_saved) {
        repro_store_paths_init(&paths, &campaign->repro_store, "repros", entry->base);
        finding.repro = paths.repro;
        campaign_add_repeats(campaign, &finding, entry, &replay);
        finding.certificate = entry->has_certificate ? paths.certificate : NULL;
        finding.op_count = entry->op_count;
        finding.lane_count = entry->lane_count;
        finding.switch_count = entry->switch_count;
    }
    finding.is_only_counted = !is_saved && entry->order != known->first_order;
    campaign->audience = audience;
    (void)reporter_finding(&campaign->reporter, REPORT_FINDING, &finding);
    campaign->audience = AUDIENCE_ALL;
    before_free_report(&finding.repeats);
    writing_deinit(&replay);
}

void campaign_report_entries(struct campaign *campaign)
{
    const struct shrink_queue *queue = &campaign->at->queue;
    for (size_t i = 0; i < queue->count; i++) {
        struct shrink_entry entry = queue->entries[i];
        if (entry.state == SHRINK_UNREPEATED || entry.state == SHRINK_DISPUTED) {
            continue; /* they are no findings, or were told at once */
        }
        /* The files of this entry were replaced by those of a shorter list. */
        entry.state = entry.is_superseded != SUPERSEDED_NOT ? SHRINK_COUNTED : entry.state;
        report_entry(campaign, &entry, AUDIENCE_PROGRAMS);
    }
}

/* --- as they are seen --- */

/* Announces a finding at once, however shrinking it ends. */
static void announce_finding(struct campaign *campaign, const struct trial_result *trial_result,
                             const struct finding *known)
{
    const struct trial_result_head *head = &trial_result->head;
    struct report_finding finding = campaign_finding(campaign, trial_result, &head->first,
                                                     head->message);
    finding.rule = known->rule;
    finding.signature = known->signature;
    finding.is_known = known->is_known != 0;
    finding.hang = head->hang;
    (void)reporter_finding(&campaign->reporter, REPORT_FOUND, &finding);
    campaign->is_save_due = true;
}

static void queue_finding(struct campaign *campaign, const struct trial_result *trial_result,
                          size_t finding, const struct finding *known, uint64_t order)
{
    struct shrink_entry *entry = shrink_queue_add(&campaign->at->queue, trial_result, finding);
    entry->order = order;
    entry->number = known->seen_count;
    note_largest(trial_result, &entry->has_largest, &entry->largest);
    repro_store_name(&campaign->repro_store, trial_result, entry->base);
}

void campaign_take_findings(struct campaign *campaign, struct trial_result *trial_result)
{
    struct trial_result_head *head = &trial_result->head;
    for (size_t i = 0; i < head->findings.count; i++) {
        const uint64_t order = ++campaign->at->state.verdict_count;
        trial_result_select(trial_result, i);
        struct finding *known = count_finding(campaign, trial_result, head->signature, order);
        known->seen_count++;
        if (known->seen_count == 1) {
            announce_finding(campaign, trial_result, known);
            campaign_report_premature(campaign, trial_result);
        }
        if (head->has_list &&
            (shrink_queue_takes(known->seen_count) || may_be_unrepeated(campaign, trial_result))) {
            queue_finding(campaign, trial_result, i, known, order);
        } else {
            report_counted(campaign, trial_result, known);
        }
    }
    trial_result_select(trial_result, 0);
}

/* --- shrunk in the background --- */

/* A second one of a finding needs no proof that there is such a finding. */
static bool needs_proof(const struct campaign *campaign, const struct shrink_entry *entry)
{
    const struct finding *known = findings_find(&campaign->at->findings, entry->seen_as);
    return known->stayed_count == 0 && known->moved_count == 0;
}

static bool is_to_shrink(const struct campaign *campaign, const struct shrink_entry *entry)
{
    const struct shrink_queue *queue = &campaign->at->queue;
    const struct trial_result *trial_result = shrink_queue_list(queue, entry);
    return finding_is_to_shrink(findings_find(&campaign->at->findings, entry->seen_as),
                                entry->number) ||
           (trial_result != NULL && may_be_unrepeated(campaign, trial_result) &&
            needs_proof(campaign, entry));
}

/* The work of the process in the background.  It has its own copy of the whole campaign. */
static void shrink_first(void *context, int file)
{
    struct campaign *campaign = context;
    const struct shrink_entry *entry = shrink_queue_first(&campaign->at->queue);
    struct trial_result *trial_result = shrink_queue_list(&campaign->at->queue, entry);
    struct saved_repro saved;
    struct op_list shown;
    memset(&saved, 0, sizeof saved);
    op_list_init(&shown);
    if (needs_proof(campaign, entry) && may_be_unrepeated(campaign, trial_result) &&
        !repeats_verdict(campaign, trial_result, &shown)) {
        saved = repro_store_take_unrepeated(&campaign->repro_store, trial_result);
    } else {
        if (shown.count > 0) {
            op_list_copy(&trial_result->ops, &shown);
        }
        saved = repro_store_take(&campaign->repro_store, trial_result, &campaign->at->findings,
                                 true);
    }
    op_list_deinit(&shown);
    (void)file_write_all(file, &saved, sizeof saved);
}

/* Takes in the files of a verdict; where all are kept, also those that are not the best.  A longer
 * repro of the same is removed when the state on the disk names the new one. */
static void note_saved_files(struct campaign *campaign, struct shrink_entry *entry,
                             const struct saved_repro *saved)
{
    struct finding *known = findings_find(&campaign->at->findings, entry->signature);
    uint64_t *certificate_count = &campaign->at->state.certificate_count;
    memcpy(entry->base, saved->base, sizeof entry->base);
    entry->verdict = saved->shown;
    entry->op_count = saved->op_count;
    entry->lane_count = saved->lane_count;
    entry->switch_count = saved->switch_count;
    entry->has_certificate = saved->has_certificate;
    entry->before_count = saved->before_count;
    entry->is_unrepeated = saved->is_unrepeated;
    if (!campaign->repro_store.keeps_all ||
        finding_repro_is_better(known, saved->op_count, saved->before_count,
                                saved->is_unrepeated)) {
        *certificate_count -= known->base[0] != '\0' && known->has_certificate;
        *certificate_count += saved->has_certificate;
        shrink_queue_take_files(&campaign->at->queue, entry, known);
    } else {
        entry->is_superseded = SUPERSEDED_NOW;
    }
    campaign_note_unsynced(campaign, "repros", saved->base, ".ops");
    for (uint64_t i = 1; i <= saved->before_count; i++) {
        char path[FILE_PATH_BYTES];
        before_path(campaign->repro_store.directory, saved->base, i, path);
        writing_append_bytes(&campaign->unsynced, path, strlen(path) + 1);
    }
}

/* The state of a run that was interrupted is saved by now: who goes on counts on the files that it
 * names. */
static bool is_too_late(const struct campaign *campaign, const struct shrink_entry *entry,
                        const struct saved_repro *saved)
{
    const struct finding *known = findings_find(&campaign->at->findings, entry->signature);
    return campaign->at->state.end.is_interrupted && known->base[0] != '\0' &&
           strcmp(known->base, saved->base) != 0;
}

static void end_entry(struct campaign *campaign, struct shrink_entry *entry,
                      const struct saved_repro *saved)
{
    const struct trial_result *trial_result = shrink_queue_list(&campaign->at->queue, entry);
    enum shrink_state state = SHRINK_COUNTED;
    if (strcmp(saved->signature, entry->seen_as) != 0) {
        shrink_entry_move(entry, &campaign->at->findings, saved->signature);
        (void)count_finding(campaign, trial_result, saved->signature, entry->order);
    } else {
        findings_find(&campaign->at->findings, entry->seen_as)->stayed_count++;
    }
    if (saved->result == REPRO_STORE_FAILED) {
        campaign_note_failure(campaign);
    }
    if (saved->result == REPRO_STORE_SAVED && is_too_late(campaign, entry, saved)) {
        repro_store_forget(&campaign->repro_store, saved->base, saved->before_count);
    } else if (saved->result == REPRO_STORE_SAVED) {
        note_saved_files(campaign, entry, saved);
        state = SHRINK_SAVED;
    }
    shrink_queue_end(&campaign->at->queue, entry, state);
    report_entry(campaign, entry, AUDIENCE_PEOPLE);
    campaign->is_save_due = true;
}

static void take_saved(struct campaign *campaign, struct shrink_entry *entry,
                       const struct saved_repro *saved)
{
    struct shrink_queue *queue = &campaign->at->queue;
    switch (saved->result) {
    case REPRO_STORE_UNREPEATED:
        end_unrepeated(campaign, entry, saved);
        shrink_queue_end(queue, entry, SHRINK_UNREPEATED);
        return;
    case REPRO_STORE_DISPUTED:
        campaign_report_shrunk_dispute(campaign, shrink_queue_list(queue, entry), saved);
        shrink_queue_end(queue, entry, SHRINK_DISPUTED);
        return;
    case REPRO_STORE_SAVED:
    case REPRO_STORE_LONGER:
    case REPRO_STORE_FAILED:
        end_entry(campaign, entry, saved);
        return;
    }
}

/* The list as it was found, of what could not be shrunk. */
static void save_whole(struct campaign *campaign, struct shrink_entry *entry)
{
    const struct saved_repro saved = repro_store_take(
        &campaign->repro_store, shrink_queue_list(&campaign->at->queue, entry),
        &campaign->at->findings, false);
    take_saved(campaign, entry, &saved);
}

/* Counts an entry of which nothing is saved. */
static void count_entry(struct campaign *campaign, struct shrink_entry *entry)
{
    const struct trial_result *trial_result = shrink_queue_list(&campaign->at->queue, entry);
    if (trial_result != NULL) {
        findings_find(&campaign->at->findings, entry->seen_as)->counted_verdicts += count_verdicts(
            trial_result, entry->seen_as);
    }
    shrink_queue_end(&campaign->at->queue, entry, SHRINK_COUNTED);
}

bool campaign_is_shrinking(struct campaign *campaign)
{
    return shrink_queue_first(&campaign->at->queue) != NULL;
}

void campaign_begin_shrinking(struct campaign *campaign)
{
    struct shrink_queue *queue = &campaign->at->queue;
    struct shrink_entry *entry;
    while (campaign->shrink_process.child.process == 0 && !campaign->is_failed &&
           (entry = shrink_queue_first(queue)) != NULL) {
        if (shrink_queue_list(queue, entry) == NULL) {
            return; /* its trial runs again */
        }
        if (!is_to_shrink(campaign, entry)) {
            count_entry(campaign, entry);
        } else if (!background_start(&campaign->shrink_process, shrink_first, campaign)) {
            (void)message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
            campaign->is_failed = true;
        }
    }
}

void campaign_poll_shrinking(struct campaign *campaign, int wait_ms)
{
    struct saved_repro saved;
    bool is_good = false;
    if (campaign->shrink_process.child.process == 0 ||
        !background_is_done(&campaign->shrink_process, wait_ms, &is_good)) {
        return;
    }
    struct shrink_entry *entry = shrink_queue_first(&campaign->at->queue);
    if (is_good && campaign->shrink_process.answer.length == sizeof saved) {
        memcpy(&saved, campaign->shrink_process.answer.bytes, sizeof saved);
        take_saved(campaign, entry, &saved);
        return;
    }
    save_whole(campaign, entry);
    if (campaign->stop_ns != 0) {
        return; /* it was asked to end */
    }
    (void)message_fail(EXIT_HARNESS, "the process that shrank a finding died: it was killed, or "
                                     "hbmstress has an internal error");
    campaign->is_failed = true;
}

/* Files that it wrote, and had no time to tell of, go. */
static void stop_shrinking(struct campaign *campaign)
{
    const struct shrink_entry *entry = shrink_queue_first(&campaign->at->queue);
    const bool was_at_it = campaign->shrink_process.child.process != 0;
    background_stop(&campaign->shrink_process);
    repro_store_clean(&campaign->repro_store, true);
    if (was_at_it && !findings_have_base(&campaign->at->findings, entry->base)) {
        repro_store_forget(&campaign->repro_store, entry->base, EARLIER_LIST_COUNT_MAX);
    }
}

/* It was asked to end. */
static void wait_in_grace(struct campaign *campaign)
{
    while (campaign->shrink_process.child.process != 0 && !campaign->is_failed &&
           clock_now_ns() - campaign->stop_ns < CAMPAIGN_GRACE_NS) {
        campaign_poll_shrinking(campaign, WAIT_GRACE_MS);
    }
}

void campaign_cut_shrinking(struct campaign *campaign)
{
    struct shrink_queue *queue = &campaign->at->queue;
    struct shrink_entry *entry;
    wait_in_grace(campaign);
    stop_shrinking(campaign);
    while ((entry = shrink_queue_first(queue)) != NULL) {
        const struct finding *known = findings_find(&campaign->at->findings, entry->seen_as);
        const bool is_wanted = known->base[0] == '\0' && !campaign->is_failed &&
                               !campaign->output.is_failed &&
                               shrink_queue_list(queue, entry) != NULL;
        if (is_wanted) {
            save_whole(campaign, entry);
        } else {
            count_entry(campaign, entry);
        }
    }
}

/* Takes back the verdicts that were only counted, of a finding that nobody could repeat.  The part
 * where each was counted is not known any more: the finding's first part comes first. */
static void settle_finding(struct campaign *campaign, struct finding *finding)
{
    const bool is_premature = strcmp(finding->rule, rule_info(RULE_PREMATURE)->name) == 0;
    uint64_t left = finding->counted_verdicts;
    discount_verdicts(&campaign->at->state.end.totals, is_premature, left);
    for (size_t i = 0; i < campaign->plan->count && left > 0; i++) {
        struct part_state *part = &campaign->at->parts[(finding->part + i) % campaign->plan->count];
        const uint64_t most = is_premature ? part->totals.premature : part->totals.broken;
        discount_verdicts(&part->totals, is_premature, left < most ? left : most);
        left -= left < most ? left : most;
    }
    finding->unrepeated_count += finding_own_count(finding);
}

void campaign_settle_unrepeated(struct campaign *campaign)
{
    struct findings *findings = &campaign->at->findings;
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->findings[i];
        if (finding->unrepeated_count > 0 && finding->stayed_count == 0 &&
            finding->moved_count == 0 && finding->count == finding->seen_count &&
            finding_is_shown(finding)) {
            settle_finding(campaign, finding);
        }
    }
}
