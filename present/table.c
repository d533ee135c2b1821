#include "present/table.h"

#include "harness/base/check.h"
#include "present/text_width.h"

#include <stdlib.h>

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
    if (table->count == table->capacity) {
        const size_t capacity = table->capacity == 0 ? 64 : table->capacity * 2;
        table->cells = realloc(table->cells, capacity * sizeof *table->cells);
        CHECK(table->cells != NULL);
        table->capacity = capacity;
    }
    const size_t start = table->text.length;
    writing_append_visible(&table->text, string);
    writing_append_bytes(&table->text, "", 1);
    table->cells[table->count++] = (struct table_cell){
        .start = start, .width = text_width(table->text.bytes + start), .colour = colour};
}

void table_put_number(struct table *table, uint64_t number)
{
    struct writing digits;
    writing_init(&digits);
    writing_append_number(&digits, number);
    table_put(table, writing_string(&digits));
    writing_deinit(&digits);
}

const char *table_cell_text(const struct table *table, const struct table_cell *cell)
{
    return table->text.bytes + cell->start;
}

static void append_spaces(struct writing *text, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        writing_append_bytes(text, " ", 1);
    }
}

static void table_print_row(const struct table *table, const struct table_cell *row,
                            const size_t *widths, struct writing *text)
{
    for (size_t column = 0; column < table->column_count; column++) {
        const size_t padding = widths[column] - row[column].width;
        const bool is_left = column < table->left_count;
        const bool is_last = column + 1 == table->column_count;
        append_spaces(text, (column > 0 ? 2 : 0) + (is_left ? 0 : padding));
        writing_append(text, table_cell_text(table, &row[column]));
        append_spaces(text, is_left && !is_last ? padding : 0);
    }
    while (text->length > 0 && text->bytes[text->length - 1] == ' ') {
        text->bytes[--text->length] = '\0';
    }
    writing_append(text, "\n");
}

void table_measure(const struct table *table, size_t widths[TABLE_COLUMN_COUNT_MAX])
{
    CHECK(table->count % table->column_count == 0);
    for (size_t column = 0; column < table->column_count; column++) {
        widths[column] = 0;
    }
    for (size_t i = 0; i < table->count; i++) {
        if (table->cells[i].width > widths[i % table->column_count]) {
            widths[i % table->column_count] = table->cells[i].width;
        }
    }
}

void table_print(const struct table *table, size_t indent, struct writing *text)
{
    size_t widths[TABLE_COLUMN_COUNT_MAX];
    table_measure(table, widths);
    for (size_t i = 0; i < table->count; i += table->column_count) {
        append_spaces(text, indent);
        table_print_row(table, &table->cells[i], widths, text);
    }
}
