/* Reads JSON that comes from outside, and is not what it seems. */
#ifndef CHECKER_PRIVATE_JSON_H
#define CHECKER_PRIVATE_JSON_H
#include <jansson.h>
#include <stddef.h>

/* NULL: the text is not JSON, or an object has a member twice; line and column of error are set.
 * Jansson alone reads over a NUL behind a number. */
json_t *json_read(const char *text, size_t length, json_error_t *error);

#endif
