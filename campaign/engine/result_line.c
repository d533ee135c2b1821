#include "campaign/engine/result_line.h"

#include "campaign/base/file.h"
#include "harness/base/size.h"

#include <stdio.h>
#include <string.h>

/* --- members --- */

/* The next member of a line: its key without quotes, its value as it stands. */
struct member {
    struct result_line key, value;
};

/* Where the string that begins at i ends: behind its quote; length: it does not. */
static size_t skip_string(const struct result_line *line, size_t i)
{
    for (i++; i < line->length && line->text[i] != '"'; i++) {
        i += line->text[i] == '\\';
    }
    return i < line->length ? i + 1 : line->length;
}

/* Where the value that begins at i ends: before the comma or the bracket that follows. */
static size_t skip_value(const struct result_line *line, size_t i)
{
    size_t depth = 0;
    while (i < line->length) {
        const char byte = line->text[i];
        if (depth == 0 && (byte == ',' || byte == '}')) {
            return i;
        }
        if (byte == '"') {
            i = skip_string(line, i);
            continue;
        }
        depth += byte == '{' || byte == '[';
        depth -= byte == '}' || byte == ']';
        i++;
    }
    return line->length;
}

/* *at: behind the bracket or the comma, then behind what follows the member.  False: there is no
 * member. */
static bool next_member(const struct result_line *line, size_t *at, struct member *member)
{
    if (*at >= line->length || line->text[*at] != '"') {
        return false;
    }
    const size_t key_end = skip_string(line, *at);
    if (key_end >= line->length || line->text[key_end] != ':') {
        return false;
    }
    const size_t value_end = skip_value(line, key_end + 1);
    if (value_end == line->length || value_end == key_end + 1) {
        return false;
    }
    member->key = (struct result_line){line->text + *at + 1, key_end - *at - 2};
    member->value = (struct result_line){line->text + key_end + 1, value_end - key_end - 1};
    *at = value_end + 1;
    return true;
}

static bool is_text(const struct result_line *span, const char *text)
{
    return span->length == strlen(text) && memcmp(span->text, text, span->length) == 0;
}

bool result_line_is_object(const struct result_line *line)
{
    size_t at = 1;
    struct member member;
    if (line->length < 2 || line->text[0] != '{') {
        return false;
    }
    while (next_member(line, &at, &member)) {
        continue;
    }
    return at == line->length && line->text[at - 1] == '}';
}

bool result_line_find(const struct result_line *line, const char *key, struct result_line *value)
{
    size_t at = 1;
    struct member member;
    while (next_member(line, &at, &member)) {
        if (is_text(&member.key, key)) {
            *value = member.value;
            return true;
        }
    }
    return false;
}

bool result_line_find_number(const struct result_line *line, const char *key, uint64_t *number)
{
    struct result_line value;
    return result_line_find(line, key, &value) && number_parse(value.text, value.length, number) &&
           *number <= INT64_MAX;
}

bool result_line_has(const struct result_line *line, const char *key, const char *string)
{
    struct result_line value;
    struct writing quoted;
    writing_init(&quoted);
    writing_append_json(&quoted, string);
    const bool has = result_line_find(line, key, &value) &&
                     is_text(&value, writing_string(&quoted));
    writing_deinit(&quoted);
    return has;
}

/* --- paths --- */

/* The last two names of a path in quotes; empty: there are none. */
static struct result_line find_saved(const struct result_line *value)
{
    if (value->length < 2 || value->text[0] != '"') {
        return (struct result_line){value->text, 0};
    }
    const size_t end = value->length - 1;
    size_t start = end, slashes = 0;
    while (start > 1 && (slashes += value->text[start - 1] == '/') < 2) {
        start--;
    }
    return (struct result_line){value->text + start, slashes == 0 ? 0 : end - start};
}

void result_line_find_saved(const struct result_line *line, const char *key, char *name,
                            size_t name_bytes)
{
    struct result_line value, saved = {"", 0};
    if (result_line_find(line, key, &value)) {
        saved = find_saved(&value);
    }
    const bool is_short = saved.length < name_bytes;
    snprintf(name, name_bytes, "%.*s", is_short ? (int)saved.length : 0, saved.text);
}

static void append_path(const struct result_line *value, const char *directory, struct writing *to)
{
    char path[FILE_PATH_BYTES];
    const struct result_line saved = find_saved(value);
    snprintf(path, sizeof path, "%.3800s/%.*s", directory, (int)saved.length, saved.text);
    writing_append_json(to, path);
}

static bool is_among(const struct result_line *key, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (is_text(key, *names)) {
            return true;
        }
    }
    return false;
}

void result_line_copy(const struct result_line *line, const char *directory,
                      const char *const *dropped, struct writing *to)
{
    static const char *const paths[] = {"repro", "certificate", "kept", "output", NULL};
    size_t at = 1;
    struct member member;
    const char *before = "{";
    while (next_member(line, &at, &member)) {
        if (is_among(&member.key, dropped)) {
            continue;
        }
        writing_append(to, before);
        writing_append_format(to, "\"%.*s\":", (int)member.key.length, member.key.text);
        if (is_among(&member.key, paths)) {
            append_path(&member.value, directory, to);
        } else {
            writing_append_bytes(to, member.value.text, member.value.length);
        }
        before = ",";
    }
    writing_append(to, "}\n");
}
