/* One HTML document that stands alone: it opens from disk, asks no host for anything, and runs no
 * script but its own.  What its scripts and its style are: present/page/assets/; which classes
 * there are: present/page/README.md. */
#ifndef PRESENT_PAGE_PAGE_H
#define PRESENT_PAGE_PAGE_H

#include "harness/base/writing.h"

/* All texts may hold any bytes; they appear as text. */

/* Appends the document up to its first section: title is a path, whose last part becomes the
 * title of the window and the first heading.  A Content-Security-Policy allows the style and the
 * scripts below by their hashes, images of the page itself, and nothing else. */
void page_begin(struct writing *html, const char *title);
/* Appends the scripts and the end. */
void page_end(struct writing *html);

/* A section with its heading; id (letters, digits, hyphens) is where links within the page go. */
void page_section_begin(struct writing *html, const char *id, const char *heading);
void page_section_end(struct writing *html);

/* Appends string as text of an element, or of an attribute between double quotes.  Lines stay
 * lines; other control characters, and what is not UTF-8, become \xXX. */
void page_append_text(struct writing *html, const char *string);

/* Appends format, which is HTML of the caller's, as printf does it.  Of its directives it knows %s,
 * %u, %x, both with z or l, and %%.  The value of %s appears as text; behind 4,100 bytes, or as
 * many as a precision says, "..." stands for the rest. */
void page_print(struct writing *html, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A text within a call: page_print(html, "%s", page_count(ops).text). */
struct page_text {
    char text[96];
};
struct page_text page_count(uint64_t count);                /* "1,234,567" */
struct page_text page_size(uint64_t size_bytes);            /* "6.43G (6,904,320,000 bytes)" */
struct page_text page_share(uint64_t part, uint64_t whole); /* "0.07 %"; "-" when whole is 0 */

/* A paragraph of what is left out, and why. */
void page_note(struct writing *html, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A name with what belongs to it, between PAGE_FACTS and PAGE_FACTS_END. */
#define PAGE_FACTS "<dl class=\"facts\">\n"
#define PAGE_FACTS_END "</dl>\n"
void page_fact(struct writing *html, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A text that the reader may want to paste; the page gives it a button. */
#define PAGE_COPY "<code class=\"copy\">%s</code>\n"

/* Appends a table up to its first row.  columns: their names, parted by '|'; where '#' stands
 * before a name the column is of numbers, which stand to the right. */
void page_table_begin(struct writing *html, const char *caption, const char *columns);
#define PAGE_TABLE_END "</tbody>\n</table>\n"
/* A whole row, its cells parted by '|'; '#' before a cell: it is a number.  The first one is its
 * name. */
void page_row(struct writing *html, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same step by step: the name, each cell, the end. */
void page_row_begin(struct writing *html, const char *name);
void page_cell(struct writing *html, bool is_number, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define PAGE_ROW_END "</tr>\n"

/* Appends a JSON document as data for the scripts, under that id; json is valid JSON. */
void page_append_data(struct writing *html, const char *id, const struct writing *json);
/* Appends bytes as a string of JSON, in Base64. */
void page_append_base64(struct writing *json, const void *bytes, size_t length);

/* Whether the build had uPlot: without it the page says that curves are left out. */
bool page_has_curves(void);

#endif
