#include "harness/device/host_memory.h"
#include "harness/rules/private/families.h"

#include <inttypes.h>

bool judge_host_memory(struct judge *judge, const struct host *host)
{
    const struct rule_evidence evidence = evidence_of(judge, host, NULL, SIGHT_ANSWER);
    if (judge_keeps_host_memory(host)) {
        return true;
    }
    return rule_judge(RULE_OVERRUN, &evidence) && rule_judge(RULE_HOST_MEMORY, &evidence);
}

void judge_host_closed(struct judge *judge, const struct host *host)
{
    const struct rule_evidence evidence = evidence_of(judge, host, NULL, SIGHT_CLOSE);
    host_memory_check(device_host_memory(host->device));
    (void)(rule_judge(RULE_OVERRUN, &evidence) && rule_judge(RULE_HOST_MEMORY, &evidence));
}

/* The target's memory on the host: where it writes, and how much it holds. */

bool rules_judge_overrun(const struct rule_evidence *evidence)
{
    const struct host_memory *memory = device_host_memory(evidence->host->device);
    return memory->fault[0] == '\0' || evidence_break(evidence, RULE_OVERRUN, "%s", memory->fault);
}

bool rules_judge_host_memory(const struct rule_evidence *evidence)
{
    const struct host_memory *memory = device_host_memory(evidence->host->device);
    if (evidence->sight == SIGHT_CLOSE) {
        return memory->held_bytes == 0 ||
               evidence_break(evidence, RULE_HOST_MEMORY,
                              "%" PRIu64 " bytes of host memory were not released",
                              memory->held_bytes);
    }
    const uint64_t bytes_max = host_memory_bytes_max(memory);
    return memory->held_bytes <= bytes_max ||
           evidence_break(evidence, RULE_HOST_MEMORY,
                          "%" PRIu64 " bytes of host memory are held, but %" PRIu64
                          " is the limit for %" PRIu64 " blocks, events and programs",
                          memory->held_bytes, bytes_max, memory->item_count_max);
}
