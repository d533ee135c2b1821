/* Finds the tag whose live bytes keep growing: small tensors pile up, unlike warm-up and phases. */
#ifndef HARNESS_RUN_GROWTH_H
#define HARNESS_RUN_GROWTH_H

#include "harness/model/model.h"

enum { GROWTH_SAMPLE_COUNT = 64, GROWTH_SAMPLES_MIN = 16 };

/* The growth of the tag that grew most. */
struct growth {
    uint8_t tag;
    uint64_t first_bytes, last_bytes; /* that it held, past its warm-up and at the end */
    uint64_t count;                   /* blocks that it has */
};

/* Samples of all tags of one host at even distances.  When the array is full every other sample is
 * dropped and the distance doubles, so that a run of any length is covered. */
struct growth_samples {
    uint64_t bytes[GROWTH_SAMPLE_COUNT][OP_TAG_COUNT];
    uint32_t count;
    uint64_t interval, next_op;
};

void growth_init(struct growth_samples *samples);
/* Called after every op; takes a sample when it is time. */
void growth_sample(struct growth_samples *samples, const struct model *model, uint64_t op);
/* The tag that grew most among those that keep growing (harness/base/trend.h).  False: none does.
 */
bool growth_find(const struct growth_samples *samples, const struct model *model,
                 struct growth *growth);

#endif
