/* The fuzz targets that read files: whether any bytes are refused with a place and a reason, or
 * become ops that are legal, print and read the same, and make the allocator break no promise.  The
 * ops of a report of an out-of-memory end in one, as it says.
 *
 * Compiled once for each row with READS in fuzz/CMakeLists.txt, which defines FUZZ_TARGET, its
 * name, and FUZZ_FORMATS, the formats that it gives the bytes to. */
#include "fuzz/engine.h"
#include "fuzz/finding.h"
#include "fuzz/subject.h"
#include "fuzz/text_check.h"

#include <string.h>

static const struct format *const formats_read[] = {FUZZ_FORMATS};
enum { FORMAT_COUNT = sizeof formats_read / sizeof *formats_read };

static bool is_out_of_memory(const struct format *format)
{
    return format == &format_bfc || format == &format_hbm_report ||
           format == &format_torch_message || format == &format_tpu_message;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        enum target_result last = TARGET_OK;
        const bool is_played = text_check_import(FUZZ_TARGET, formats_read[i], bytes, length,
                                                 &last);
        /* The ops are chosen for libhbm: another allocator may find room where it finds none. */
        if (is_played && is_out_of_memory(formats_read[i]) && last != TARGET_NO_MEMORY &&
            strcmp(subject_name(), "hbm") == 0) {
            finding_end_check(FUZZ_TARGET, FINDING_MESSAGE_NOT_REPEATED, "the last op returned %d",
                              (int)last);
        }
    }
    return 0;
}
