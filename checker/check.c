#include "checker/private/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool check_require(struct check *check, bool is_true, const char *format, ...)
{
    va_list arguments;
    if (!is_true && check->result == CERTIFICATE_VALID) {
        check->result = CERTIFICATE_REFUTED;
        va_start(arguments, format);
        vsnprintf(check->reason, CERTIFICATE_REASON_BYTES, format, arguments);
        va_end(arguments);
    }
    return is_true;
}

bool check_unpack(struct check *check, json_t *json, const char *what, const char *format, ...)
{
    json_error_t error;
    va_list arguments;
    va_start(arguments, format);
    const bool is_read = json_vunpack_ex(json, &error, JSON_STRICT, format, arguments) == 0;
    va_end(arguments);
    if (!check_require(check, is_read, "%s: a member is missing, unknown, or of the wrong type",
                       what)) {
        check->result = CERTIFICATE_UNREADABLE;
    }
    return is_read;
}

bool check_is_array(struct check *check, json_t *json, const char *what)
{
    const bool is_array = json_typeof(json) == JSON_ARRAY;
    if (!check_require(check, is_array, "%s: this is not an array", what)) {
        check->result = CERTIFICATE_UNREADABLE;
    }
    return is_array;
}

size_t check_find_word(struct check *check, const char *what, const char *text, const char *words)
{
    size_t index = 0, length;
    for (const char *at = words; *at != '\0'; at += length + (at[length] == '|'), index++) {
        length = strcspn(at, "|");
        if (strlen(text) == length && strncmp(text, at, length) == 0) {
            return index;
        }
    }
    check_require(check, false, "%s is not one of %s", what, words);
    return 0;
}

bool check_has_memory(struct check *check, bool is_there)
{
    if (!check_require(check, is_there, "no memory")) {
        check->result = CERTIFICATE_UNREADABLE;
    }
    return is_there;
}
