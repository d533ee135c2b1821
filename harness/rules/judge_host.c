#include "harness/rules/private/judge_host.h"

#include "harness/device/host_memory.h"
#include "harness/rules/private/rules.h"

bool judge_host_memory(struct judge *judge, const struct host *host)
{
    const struct evidence evidence = {.judge = judge, .host = host, .sight = SIGHT_ANSWER};
    if (judge_keeps_host_memory(host)) {
        return true;
    }
    return rule_judge(RULE_OVERRUN, &evidence) && rule_judge(RULE_HOST_MEMORY, &evidence);
}

void judge_host_closed(struct judge *judge, const struct host *host)
{
    const struct evidence evidence = {.judge = judge, .host = host, .sight = SIGHT_CLOSE};
    host_memory_check(device_host_memory(host->device));
    (void)(rule_judge(RULE_OVERRUN, &evidence) && rule_judge(RULE_HOST_MEMORY, &evidence));
}
