#include "fuzz/engine.h"
#include "fuzz/mutate/mutate.h"
#include "harness/base/check.h"

#include <string.h>

/* The state that the calls share; libFuzzer makes them one after the other. */
struct scratch {
    struct mutator *mutator;
    struct input one, other, out;
};

static struct scratch *scratch_open(void)
{
    static struct scratch scratch;
    if (scratch.mutator == NULL) {
        scratch.mutator = mutator_create();
        input_init(&scratch.one);
        input_init(&scratch.other);
        input_init(&scratch.out);
    }
    return &scratch;
}

/* Leaves room for a header at least; where there is less, its front counts and the rest is zero. */
static size_t choose_length(size_t length_max)
{
    return length_max < INPUT_HEADER_BYTES ? INPUT_HEADER_BYTES : length_max;
}

static size_t write_out(const struct input *input, uint8_t *bytes, size_t length_max)
{
    uint8_t header[INPUT_HEADER_BYTES];
    if (length_max >= INPUT_HEADER_BYTES) {
        return input_encode(input, bytes, length_max);
    }
    (void)input_encode(input, header, sizeof header);
    memcpy(bytes, header, length_max);
    return length_max;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t length, size_t length_max, unsigned int seed)
{
    struct scratch *scratch = scratch_open();
    CHECK(length_max > 0);
    input_decode(bytes, length, &scratch->out);
    mutator_change(scratch->mutator, &scratch->out, choose_length(length_max), seed);
    return write_out(&scratch->out, bytes, length_max);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_length, const uint8_t *other,
                                 size_t other_length, uint8_t *out, size_t out_length_max,
                                 unsigned int seed)
{
    struct scratch *scratch = scratch_open();
    CHECK(out_length_max > 0);
    input_decode(one, one_length, &scratch->one);
    input_decode(other, other_length, &scratch->other);
    mutator_cross(scratch->mutator, &scratch->one, &scratch->other, choose_length(out_length_max),
                  seed, &scratch->out);
    return write_out(&scratch->out, out, out_length_max);
}
