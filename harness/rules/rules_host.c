/* The target's memory on the host: where it writes, and how much it holds. */
#include "harness/device/host_memory.h"
#include "harness/rules/private/rules.h"

#include <inttypes.h>

bool rules_judge_overrun(const struct evidence *evidence)
{
    const struct host_memory *memory = device_host_memory(evidence->host->device);
    return memory->fault[0] == '\0' || evidence_break(evidence, RULE_OVERRUN, "%s", memory->fault);
}

bool rules_judge_host_memory(const struct evidence *evidence)
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
