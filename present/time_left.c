#include "present/time_left.h"

#include "present/amount.h"

uint64_t time_left_of_job(const struct report_campaign *campaign,
                          const struct report_result *result)
{
    const uint64_t elapsed_ns = campaign->end->elapsed_ns;
    if (result->is_finished) {
        return 0;
    }
    if (result->due == 0 || result->done == 0 || elapsed_ns == 0) {
        return campaign->duration_left_ns;
    }
    const uint64_t rest = result->due > result->done ? result->due - result->done : 0;
    const uint64_t estimate_ns = amount_scale(elapsed_ns, rest, result->done);
    return estimate_ns < campaign->duration_left_ns ? estimate_ns : campaign->duration_left_ns;
}

uint64_t time_left_of_campaign(const struct report_campaign *campaign)
{
    uint64_t longest_ns = 0;
    if (campaign->duration_left_ns != UINT64_MAX) {
        return campaign->duration_left_ns;
    }
    for (size_t i = 0; i < campaign->result_count; i++) {
        const uint64_t left_ns = time_left_of_job(campaign, &campaign->results[i]);
        longest_ns = left_ns > longest_ns ? left_ns : longest_ns;
    }
    return longest_ns;
}
