#include "harness/rules/private/judge_reported.h"

#include "harness/base/array.h"
#include "harness/rules/private/counter_history.h"
#include "harness/rules/private/rules.h"

static struct counter_history *find_history(struct judge *judge, const struct host *host)
{
    if (judge->history_count < judge->host_count) {
        judge->histories = array_resized(judge->histories,
                                         judge->host_count * sizeof *judge->histories);
        for (uint32_t i = judge->history_count; i < judge->host_count; i++) {
            judge->histories[i].run = judge->run - 1;
        }
        judge->history_count = judge->host_count;
    }
    struct counter_history *history = &judge->histories[host->index];
    if (history->run != judge->run) {
        counter_history_init(history, host, judge->run);
    }
    return history;
}

/* Where calls overlapped, nobody knows what was right after each of them. */
static void note_counters(struct judge *judge, const struct host *host)
{
    if (!counter_history_is_needed(&host->contract)) {
        return;
    }
    const bool needs_hole = host->contract.counting[TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES] ==
                            TARGET_COUNT_LATE;
    const struct counter_bounds bounds = judge->is_overlapping
                                             ? counter_bounds_open()
                                             : counter_bounds_of(host, !needs_hole);
    counter_history_add(find_history(judge, host), &bounds);
}

bool judge_counters(struct judge *judge, const struct host *host, const struct target_stats *stats,
                    bool with_holes)
{
    const struct evidence evidence = {
        .judge = judge, .host = host, .stats = stats, .with_holes = with_holes};
    note_counters(judge, host);
    return rule_judge(RULE_COUNTERS, &evidence) &&
           (!host->contract.counts_owners || rule_judge(RULE_OWNERSHIP, &evidence)) &&
           rule_judge(RULE_NOT_COALESCED, &evidence);
}

bool judge_report(struct judge *judge, const struct host *host)
{
    const struct evidence evidence = {.judge = judge, .host = host, .sight = SIGHT_REPORT};
    return rule_judge(RULE_REPORT, &evidence) && rule_judge(RULE_HANDLE, &evidence);
}
