#include "harness/run/growth.h"

#include "harness/base/check.h"
#include "harness/base/often.h"

#include <string.h>

enum { GROWTH_INTERVAL_FIRST = 64, GROWTH_QUARTERS = 4 };

void growth_init(struct growth_samples *samples)
{
    samples->count = 0;
    samples->interval = GROWTH_INTERVAL_FIRST;
    samples->next_op = 0;
}

static void halve_samples(struct growth_samples *samples)
{
    CHECK_COSTLY(samples->count == GROWTH_SAMPLE_COUNT);
    CHECK_COSTLY(samples->interval <= UINT64_MAX / 2);
    for (uint32_t i = 0; i < GROWTH_SAMPLE_COUNT / 2; i++) {
        memcpy(samples->bytes[i], samples->bytes[2 * i], sizeof samples->bytes[i]);
    }
    samples->count = GROWTH_SAMPLE_COUNT / 2;
    samples->interval *= 2;
}

SELDOM void growth_sample(struct growth_samples *samples, const struct model *model, uint64_t op)
{
    CHECK_COSTLY(samples->interval > 0);
    if (op < samples->next_op) {
        return;
    }
    if (samples->count == GROWTH_SAMPLE_COUNT) {
        halve_samples(samples);
    }
    CHECK_COSTLY(samples->count < GROWTH_SAMPLE_COUNT);
    memcpy(samples->bytes[samples->count], model_tag_bytes(model), sizeof samples->bytes[0]);
    samples->count++;
    samples->next_op = op + samples->interval;
    CHECK_COSTLY(samples->next_op > op);
}

/* The least live bytes in a quarter: what never went away in it. */
static uint64_t floor_of(const struct growth_samples *samples, int tag, uint32_t quarter)
{
    const uint32_t first = samples->count * quarter / GROWTH_QUARTERS;
    const uint32_t last = samples->count * (quarter + 1) / GROWTH_QUARTERS;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = first; i < last; i++) {
        least = samples->bytes[i][tag] < least ? samples->bytes[i][tag] : least;
    }
    return least;
}

bool growth_find(const struct growth_samples *samples, const struct model *model,
                 struct growth *growth)
{
    CHECK_COSTLY(samples->count <= GROWTH_SAMPLE_COUNT);
    uint64_t most = 0;
    if (samples->count < GROWTH_SAMPLES_MIN) {
        return false;
    }
    for (int tag = 0; tag < OP_TAG_COUNT; tag++) {
        uint64_t floors[GROWTH_QUARTERS];
        bool rises = true;
        for (uint32_t quarter = 0; quarter < GROWTH_QUARTERS; quarter++) {
            floors[quarter] = floor_of(samples, tag, quarter);
            rises = rises && (quarter == 0 || floors[quarter] > floors[quarter - 1]);
        }
        const uint64_t grew = floors[GROWTH_QUARTERS - 1] - floors[0];
        if (!rises || grew <= most) {
            continue;
        }
        most = grew;
        *growth = (struct growth){.tag = (uint8_t)tag,
                                  .first_bytes = floors[0],
                                  .last_bytes = floors[GROWTH_QUARTERS - 1],
                                  .count = model_tag_count(model, (uint8_t)tag)};
    }
    CHECK_COSTLY(most == 0 || growth->last_bytes - growth->first_bytes == most);
    return most > 0;
}
