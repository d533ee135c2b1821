/* The fuzz targets that play a list of ops in one lane, every rule on: whether it makes the
 * allocator break a promise.
 *
 * Compiled once for each row with PLAYS in fuzz/CMakeLists.txt, which defines FUZZ_TARGET, its
 * name, and FUZZ_SLIPS_FAULTS: whether a device that does not do what it should slips faults in
 * between the ops, beside those of the list. */
#include "fuzz/engine.h"
#include "fuzz/play.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    play_input(FUZZ_TARGET, bytes, length, FUZZ_SLIPS_FAULTS);
    return 0;
}
