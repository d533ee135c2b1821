/* Whether any log with a report of the compiler, or with our own allocations report, or any dump of
 * a buffer assignment, is refused with a place and a reason, or becomes ops that are legal, print
 * and read the same, and make the allocator break no promise; a compiler's report ends in an
 * out-of-memory, as it says (formats/xla/private/hbm_report.h). */
#include "fuzz/engine.h"
#include "fuzz/finding_check.h"
#include "fuzz/subject.h"
#include "fuzz/text_check.h"

#include <string.h>

static const char name[] = "fuzz_hbm_report";

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    enum target_result last = TARGET_OK;
    const bool is_played = text_check_import(name, &format_hbm_report, bytes, length, &last);
    /* The ops are chosen for libhbm, as those of messages are. */
    if (is_played && last != TARGET_NO_MEMORY && strcmp(subject_name(), "hbm") == 0) {
        finding_end_check(name, FINDING_MESSAGE_NOT_REPEATED, "the last op returned %d", (int)last);
    }
    (void)text_check_import(name, &format_hbm_allocations, bytes, length, &last);
    (void)text_check_import(name, &format_buffer_assignment, bytes, length, &last);
    return 0;
}
