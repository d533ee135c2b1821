#include "infer/size_fit.h"

#include "harness/op/rounding.h"

enum { STEPS_MAX = 64 };

/* The least overhead with which the rounding allows every pair. */
static uint64_t find_overhead(const struct target_rounding *plain, const struct size_pair *pairs,
                              size_t count, uint64_t granule_bytes)
{
    uint64_t overhead = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t class_bytes = rounding_bytes_max(plain, 1, pairs[i].asked_bytes);
        /* up(class + overhead) reaches the block from here on. */
        const uint64_t low = pairs[i].block_bytes > granule_bytes - 1
                                 ? pairs[i].block_bytes - (granule_bytes - 1)
                                 : 0;
        if (low > class_bytes && low - class_bytes > overhead) {
            overhead = low - class_bytes;
        }
    }
    return overhead;
}

/* What the rounding allows beyond the blocks: in all, and at most. */
struct slack {
    double sum;
    uint64_t most_bytes;
};

static struct slack measure_slack(const struct target_rounding *rounding,
                                  const struct size_pair *pairs, size_t count,
                                  uint64_t granule_bytes)
{
    struct slack slack = {0, 0};
    for (size_t i = 0; i < count; i++) {
        const uint64_t most = rounding_bytes_max(rounding, granule_bytes, pairs[i].asked_bytes);
        const uint64_t beyond = most - pairs[i].block_bytes;
        slack.sum += (double)beyond;
        slack.most_bytes = beyond > slack.most_bytes ? beyond : slack.most_bytes;
    }
    return slack;
}

/* The best by now. */
struct search {
    const struct size_pair *pairs;
    size_t count;
    uint64_t granule_bytes, limit_bytes;
    double sum; /* of the slack of best; below 0: there is none */
    struct size_fit best;
};

static void try_rounding(struct search *search, struct target_rounding rounding)
{
    rounding.overhead_bytes = find_overhead(&rounding, search->pairs, search->count,
                                            search->granule_bytes);
    if (rounding.overhead_bytes >= search->limit_bytes || rounding_flaw(&rounding) != NULL) {
        return;
    }
    const struct slack slack = measure_slack(&rounding, search->pairs, search->count,
                                             search->granule_bytes);
    if (search->sum < 0 || slack.sum < search->sum) {
        search->sum = slack.sum;
        search->best = (struct size_fit){rounding, slack.most_bytes};
    }
}

struct size_fit size_fit_find(const struct size_pair *pairs, size_t count, uint64_t granule_bytes,
                              uint64_t limit_bytes)
{
    struct search search = {.pairs = pairs,
                            .count = count,
                            .granule_bytes = granule_bytes,
                            .limit_bytes = limit_bytes,
                            .sum = -1,
                            .best.rounding.kind = ROUNDING_ANY};
    uint64_t smallest = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        smallest = pairs[i].block_bytes < smallest ? pairs[i].block_bytes : smallest;
    }
    if (count == 0) {
        return search.best;
    }
    try_rounding(&search, (struct target_rounding){.kind = ROUNDING_GRANULE});
    for (uint32_t steps = 1; steps <= STEPS_MAX; steps *= 2) {
        try_rounding(&search, (struct target_rounding){.kind = ROUNDING_CLASSES, .steps = steps});
        try_rounding(&search, (struct target_rounding){.kind = ROUNDING_CLASSES,
                                                       .steps = steps,
                                                       .smallest_bytes = smallest});
    }
    return search.best;
}
