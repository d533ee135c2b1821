/* A fuzz engine calls these functions, under the names that libFuzzer gave them; AFL++, honggfuzz
 * and the replayer here use the same. */
#ifndef FUZZ_ENGINE_H
#define FUZZ_ENGINE_H

#include <stddef.h>
#include <stdint.h>

/* Any bytes.  Returns 0; a finding does not return. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Before the first input: a wrong subject ends the process here.  Always 0. */
int LLVMFuzzerInitialize(int *argument_count, char ***arguments);

/* The mutators: fuzz/mutate/mutate.h behind the engine's names.  bytes[length] is changed in place,
 * up to length_max bytes; the result depends on the arguments alone.  Returns the new length, never
 * 0. */
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t length, size_t length_max, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_length, const uint8_t *other,
                                 size_t other_length, uint8_t *out, size_t out_length_max,
                                 unsigned int seed);

#endif
