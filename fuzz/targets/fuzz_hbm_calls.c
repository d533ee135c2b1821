/* Checks that libhbm, called by its own interface, stands any calls and keeps its invariants, and
 * that any text is a shape or a refusal.  An input whose first byte is odd is such a text, behind
 * that byte; the others are calls. */
#include "fuzz/engine.h"
#include "fuzz/finding.h"
#include "fuzz/hbm_calls/calls.h"

#include <string.h>

enum { TEXT_BYTES_MAX = 1000 };

static const char name[] = "fuzz_hbm_calls";

static const char *check_text(const uint8_t *bytes, size_t length)
{
    char text[TEXT_BYTES_MAX + 1];
    length = length < TEXT_BYTES_MAX ? length : TEXT_BYTES_MAX;
    memcpy(text, bytes, length);
    text[length] = '\0';
    return hbm_calls_check_shape_text(text, strlen(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    size_t call = 0;
    if (length == 0) {
        return 0;
    }
    const char *broken = bytes[0] % 2 != 0 ? check_text(bytes + 1, length - 1)
                                           : hbm_calls_play(bytes + 1, length - 1, &call);
    if (broken != NULL) {
        finding_end_check(name, FINDING_CALLS_CONTRADICT, "call %zu: %s", call, broken);
    }
    return 0;
}
