#include "present/text_width.h"

#include <locale.h>
#include <pthread.h>
#include <string.h>
#include <wchar.h>

/* From U+0300 on a character may take more or less than one column; these lead its bytes. */
enum { LEAD_OTHER = 0xcc };
/* Around fewer columns than that, ".." would hide more than it shows. */
enum { SHORTENED_WIDTH_MIN = 6 };
static const char omitted[] = "..";

static locale_t utf8_locale; /* 0: there is none */
static pthread_once_t utf8_once = PTHREAD_ONCE_INIT;

static void open_locale(void)
{
    utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

static size_t measure_other(const char *string, size_t length)
{
    (void)pthread_once(&utf8_once, open_locale);
    if (utf8_locale == (locale_t)0) {
        return 1;
    }
    wchar_t character = 0;
    mbstate_t state = {0};
    const locale_t before = uselocale(utf8_locale);
    const size_t read_count = mbrtowc(&character, string, length, &state);
    const int width = read_count == length ? wcwidth(character) : -1;
    (void)uselocale(before);
    return width < 0 ? 1 : (size_t)width;
}

size_t text_character_width(const char *string, size_t *length)
{
    *length = 1;
    while (((unsigned char)string[*length] >> 6) == 2) {
        ++*length;
    }
    return (unsigned char)string[0] < LEAD_OTHER ? 1 : measure_other(string, *length);
}

size_t text_width_of(const char *string, size_t length)
{
    size_t width = 0, bytes;
    for (const char *end = string + length; string < end; string += bytes) {
        width += text_character_width(string, &bytes);
    }
    return width;
}

size_t text_width(const char *string)
{
    return text_width_of(string, strlen(string));
}

/* The bytes of the longest beginning of string that takes at most width columns, with the marks of
 * its last character. */
static size_t count_beginning(const char *string, size_t width)
{
    size_t bytes = 0, used = 0, length;
    while (string[bytes] != '\0') {
        used += text_character_width(string + bytes, &length);
        if (used > width) {
            break;
        }
        bytes += length;
    }
    return bytes;
}

/* The longest end of string that takes at most width columns and begins with no mark. */
static const char *find_end(const char *string, size_t width)
{
    size_t left = text_width(string), length;
    while (*string != '\0') {
        const size_t columns = text_character_width(string, &length);
        if (left <= width && columns > 0) {
            break;
        }
        left -= columns;
        string += length;
    }
    return string;
}

void text_append_shortened(struct writing *text, const char *string, size_t width)
{
    if (text_width(string) <= width || width < SHORTENED_WIDTH_MIN) {
        writing_append_bytes(text, string, count_beginning(string, width));
        return;
    }
    const size_t kept = width - strlen(omitted), end_width = kept / 2;
    writing_append_bytes(text, string, count_beginning(string, kept - end_width));
    writing_append(text, omitted);
    writing_append(text, find_end(string, end_width));
}
