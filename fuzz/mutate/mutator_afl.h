/* AFL++ calls these in a module that AFL_CUSTOM_MUTATOR_LIBRARY names, under the names of its
 * docs/custom_mutators.md. state is what afl_custom_init() returned; what is given out in *out
 * stays the module's until the next call. */
#ifndef FUZZ_MUTATE_MUTATOR_AFL_H
#define FUZZ_MUTATE_MUTATOR_AFL_H

#include <stddef.h>
#include <stdint.h>

#define MUTATOR_AFL_EXPORT __attribute__((visibility("default")))

/* afl, the state of AFL++, is not looked at.  All that follows depends on the seed and the calls.
 */
MUTATOR_AFL_EXPORT void *afl_custom_init(void *afl, unsigned int seed);
MUTATOR_AFL_EXPORT void afl_custom_deinit(void *state);

/* The bytes changed, or now and then crossed with those of other, which may be NULL.  Returns the
 * length of *out, 1..length_max. */
MUTATOR_AFL_EXPORT size_t afl_custom_fuzz(void *state, uint8_t *bytes, size_t length, uint8_t **out,
                                          uint8_t *other, size_t other_length, size_t length_max);

/* Trimming: returns the number of steps to make at most, 0 where there is nothing to trim; then for
 * each step the bytes to try, never more than the first; then, told whether they were as good, the
 * number of the step that is next. */
MUTATOR_AFL_EXPORT int32_t afl_custom_init_trim(void *state, uint8_t *bytes, size_t length);
MUTATOR_AFL_EXPORT size_t afl_custom_trim(void *state, uint8_t **out);
MUTATOR_AFL_EXPORT int32_t afl_custom_post_trim(void *state, unsigned char success);

#endif
