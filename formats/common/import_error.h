/* The reason why a log cannot become a run, and its place: each step of an import returns a result,
 * and on failure sets an error. */
#ifndef FORMATS_COMMON_IMPORT_ERROR_H
#define FORMATS_COMMON_IMPORT_ERROR_H

#include <stddef.h>

enum import_result {
    IMPORT_OK = 0,
    IMPORT_UNREADABLE,   /* the world: no such file, a directory, a damaged or too large archive */
    IMPORT_UNRECOGNISED, /* no format knows this text, or there is no format of that name */
    IMPORT_INVALID, /* the text breaks its format's grammar, or contradicts itself or the options */
    IMPORT_INCOMPLETE /* the grammar is kept as far as it goes, but facts are missing: a cut log */
};

enum { IMPORT_REASON_BYTES = 512 };

/* The place and the reason of a failure: reason is one line without control characters. */
struct import_error {
    size_t line;   /* from 1, of the decompressed text; 0 = the whole file */
    size_t column; /* from 1, in bytes; 0 = the whole line */
    char reason[IMPORT_REASON_BYTES];
};

/* Sets *error and returns result, so that a format can say `return import_fail(...)`. */
enum import_result import_fail(struct import_error *error, enum import_result result, size_t line,
                               size_t column, const char *reason, ...)
    __attribute__((format(printf, 5, 6)));

/* The same of a line, or of the whole file (0), that is wrong, and of a file that lacks something.
 */
#define IMPORT_REFUSE(error, line, ...) import_fail(error, IMPORT_INVALID, line, 0, __VA_ARGS__)
#define IMPORT_LACKS(error, ...) import_fail(error, IMPORT_INCOMPLETE, 0, 0, __VA_ARGS__)

/* Takes a step of an import: where it fails, the function that this stands in returns its result.
 * Not between a resource and its release. */
#define IMPORT_TRY(step)                              \
    do {                                              \
        const enum import_result import_try = (step); \
        if (import_try != IMPORT_OK) {                \
            return import_try;                        \
        }                                             \
    } while (0)

/* Line and column of a byte of the text.  O(offset). */
void import_position(const char *text, size_t offset, size_t *line, size_t *column);
size_t import_line_at(const char *text, size_t offset);

/* "path:line:column: reason", without what is unknown.  Writes at most size bytes with the NUL;
 * returns text. */
const char *import_error_print(const char *path, const struct import_error *error, char *text,
                               size_t size);

#endif
