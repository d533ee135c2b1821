/* Maps and lists by their indentation, line by line. */
#include "formats/common/cursor.h"
#include "formats/log/private/log_reading.h"

#include <jansson.h>
#include <string.h>

enum { DEPTH_MAX = 64, SCALAR_BYTES_MAX = 65536 };

struct yaml {
    struct cursor cursor; /* before the line that is next */
    size_t indent;        /* of that line; what a list's dashes take counts as blanks */
    const char *words;    /* of that line, behind the blanks */
    size_t length;        /* 0 at the end */
};

/* Goes to the next line that has words. */
static void find_line(struct yaml *yaml)
{
    struct cursor line;
    yaml->length = 0;
    while (yaml->length == 0 && cursor_next_line(&yaml->cursor, &line)) {
        const char *begin = line.at;
        cursor_skip(&line, ' ');
        while (line.end > line.at && (line.end[-1] == ' ' || line.end[-1] == '\r')) {
            line.end--;
        }
        yaml->indent = (size_t)(line.at - begin);
        yaml->words = line.at;
        yaml->length = cursor_is_at(&line, '#') ? 0 : cursor_left(&line);
    }
}

static bool is_item(const struct yaml *yaml)
{
    return yaml->length > 0 && yaml->words[0] == '-' &&
           (yaml->length == 1 || yaml->words[1] == ' ');
}

static json_t *read_scalar(const char *words, size_t length)
{
    if (length >= 2 && (words[0] == '"' || words[0] == '\'') && words[length - 1] == words[0]) {
        words++;
        length -= 2;
    }
    json_t *string = json_stringn(words, length < SCALAR_BYTES_MAX ? length : SCALAR_BYTES_MAX);
    return string != NULL ? string : json_string(""); /* no UTF-8 */
}

/* Lines that are deeper than their key: a literal, or the rest of a long scalar. */
static void skip_deeper(struct yaml *yaml, size_t indent)
{
    while (yaml->length > 0 && yaml->indent > indent) {
        find_line(yaml);
    }
}

static json_t *read_literal(struct yaml *yaml, size_t indent)
{
    json_t *first = NULL;
    if (yaml->length > 0 && yaml->indent > indent) {
        first = read_scalar(yaml->words, yaml->length);
    }
    skip_deeper(yaml, indent);
    return first != NULL ? first : json_string("");
}

static json_t *read_node(struct yaml *yaml, int depth);

/* Returns where the colon behind a key is; NULL: the words are no pair. */
static const char *find_colon(const struct yaml *yaml)
{
    const char *end = yaml->words + yaml->length;
    for (const char *colon = yaml->words; colon < end; colon++) {
        if (*colon == ':' && (colon + 1 == end || colon[1] == ' ')) {
            return colon;
        }
    }
    return NULL;
}

static void read_pair(struct yaml *yaml, const char *colon, json_t *map, int depth)
{
    const size_t indent = yaml->indent;
    const char *key = yaml->words;
    const char *value = colon + 1;
    const char *end = yaml->words + yaml->length;
    while (value < end && *value == ' ') {
        value++;
    }
    json_t *node = NULL;
    find_line(yaml);
    if (value == end) {
        const bool is_deeper = yaml->length > 0 &&
                               (yaml->indent > indent || (yaml->indent == indent && is_item(yaml)));
        node = is_deeper ? read_node(yaml, depth + 1) : json_null();
    } else if (*value == '|' || *value == '>') {
        node = read_literal(yaml, indent);
    } else {
        node = read_scalar(value, (size_t)(end - value));
        skip_deeper(yaml, indent);
    }
    json_t *name = read_scalar(key, (size_t)(colon - key));
    (void)json_object_set_new(map, json_string_value(name), node);
    json_decref(name);
}

static json_t *read_list(struct yaml *yaml, int depth)
{
    const size_t indent = yaml->indent;
    json_t *list = json_array();
    while (is_item(yaml) && yaml->indent == indent) {
        size_t skipped = 1;
        while (skipped < yaml->length && yaml->words[skipped] == ' ') {
            skipped++;
        }
        yaml->indent += skipped;
        yaml->words += skipped;
        yaml->length -= skipped;
        if (yaml->length == 0) {
            find_line(yaml);
            continue;
        }
        (void)json_array_append_new(list, read_node(yaml, depth + 1));
    }
    return list;
}

static json_t *read_map(struct yaml *yaml, int depth)
{
    const size_t indent = yaml->indent;
    json_t *map = json_object();
    while (yaml->length > 0 && yaml->indent == indent && !is_item(yaml)) {
        const char *colon = find_colon(yaml);
        if (colon == NULL) {
            find_line(yaml);
        } else {
            read_pair(yaml, colon, map, depth);
        }
        skip_deeper(yaml, indent);
    }
    return map;
}

static json_t *read_node(struct yaml *yaml, int depth)
{
    const size_t indent = yaml->indent;
    if (depth > DEPTH_MAX) {
        find_line(yaml);
        skip_deeper(yaml, indent);
        return json_null();
    }
    if (is_item(yaml)) {
        return read_list(yaml, depth);
    }
    if (find_colon(yaml) != NULL) {
        return read_map(yaml, depth);
    }
    json_t *scalar = read_scalar(yaml->words, yaml->length);
    find_line(yaml);
    skip_deeper(yaml, indent);
    return scalar;
}

json_t *log_yaml_read(const char *bytes, size_t length)
{
    struct yaml yaml = {.cursor = cursor_make(bytes, length)};
    find_line(&yaml);
    return yaml.length == 0 ? json_null() : read_node(&yaml, 0);
}
