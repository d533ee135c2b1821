#include "tests/formats/plain_json.h"

#include <string.h>

static json_t *make_list(const struct plain_tree *tree, struct plain_value value)
{
    json_t *list = json_array();
    for (size_t i = 0; i < plain_count(tree, value); i++) {
        json_array_append_new(list, plain_json(tree, plain_at(tree, value, i)));
    }
    return list;
}

static json_t *make_dict(const struct plain_tree *tree, struct plain_value value)
{
    json_t *dict = json_object();
    for (size_t i = 0; i < plain_count(tree, value); i++) {
        const struct plain_text *key = plain_key_at(tree, value, i);
        char *text = strndup(key->at, key->length);
        json_object_set_new(dict, text, plain_json(tree, plain_at(tree, value, i)));
        free(text);
    }
    return dict;
}

static json_t *make_real(const struct plain_tree *tree, struct plain_value value)
{
    double real = 0;
    memcpy(&real, &tree->wides[value.payload], sizeof real);
    return json_real(real);
}

json_t *plain_json(const struct plain_tree *tree, struct plain_value value)
{
    const struct plain_text *text = plain_text(tree, value);
    switch ((enum plain_kind)value.kind) {
    case PLAIN_TRUE:
        return json_true();
    case PLAIN_FALSE:
        return json_false();
    case PLAIN_NUMBER:
    case PLAIN_WIDE:
    case PLAIN_WIDE_NEGATIVE:
        return json_integer((json_int_t)plain_number(tree, value));
    case PLAIN_REAL:
        return make_real(tree, value);
    case PLAIN_TEXT:
        return json_stringn(text->at, text->length);
    case PLAIN_LIST:
        return make_list(tree, value);
    case PLAIN_DICT:
        return make_dict(tree, value);
    case PLAIN_NOTHING:
    case PLAIN_NULL:
        break;
    }
    return json_null();
}
