/* Checks that any file, packed or not, is refused with a reason or becomes a text: the file's own
 * bytes where it is neither packed nor UTF-16, the same characters where it is UTF-16, the same
 * text at each reading, and not a byte more than is allowed (formats/common/text.h). */
#include "formats/common/text.h"
#include "fuzz/engine.h"
#include "fuzz/finding.h"
#include "fuzz/text_check.h"
#include "harness/base/check.h"
#include "harness/base/utf8.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TEXT_BYTES_MAX = 1 << 20, FILE_NAME_BYTES = 32 };

static const char name[] = "fuzz_text";

/* A file without a name, made once, that has these bytes. */
static void fill_text(const uint8_t *bytes, size_t length, char path[FILE_NAME_BYTES])
{
    static int file = -1;
    if (file < 0) {
        file = memfd_create(name, MFD_CLOEXEC);
    }
    CHECK(file >= 0 && ftruncate(file, 0) == 0 &&
          pwrite(file, bytes, length, 0) == (ssize_t)length);
    snprintf(path, FILE_NAME_BYTES, "/proc/self/fd/%d", file);
}

static bool is_packed(const uint8_t *bytes, size_t length)
{
    static const char zstd_skipped[] = "\x2A\x4D\x18";
    return (length >= 2 && memcmp(bytes, "\x1F\x8B", 2) == 0) ||
           (length >= 4 && memcmp(bytes, "\x28\xB5\x2F\xFD", 4) == 0) ||
           (length >= 4 && bytes[0] >> 4 == 5 && memcmp(bytes + 1, zstd_skipped, 3) == 0);
}

/* False: it was refused, as it may be. */
static bool read_text(const char *path, size_t bytes_max, struct text *text)
{
    struct import_error error = {0};
    const enum import_result result = text_read(path, bytes_max, text, &error);
    if (result != IMPORT_OK) {
        text_check_reason(name, error.reason, sizeof error.reason);
        return false;
    }
    if (text->length > bytes_max || text->bytes[text->length] != '\0') {
        finding_end_check(name, FINDING_TEXT_CHANGED,
                          "the text has %zu bytes where %zu are allowed, or no NUL after them",
                          text->length, bytes_max);
    }
    return true;
}

/* --- UTF-16 --- */

static bool is_utf16(const uint8_t *bytes, size_t length)
{
    return length >= 2 && (memcmp(bytes, "\xFF\xFE", 2) == 0 || memcmp(bytes, "\xFE\xFF", 2) == 0);
}

/* The unit at byte `at`, in the order of the file's mark. */
static uint32_t read_unit(const uint8_t *bytes, size_t at)
{
    const size_t high = bytes[0] == 0xFE ? 0 : 1;
    return (uint32_t)bytes[at + high] << 8 | bytes[at + 1 - high];
}

/* The character of the two units, of which the second is no part unless both are a pair. */
static uint32_t join_units(uint32_t unit, uint32_t next, bool *is_pair)
{
    *is_pair = unit >> 10 == 0xD800 >> 10 && next >> 10 == 0xDC00 >> 10;
    if (*is_pair) {
        return 0x10000 + ((unit & 0x3FF) << 10) + (next & 0x3FF);
    }
    return unit >> 11 == 0xD800 >> 11 ? 0xFFFD : unit;
}

/* True if the text has each character of the file, and no more. */
static bool has_characters_of(const struct text *text, const uint8_t *bytes, size_t length)
{
    enum { MARK = 0xFEFF, HIGH = 0xD800 };
    const char *const end = text->bytes + text->length;
    const char *next = text->bytes;
    for (size_t at = 2; at + 1 < length; at += 2) {
        const bool is_last = at + 3 >= length;
        const uint32_t unit = read_unit(bytes, at);
        if (unit == MARK || (is_last && unit >> 10 == HIGH >> 10)) {
            continue; /* left out, and cut within a pair */
        }
        bool is_pair = false;
        uint32_t found = 0;
        const uint32_t wanted = join_units(unit, is_last ? 0 : read_unit(bytes, at + 2), &is_pair);
        const size_t count = next < end ? utf8_decode(next, &found) : 0;
        if (count == 0 || found != wanted) {
            return false;
        }
        next += count;
        at += is_pair ? 2 : 0;
    }
    return next == end;
}

/* --- all files --- */

static bool is_same(const struct text *text, const void *bytes, size_t length)
{
    return text->length == length && memcmp(text->bytes, bytes, length) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char path[FILE_NAME_BYTES];
    struct text text, again;
    fill_text(bytes, length, path);
    if (!read_text(path, TEXT_BYTES_MAX, &text)) {
        return 0;
    }
    if (is_utf16(bytes, length) && !has_characters_of(&text, bytes, length)) {
        finding_end_check(name, FINDING_TEXT_CHANGED, "%zu bytes of UTF-16 became other characters",
                          length);
    }
    if (!is_packed(bytes, length) && !is_utf16(bytes, length) && !is_same(&text, bytes, length)) {
        finding_end_check(name, FINDING_TEXT_CHANGED, "%zu plain bytes became %zu different bytes",
                          length, text.length);
    }
    if (!read_text(path, text.length, &again) || !is_same(&again, text.bytes, text.length)) {
        finding_end_check(name, FINDING_TEXT_CHANGED, "%zu bytes differ when they are read again",
                          text.length);
    }
    text_deinit(&again);
    if (text.length > 0 && read_text(path, text.length - 1, &again)) {
        finding_end_check(name, FINDING_TEXT_CHANGED,
                          "a text of %zu bytes was accepted where one byte less is allowed",
                          text.length);
    }
    text_deinit(&text);
    return 0;
}
