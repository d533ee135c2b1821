/* Asks the target about itself and holds that against the model. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_REPORTED_H
#define HARNESS_RULES_PRIVATE_JUDGE_REPORTED_H

#include "harness/rules/judge.h"

/* Each sets the first broken rule in *judge->verdict and returns false, or returns true. */

/* The counters equal the model's; with_holes: the largest hole, too, which costs a walk over the
 * blocks. */
bool judge_counters(struct judge *judge, const struct host *host, const struct target_stats *stats,
                    bool with_holes);
/* What every op is asked, and nearly always the answer: each counter is exact, which is right
 * whatever the contract says of it, unless late ones are followed.  Holes are not looked at. */
static inline bool judge_counters_are_exact(const struct judge *judge, const struct host *host,
                                            const struct target_stats *stats)
{
    const struct model_counters *is = model_counters(host->model);
    return judge->histories == NULL && stats->bytes_in_use == is->in_use_bytes &&
           stats->num_allocs == is->block_count && stats->bytes_limit == is->capacity_bytes &&
           stats->bytes_reserved == is->reserved_bytes &&
           stats->peak_bytes_reserved == is->peak_reserved_bytes &&
           stats->peak_bytes_in_use >= is->peak_low_bytes &&
           stats->peak_bytes_in_use <= is->peak_high_bytes &&
           stats->largest_alloc_size == is->largest_block_bytes;
}
/* What the target said of its peak it cannot take back: of a peak that it may have had no more is
 * left open. */
static inline void judge_narrow_peak(struct host *host, uint64_t peak_bytes)
{
    const struct model_counters *is = model_counters(host->model);
    if (is->peak_low_bytes != is->peak_high_bytes &&
        host->contract.counting[TARGET_COUNTER_PEAK_BYTES_IN_USE] == TARGET_COUNT_EXACT &&
        peak_bytes >= is->peak_low_bytes && peak_bytes <= is->peak_high_bytes) {
        model_widen_peak(host->model, peak_bytes, peak_bytes);
    }
}
/* The allocations report names each block once, largest first, and no two things share a handle. */
bool judge_report(struct judge *judge, const struct host *host);

#endif
