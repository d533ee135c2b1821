/* Checks that .ops text is read as it is written: any bytes are refused with a place and a reason,
 * or are a list that is the same when it is printed and read again. */
#include "fuzz/engine.h"
#include "fuzz/text_check.h"
#include "harness/op/ops_file.h"

static const char name[] = "fuzz_ops_text";

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static struct setup setup;
    static struct op_list ops;
    struct ops_file_error error;
    const char *text = (const char *)bytes;
    if (length > TEXT_CHECK_BYTES_MAX) {
        return 0;
    }
    if (ops_file_parse(text, length, &setup, &ops, &error) == OPS_FILE_OK) {
        text_check_round_trip(name, &setup, &ops);
        return 0;
    }
    text_check_reason(name, error.reason, sizeof error.reason);
    text_check_position(name, text, length, error.line, error.column);
    return 0;
}
