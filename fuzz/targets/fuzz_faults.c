/* Whether a device that does not do what it should makes the allocator break a promise: ops in one
 * lane, and faults slipped in between them beside those of the list. */
#include "fuzz/engine.h"
#include "fuzz/play.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    play_input("fuzz_faults", bytes, length, true);
    return 0;
}
