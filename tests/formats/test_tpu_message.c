/* A message of the runtime that is cut.  What whole ones become is in
 * tests/snap/formats_tpu_message.snap. */
#include "formats/formats.h"
#include "tests/formats/import_rig.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/tpu_message/"

EVERY_TEST(.timeout_s = 120, .setup = setup_import, .teardown = teardown_import);

/* Whatever is cut off the end: the import says so, or it gives what the whole message gives. */
TEST(a_message_cut_anywhere_is_never_taken_for_another)
{
    static const char whole[] =
        "x: Attempting to allocate 40.00M. That was not possible. There are 100.10M free. Due to "
        "fragmentation, the largest contiguous region of free memory is 33.30M.";
    ck_assert_int_eq(import_text(whole, sizeof whole - 1, "tpu_message", NULL, &import, &refusal),
                     IMPORT_OK);
    const size_t op_count = import.ops.count;
    const size_t first_sentence = (size_t)(strstr(whole, " Due") - whole);
    for (size_t length = 1; length < sizeof whole - 1; length++) {
        const enum import_result result = import_text(whole, length, "tpu_message", NULL, &import,
                                                      &refusal);
        if (result == IMPORT_OK) {
            const bool is_whole = length == sizeof whole - 2 && import.ops.count == op_count;
            const bool is_sentence = length >= first_sentence - 1 && length <= first_sentence + 1;
            ck_assert_msg(is_whole || is_sentence, "%.*s", (int)length, whole);
        } else {
            ck_assert_int_eq(result, IMPORT_INCOMPLETE);
            ck_assert(refusal.reason[0] != '\0');
        }
    }
}
