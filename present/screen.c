#include "present/screen.h"

#include "harness/base/size.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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
