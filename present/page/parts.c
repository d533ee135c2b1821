#include "harness/base/check.h"
#include "harness/base/size.h"
#include "present/page/page.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Of a fact, of a cell, of the name of a row: more is nothing that people read there. */
enum { TEXT_BYTES_MAX = 4100, NAME_BYTES_MAX = 400 };

/* --- within a call --- */

struct page_text page_count(uint64_t count)
{
    char digits[WRITING_DIGIT_COUNT_MAX];
    struct page_text text;
    const size_t length = writing_print_digits(count, digits);
    char *to = text.text;
    for (size_t left = length; left > 0; left--) {
        if (left < length && left % 3 == 0) {
            *to++ = ',';
        }
        *to++ = digits[WRITING_DIGIT_COUNT_MAX - left];
    }
    *to = '\0';
    return text;
}

struct page_text page_size(uint64_t size_bytes)
{
    struct page_text text;
    if (size_bytes < 1024) {
        snprintf(text.text, sizeof text.text, "%" PRIu64 " bytes", size_bytes);
    } else {
        snprintf(text.text, sizeof text.text, "%s (%.40s bytes)", size_text_of(size_bytes).text,
                 page_count(size_bytes).text);
    }
    return text;
}

struct page_text page_share(uint64_t part, uint64_t whole)
{
    struct page_text text;
    snprintf(text.text, sizeof text.text, "%s", whole == 0 ? "-" : share_text_of(part, whole).text);
    return text;
}

/* --- texts --- */

static void append_cut(struct writing *html, const char *text, size_t length_max)
{
    size_t length = strnlen(text, length_max + 1);
    const bool is_cut = length > length_max;
    if (is_cut) {
        length = length_max;
        while (length > 0 && (text[length] & 0xC0) == 0x80) {
            length--;
        }
    }
    char *cut = strndup(text, length);
    CHECK(cut != NULL);
    page_append_text(html, cut);
    writing_append(html, is_cut ? "..." : "");
    free(cut);
}

/* The values of a format, one after the other. */
struct values {
    va_list list;
};

/* Appends the value of the directive whose '%' stands before `at`; returns what follows it. */
static const char *append_value(struct writing *html, const char *at, size_t text_bytes_max,
                                struct values *values)
{
    const bool is_size = *at == 'z', is_long = *at == 'l';
    if (*at == '.') {
        char *end;
        text_bytes_max = strtoul(at + 1, &end, 10);
        at = end;
    }
    at += strspn(at, "zl");
    if (*at == 's') {
        append_cut(html, va_arg(values->list, const char *), text_bytes_max);
    } else if (*at == '%') {
        writing_append(html, "%");
    } else {
        CHECK(*at == 'u' || *at == 'x');
        const uint64_t number = is_size   ? va_arg(values->list, size_t)
                                : is_long ? va_arg(values->list, uint64_t)
                                          : va_arg(values->list, unsigned);
        writing_append_format(html, *at == 'x' ? "%" PRIx64 : "%" PRIu64, number);
    }
    return at + 1;
}

/* Appends the format up to `end` or its last byte; returns what is left of it. */
static const char *append_format(struct writing *html, const char *format, char end,
                                 size_t text_bytes_max, struct values *values)
{
    while (*format != end && *format != '\0') {
        const char stops[] = {'%', end, '\0'};
        const size_t length = strcspn(format, stops);
        writing_append_bytes(html, format, length);
        format += length;
        if (*format == '%') {
            format = append_value(html, format + 1, text_bytes_max, values);
        }
    }
    return format;
}

/* Appends one element: what stands before and behind the format. */
static void append_element(struct writing *html, const char *before, const char *format,
                           const char *behind, va_list list)
{
    struct values values;
    va_copy(values.list, list);
    writing_append(html, before);
    (void)append_format(html, format, '\0', TEXT_BYTES_MAX, &values);
    writing_append(html, behind);
    va_end(values.list);
}

void page_print(struct writing *html, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    append_element(html, "", format, "", list);
    va_end(list);
}

void page_note(struct writing *html, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    append_element(html, "<p class=\"note\">", format, "</p>\n", list);
    va_end(list);
}

void page_fact(struct writing *html, const char *name, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    page_print(html, "<div><dt>%s", name);
    append_element(html, "</dt><dd>", format, "</dd></div>\n", list);
    va_end(list);
}

void page_cell(struct writing *html, bool is_number, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    append_element(html, is_number ? "<td class=\"number\">" : "<td>", format, "</td>", list);
    va_end(list);
}

/* --- tables --- */

void page_table_begin(struct writing *html, const char *caption, const char *columns)
{
    page_print(html, "<table>\n<caption>%s</caption>\n<thead><tr>", caption);
    for (size_t length; *columns != '\0'; columns += length + (columns[length] == '|')) {
        const bool is_number = *columns == '#';
        columns += is_number;
        length = strcspn(columns, "|");
        writing_append_format(html, "<th scope=\"col\"%s>%.*s</th>",
                              is_number ? " class=\"number\"" : "", (int)length, columns);
    }
    writing_append(html, "</tr></thead>\n<tbody>\n");
}

void page_row_begin(struct writing *html, const char *name)
{
    writing_append(html, "<tr><th scope=\"row\">");
    append_cut(html, name, NAME_BYTES_MAX);
    writing_append(html, "</th>");
}

void page_row(struct writing *html, const char *format, ...)
{
    struct values values;
    va_start(values.list, format);
    writing_append(html, "<tr><th scope=\"row\">");
    const char *at = append_format(html, format, '|', NAME_BYTES_MAX, &values);
    writing_append(html, "</th>");
    while (*at == '|') {
        const bool is_number = at[1] == '#';
        writing_append(html, is_number ? "<td class=\"number\">" : "<td>");
        at = append_format(html, at + 1 + is_number, '|', TEXT_BYTES_MAX, &values);
        writing_append(html, "</td>");
    }
    writing_append(html, "</tr>\n");
    va_end(values.list);
}
