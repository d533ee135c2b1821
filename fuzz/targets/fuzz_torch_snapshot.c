/* Whether any pickle or JSON that claims to be a memory snapshot of PyTorch is refused with a
 * reason, or becomes ops that are legal, print and read the same, and make the allocator break no
 * promise: as events, and as a final heap. */
#include "fuzz/engine.h"
#include "fuzz/text_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    enum target_result last;
    (void)text_check_import("fuzz_torch_snapshot", &format_torch_snapshot, bytes, length, &last);
    (void)text_check_import("fuzz_torch_snapshot", &format_torch_state, bytes, length, &last);
    (void)text_check_import("fuzz_torch_snapshot", &format_torch_events, bytes, length, &last);
    return 0;
}
