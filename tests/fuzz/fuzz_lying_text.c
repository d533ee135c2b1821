/* A reader of files that lies, in the place of the true one (the linker's --wrap): LIAR names the
 * lie, and without it all is as it was.  fuzz_text must notice. */
#include "formats/common/text.h"
#include "tests/fuzz/fuzz_lying.h"

#include <stdint.h>
#include <stdio.h>

WRAPPED(enum import_result, text_read, const char *path, size_t bytes_max, struct text *text,
        struct import_error *error);

/* The first reading of an input is allowed the most. */
static bool is_first(size_t bytes_max)
{
    return bytes_max == (size_t)1 << 20;
}

enum import_result __wrap_text_read(const char *path, size_t bytes_max, struct text *text,
                                    struct import_error *error)
{
    const size_t allowed = is_lying("limit") || is_lying("cuts") ? SIZE_MAX / 2 : bytes_max;
    const enum import_result result = __real_text_read(path, allowed, text, error);
    if (result != IMPORT_OK) {
        if (is_lying("reason")) {
            strcpy(error->reason, "a terminal is cleared: \033[2J");
        }
        return result;
    }
    if (text->length > 0 && (is_lying("byte") || (is_lying("again") && !is_first(bytes_max)))) {
        text->bytes[0] ^= 1;
    }
    /* U+FFFF, with which the seed in UTF-16 begins. */
    if (is_lying("character") && text->length > 2 && memcmp(text->bytes, "\xEF\xBF\xBF", 3) == 0) {
        text->bytes[2] ^= 1;
    }
    if (is_lying("nul")) {
        text->bytes[text->length] = 'x';
    }
    if (is_lying("cuts") && text->length > bytes_max) {
        text->length = bytes_max;
        text->bytes[bytes_max] = '\0';
    }
    if (is_lying("refuses") && !is_first(bytes_max)) {
        text_deinit(text);
        snprintf(error->reason, sizeof error->reason, "not twice");
        return IMPORT_UNREADABLE;
    }
    return IMPORT_OK;
}
