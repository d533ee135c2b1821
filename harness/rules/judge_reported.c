#include "harness/rules/private/judge_reported.h"

#include "harness/rules/private/rules.h"

bool judge_counters(struct judge *judge, const struct host *host, const struct target_stats *stats,
                    bool with_holes)
{
    const struct evidence evidence = {
        .judge = judge, .host = host, .stats = stats, .with_holes = with_holes};
    return rule_judge(RULE_COUNTERS, &evidence) && rule_judge(RULE_NOT_COALESCED, &evidence);
}

bool judge_report(struct judge *judge, const struct host *host)
{
    const struct evidence evidence = {.judge = judge, .host = host, .sight = SIGHT_REPORT};
    return rule_judge(RULE_REPORT, &evidence) && rule_judge(RULE_HANDLE, &evidence);
}
