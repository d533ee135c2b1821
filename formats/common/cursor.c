#include "formats/common/cursor.h"

#define NONE 16
#define NONE_8 NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE
#define NONE_16 NONE_8, NONE_8
const uint8_t cursor_hex_values[256] = {
    NONE_16, NONE_16, NONE_16, 0,       1,       2,       3,      4,      5,       6,
    7,       8,       9,       NONE,    NONE,    NONE,    NONE,   NONE,   NONE,    NONE,
    10,      11,      12,      13,      14,      15,      NONE,   NONE_8, NONE_16, NONE,
    10,      11,      12,      13,      14,      15,      NONE,   NONE_8, NONE_16, NONE_16,
    NONE_16, NONE_16, NONE_16, NONE_16, NONE_16, NONE_16, NONE_16};

enum import_result cursor_fail(const struct cursor *cursor, struct import_error *error,
                               const char *what)
{
    const size_t column = (size_t)(cursor->at - cursor->line_begin) + 1;
    const void *line_end = memchr(cursor->at, '\n', (size_t)(cursor->end - cursor->at));
    if (line_end == NULL && cursor->end - cursor->at < 64) {
        return import_fail(error, IMPORT_INCOMPLETE, cursor->line, column,
                           "the last line is cut off or has no line end: %s: '%.*s'", what,
                           cursor_rest_length(cursor), cursor->at);
    }
    return import_fail(error, IMPORT_INVALID, cursor->line, column, "%s: '%.*s'", what,
                       cursor_rest_length(cursor), cursor->at);
}
