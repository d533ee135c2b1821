/* Rows of comma-separated text (RFC 4180, leniently): LF or CRLF, quoted fields, blanks around a
 * field dropped, empty lines skipped.  Fields point into the text; nothing is copied.  A reader
 * that knows which rows it expects reads these itself, at the same cursor, and leaves here what is
 * different. */
#ifndef FORMATS_COMMON_CSV_H
#define FORMATS_COMMON_CSV_H

#include "formats/common/cursor.h"

enum { CSV_FIELD_COUNT_MAX = 32 };

struct csv_field {
    const char *text; /* without quotes; a doubled quote inside stays doubled */
    size_t length;
    size_t column; /* of its first byte, from 1 */
};

struct csv_row {
    size_t line; /* from 1 */
    size_t field_count;
    struct csv_field fields[CSV_FIELD_COUNT_MAX];
};

enum csv_result { CSV_ROW, CSV_END, CSV_BAD };

/* Takes the next row, from the beginning of a line.  CSV_BAD: *reason (a constant) and *column say
 * what is wrong in row->line: a NUL byte, a quote that is not closed on its line, more than
 * CSV_FIELD_COUNT_MAX fields. */
enum csv_result csv_next(struct cursor *cursor, struct csv_row *row, const char **reason,
                         size_t *column);

/* True if a field is this word, letter case aside. */
bool csv_field_is(const struct csv_field *field, const char *word);

/* A decimal integer, -2^63..2^63-1; false: not that. */
bool csv_field_integer(const struct csv_field *field, int64_t *value);

#endif
