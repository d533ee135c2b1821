#include "harness/rules/judge_completions.h"

#include "harness/rules/private/judge_contents.h"

void judge_absorb_until(struct judge *judge, uint64_t completed_count)
{
    while (judge->absorbed_count < completed_count) {
        const uint64_t event = timeline_completed_at(judge->timeline, judge->absorbed_count++);
        /* Blocks of any host may wait for it, not only those of the host that made it. */
        for (uint32_t i = 0; i < judge->host_count; i++) {
            model_complete(judge->hosts[i].model, event);
            judge_free_deferred(&judge->hosts[i]);
        }
    }
}

void judge_absorb_all(struct judge *judge)
{
    judge_absorb_until(judge, timeline_completed_count(judge->timeline));
}
