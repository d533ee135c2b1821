#include "harness/run/growth.h"

#include "harness/base/check.h"
#include "harness/base/often.h"
#include "harness/base/trend.h"

#include <string.h>

/* Few windows: of samples that are taken at any moment of a step, several make a floor. */
enum { GROWTH_INTERVAL_FIRST = 64, GROWTH_WINDOW_COUNT_MAX = 8 };

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

bool growth_find(const struct growth_samples *samples, const struct model *model,
                 struct growth *growth)
{
    uint64_t floors[GROWTH_SAMPLE_COUNT];
    struct trend trend;
    uint64_t most = 0;
    CHECK_COSTLY(samples->count <= GROWTH_SAMPLE_COUNT);
    const struct trend_question question = {floors, samples->count, GROWTH_SAMPLES_MIN,
                                            GROWTH_WINDOW_COUNT_MAX, TREND_CHANCE};
    for (int tag = 0; tag < OP_TAG_COUNT; tag++) {
        for (uint32_t i = 0; i < samples->count; i++) {
            floors[i] = samples->bytes[i][tag];
        }
        if (trend_test(&question, &trend) != TREND_GROWS || trend.rise_bytes <= most) {
            continue;
        }
        most = trend.rise_bytes;
        *growth = (struct growth){.tag = (uint8_t)tag,
                                  .first_bytes = floors[trend.first],
                                  .last_bytes = floors[trend.first] + most,
                                  .count = model_tag_count(model, (uint8_t)tag)};
    }
    return most > 0;
}
