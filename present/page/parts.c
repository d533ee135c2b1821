#include "harness/base/check.h"
#include "harness/base/size.h"
#include "present/page/page.h"
#include "present/say.h"

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

/* Appends one element: what stands before and behind the format. */
static void append_element(struct writing *html, const char *before, const char *format,
                           const char *behind, va_list list)
{
    struct say_values values;
    va_copy(values.list, list);
    writing_append(html, before);
    (void)say_until(html, format, '\0', append_cut, TEXT_BYTES_MAX, &values);
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
    struct say_values values;
    va_start(values.list, format);
    writing_append(html, "<tr><th scope=\"row\">");
    const char *at = say_until(html, format, '|', append_cut, NAME_BYTES_MAX, &values);
    writing_append(html, "</th>");
    while (*at == '|') {
        const bool is_number = at[1] == '#';
        writing_append(html, is_number ? "<td class=\"number\">" : "<td>");
        at = say_until(html, at + 1 + is_number, '|', append_cut, TEXT_BYTES_MAX, &values);
        writing_append(html, "</td>");
    }
    writing_append(html, "</tr>\n");
    va_end(values.list);
}
