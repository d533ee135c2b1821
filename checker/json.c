#include "checker/private/json.h"

#include <stdbool.h>
#include <string.h>

/* Counts as jansson does: lines from 1, columns by bytes. */
static void point_at(json_error_t *error, const char *text, const char *at)
{
    error->line = 1;
    error->column = 0;
    for (; text < at; text++) {
        const bool is_newline = *text == '\n';
        error->line += is_newline;
        error->column = is_newline ? 0 : error->column + 1;
    }
}

json_t *json_read(const char *text, size_t length, json_error_t *error)
{
    const char *nul = length == 0 ? NULL : memchr(text, '\0', length);
    if (nul != NULL) {
        point_at(error, text, nul);
        return NULL;
    }
    return json_loadb(text, length, JSON_REJECT_DUPLICATES, error);
}
