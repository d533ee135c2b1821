/* A message of PyTorch that is cut.  What whole ones become is in
 * tests/snap/formats_torch_message.snap. */
#include "formats/formats.h"
#include "tests/formats/import_rig.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

EVERY_TEST(.timeout_s = 120, .setup = setup_import, .teardown = teardown_import);

static const char sentence[] =
    "x: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of "
    "which 1.00 GiB is free. Process 9 has 1.50 GiB memory in use. Including non-PyTorch memory, "
    "this process has 5.50 GiB memory in use. Of the allocated memory 4.75 GiB is allocated by "
    "PyTorch, and 256.00 MiB is reserved by PyTorch but unallocated.";

/* Of the last words nothing is lost that has a number. */
TEST(a_message_cut_anywhere_is_refused)
{
    const size_t last = (size_t)(strstr(sentence, "unallocated") - sentence);
    for (size_t length = 1; length < sizeof sentence - 1; length++) {
        const enum import_result result = import_text(sentence, length, "torch_message", NULL,
                                                      &import, &refusal);
        ck_assert_int_eq(result,
                         length < last + strlen("unallocated") ? IMPORT_INCOMPLETE : IMPORT_OK);
    }
}
