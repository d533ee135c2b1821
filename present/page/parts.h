/* What sections of the page are made of: facts, tables, numbers, texts to copy.  Names and texts
 * may hold any bytes; classes are ours.  Which classes there are: reports/page/README.md. */
#ifndef PRESENT_PAGE_PARTS_H
#define PRESENT_PAGE_PARTS_H

#include "harness/base/writing.h"

/* 1234567 as "1,234,567". */
void page_append_count(struct writing *html, uint64_t count);
/* "6.43G (6,904,320,000 bytes)"; below 1 KiB "512 bytes". */
void page_append_size(struct writing *html, uint64_t size_bytes);
/* part of whole as "0.07 %"; "-" when whole is 0. */
void page_append_share(struct writing *html, uint64_t part, uint64_t whole);

/* At most so many bytes of a text, as whole characters, and "..." where more is left out. */
void page_append_cut(struct writing *html, const char *text, size_t length_max);
/* A paragraph of one text. */
void page_append_note(struct writing *html, const char *text);
/* A text that the reader may want to paste; the page gives it a button. */
void page_append_copy(struct writing *html, const char *text);

/* A list of names with what belongs to each: begin, then for each fact its name, its HTML and its
 * end. */
void page_facts_begin(struct writing *html);
void page_facts_end(struct writing *html);
void page_fact_begin(struct writing *html, const char *name);
void page_fact_end(struct writing *html);
void page_fact(struct writing *html, const char *name, const char *text);
void page_fact_count(struct writing *html, const char *name, uint64_t count);

/* Appends a table up to its first row.  columns: their names, parted by '|'; where '#' stands
 * before a name the column is of numbers, which stand to the right. */
void page_table_begin(struct writing *html, const char *caption, const char *columns);
void page_table_end(struct writing *html);
/* A row begins with its name; then come its cells. */
void page_row_begin(struct writing *html, const char *name);
void page_row_end(struct writing *html);
void page_cell(struct writing *html, const char *text);
void page_cell_count(struct writing *html, uint64_t count);
void page_cell_size(struct writing *html, uint64_t size_bytes);
void page_cell_share(struct writing *html, uint64_t part, uint64_t whole);

#endif
