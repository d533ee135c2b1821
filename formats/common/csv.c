#include "formats/common/csv.h"

#include <string.h>
#include <strings.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void trim_blanks(const char **begin, const char **end)
{
    while (*begin < *end && is_blank(**begin)) {
        (*begin)++;
    }
    while (*begin < *end && is_blank((*end)[-1])) {
        (*end)--;
    }
}

/* The end of a quoted field that begins after its quote: at the closing quote, or NULL. */
static const char *find_quoted_end(const char *begin, const char *line_end)
{
    const char *at = begin;
    while (at < line_end && (*at != '"' || (at + 1 < line_end && at[1] == '"'))) {
        at += *at == '"' ? 2 : 1;
    }
    return at < line_end ? at : NULL;
}

/* Takes one field from *at and leaves *at at its comma or at line_end.  False: a quote is not
 * closed, or something follows the closing one. */
static bool take_field(const char **at, const char *line, const char *line_end,
                       struct csv_field *field)
{
    const char *begin = *at;
    while (begin < line_end && is_blank(*begin)) {
        begin++;
    }
    const char *end = NULL;
    if (begin < line_end && *begin == '"') {
        begin++;
        end = find_quoted_end(begin, line_end);
        if (end == NULL) {
            return false;
        }
        const char *after = end + 1;
        while (after < line_end && is_blank(*after)) {
            after++;
        }
        if (after < line_end && *after != ',') {
            return false;
        }
        *at = after;
    } else {
        end = memchr(begin, ',', (size_t)(line_end - begin));
        end = end == NULL ? line_end : end;
        *at = end;
        trim_blanks(&begin, &end);
    }
    *field = (struct csv_field){
        .text = begin, .length = (size_t)(end - begin), .column = (size_t)(begin - line) + 1};
    return true;
}

static enum csv_result split_row(const char *line, const char *line_end, struct csv_row *row,
                                 const char **reason, size_t *column)
{
    const char *at = line;
    for (;;) {
        if (row->field_count == CSV_FIELD_COUNT_MAX) {
            *reason = "more than 32 fields";
            *column = (size_t)(at - line) + 1;
            return CSV_BAD;
        }
        const char *begin = at;
        if (!take_field(&at, line, line_end, &row->fields[row->field_count])) {
            *reason = "a quoted field is not closed on its line, or text follows its closing quote";
            *column = (size_t)(begin - line) + 1;
            return CSV_BAD;
        }
        row->field_count++;
        if (at == line_end) {
            return CSV_ROW;
        }
        at++; /* the comma */
    }
}

enum csv_result csv_next(struct cursor *cursor, struct csv_row *row, const char **reason,
                         size_t *column)
{
    while (cursor->at < cursor->end) {
        const char *line = cursor->at;
        const char *newline = memchr(line, '\n', (size_t)(cursor->end - line));
        const char *line_end = newline == NULL ? cursor->end : newline;
        row->line = cursor->line;
        row->field_count = 0;
        cursor->at = line_end;
        (void)cursor_take_line_end(cursor);
        const char *nul = memchr(line, '\0', (size_t)(line_end - line));
        if (nul != NULL) {
            *reason = "a NUL byte";
            *column = (size_t)(nul - line) + 1;
            return CSV_BAD;
        }
        if (line_end > line && line_end[-1] == '\r') {
            line_end--;
        }
        const char *begin = line;
        const char *end = line_end;
        trim_blanks(&begin, &end);
        if (begin < end) {
            return split_row(line, line_end, row, reason, column);
        }
    }
    return CSV_END;
}

bool csv_field_is(const struct csv_field *field, const char *word)
{
    return strlen(word) == field->length && strncasecmp(field->text, word, field->length) == 0;
}

bool csv_field_integer(const struct csv_field *field, int64_t *value)
{
    const bool is_negative = field->length > 0 && field->text[0] == '-';
    int64_t sum = 0;
    size_t i = is_negative ? 1 : 0;
    if (i == field->length) {
        return false;
    }
    for (; i < field->length; i++) {
        const char c = field->text[i];
        if (c < '0' || c > '9') {
            return false;
        }
        const int64_t digit = is_negative ? -(c - '0') : c - '0';
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, digit, &sum)) {
            return false;
        }
    }
    *value = sum;
    return true;
}
