/* A table of texts for the terminal: columns as wide as their widest cell, in as many columns as
 * the screen has (screen_columns).
 *
 * A table that is too wide for it breaks its titles, which are the first row, between words.  Where
 * that is not enough, a text of the left columns that has no room stands on a line of its own, and
 * then the last columns go on in a further line of each row.  A table that has left columns only
 * breaks its last one, which holds prose, between words, next to the others or in a further line.
 * Nothing is shortened. */
#ifndef PRESENT_TABLE_H
#define PRESENT_TABLE_H

#include "harness/base/writing.h"
#include "present/screen.h"

enum { TABLE_COLUMN_COUNT_MAX = 16 };

struct table_cell {
    size_t start;       /* into text.bytes */
    size_t width;       /* in columns of the screen */
    enum colour colour; /* where the table is drawn on a terminal */
    bool is_line;       /* the first cell of a row that is this text alone, in no column */
    bool may_break;     /* that line, between words */
};

/* cells are row by row; count is a multiple of column_count when the table is printed. */
struct table {
    struct writing text;      /* of all cells, each NUL-terminated */
    struct table_cell *cells; /* count of them */
    size_t count, capacity;
    size_t column_count; /* 1..TABLE_COLUMN_COUNT_MAX */
    size_t left_count;   /* the first so many columns are flush left, the others right */
};

void table_init(struct table *table, size_t column_count, size_t left_count);
void table_deinit(struct table *table);
/* The next cell, left to right and down.  Foreign text is made visible (writing_append_visible). */
void table_put(struct table *table, const char *string);
void table_put_coloured(struct table *table, const char *string, enum colour colour);
void table_put_number(struct table *table, uint64_t number);
/* A row that is this text alone: no column is as wide as it.  may_break: between words. */
void table_put_line(struct table *table, const char *string, bool may_break);
/* The text of a cell, until the next one is put. */
const char *table_cell_text(const struct table *table, const struct table_cell *cell);
/* The width of the widest cell of each column; 0: it is empty, and not printed. */
void table_measure(const struct table *table, size_t widths[TABLE_COLUMN_COUNT_MAX]);
/* Appends the lines, each after indent spaces, none with blanks at its end. */
void table_print(const struct table *table, size_t indent, struct writing *text);

#endif
