#include "harness/rules/private/judge_host.h"

#include "harness/device/host_memory.h"

#include <inttypes.h>

bool judge_host_memory(struct judge *judge, struct host *host)
{
    struct host_memory *memory = device_host_memory(host->device);
    host_memory_allow(memory, model_counters(host->model)->block_count +
                                  model_event_count(host->model) +
                                  model_program_count(host->model));
    if (memory->fault[0] != '\0') {
        return judge_broken(judge, RULE_OVERRUN, "%s", memory->fault);
    }
    const uint64_t bytes_max = host_memory_bytes_max(memory);
    if (memory->held_bytes > bytes_max) {
        return judge_broken(judge, RULE_HOST_MEMORY,
                            "%" PRIu64 " bytes of host memory are held, and %" PRIu64
                            " are much for %" PRIu64 " blocks, events and programs",
                            memory->held_bytes, bytes_max, memory->item_count_max);
    }
    return true;
}

void judge_host_closed(struct judge *judge, struct host *host)
{
    struct host_memory *memory = device_host_memory(host->device);
    host_memory_check(memory);
    if (memory->fault[0] != '\0') {
        (void)judge_broken(judge, RULE_OVERRUN, "%s", memory->fault);
    } else if (memory->held_bytes != 0) {
        (void)judge_broken(judge, RULE_HOST_MEMORY,
                           "%" PRIu64 " bytes of host memory were not given back",
                           memory->held_bytes);
    }
}
