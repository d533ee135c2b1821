#include "formats/torch/private/pickle_reader.h"

#include "harness/base/array.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum import_result pickle_fail(struct pickle_reader *reader, enum import_result result,
                               const char *reason, ...)
{
    char text[IMPORT_REASON_BYTES / 2];
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(text, sizeof text, reason, arguments);
    va_end(arguments);
    return import_fail(reader->error, result, 0, 0, "byte %zu: %s: %s", reader->begin, reader->name,
                       text);
}

void pickle_reader_init(struct pickle_reader *reader, const char *text, size_t length,
                        struct plain_tree *tree, struct import_error *error)
{
    *reader = (struct pickle_reader){
        .text = text, .length = length, .name = "", .tree = tree, .error = error};
}

void pickle_reader_deinit(struct pickle_reader *reader)
{
    free(reader->stack);
    free(reader->marks);
    free(reader->memo);
}

/* --- bytes --- */

enum import_result pickle_take(struct pickle_reader *reader, uint64_t count,
                               const unsigned char **bytes)
{
    if (count > reader->length - reader->at) {
        return pickle_fail(reader, IMPORT_INCOMPLETE,
                           "the file ends inside, after %zu bytes (a cut file?)", reader->length);
    }
    *bytes = (const unsigned char *)reader->text + reader->at;
    reader->at += (size_t)count;
    return IMPORT_OK;
}

enum import_result pickle_take_number(struct pickle_reader *reader, unsigned byte_count,
                                      uint64_t *number)
{
    const unsigned char *bytes = NULL;
    IMPORT_TRY(pickle_take(reader, byte_count, &bytes));
    *number = 0;
    for (unsigned i = 0; i < byte_count; i++) {
        *number |= (uint64_t)bytes[i] << (8 * i);
    }
    return IMPORT_OK;
}

/* --- the stack --- */

enum import_result pickle_push(struct pickle_reader *reader, struct plain_value value)
{
    if (reader->stack_count == PICKLE_STACK_MAX) {
        return pickle_fail(reader, IMPORT_INVALID, "more than %d values wait on the stack",
                           PICKLE_STACK_MAX);
    }
    reader->stack = array_grown(reader->stack, reader->stack_count, &reader->stack_room,
                                sizeof value);
    reader->stack[reader->stack_count++] = value;
    return IMPORT_OK;
}

void pickle_drop(struct pickle_reader *reader, size_t count)
{
    reader->stack_count -= count;
}

size_t pickle_above_mark(const struct pickle_reader *reader)
{
    return reader->stack_count -
           (reader->mark_count == 0 ? 0 : reader->marks[reader->mark_count - 1]);
}

enum import_result pickle_need(struct pickle_reader *reader, size_t count)
{
    if (pickle_above_mark(reader) < count) {
        return pickle_fail(reader, IMPORT_INVALID, "it needs %zu values, but there are %zu", count,
                           pickle_above_mark(reader));
    }
    return IMPORT_OK;
}

enum import_result pickle_mark(struct pickle_reader *reader)
{
    if (reader->mark_count == PICKLE_STACK_MAX) {
        return pickle_fail(reader, IMPORT_INVALID, "more than %d marks", PICKLE_STACK_MAX);
    }
    reader->marks = array_grown(reader->marks, reader->mark_count, &reader->mark_room,
                                sizeof *reader->marks);
    reader->marks[reader->mark_count++] = reader->stack_count;
    return IMPORT_OK;
}

enum import_result pickle_unmark(struct pickle_reader *reader, size_t *count)
{
    if (reader->mark_count == 0) {
        return pickle_fail(reader, IMPORT_INVALID, "there is no mark");
    }
    *count = pickle_above_mark(reader);
    reader->mark_count--;
    return IMPORT_OK;
}

/* --- containers --- */

static enum import_result fail_to_fill(struct pickle_reader *reader, enum plain_result result,
                                       struct plain_value box, struct plain_value refused)
{
    const struct plain_text *text = plain_text(reader->tree, refused);
    switch (result) {
    case PLAIN_DONE:
        break;
    case PLAIN_CLOSED:
        return pickle_fail(
            reader, IMPORT_INVALID,
            "it adds to a %s that is already used elsewhere and could come to contain itself",
            box.kind == PLAIN_LIST ? "list" : "dict");
    case PLAIN_TOO_DEEP:
        return pickle_fail(reader, IMPORT_INVALID, "containers are nested more than %d deep",
                           PLAIN_DEPTH_MAX);
    case PLAIN_NO_KEY:
        return pickle_fail(reader, IMPORT_INVALID, "a key of a dict is not a text");
    case PLAIN_KEY_TWICE:
        return pickle_fail(reader, IMPORT_INVALID, "the key '%.*s' is given twice",
                           text->length < 40 ? (int)text->length : 40, text->at);
    case PLAIN_TOO_MANY:
        return pickle_fail(reader, IMPORT_INVALID,
                           "more than 2^32 values, or a dict that is filled in more than %d steps",
                           PLAIN_STEPS_MAX);
    }
    return IMPORT_OK;
}

/* The topmost count values go into the box below them. */
static enum import_result fill_box(struct pickle_reader *reader, size_t count, enum plain_kind kind)
{
    enum import_result result = pickle_need(reader, count + 1);
    if (result != IMPORT_OK) {
        return result;
    }
    const struct plain_value *values = &reader->stack[reader->stack_count - count];
    const struct plain_value box = values[-1];
    size_t at = 0;
    if (box.kind != kind) {
        return pickle_fail(reader, IMPORT_INVALID, "there is no %s below its values",
                           kind == PLAIN_LIST ? "list" : "dict");
    }
    const enum plain_result filled = kind == PLAIN_LIST
                                         ? plain_fill_list(reader->tree, box, values, count, &at)
                                         : plain_fill_dict(reader->tree, box, values, count, &at);
    result = filled == PLAIN_DONE ? IMPORT_OK : fail_to_fill(reader, filled, box, values[at]);
    if (result == IMPORT_OK) {
        pickle_drop(reader, count);
    }
    return result;
}

enum import_result pickle_fill_list(struct pickle_reader *reader, size_t count)
{
    return fill_box(reader, count, PLAIN_LIST);
}

enum import_result pickle_fill_dict(struct pickle_reader *reader, size_t count)
{
    if (count % 2 != 0) {
        return pickle_fail(reader, IMPORT_INVALID, "a key without a value");
    }
    return fill_box(reader, count, PLAIN_DICT);
}

enum import_result pickle_gather(struct pickle_reader *reader, size_t count, enum plain_kind kind)
{
    const struct plain_value box = plain_make_box(reader->tree, kind);
    enum import_result result = pickle_need(reader, count);
    if (result == IMPORT_OK) {
        result = pickle_push(reader, box);
    }
    if (result != IMPORT_OK) {
        return result;
    }
    /* The box goes below its values. */
    struct plain_value *values = &reader->stack[reader->stack_count - 1 - count];
    memmove(values + 1, values, count * sizeof *values);
    values[0] = box;
    result = kind == PLAIN_LIST ? pickle_fill_list(reader, count) : pickle_fill_dict(reader, count);
    plain_close(reader->tree, box);
    return result;
}

/* --- the memo --- */

enum import_result pickle_memo_put(struct pickle_reader *reader, uint64_t index)
{
    IMPORT_TRY(pickle_need(reader, 1));
    if (index > reader->memo_count) {
        return pickle_fail(reader, IMPORT_INVALID,
                           "it sets memo %" PRIu64 ", but the next one is %zu", index,
                           reader->memo_count);
    }
    if (index == reader->memo_count) {
        reader->memo = array_grown(reader->memo, reader->memo_count, &reader->memo_room,
                                   sizeof *reader->memo);
        reader->memo_count++;
    }
    reader->memo[index] = reader->stack[reader->stack_count - 1];
    return IMPORT_OK;
}

enum import_result pickle_memo_get(struct pickle_reader *reader, uint64_t index)
{
    if (index >= reader->memo_count) {
        return pickle_fail(reader, IMPORT_INVALID,
                           "it reads memo %" PRIu64 ", but there are only %zu", index,
                           reader->memo_count);
    }
    plain_close(reader->tree, reader->memo[index]);
    return pickle_push(reader, reader->memo[index]);
}
