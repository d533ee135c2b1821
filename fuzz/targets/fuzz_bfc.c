/* Whether any log with a dump of a BFC allocator is refused with a place and a reason, or becomes
 * ops that are legal, print and read the same, and end in an out-of-memory, as the dump says
 * (formats/bfc/private/bfc.h). */
#include "fuzz/engine.h"
#include "fuzz/finding_check.h"
#include "fuzz/subject.h"
#include "fuzz/text_check.h"

#include <string.h>

static const char name[] = "fuzz_bfc";

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    enum target_result last = TARGET_OK;
    const bool is_played = text_check_import(name, &format_bfc, bytes, length, &last);
    /* The ops are chosen for libhbm: another allocator may find room where it finds none. */
    if (is_played && last != TARGET_NO_MEMORY && strcmp(subject_name(), "hbm") == 0) {
        finding_end_check(name, FINDING_MESSAGE_NOT_REPEATED, "the last op returned %d", (int)last);
    }
    return 0;
}
