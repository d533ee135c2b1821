/* Verdicts of free-running lanes that cannot be repeated: they are counted, and no findings. */
#include "campaign/engine/private/campaign_state.h"

#include "campaign/process/attempt.h"
#include "explore/strategies/strategies.h"
#include "harness/lanes/lanes_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* How many times the list is run again, on all cores and under schedules.  Each is a few times what
 * a trial runs by default. */
enum { REPEAT_FREE_COUNT = 400, REPEAT_SCHEDULE_COUNT = 2000 };
#define REPEAT_DURATION_NS UINT64_C(60000000000)

bool campaign_may_be_unrepeated(const struct campaign *campaign,
                                const struct trial_result *trial_result)
{
    const struct lane_options *lanes = &campaign->plan->parts[trial_result->head.task.part].lanes;
    /* A crash, a hang or an overrun was certainly seen: it needs no second time. */
    return lanes->lane_count != 0 && lanes->backend == LANE_BACKEND_FREE &&
           trial_result->head.end == TRIAL_RESULT_DONE && trial_result->head.has_list &&
           lanes_are_in(&trial_result->ops) && trial_result->head.first.rule != RULE_OVERRUN;
}

bool campaign_repeats(const struct campaign *campaign, const struct trial_result *trial_result,
                      struct op_list *shown)
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

uint64_t campaign_verdict_count(const struct trial_result *trial_result, const char *signature)
{
    const struct run_finding *found = run_findings_find(&trial_result->head.findings, signature);
    return found == NULL ? 0 : found->count;
}

/* Describes the search that did not show the verdict again. */
static void describe_search(const struct campaign *campaign,
                            const struct trial_result *trial_result, char words[128])
{
    if (campaign_may_be_unrepeated(campaign, trial_result)) {
        snprintf(words, 128, "%d schedules and %d runs on all cores did not show it again",
                 REPEAT_SCHEDULE_COUNT, REPEAT_FREE_COUNT);
    } else {
        snprintf(words, 128,
                 "its op list did not show it again, alone or after the trials before it");
    }
}

void campaign_end_unrepeated(struct campaign *campaign, const struct shrink_entry *entry,
                             const struct saved_repro *saved)
{
    const struct trial_result *trial_result = shrink_queue_list(&campaign->at->queue, entry);
    const uint64_t verdict_count = campaign_verdict_count(trial_result, entry->seen_as);
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
