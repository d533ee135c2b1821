#include "present/page/parts.h"

#include "harness/base/check.h"
#include "harness/base/size.h"
#include "present/page/page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Of a fact, of a cell: more is nothing that people read there. */
enum { TEXT_BYTES_MAX = 4100 };

/* --- numbers --- */

void page_append_count(struct writing *html, uint64_t count)
{
    char digits[WRITING_DIGIT_COUNT_MAX];
    const size_t length = writing_print_digits(count, digits);
    const char *first = digits + WRITING_DIGIT_COUNT_MAX - length;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            writing_append(html, ",");
        }
        writing_append_bytes(html, &first[i], 1);
    }
}

void page_append_size(struct writing *html, uint64_t size_bytes)
{
    if (size_bytes < 1024) {
        writing_append_format(html, "%" PRIu64 " bytes", size_bytes);
        return;
    }
    writing_append_format(html, "%s (", size_text_of(size_bytes).text);
    page_append_count(html, size_bytes);
    writing_append(html, " bytes)");
}

void page_append_share(struct writing *html, uint64_t part, uint64_t whole)
{
    if (whole == 0) {
        writing_append(html, "-");
    } else {
        writing_append_share(html, part, whole);
    }
}

/* --- texts --- */

void page_append_cut(struct writing *html, const char *text, size_t length_max)
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

void page_append_note(struct writing *html, const char *text)
{
    writing_append(html, "<p class=\"note\">");
    page_append_text(html, text);
    writing_append(html, "</p>\n");
}

void page_append_copy(struct writing *html, const char *text)
{
    writing_append(html, "<code class=\"copy\">");
    page_append_text(html, text);
    writing_append(html, "</code>\n");
}

/* --- facts --- */

void page_facts_begin(struct writing *html)
{
    writing_append(html, "<dl class=\"facts\">\n");
}

void page_facts_end(struct writing *html)
{
    writing_append(html, "</dl>\n");
}

void page_fact_begin(struct writing *html, const char *name)
{
    writing_append(html, "<div><dt>");
    page_append_text(html, name);
    writing_append(html, "</dt><dd>");
}

void page_fact_end(struct writing *html)
{
    writing_append(html, "</dd></div>\n");
}

void page_fact(struct writing *html, const char *name, const char *text)
{
    page_fact_begin(html, name);
    page_append_cut(html, text, TEXT_BYTES_MAX);
    page_fact_end(html);
}

void page_fact_count(struct writing *html, const char *name, uint64_t count)
{
    page_fact_begin(html, name);
    page_append_count(html, count);
    page_fact_end(html);
}

/* --- tables --- */

void page_table_begin(struct writing *html, const char *caption, const char *columns)
{
    char name[64];
    writing_append(html, "<table>\n<caption>");
    page_append_text(html, caption);
    writing_append(html, "</caption>\n<thead><tr>");
    for (size_t length; *columns != '\0'; columns += length + (columns[length] == '|')) {
        const bool is_number = *columns == '#';
        columns += is_number;
        length = strcspn(columns, "|");
        (void)snprintf(name, sizeof name, "%.*s", (int)length, columns);
        writing_append_format(html, "<th scope=\"col\"%s>", is_number ? " class=\"number\"" : "");
        page_append_text(html, name);
        writing_append(html, "</th>");
    }
    writing_append(html, "</tr></thead>\n<tbody>\n");
}

void page_table_end(struct writing *html)
{
    writing_append(html, "</tbody>\n</table>\n");
}

void page_row_begin(struct writing *html, const char *name)
{
    enum { NAME_BYTES_MAX = 400 };
    writing_append(html, "<tr><th scope=\"row\">");
    page_append_cut(html, name, NAME_BYTES_MAX);
    writing_append(html, "</th>");
}

void page_row_end(struct writing *html)
{
    writing_append(html, "</tr>\n");
}

void page_cell(struct writing *html, const char *text)
{
    writing_append(html, "<td>");
    page_append_cut(html, text, TEXT_BYTES_MAX);
    writing_append(html, "</td>");
}

static const char number_cell[] = "<td class=\"number\">";

void page_cell_count(struct writing *html, uint64_t count)
{
    writing_append(html, number_cell);
    page_append_count(html, count);
    writing_append(html, "</td>");
}

void page_cell_size(struct writing *html, uint64_t size_bytes)
{
    writing_append(html, number_cell);
    writing_append_size(html, size_bytes);
    writing_append(html, "</td>");
}

void page_cell_share(struct writing *html, uint64_t part, uint64_t whole)
{
    writing_append(html, number_cell);
    page_append_share(html, part, whole);
    writing_append(html, "</td>");
}
