#include "formats/common/import_error.h"

#include "harness/base/check.h"
#include "harness/base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum import_result import_fail(struct import_error *error, enum import_result result, size_t line,
                               size_t column, const char *reason, ...)
{
    CHECK(result != IMPORT_OK);
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(error->reason, sizeof error->reason, reason, arguments);
    va_end(arguments);
    utf8_make_printable(error->reason);
    error->line = line;
    error->column = column;
    return result;
}

void import_position(const char *text, size_t offset, size_t *line, size_t *column)
{
    size_t lines = 1;
    size_t line_start = 0;
    for (const char *end; (end = memchr(text + line_start, '\n', offset - line_start)) != NULL;
         lines++) {
        line_start = (size_t)(end - text) + 1;
    }
    *line = lines;
    *column = offset - line_start + 1;
}

const char *import_error_print(const char *path, const struct import_error *error, char *text,
                               size_t size)
{
    if (error->line == 0) {
        snprintf(text, size, "%s: %s", path, error->reason);
    } else if (error->column == 0) {
        snprintf(text, size, "%s:%zu: %s", path, error->line, error->reason);
    } else {
        snprintf(text, size, "%s:%zu:%zu: %s", path, error->line, error->column, error->reason);
    }
    return text;
}
