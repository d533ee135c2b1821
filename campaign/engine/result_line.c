#include "campaign/engine/whole.h"

#include "campaign/base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const paths[] = {"repro", "certificate", "kept", "output", NULL};

static bool is_among(const char *key, const char *const *names)
{
    while (*names != NULL && strcmp(*names, key) != 0) {
        names++;
    }
    return *names != NULL;
}

/* --- values --- */

/* Sizes have 64 bits, and jansson's integers 63: a line with one that is larger has doubles. */
static bool is_number(const json_t *value, uint64_t *number)
{
    const double real = json_number_value(value);
    if (!json_is_number(value) || real < 0 || real >= 0x1p63) {
        return false;
    }
    *number = json_is_real(value) ? (uint64_t)real : (uint64_t)json_integer_value(value);
    return true;
}

bool result_line_find_number(const struct result_line *line, const char *key, uint64_t *number)
{
    return is_number(json_object_get(line->values, key), number);
}

const char *result_line_find_text(const struct result_line *line, const char *key)
{
    return json_string_value(json_object_get(line->values, key));
}

bool result_line_has(const struct result_line *line, const char *key, const char *string)
{
    const char *text = result_line_find_text(line, key);
    return text != NULL && strcmp(text, string) == 0;
}

/* --- members as text --- */

static void print_member(const char *key, const json_t *value, struct writing *text)
{
    uint64_t number;
    writing_append(text, ",");
    writing_append_json(text, key);
    writing_append(text, ":");
    if (json_is_string(value)) {
        writing_append_json(text, json_string_value(value));
    } else if (is_number(value, &number)) {
        writing_append_number(text, number);
    } else {
        char *printed = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        writing_append(text, printed == NULL ? "" : printed);
        free(printed);
    }
}

/* Finds where the member begins, with its comma, from *at on; *at moves behind it.  Returns
 * line->length if the line does not have the member as we print it. */
static size_t find_member(const struct result_line *line, const char *key, const json_t *value,
                          size_t *at)
{
    struct writing member;
    writing_init(&member);
    print_member(key, value, &member);
    const char *found = memmem(line->text + *at, line->length - *at, member.bytes, member.length);
    const size_t start = found == NULL ? line->length : (size_t)(found - line->text);
    *at = found == NULL ? *at : start + member.length;
    writing_deinit(&member);
    return start;
}

static bool are_paths_ours(const struct result_line *line)
{
    bool are = true;
    for (size_t i = 0; paths[i] != NULL; i++) {
        const json_t *value = json_object_get(line->values, paths[i]);
        size_t at = 0;
        are &= value == NULL ||
               (json_is_string(value) && find_member(line, paths[i], value, &at) < line->length);
    }
    return are;
}

bool result_line_read(struct result_line *line)
{
    json_error_t error;
    line->values = json_loadb(line->text, line->length, JSON_REJECT_DUPLICATES, &error);
    if (line->values == NULL && json_error_code(&error) == json_error_numeric_overflow) {
        line->values = json_loadb(line->text, line->length,
                                  JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
    }
    const bool is_ours = json_is_object(line->values) && are_paths_ours(line);
    if (!is_ours) {
        result_line_forget(line);
    }
    return is_ours;
}

void result_line_forget(struct result_line *line)
{
    json_decref(line->values);
    line->values = NULL;
}

/* --- paths --- */

/* The last two names of a path; "": there are none. */
static const char *find_saved(const char *path)
{
    const char *at = strrchr(path, '/');
    while (at != NULL && at > path && at[-1] != '/') {
        at--;
    }
    return at == NULL ? "" : at;
}

void result_line_find_saved(const struct result_line *line, const char *key, char *name,
                            size_t name_bytes)
{
    const char *path = result_line_find_text(line, key);
    const char *saved = path == NULL ? "" : find_saved(path);
    snprintf(name, name_bytes, "%s", strlen(saved) < name_bytes ? saved : "");
}

static void append_path(const char *key, const char *from, const char *directory,
                        struct writing *to)
{
    char path[FILE_PATH_BYTES];
    snprintf(path, sizeof path, "%.3800s/%s", directory, find_saved(from));
    writing_append_format(to, ",\"%s\":", key);
    writing_append_json(to, path);
}

void result_line_copy(const struct result_line *line, const char *directory,
                      const char *const *dropped, struct writing *to)
{
    size_t at = 0;
    const char *key;
    json_t *value;
    json_object_foreach(line->values, key, value)
    { /* in the order of the text */
        const bool is_dropped = is_among(key, dropped);
        size_t end = at;
        if (!is_dropped && !is_among(key, paths)) {
            continue;
        }
        const size_t start = find_member(line, key, value, &end);
        if (start == line->length) {
            continue;
        }
        writing_append_bytes(to, line->text + at, start - at);
        if (!is_dropped) {
            append_path(key, json_string_value(value), directory, to);
        }
        at = end;
    }
    writing_append_bytes(to, line->text + at, line->length - at);
    writing_append(to, "\n");
}
