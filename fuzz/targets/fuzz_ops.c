/* Whether a list of ops makes the allocator break a promise: one lane, the faults that are ops of
 * the list, every rule. */
#include "fuzz/engine.h"
#include "fuzz/play.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    play_input("fuzz_ops", bytes, length, false);
    return 0;
}
