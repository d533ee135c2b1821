#include "present/screen_line.h"

#include "harness/base/check.h"
#include "present/text_width.h"

static const char *const colour_sequences[COLOUR_COUNT] = {"", "\033[31m", "\033[33m", "\033[32m",
                                                           "\033[2m"};
static const char colour_end_sequence[] = "\033[0m", erase_rest_sequence[] = "\033[K";

void screen_line_begin(struct screen_line *line, size_t width)
{
    CHECK(width > 0);
    line->width = width;
    line->columns_left = width - 1;
}

static void append_columns(struct screen_line *line, const char *string, size_t width)
{
    const char *end = string;
    size_t room = width < line->columns_left ? width : line->columns_left, length;
    while (*end != '\0') {
        const size_t columns = text_character_width(end, &length);
        if (columns > room) {
            break;
        }
        room -= columns;
        line->columns_left -= columns;
        end += length;
    }
    writing_append_bytes(line->text, string, (size_t)(end - string));
}

void screen_line_append(struct screen_line *line, const char *string, size_t width,
                        enum colour colour)
{
    const bool is_coloured = colour != COLOUR_NONE && line->has_colour && line->columns_left > 0;
    if (is_coloured) {
        writing_append(line->text, colour_sequences[colour]);
    }
    append_columns(line, string, width);
    if (is_coloured) {
        writing_append(line->text, colour_end_sequence);
    }
}

void screen_line_append_spaces(struct screen_line *line, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        append_columns(line, " ", 1);
    }
}

void screen_line_end(struct screen_line *line)
{
    writing_append(line->text, erase_rest_sequence);
    writing_append(line->text, "\n");
    if (line->widths != NULL) {
        const size_t width = line->width - 1 - line->columns_left;
        line->widths[line->count++] = width > UINT16_MAX ? UINT16_MAX : (uint16_t)width;
    }
}
