/* The mutators as AFL++ loads them: AFL_CUSTOM_MUTATOR_LIBRARY names this module
 * (docs/fuzzing-reference.md).
 */
#include "fuzz/mutate/mutator_afl.h"
#include "fuzz/mutate/mutate.h"
#include "harness/base/check.h"
#include "harness/base/random.h"

#include <stdlib.h>

struct afl_mutator {
    struct mutator *mutator;
    struct random random;
    struct input input, other, crossed;
    struct trim trim;
    const struct input *step; /* of trim, that AFL++ is to try; NULL: there is none */
    uint8_t *bytes;           /* what the last call gave out: bytes_capacity of them */
    size_t bytes_capacity;
};

enum { CROSS_ONE_IN = 4 };

void *afl_custom_init(void *afl, unsigned int seed)
{
    struct afl_mutator *state = calloc(1, sizeof *state);
    (void)afl;
    CHECK(state != NULL);
    state->mutator = mutator_create();
    random_init(&state->random, seed);
    input_init(&state->input);
    input_init(&state->other);
    input_init(&state->crossed);
    trim_init(&state->trim);
    return state;
}

void afl_custom_deinit(void *data)
{
    struct afl_mutator *state = data;
    mutator_destroy(state->mutator);
    input_deinit(&state->input);
    input_deinit(&state->other);
    input_deinit(&state->crossed);
    trim_deinit(&state->trim);
    free(state->bytes);
    free(state);
}

/* Gives out the front of the input, all of it where length_max allows. */
static size_t return_bytes(struct afl_mutator *state, const struct input *input, size_t length_max,
                           uint8_t **out)
{
    const size_t length = input_encode(input, NULL, 0);
    if (length > state->bytes_capacity) {
        free(state->bytes);
        state->bytes = malloc(length);
        CHECK(state->bytes != NULL);
        state->bytes_capacity = length;
    }
    (void)input_encode(input, state->bytes, length);
    *out = state->bytes;
    return length < length_max ? length : length_max;
}

size_t afl_custom_fuzz(void *data, uint8_t *bytes, size_t length, uint8_t **out, uint8_t *other,
                       size_t other_length, size_t length_max)
{
    struct afl_mutator *state = data;
    const size_t room = length_max < INPUT_HEADER_BYTES ? INPUT_HEADER_BYTES : length_max;
    const uint64_t seed = random_bits(&state->random);
    const bool crosses = other != NULL && other_length > 0 &&
                         random_chance(&state->random, 1, CROSS_ONE_IN);
    input_decode(bytes, length, &state->input);
    if (!crosses) {
        mutator_change(state->mutator, &state->input, room, seed);
        return return_bytes(state, &state->input, length_max, out);
    }
    input_decode(other, other_length, &state->other);
    mutator_cross(state->mutator, &state->input, &state->other, room, seed, &state->crossed);
    return return_bytes(state, &state->crossed, length_max, out);
}

/* --- trimming --- */

/* AFL++ makes steps while the number of the last one is below what this returned. */
int32_t afl_custom_init_trim(void *data, uint8_t *bytes, size_t length)
{
    struct afl_mutator *state = data;
    input_decode(bytes, length, &state->input);
    if (input_encode(&state->input, NULL, 0) > length) {
        return 0; /* a step that is longer than what it began with would end AFL++ */
    }
    trim_begin(&state->trim, &state->input);
    state->step = trim_next(&state->trim);
    return state->step == NULL ? 0 : TRIM_STEPS_MAX;
}

size_t afl_custom_trim(void *data, uint8_t **out)
{
    struct afl_mutator *state = data;
    return return_bytes(state, state->step == NULL ? &state->trim.best : state->step, SIZE_MAX,
                        out);
}

int32_t afl_custom_post_trim(void *data, unsigned char success)
{
    struct afl_mutator *state = data;
    const int32_t step_number = (int32_t)state->trim.step_count;
    if (state->step == NULL) {
        return TRIM_STEPS_MAX;
    }
    trim_tell(&state->trim, success != 0);
    state->step = trim_next(&state->trim);
    return state->step == NULL ? TRIM_STEPS_MAX : step_number;
}
