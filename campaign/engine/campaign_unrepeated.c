/* Verdicts of free-running lanes that cannot be repeated: they are counted, and no findings. */
#include "campaign/engine/private/campaign_state.h"

#include "campaign/process/repeat.h"
#include "explore/strategies/strategies.h"
#include "harness/base/check.h"
#include "harness/lanes/lanes_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* How often the list is run again: on all cores, and under schedules, each as often as a trial with
 * the default does a few times over. */
enum { REPEAT_FREE_COUNT = 400, REPEAT_SCHEDULE_COUNT = 2000 };
#define REPEAT_DURATION_NS UINT64_C(60000000000)

bool campaign_may_be_unrepeated(const struct campaign *campaign,
                                const struct trial_result *trial_result)
{
    const struct lane_options *lanes = &campaign->plan->parts[trial_result->head.task.part].lanes;
    /* What destroys memory or never ends was seen: it needs no second time. */
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

static void discount_verdicts(struct run_totals *totals, const struct run_finding *finding)
{
    const bool is_premature = finding->verdict.kind == VERDICT_PREMATURE;
    uint64_t *count = is_premature ? &totals->premature : &totals->broken;
    CHECK(*count >= finding->count);
    *count -= finding->count;
    totals->unrepeated += finding->count;
}

void campaign_end_unrepeated(struct campaign *campaign, const struct shrink_entry *entry,
                             const struct saved_repro *saved)
{
    const struct trial_result *trial_result = shrink_queue_list(&campaign->at->queue, entry);
    const struct run_finding *seen = &trial_result->head.findings.findings[entry->finding];
    struct finding *known = findings_find(&campaign->at->findings, entry->seen_as);
    struct repro_store_paths paths;
    discount_verdicts(&campaign->at->parts[entry->task.part].totals, seen);
    discount_verdicts(&campaign->at->state.end.totals, seen);
    known->seen_count--;
    if (--known->count == 0) {
        findings_forget(&campaign->at->findings, entry->seen_as);
    }
    repro_store_paths_init(&paths, &campaign->repro_store, "unrepeated", saved->base);
    campaign_note_saved(campaign, "unrepeated", saved->base, ".ops");
    message_note("unrepeated: %s, in trial %" PRIu64
                 " of %s: %d schedules and %d runs on all cores "
                 "did not show it again; the op list is in %s",
                 entry->seen_as, entry->task.trial, campaign->plan->parts[entry->task.part].name,
                 REPEAT_SCHEDULE_COUNT, REPEAT_FREE_COUNT, paths.repro);
}
