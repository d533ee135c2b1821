#include "diagnosis/tag_trend.h"

#include "diagnosis/private/leak.h"

bool tag_trend_find(const struct history *history, uint32_t host, uint8_t tag,
                    struct tag_trend *trend)
{
    const struct history_host *held = &history->hosts[host];
    const struct evidence evidence = {.history = history, .host = host};
    struct trend found;
    const uint32_t tag_count = leak_tag_count(&evidence);
    if (tag_count == 0 || leak_trend(&evidence, tag, tag_count, &found) != TREND_GROWS) {
        return false;
    }
    *trend = (struct tag_trend){.first_op = held->samples[found.first].first_op,
                                .end_op = history->op_count,
                                .slope_bytes = found.slope_bytes / (double)held->interval,
                                .at_bytes = held->samples[found.first].floor_bytes[tag]};
    return true;
}
