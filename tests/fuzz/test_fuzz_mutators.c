/* The mutators as libFuzzer and as AFL++ call them. */
#include "fuzz/engine.h"
#include "fuzz/mutate/mutate.h"
#include "fuzz/mutate/mutator_afl.h"
#include "tests/fuzz/fuzz_lists.h"
#include "tests/helpers/suite.h"

#include <string.h>

enum { BYTES_MAX = 4096, CALL_COUNT = 300 };

static uint8_t bytes[BYTES_MAX], other_bytes[BYTES_MAX];
static size_t length, other_length;

static void set_up(void)
{
    struct input input;
    input_init(&input);
    known_input(&input, KNOWN_MARK);
    length = input_encode(&input, bytes, sizeof bytes);
    known_input(&input, KNOWN_MARK_OTHER);
    other_length = input_encode(&input, other_bytes, sizeof other_bytes);
    input_deinit(&input);
}

EVERY_TEST(.setup = set_up);

TEST(libfuzzer_gets_the_same_bytes_for_a_seed_and_never_too_many)
{
    static const size_t bounds[] = {1, 31, 32, 200, BYTES_MAX};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        for (unsigned seed = 0; seed < CALL_COUNT; seed++) {
            uint8_t out[2][BYTES_MAX];
            size_t lengths[2];
            for (int k = 0; k < 2; k++) {
                memcpy(out[k], bytes, length);
                lengths[k] = LLVMFuzzerCustomMutator(
                    out[k], length < bounds[i] ? length : bounds[i], bounds[i], seed);
            }
            ck_assert_uint_ge(lengths[0], 1);
            ck_assert_uint_le(lengths[0], bounds[i]);
            ck_assert_uint_eq(lengths[0], lengths[1]);
            ck_assert_mem_eq(out[0], out[1], lengths[0]);
        }
    }
}

TEST(libfuzzer_crosses_within_the_bytes_that_there_are)
{
    static const size_t bounds[] = {1, 32, 200, BYTES_MAX};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        for (unsigned seed = 0; seed < CALL_COUNT; seed++) {
            uint8_t out[BYTES_MAX];
            const size_t got = LLVMFuzzerCustomCrossOver(bytes, length, other_bytes, other_length,
                                                         out, bounds[i], seed);
            ck_assert_uint_ge(got, 1);
            ck_assert_uint_le(got, bounds[i]);
        }
    }
}

TEST(afl_gets_the_same_bytes_for_a_seed_and_never_too_many)
{
    static const size_t bounds[] = {1, 40, BYTES_MAX};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        void *states[2] = {afl_custom_init(NULL, 7), afl_custom_init(NULL, 7)};
        for (int call = 0; call < CALL_COUNT; call++) {
            uint8_t *out[2] = {NULL, NULL};
            size_t lengths[2];
            for (int k = 0; k < 2; k++) {
                uint8_t *crossed = call % 3 == 0 ? NULL : other_bytes;
                lengths[k] = afl_custom_fuzz(states[k], bytes, length, &out[k], crossed,
                                             other_length, bounds[i]);
            }
            ck_assert_uint_ge(lengths[0], 1);
            ck_assert_uint_le(lengths[0], bounds[i]);
            ck_assert_uint_eq(lengths[0], lengths[1]);
            ck_assert_mem_eq(out[0], out[1], lengths[0]);
        }
        afl_custom_deinit(states[0]);
        afl_custom_deinit(states[1]);
    }
}

TEST(afl_gets_other_bytes_at_each_call)
{
    void *state = afl_custom_init(NULL, 1);
    uint8_t last[BYTES_MAX];
    size_t last_length = 0;
    size_t same_count = 0;
    for (int call = 0; call < CALL_COUNT; call++) {
        uint8_t *out = NULL;
        const size_t got = afl_custom_fuzz(state, bytes, length, &out, NULL, 0, BYTES_MAX);
        same_count += got == last_length && memcmp(out, last, got) == 0;
        memcpy(last, out, got);
        last_length = got;
    }
    ck_assert_uint_lt(same_count, CALL_COUNT / 20);
    afl_custom_deinit(state);
}

/* As AFL++ does it: a step is as good where what it has to keep is there. */
static size_t trim_as_afl_does(void *state, uint8_t *input, size_t input_length,
                               int32_t *call_count)
{
    size_t best = input_length;
    int32_t step = 0;
    const int32_t step_count = afl_custom_init_trim(state, input, input_length);
    ck_assert_int_ge(step_count, 0);
    while (step < step_count) {
        uint8_t *out = NULL;
        const size_t got = afl_custom_trim(state, &out);
        ck_assert_uint_le(got, best);
        const bool is_as_good = got >= INPUT_HEADER_BYTES + 5 * INPUT_SHORT_BYTES;
        best = is_as_good ? got : best;
        step = afl_custom_post_trim(state, is_as_good);
        ck_assert_int_le(++*call_count, TRIM_STEPS_MAX);
    }
    return best;
}

TEST(afl_trims_to_what_it_has_to_keep)
{
    void *state = afl_custom_init(NULL, 1);
    int32_t call_count = 0;
    const size_t best = trim_as_afl_does(state, bytes, length, &call_count);
    ck_assert_uint_le(best, INPUT_HEADER_BYTES + 7 * INPUT_SHORT_BYTES);
    ck_assert_int_gt(call_count, 3);
    afl_custom_deinit(state);
}

/* Bytes that are fewer than their input takes in full. */
TEST(afl_trims_nothing_that_would_get_longer)
{
    void *state = afl_custom_init(NULL, 1);
    for (size_t short_length = 0; short_length < length; short_length++) {
        int32_t call_count = 0;
        ck_assert_uint_le(trim_as_afl_does(state, bytes, short_length, &call_count), short_length);
    }
    afl_custom_deinit(state);
}
