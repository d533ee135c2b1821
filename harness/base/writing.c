#include "harness/base/writing.h"

#include "harness/base/check.h"
#include "harness/base/size.h"
#include "harness/base/utf8.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char hex_digits[] = "0123456789abcdef";

void writing_init(struct writing *text)
{
    *text = (struct writing){0};
}

void writing_deinit(struct writing *text)
{
    free(text->bytes);
    writing_init(text);
}

void writing_clear(struct writing *text)
{
    text->length = 0;
    if (text->bytes != NULL) {
        text->bytes[0] = '\0';
    }
}

const char *writing_string(const struct writing *text)
{
    return text->bytes == NULL ? "" : text->bytes;
}

/* Makes room for length more bytes and the final NUL. */
static void writing_reserve(struct writing *text, size_t length)
{
    CHECK(length < SIZE_MAX / 4 && text->length < SIZE_MAX / 4);
    size_t needed = text->length + length + 1;
    if (needed <= text->capacity) {
        return;
    }
    size_t capacity = needed < 128 ? 128 : needed + needed / 2;
    char *bytes = realloc(text->bytes, capacity);
    CHECK(bytes != NULL);
    text->bytes = bytes;
    text->capacity = capacity;
}

void writing_append_bytes(struct writing *text, const void *bytes, size_t length)
{
    writing_reserve(text, length);
    if (length > 0) {
        memcpy(text->bytes + text->length, bytes, length);
    }
    text->length += length;
    text->bytes[text->length] = '\0';
}

void writing_append(struct writing *text, const char *string)
{
    writing_append_bytes(text, string, strlen(string));
}

size_t writing_print_digits(uint64_t number, char digits[WRITING_DIGIT_COUNT_MAX])
{
    size_t i = WRITING_DIGIT_COUNT_MAX;
    do {
        digits[--i] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return WRITING_DIGIT_COUNT_MAX - i;
}

void writing_append_number(struct writing *text, uint64_t number)
{
    char digits[WRITING_DIGIT_COUNT_MAX];
    const size_t count = writing_print_digits(number, digits);
    writing_append_bytes(text, digits + sizeof digits - count, count);
}

/* Returns the plural ending of the noun; *kept: how many of its letters stay before the ending. */
static const char *plural_end(const char *noun, size_t *kept)
{
    const size_t length = strlen(noun);
    const char last = length > 0 ? noun[length - 1] : '\0';
    const char before = length > 1 ? noun[length - 2] : '\0';
    *kept = length;
    if (last == 'y' && before != '\0' && strchr("aeiou", before) == NULL) {
        *kept = length - 1;
        return "ies";
    }
    const bool hisses = last == 's' || last == 'x' ||
                        (last == 'h' && (before == 'c' || before == 's'));
    return hisses ? "es" : "s";
}

void writing_append_count(struct writing *text, uint64_t count, const char *noun)
{
    size_t kept;
    const char *end = plural_end(noun, &kept);
    writing_append_number(text, count);
    writing_append_bytes(text, " ", 1);
    if (count == 1) {
        writing_append(text, noun);
        return;
    }
    writing_append_bytes(text, noun, kept);
    writing_append(text, end);
}

void writing_append_size(struct writing *text, uint64_t size_bytes)
{
    writing_append(text, size_text_of(size_bytes).text);
}

void writing_append_share(struct writing *text, uint64_t part, uint64_t whole)
{
    writing_append(text, share_text_of(part, whole).text);
}

void writing_append_seconds(struct writing *text, uint64_t duration_ns)
{
    uint64_t milliseconds = duration_ns / 1000000;
    writing_append_number(text, milliseconds / 1000);
    char fraction[4] = {'.', (char)('0' + milliseconds / 100 % 10),
                        (char)('0' + milliseconds / 10 % 10), (char)('0' + milliseconds % 10)};
    writing_append_bytes(text, fraction, sizeof fraction);
}

void writing_append_format(struct writing *text, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    int length = vsnprintf(NULL, 0, format, list);
    CHECK(length >= 0);
    writing_reserve(text, (size_t)length);
    vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
    text->length += (size_t)length;
    va_end(again);
    va_end(list);
}

static void append_json_control(struct writing *text, unsigned char byte)
{
    static const char short_ones[] = "\"\\\n\t", letters[] = "\"\\nt";
    const char *at = strchr(short_ones, byte);
    if (at != NULL) {
        writing_append_bytes(text, (const char[]){'\\', letters[at - short_ones]}, 2);
        return;
    }
    const char escape[6] = {'\\', 'u', '0', '0', hex_digits[byte >> 4], hex_digits[byte & 15]};
    writing_append_bytes(text, escape, sizeof escape);
}

static bool is_plain_json(char byte)
{
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

void writing_append_json(struct writing *text, const char *string)
{
    writing_append_bytes(text, "\"", 1);
    while (*string != '\0') {
        size_t plain = 0;
        while (is_plain_json(string[plain])) {
            plain++;
        }
        writing_append_bytes(text, string, plain);
        string += plain;
        if (*string == '\0') {
            break;
        }
        uint32_t point;
        const size_t length = utf8_decode(string, &point);
        if (length == 1) {
            append_json_control(text, (unsigned char)*string);
        } else if (length == 0) {
            writing_append_bytes(text, "\xef\xbf\xbd", 3);
        } else {
            writing_append_bytes(text, string, length);
        }
        string += length == 0 ? 1 : length;
    }
    writing_append_bytes(text, "\"", 1);
}

/* C0, DEL, C1, line and paragraph separators, and the marks that reorder text on the screen. */
static bool is_visible(uint32_t point)
{
    if (point < 0x20 || (point >= 0x7f && point < 0xa0)) {
        return false;
    }
    const bool reorders = point == 0x61c || (point >= 0x200e && point <= 0x200f) ||
                          (point >= 0x2028 && point <= 0x202e) ||
                          (point >= 0x2066 && point <= 0x2069);
    return !reorders;
}

static void append_as_hex(struct writing *text, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const unsigned char byte = (unsigned char)bytes[i];
        const char escape[4] = {'\\', 'x', hex_digits[byte >> 4], hex_digits[byte & 15]};
        writing_append_bytes(text, escape, sizeof escape);
    }
}

static const char *xml_entity(uint32_t point)
{
    switch (point) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;"; /* else "]]>" would be an error */
    case '"':
        return "&quot;";
    default:
        return NULL;
    }
}

static void append_shown(struct writing *text, const char *string, bool is_xml)
{
    while (*string != '\0') {
        uint32_t point = 0;
        const size_t length = utf8_decode(string, &point);
        const size_t step = length == 0 ? 1 : length;
        if (length == 0 || !is_visible(point) || (is_xml && (point == 0xfffe || point == 0xffff))) {
            append_as_hex(text, string, step);
        } else if (is_xml && xml_entity(point) != NULL) {
            writing_append(text, xml_entity(point));
        } else {
            writing_append_bytes(text, string, step);
        }
        string += step;
    }
}

void writing_append_visible(struct writing *text, const char *string)
{
    append_shown(text, string, false);
}

void writing_append_xml(struct writing *text, const char *string)
{
    append_shown(text, string, true);
}

bool writing_print(const struct writing *text, FILE *stream)
{
    return text->length == 0 || fwrite(text->bytes, 1, text->length, stream) == text->length;
}
