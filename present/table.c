#include "present/table.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "present/screen.h"
#include "present/wrap.h"

#include <stdlib.h>
#include <string.h>

/* Columns of the screen: a text that is broken between words has as many, and so has a name. */
enum { PROSE_WIDTH_MIN = 16, NAME_WIDTH_MIN = 6, FURTHER_LINE_INDENT = 4 };

/* Where the columns stand. */
struct table_layout {
    size_t widths[TABLE_COLUMN_COUNT_MAX];    /* 0: not printed */
    bool begins_line[TABLE_COLUMN_COUNT_MAX]; /* in a further line of its row */
    size_t gap;                               /* between two columns */
    size_t room;                              /* of all columns */
    bool has_prose;                           /* in the last column */
};

void table_init(struct table *table, size_t column_count, size_t left_count)
{
    CHECK(column_count >= 1 && column_count <= TABLE_COLUMN_COUNT_MAX);
    CHECK(left_count <= column_count);
    *table = (struct table){.column_count = column_count, .left_count = left_count};
}

void table_deinit(struct table *table)
{
    writing_deinit(&table->text);
    free(table->cells);
    *table = (struct table){0};
}

void table_put(struct table *table, const char *string)
{
    table_put_coloured(table, string, COLOUR_NONE);
}

void table_put_coloured(struct table *table, const char *string, enum colour colour)
{
    table->cells = array_grown(table->cells, table->count, &table->capacity, sizeof *table->cells);
    const size_t start = table->text.length;
    writing_append_visible(&table->text, string);
    writing_append_bytes(&table->text, "", 1);
    table->cells[table->count++] = (struct table_cell){
        .start = start, .width = text_width(table->text.bytes + start), .colour = colour};
}

void table_put_number(struct table *table, uint64_t number)
{
    struct writing digits = {0};
    writing_append_number(&digits, number);
    table_put(table, writing_string(&digits));
    writing_deinit(&digits);
}

void table_put_line(struct table *table, const char *string, bool may_break)
{
    for (size_t column = 0; column < table->column_count; column++) {
        table_put(table, column == 0 ? string : "");
    }
    table->cells[table->count - table->column_count].is_line = true;
    table->cells[table->count - table->column_count].may_break = may_break;
}

const char *table_cell_text(const struct table *table, const struct table_cell *cell)
{
    return table->text.bytes + cell->start;
}

static void append_spaces(struct writing *text, size_t count)
{
    writing_append_format(text, "%*s", (int)count, "");
}

void table_measure(const struct table *table, size_t widths[TABLE_COLUMN_COUNT_MAX])
{
    CHECK(table->count % table->column_count == 0);
    for (size_t column = 0; column < table->column_count; column++) {
        widths[column] = 0;
    }
    for (size_t i = 0; i < table->count; i++) {
        if (table->cells[i].width > widths[i % table->column_count] && !table->cells[i].is_line) {
            widths[i % table->column_count] = table->cells[i].width;
        }
    }
}

/* --- where the columns stand --- */

static size_t sum_widths(const struct table *table, const struct table_layout *layout)
{
    size_t sum = 0;
    for (size_t column = 0; column < table->column_count; column++) {
        sum += layout->widths[column] + (sum > 0 && layout->widths[column] > 0 ? layout->gap : 0);
    }
    return sum;
}

static size_t find_longest_word(const char *words)
{
    size_t longest = 0, bytes;
    for (; *words != '\0'; words += bytes + (words[bytes] == ' ')) {
        bytes = strcspn(words, " ");
        const size_t width = text_width_of(words, bytes);
        longest = width > longest ? width : longest;
    }
    return longest;
}

/* The widths that the columns have when titles are broken between words; that of prose stays. */
static void break_titles(const struct table *table, struct table_layout *layout)
{
    for (size_t column = 0; column < table->column_count - layout->has_prose; column++) {
        layout->widths[column] = find_longest_word(table_cell_text(table, &table->cells[column]));
    }
    for (size_t i = table->column_count; i < table->count; i++) {
        size_t *width = &layout->widths[i % table->column_count];
        if (table->cells[i].width > *width && !table->cells[i].is_line) {
            *width = table->cells[i].width;
        }
    }
}

/* Takes from the widest left columns what is too much. */
static void narrow_names(const struct table *table, struct table_layout *layout)
{
    const size_t name_count = table->left_count - layout->has_prose;
    for (size_t sum = sum_widths(table, layout); sum > layout->room;) {
        size_t widest = 0;
        for (size_t column = 1; column < name_count; column++) {
            widest = layout->widths[column] > layout->widths[widest] ? column : widest;
        }
        if (name_count == 0 || layout->widths[widest] <= NAME_WIDTH_MIN) {
            return;
        }
        layout->widths[widest]--;
        sum--;
    }
}

static void choose_lines(const struct table *table, struct table_layout *layout)
{
    size_t used = 0;
    for (size_t column = 0; column < table->column_count; column++) {
        const size_t gap = used > 0 ? layout->gap : 0, width = layout->widths[column];
        if (width > 0 && used > 0 && used + gap + width > layout->room) {
            layout->begins_line[column] = true;
            used = FURTHER_LINE_INDENT + width;
        } else if (width > 0) {
            used += gap + width;
        }
    }
}

/* Prose has what the other columns leave; where that is too little, a further line. */
static void place_prose(const struct table *table, struct table_layout *layout)
{
    size_t *prose = &layout->widths[table->column_count - 1];
    const size_t wanted = *prose;
    *prose = 0;
    narrow_names(table, layout);
    const size_t used = sum_widths(table, layout) + layout->gap;
    const bool has_room = used + (wanted < PROSE_WIDTH_MIN ? wanted : PROSE_WIDTH_MIN) <=
                          layout->room;
    const size_t room = layout->room - (has_room ? used : FURTHER_LINE_INDENT);
    *prose = wanted < room ? wanted : room;
}

static void choose_layout(const struct table *table, size_t indent, struct table_layout *layout)
{
    *layout = (struct table_layout){.gap = 2, .room = screen_columns() - indent};
    layout->has_prose = table->left_count == table->column_count && table->column_count > 1;
    table_measure(table, layout->widths);
    if (sum_widths(table, layout) <= layout->room) {
        return;
    }
    break_titles(table, layout);
    if (layout->has_prose) {
        place_prose(table, layout);
    } else {
        layout->gap = sum_widths(table, layout) > layout->room ? 1 : 2;
        narrow_names(table, layout);
    }
    choose_lines(table, layout);
}

/* --- printing --- */

static void end_line(struct writing *text)
{
    while (text->length > 0 && text->bytes[text->length - 1] == ' ') {
        text->bytes[--text->length] = '\0';
    }
    writing_append(text, "\n");
}

/* The lines of a text that is broken at width. */
static size_t count_lines(const char *words, size_t width)
{
    struct writing lines = {0};
    size_t count = 1;
    wrap_append(&lines, words, 0, width);
    for (size_t i = 0; i < lines.length; i++) {
        count += lines.bytes[i] == '\n';
    }
    writing_deinit(&lines);
    return count;
}

/* Line number `line` of it, with blanks before or after it. */
static void append_piece(struct writing *text, const char *words, size_t width, size_t line,
                         bool is_left)
{
    struct writing lines = {0};
    wrap_append(&lines, words, 0, width);
    const char *at = writing_string(&lines);
    for (; line > 0; line--) {
        at = strchr(at, '\n') + 1;
    }
    const size_t length = strcspn(at, "\n"), columns = text_width_of(at, length);
    const size_t padding = columns < width ? width - columns : 0;
    append_spaces(text, is_left ? 0 : padding);
    writing_append_bytes(text, at, length);
    append_spaces(text, is_left ? padding : 0);
    writing_deinit(&lines);
}

/* A row, or the part of it that stands in one line where its texts are not broken. */
struct row_part {
    const struct table *table;
    const struct table_cell *row;
    size_t from, to, line_count;
    size_t indent;
    bool is_first; /* of the table: it may be broken between words */
    bool is_title; /* and stands on the line of the numbers */
};

static const char *part_text(const struct row_part *part, size_t column)
{
    return table_cell_text(part->table, &part->row[column]);
}

static bool has_own_line(const struct row_part *part, const struct table_layout *layout,
                         size_t column)
{
    const size_t width = part->is_first ? find_longest_word(part_text(part, column))
                                        : part->row[column].width;
    return column < part->table->left_count &&
           !(layout->has_prose && column + 1 == part->table->column_count) &&
           width > layout->widths[column];
}

/* Titles stand on the line of the numbers, all other texts begin on the first one. */
static void append_cell(const struct row_part *part, const struct table_layout *layout,
                        size_t column, size_t line, struct writing *text)
{
    const char *words = part_text(part, column);
    const size_t width = layout->widths[column], count = count_lines(words, width);
    const size_t skipped = part->is_title ? part->line_count - count : 0;
    if (line < skipped || line - skipped >= count) {
        append_spaces(text, width);
        return;
    }
    append_piece(text, words, width, line - skipped, column < part->table->left_count);
}

static void print_line(const struct row_part *part, const struct table_layout *layout, size_t line,
                       struct writing *text)
{
    size_t used = part->indent;
    append_spaces(text, used);
    for (size_t column = part->from; column < part->to; column++) {
        if (layout->widths[column] == 0) {
            continue;
        }
        if (used > part->indent) {
            append_spaces(text, layout->gap);
            used += layout->gap;
        }
        if (!has_own_line(part, layout, column)) {
            append_cell(part, layout, column, line, text);
        } else if (line == (part->is_title ? part->line_count - 1 : 0)) {
            writing_append(text, part_text(part, column));
            end_line(text);
            append_spaces(text, used + layout->widths[column]);
        } else {
            append_spaces(text, layout->widths[column]);
        }
        used += layout->widths[column];
    }
    end_line(text);
}

static void print_part(struct row_part *part, const struct table_layout *layout,
                       struct writing *text)
{
    size_t width = 0;
    part->line_count = 1;
    for (size_t column = part->from; column < part->to; column++) {
        width += part->row[column].width;
        if (layout->widths[column] > 0 && !has_own_line(part, layout, column)) {
            const size_t count = count_lines(part_text(part, column), layout->widths[column]);
            part->line_count = count > part->line_count ? count : part->line_count;
        }
    }
    for (size_t line = 0; line < part->line_count && (width > 0 || part->from == 0); line++) {
        print_line(part, layout, line, text);
    }
}

static void print_row(const struct table *table, size_t row, const struct table_layout *layout,
                      size_t indent, struct writing *text)
{
    struct row_part part = {.table = table,
                            .row = &table->cells[row],
                            .indent = indent,
                            .is_first = row == 0,
                            .is_title = row == 0 && !layout->has_prose};
    while (part.to < table->column_count) {
        part.from = part.to++;
        while (part.to < table->column_count && !layout->begins_line[part.to]) {
            part.to++;
        }
        print_part(&part, layout, text);
        part.indent = indent + FURTHER_LINE_INDENT;
    }
}

static void print_line_cell(const struct table *table, const struct table_cell *cell, size_t indent,
                            struct writing *text)
{
    const size_t begin = text->length;
    append_spaces(text, indent);
    writing_append(text, table_cell_text(table, cell));
    end_line(text);
    if (cell->may_break) {
        wrap_since(text, begin);
    }
}

void table_print(const struct table *table, size_t indent, struct writing *text)
{
    struct table_layout layout;
    choose_layout(table, indent, &layout);
    for (size_t i = 0; i < table->count; i += table->column_count) {
        if (table->cells[i].is_line) {
            print_line_cell(table, &table->cells[i], indent, text);
        } else {
            print_row(table, i, &layout, indent, text);
        }
    }
}
