#include "harness/rules/judge_completions.h"

#include "harness/rules/private/judge_contents.h"

uint64_t judge_absorbed_count(const struct judge *judge, const struct host *host)
{
    return judge->absorbed_counts[host->clock];
}

void judge_absorb_until(struct judge *judge, const struct host *host, uint64_t completed_count)
{
    uint64_t *absorbed_count = &judge->absorbed_counts[host->clock];
    /* Blocks of any host with that time may wait for an event, not only those of the host that made
     * it. */
    const uint32_t end = judge->setup->has_clocks ? host->clock + UINT32_C(1) : judge->host_count;
    while (*absorbed_count < completed_count) {
        const uint64_t event = timeline_completed_at(host->timeline, (*absorbed_count)++);
        for (uint32_t i = host->clock; i < end; i++) {
            model_complete(judge->hosts[i].model, event);
            judge_free_deferred(&judge->hosts[i]);
        }
    }
}

void judge_absorb(struct judge *judge, const struct host *host)
{
    judge_absorb_until(judge, host, timeline_completed_count(host->timeline));
}

void judge_absorb_all(struct judge *judge)
{
    const uint64_t completed_count = timeline_completed_beside(judge->hosts[0].timeline);
    if (completed_count == judge->absorbed_beside) {
        return; /* most ops complete nothing, whatever the number of hosts */
    }
    for (uint32_t i = 0; i < judge->host_count; i++) {
        if (judge->hosts[i].clock == i) {
            judge_absorb(judge, &judge->hosts[i]);
        }
    }
    judge->absorbed_beside = completed_count;
}
