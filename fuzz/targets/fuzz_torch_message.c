/* Whether any log with an out-of-memory message of PyTorch is refused with a place and a reason, or
 * becomes ops that are legal, print and read the same, and end in an out-of-memory, as the message
 * did (formats/torch/private/torch_message.h). */
#include "fuzz/engine.h"
#include "fuzz/finding_check.h"
#include "fuzz/subject.h"
#include "fuzz/text_check.h"

#include <string.h>

static const char name[] = "fuzz_torch_message";

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    enum target_result last = TARGET_OK;
    const bool is_played = text_check_import(name, &format_torch_message, bytes, length, &last);
    /* The heap is laid out for libhbm, as those of other messages are. */
    if (is_played && last != TARGET_NO_MEMORY && strcmp(subject_name(), "hbm") == 0) {
        finding_end_check(name, FINDING_MESSAGE_NOT_REPEATED, "the last op returned %d", (int)last);
    }
    return 0;
}
