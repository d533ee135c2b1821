#include "present/screen.h"

#include "harness/base/check.h"
#include "harness/base/size.h"

#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

static unsigned choose_width(unsigned terminal_width)
{
    const char *columns = getenv("COLUMNS");
    uint64_t number;
    const bool is_number = columns != NULL && number_parse(columns, strlen(columns), &number) &&
                           number > 0 && number <= INT_MAX;
    return is_number && (terminal_width == 0 || number < terminal_width) ? (unsigned)number
                                                                         : terminal_width;
}

bool screen_wants_cursor(bool is_terminal, const char *term)
{
    return is_terminal && term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0;
}

bool screen_wants_colour(bool is_terminal, const char *no_color, const char *term)
{
    const bool is_forbidden = no_color != NULL && no_color[0] != '\0';
    return screen_wants_cursor(is_terminal, term) && !is_forbidden;
}

struct screen screen_look(int file)
{
    struct winsize size = {0};
    const char *term = getenv("TERM");
    if (!screen_wants_cursor(isatty(file), term)) {
        return (struct screen){0};
    }
    const bool has_size = ioctl(file, TIOCGWINSZ, &size) == 0;
    return (struct screen){.has_cursor = true,
                           .has_colour = screen_wants_colour(true, getenv("NO_COLOR"), term),
                           .width = choose_width(has_size ? size.ws_col : 0),
                           .height = has_size ? size.ws_row : 0};
}

static size_t kept_columns;

void screen_keep_columns(size_t columns)
{
    kept_columns = columns;
}

size_t screen_columns(void)
{
    struct winsize size = {0};
    if (kept_columns > 0) {
        return kept_columns;
    }
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) {
        return SCREEN_COLUMNS;
    }
    const unsigned width = choose_width(size.ws_col);
    return width == 0 ? SCREEN_COLUMNS : width < SCREEN_COLUMNS_MIN ? SCREEN_COLUMNS_MIN : width;
}

/* --- the columns of a text --- */

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

/* --- a line --- */

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
