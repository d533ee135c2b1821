/* Whether any trace or timeline of PyTorch's profiler is refused with a place and a reason, or
 * becomes ops that are legal, print and read the same, and make the allocator break no promise. */
#include "fuzz/engine.h"
#include "fuzz/text_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    enum target_result last;
    (void)text_check_import("fuzz_kineto", &format_kineto, bytes, length, &last);
    (void)text_check_import("fuzz_kineto", &format_torch_timeline, bytes, length, &last);
    return 0;
}
