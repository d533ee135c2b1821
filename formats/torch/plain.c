#include "formats/torch/private/plain.h"

#include "harness/base/array.h"

#include <string.h>

void plain_deinit(struct plain_tree *tree)
{
    free(tree->values);
    free(tree->boxes);
    free(tree->texts);
    free(tree->wides);
    free(tree->spelled);
    free(tree->last_box);
    free(tree->shapes);
    free(tree->keys);
    name_table_deinit(&tree->names);
    name_table_deinit(&tree->shape_names);
    *tree = (struct plain_tree){0};
}

/* --- values --- */

static struct plain_value make_value(enum plain_kind kind, uint64_t payload)
{
    return (struct plain_value){.kind = (uint64_t)kind & 15,
                                .payload = payload & (UINT64_MAX >> 4)};
}

struct plain_value plain_make(enum plain_kind kind)
{
    return make_value(kind, 0);
}

static struct plain_value make_wide(struct plain_tree *tree, enum plain_kind kind, uint64_t bits)
{
    ARRAY_ADD(tree->wides, tree->wide_count, tree->wide_room) = bits;
    return make_value(kind, tree->wide_count - 1);
}

struct plain_value plain_make_number(struct plain_tree *tree, int64_t number)
{
    const int64_t inside = INT64_C(1) << 59;
    if (number >= -inside && number < inside) {
        return make_value(PLAIN_NUMBER, (uint64_t)number);
    }
    return make_wide(tree, number < 0 ? PLAIN_WIDE_NEGATIVE : PLAIN_WIDE, (uint64_t)number);
}

struct plain_value plain_make_unsigned(struct plain_tree *tree, uint64_t number)
{
    return number <= INT64_MAX ? plain_make_number(tree, (int64_t)number)
                               : make_wide(tree, PLAIN_WIDE, number);
}

struct plain_value plain_make_real(struct plain_tree *tree, double number)
{
    uint64_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    return make_wide(tree, PLAIN_REAL, bits);
}

struct plain_value plain_make_text(struct plain_tree *tree, const char *at, size_t length)
{
    CHECK(length <= UINT32_MAX);
    ARRAY_ADD(tree->texts, tree->text_count,
              tree->text_room) = (struct plain_text){.at = at, .length = (uint32_t)length};
    return make_value(PLAIN_TEXT, tree->text_count - 1);
}

struct plain_value plain_make_box(struct plain_tree *tree, enum plain_kind kind)
{
    CHECK(kind == PLAIN_LIST || kind == PLAIN_DICT);
    ARRAY_ADD(tree->boxes, tree->box_count, tree->box_room) = (struct plain_box){.depth = 1};
    return make_value(kind, tree->box_count - 1);
}

static bool is_box(struct plain_value value)
{
    return value.kind == PLAIN_LIST || value.kind == PLAIN_DICT;
}

void plain_close(struct plain_tree *tree, struct plain_value box)
{
    if (is_box(box)) {
        tree->boxes[box.payload].is_closed = true;
    }
}

/* --- filling --- */

/* Places for count values behind all others. */
static uint64_t take_room(struct plain_tree *tree, size_t count)
{
    const uint64_t first = tree->value_count;
    if (tree->value_count + count > tree->value_room) {
        const size_t doubled = tree->value_room * 2;
        tree->value_room = tree->value_count + count > doubled ? tree->value_count + count
                                                               : doubled;
        tree->values = array_resized(tree->values, tree->value_room * sizeof *tree->values);
    }
    tree->value_count += count;
    return first;
}

/* A list of which nothing lies behind grows where it is. */
static void make_list_room(struct plain_tree *tree, struct plain_box *list, size_t count)
{
    if (list->count + count <= list->room) {
        return;
    }
    if (list->room > 0 && list->first + list->room == tree->value_count) {
        (void)take_room(tree, list->count + count - list->room);
        list->room = (uint32_t)(list->count + count);
        return;
    }
    const size_t doubled = (size_t)list->count * 2;
    const size_t room = list->count + count > doubled ? list->count + count : doubled;
    const uint64_t first = take_room(tree, room);
    memcpy(&tree->values[first], &tree->values[list->first], list->count * sizeof *tree->values);
    list->first = first & (UINT64_MAX >> 24);
    list->room = (uint32_t)(room <= UINT32_MAX ? room : UINT32_MAX);
}

/* Closes a box that goes into another one, and makes the outer box one deeper than it at least. */
static enum plain_result put_inside(struct plain_tree *tree, struct plain_box *box,
                                    struct plain_value value)
{
    if (!is_box(value)) {
        return PLAIN_DONE;
    }
    struct plain_box *inner = &tree->boxes[value.payload];
    inner->is_closed = true;
    if (inner->depth >= PLAIN_DEPTH_MAX) {
        return PLAIN_TOO_DEEP;
    }
    if (box->depth < inner->depth + 1u) {
        box->depth = (inner->depth + 1u) & 255;
    }
    return PLAIN_DONE;
}

enum plain_result plain_fill_list(struct plain_tree *tree, struct plain_value list,
                                  const struct plain_value *values, size_t count, size_t *at)
{
    struct plain_box *box = &tree->boxes[list.payload];
    *at = 0;
    if (box->is_closed) {
        return PLAIN_CLOSED;
    }
    if (count > UINT32_MAX - box->count || tree->value_count > UINT64_MAX >> 28) {
        return PLAIN_TOO_MANY;
    }
    make_list_room(tree, box, count);
    for (size_t i = 0; i < count; i++) {
        const enum plain_result result = put_inside(tree, box, values[i]);
        if (result != PLAIN_DONE) {
            *at = i;
            return result;
        }
    }
    if (count > 0) {
        memcpy(&tree->values[box->first + box->count], values, count * sizeof *values);
        box->count += (uint32_t)count;
    }
    return PLAIN_DONE;
}

/* --- keys --- */

/* The number of a key. */
static uint32_t find_key(struct plain_tree *tree, struct plain_value value)
{
    struct plain_text *text = &tree->texts[value.payload];
    if (text->key == 0) {
        const size_t known_count = tree->names.count;
        const uint32_t key = name_table_add_whole(&tree->names, text->at, text->length);
        if (key == known_count) {
            tree->spelled = array_grown(tree->spelled, key, &tree->spelled_room,
                                        sizeof *tree->spelled);
            tree->last_box = array_grown(tree->last_box, key, &tree->last_box_room,
                                         sizeof *tree->last_box);
            tree->spelled[key] = *text;
            tree->last_box[key] = 0;
        }
        text->key = key + 1;
    }
    return text->key - 1;
}

static bool is_shape(const struct plain_tree *tree, uint32_t shape, const uint32_t *keys,
                     size_t count)
{
    return tree->shapes[shape].count == count &&
           memcmp(&tree->keys[tree->shapes[shape].first], keys, count * sizeof *keys) == 0;
}

/* The keys stand behind all others of the tree; a shape that is known gives their place back. */
static enum plain_result find_shape(struct plain_tree *tree, size_t count, uint32_t *shape)
{
    const uint32_t *keys = &tree->keys[tree->key_count];
    const size_t known_count = tree->shape_names.count;
    if (known_count > 0 && is_shape(tree, tree->shape_last, keys, count)) {
        *shape = tree->shape_last;
        return PLAIN_DONE;
    }
    *shape = name_table_add_whole(&tree->shape_names, (const char *)keys, count * sizeof *keys);
    if (*shape == known_count) {
        tree->shapes = array_grown(tree->shapes, known_count, &tree->shape_room,
                                   sizeof *tree->shapes);
        tree->shapes[*shape] = (struct plain_shape){.first = (uint32_t)tree->key_count,
                                                    .count = (uint32_t)count};
        tree->key_count += count;
    }
    tree->shape_last = *shape;
    /* Two lists of keys with one hash: nobody wrote them but to see what happens. */
    return is_shape(tree, *shape, keys, count) ? PLAIN_DONE : PLAIN_TOO_MANY;
}

/* Room for the keys of one more shape. */
static bool make_key_room(struct plain_tree *tree, size_t count)
{
    if (tree->key_count + count > UINT32_MAX) {
        return false;
    }
    while (tree->key_count + count > tree->key_room) {
        tree->keys = array_grown(tree->keys, tree->key_room, &tree->key_room, sizeof *tree->keys);
    }
    return true;
}

/* Writes the keys that the dict has and those of the pairs behind all others. */
static enum plain_result write_keys(struct plain_tree *tree, uint64_t box_index,
                                    const struct plain_value *pairs, size_t count, size_t *at)
{
    const struct plain_box *box = &tree->boxes[box_index];
    uint32_t *keys = &tree->keys[tree->key_count];
    for (uint32_t i = 0; i < box->count; i++) {
        keys[i] = tree->keys[tree->shapes[box->shape].first + i];
        tree->last_box[keys[i]] = (uint32_t)box_index + 1;
    }
    for (size_t i = 0; i < count; i += 2) {
        *at = i;
        if (pairs[i].kind != PLAIN_TEXT) {
            return PLAIN_NO_KEY;
        }
        const uint32_t key = find_key(tree, pairs[i]);
        if (tree->last_box[key] == (uint32_t)box_index + 1) {
            return PLAIN_KEY_TWICE;
        }
        tree->last_box[key] = (uint32_t)box_index + 1;
        keys[box->count + i / 2] = key;
    }
    return PLAIN_DONE;
}

/* Moves the values that it has behind all others, and makes room for the new ones. */
static void move_dict(struct plain_tree *tree, struct plain_box *box, size_t count)
{
    if (box->count > 0 && box->first + box->count == tree->value_count) {
        (void)take_room(tree, count);
        return;
    }
    const uint64_t first = take_room(tree, box->count + count);
    if (box->count > 0) {
        memcpy(&tree->values[first], &tree->values[box->first], box->count * sizeof *tree->values);
    }
    box->first = first & (UINT64_MAX >> 24);
}

enum plain_result plain_fill_dict(struct plain_tree *tree, struct plain_value dict,
                                  const struct plain_value *pairs, size_t count, size_t *at)
{
    struct plain_box *box = &tree->boxes[dict.payload];
    const size_t added = count / 2;
    uint32_t shape = 0;
    *at = 0;
    if (box->is_closed) {
        return PLAIN_CLOSED;
    }
    if (added == 0) {
        return PLAIN_DONE;
    }
    if (box->step_count == PLAIN_STEPS_MAX || tree->value_count > UINT64_MAX >> 28 ||
        tree->box_count > UINT32_MAX - 1 || !make_key_room(tree, box->count + added)) {
        return PLAIN_TOO_MANY;
    }
    enum plain_result result = write_keys(tree, dict.payload, pairs, count, at);
    if (result == PLAIN_DONE) {
        result = find_shape(tree, box->count + added, &shape);
    }
    for (size_t i = 0; result == PLAIN_DONE && i < count; i += 2) {
        *at = i + 1;
        result = put_inside(tree, box, pairs[i + 1]);
    }
    if (result != PLAIN_DONE) {
        return result;
    }
    move_dict(tree, box, added);
    for (size_t i = 0; i < added; i++) {
        tree->values[box->first + box->count + i] = pairs[2 * i + 1];
    }
    box->count += (uint32_t)added;
    box->shape = shape;
    box->step_count++;
    return PLAIN_DONE;
}

struct plain_value plain_get(const struct plain_tree *tree, struct plain_value dict,
                             const char *key)
{
    const size_t length = strlen(key);
    for (size_t i = 0; dict.kind == PLAIN_DICT && i < plain_count(tree, dict); i++) {
        const struct plain_text *text = plain_key_at(tree, dict, i);
        if (text->length == length && memcmp(text->at, key, length) == 0) {
            return plain_at(tree, dict, i);
        }
    }
    return plain_make(PLAIN_NOTHING);
}
