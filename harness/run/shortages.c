#include "harness/run/shortages.h"

#include "harness/call/call.h"
#include "harness/call/host.h"
#include "harness/device/device.h"

#include <string.h>

void shortages_init(struct shortages *shortages)
{
    *shortages = (struct shortages){0};
    memset(shortages->since, 0xFF, sizeof shortages->since);
}

/* Finds the member that has most, among all others. */
static void find_holder(const struct shortages *shortages, const struct host *hosts,
                        uint64_t members, struct shortage *found)
{
    for (unsigned i = 0; i < OP_HOST_COUNT_MAX; i++) {
        if ((members >> i & 1) == 0 || i == found->host) {
            continue;
        }
        const uint64_t bytes = device_pool_bytes(hosts[i].device);
        if (bytes > found->holder_bytes) {
            found->holder = (uint8_t)i;
            found->holder_bytes = bytes;
            found->is_holder_awake = !model_is_asleep(hosts[i].model);
            found->holder_since = shortages->since[i];
        }
    }
}

bool shortages_hear(struct shortages *shortages, const struct host *hosts, uint64_t members,
                    const struct host *host, const struct call *call)
{
    const uint8_t kind = call->op.kind;
    if ((kind == OP_SLEEP || kind == OP_WAKE) && call->result == TARGET_OK) {
        shortages->since[host->index] = call->number;
    }
    const struct device_pool_refusal refusal = device_pool_refusal(host->device);
    struct shortage found = {.asked_bytes = refusal.asked_bytes,
                             .left_bytes = refusal.left_bytes,
                             .op = call->number,
                             .host = host->index,
                             .holder = host->index};
    if (found.asked_bytes == 0 || call->result == TARGET_OK) { /* it found another way */
        return false;
    }
    find_holder(shortages, hosts, members, &found);
    if (shortages->total++ < SHORTAGE_COUNT_MAX) {
        shortages->shortages[shortages->count++] = found;
    }
    return true;
}
