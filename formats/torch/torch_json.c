/* The JSON form of a snapshot, as plain data. */
#include "formats/torch/private/torch.h"

#include "harness/base/array.h"

#include <string.h>

/* The values of the containers that are not complete yet, those of the inner ones on top. */
struct value_stack {
    struct plain_value *values;
    size_t count, room;
};

static void push_value(struct value_stack *stack, struct plain_value value)
{
    ARRAY_ADD(stack->values, stack->count, stack->room) = value;
}

static struct plain_value make_text(struct plain_tree *tree, const char *text)
{
    return plain_make_text(tree, text, strlen(text));
}

static struct plain_value make_scalar(struct plain_tree *tree, const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_STRING:
        return make_text(tree, json_string_value(json));
    case JSON_INTEGER:
        return plain_make_number(tree, json_integer_value(json));
    case JSON_REAL:
        return plain_make_real(tree, json_real_value(json));
    case JSON_TRUE:
        return plain_make(PLAIN_TRUE);
    case JSON_FALSE:
        return plain_make(PLAIN_FALSE);
    case JSON_NULL:
    case JSON_OBJECT:
    case JSON_ARRAY:
        break;
    }
    return plain_make(PLAIN_NULL);
}

/* Pushes the value.  The depth is that of the parser of JSON, which has a bound of its own. */
static enum plain_result convert_value(struct plain_tree *tree, struct value_stack *stack,
                                       json_t *json)
{
    const bool is_list = json_is_array(json);
    const size_t below = stack->count;
    enum plain_result result = PLAIN_DONE;
    const char *key = NULL;
    json_t *inner = NULL;
    size_t i = 0;
    if (!is_list && !json_is_object(json)) {
        push_value(stack, make_scalar(tree, json));
        return PLAIN_DONE;
    }
    json_array_foreach(json, i, inner)
    {
        result = result == PLAIN_DONE ? convert_value(tree, stack, inner) : result;
    }
    json_object_foreach(json, key, inner)
    {
        push_value(stack, make_text(tree, key));
        result = result == PLAIN_DONE ? convert_value(tree, stack, inner) : result;
    }
    const struct plain_value box = plain_make_box(tree, is_list ? PLAIN_LIST : PLAIN_DICT);
    const size_t count = stack->count - below;
    if (result == PLAIN_DONE && count > 0) {
        const struct plain_value *values = &stack->values[below];
        result = is_list ? plain_fill_list(tree, box, values, count, &i)
                         : plain_fill_dict(tree, box, values, count, &i);
    }
    stack->count = below;
    push_value(stack, box);
    return result;
}

/* Numbers beyond 2^63 - 1, which jansson refuses, become that one: snapshots have lines and sizes
 * of 2^64 - 1. */
static void clamp_numbers(char *text, size_t length)
{
    static const char largest[] = "9223372036854775807";
    const size_t digits = sizeof largest - 1;
    const char *end = text + length;
    bool is_in_text = false;
    for (char *at = text; at < end; at++) {
        if (is_in_text && *at == '\\') {
            at++;
        } else if (*at == '"') {
            is_in_text = !is_in_text;
        } else if (!is_in_text && *at >= '0' && *at <= '9') {
            char *behind = at;
            while (behind < end && *behind >= '0' && *behind <= '9') {
                behind++;
            }
            const size_t count = (size_t)(behind - at);
            if (count > digits || (count == digits && memcmp(at, largest, digits) > 0)) {
                memset(at, ' ', count);
                memcpy(at, largest, digits);
            }
            at = behind - 1;
        }
    }
}

/* Parses a text whose numbers are too large for jansson, after clamping them. */
static json_t *parse_clamped(const char *text, size_t length, json_error_t *found)
{
    char *copy = malloc(length);
    if (copy == NULL) {
        return NULL;
    }
    memcpy(copy, text, length);
    clamp_numbers(copy, length);
    json_t *root = json_loadb(copy, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, found);
    free(copy);
    return root;
}

static enum import_result parse_text(const char *text, size_t length, json_t **root,
                                     struct import_error *error)
{
    json_error_t found;
    *root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &found);
    if (*root == NULL && json_error_code(&found) == json_error_numeric_overflow) {
        *root = parse_clamped(text, length, &found);
    }
    if (*root != NULL) {
        return IMPORT_OK;
    }
    if (found.text[0] == '\0' || json_error_code(&found) == json_error_out_of_memory) {
        return import_fail(error, IMPORT_UNREADABLE, 0, 0, "no host memory for its JSON");
    }
    /* Cut inside of "false", or of an escape, what is wrong ends with the text. */
    const bool is_cut = json_error_code(&found) == json_error_premature_end_of_input ||
                        (json_error_code(&found) == json_error_invalid_syntax &&
                         (size_t)found.position == length);
    return import_fail(error, is_cut ? IMPORT_INCOMPLETE : IMPORT_INVALID,
                       found.line < 1 ? 0 : (size_t)found.line, 0, "JSON, column %d: %s%s",
                       found.column, found.text, is_cut ? " (a cut file?)" : "");
}

enum import_result torch_read_json(const char *text, size_t length, json_t **json,
                                   struct plain_tree *tree, struct plain_value *root,
                                   struct import_error *error)
{
    struct value_stack stack = {0};
    IMPORT_TRY(parse_text(text, length, json, error));
    const enum plain_result converted = convert_value(tree, &stack, *json);
    *root = stack.values[0];
    free(stack.values);
    return converted == PLAIN_DONE
               ? IMPORT_OK
               : IMPORT_REFUSE(error, 0, "JSON: lists and dicts are nested more than %d deep",
                               PLAIN_DEPTH_MAX);
}
