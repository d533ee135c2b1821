/* A pickle as its pickler left it: opcodes that work on a stack, its marks and a memo, while the
 * tree grows. */
#include "formats/torch/private/plain.h"

#include "harness/base/array.h"
#include "harness/base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { OPCODE_PROTO = PICKLE_FIRST_BYTE, FRAME_LENGTH_BYTES = 8 };

struct pickle_reader {
    const char *text;
    size_t length;
    size_t at;         /* the next byte */
    size_t begin;      /* the opcode that runs */
    const char *name;  /* of it */
    unsigned argument; /* of its row in the table */
    bool is_ended;
    struct plain_tree *tree;
    struct plain_value *stack;
    size_t stack_count, stack_room;
    size_t *marks; /* heights of the stack; what is below the last one is out of reach */
    size_t mark_count, mark_room;
    struct plain_value *memo;
    size_t memo_count, memo_room;
    struct import_error *error;
};

/* "byte N: NAME: reason". */
static enum import_result __attribute__((format(printf, 3, 4)))
fail_here(struct pickle_reader *reader, enum import_result result, const char *reason, ...)
{
    char text[IMPORT_REASON_BYTES / 2];
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(text, sizeof text, reason, arguments);
    va_end(arguments);
    return import_fail(reader->error, result, 0, 0, "byte %zu: %s: %s", reader->begin, reader->name,
                       text);
}

#define REFUSE(reader, ...) fail_here(reader, IMPORT_INVALID, __VA_ARGS__)

/* --- bytes --- */

static enum import_result take_bytes(struct pickle_reader *reader, uint64_t count,
                                     const unsigned char **bytes)
{
    if (count > reader->length - reader->at) {
        return fail_here(reader, IMPORT_INCOMPLETE,
                         "the file ends inside, after %zu bytes (a cut file?)", reader->length);
    }
    *bytes = (const unsigned char *)reader->text + reader->at;
    reader->at += (size_t)count;
    return IMPORT_OK;
}

/* An unsigned number of 1 to 8 bytes, the lowest first. */
static enum import_result take_number(struct pickle_reader *reader, unsigned byte_count,
                                      uint64_t *number)
{
    const unsigned char *bytes = NULL;
    IMPORT_TRY(take_bytes(reader, byte_count, &bytes));
    *number = 0;
    for (unsigned i = 0; i < byte_count; i++) {
        *number |= (uint64_t)bytes[i] << (8 * i);
    }
    return IMPORT_OK;
}

/* --- the stack --- */

static enum import_result push_value(struct pickle_reader *reader, struct plain_value value)
{
    if (reader->stack_count == PICKLE_STACK_MAX) {
        return REFUSE(reader, "more than %d values wait on the stack", PICKLE_STACK_MAX);
    }
    ARRAY_ADD(reader->stack, reader->stack_count, reader->stack_room) = value;
    return IMPORT_OK;
}

/* Counts the values above the last mark, or on the stack when there is none. */
static size_t count_above_mark(const struct pickle_reader *reader)
{
    return reader->stack_count -
           (reader->mark_count == 0 ? 0 : reader->marks[reader->mark_count - 1]);
}

static enum import_result need_values(struct pickle_reader *reader, size_t count)
{
    if (count_above_mark(reader) < count) {
        return REFUSE(reader, "it needs %zu values, but there are %zu", count,
                      count_above_mark(reader));
    }
    return IMPORT_OK;
}

static enum import_result run_mark(struct pickle_reader *reader)
{
    if (reader->mark_count == PICKLE_STACK_MAX) {
        return REFUSE(reader, "more than %d marks", PICKLE_STACK_MAX);
    }
    ARRAY_ADD(reader->marks, reader->mark_count, reader->mark_room) = reader->stack_count;
    return IMPORT_OK;
}

/* Takes the last mark away; *count: the values above it. */
static enum import_result take_mark(struct pickle_reader *reader, size_t *count)
{
    if (reader->mark_count == 0) {
        return REFUSE(reader, "there is no mark");
    }
    *count = count_above_mark(reader);
    reader->mark_count--;
    return IMPORT_OK;
}

/* argument: how many values; 0: those above the last mark, and the mark. */
static enum import_result run_pop(struct pickle_reader *reader)
{
    size_t count = reader->argument;
    IMPORT_TRY(count == 0 ? take_mark(reader, &count) : need_values(reader, count));
    reader->stack_count -= count;
    return IMPORT_OK;
}

/* --- the file --- */

static enum import_result run_proto(struct pickle_reader *reader)
{
    uint64_t version = 0;
    if (reader->begin != 0) {
        return REFUSE(reader, "a second pickle begins inside the first");
    }
    IMPORT_TRY(take_number(reader, 1, &version));
    if (version < PICKLE_PROTOCOL_MIN || version > PICKLE_PROTOCOL_MAX) {
        return REFUSE(reader, "protocol %u is not supported; accepted: %d to %d", (unsigned)version,
                      PICKLE_PROTOCOL_MIN, PICKLE_PROTOCOL_MAX);
    }
    return IMPORT_OK;
}

/* Frames only help to read ahead, but one that is longer than the file says that the file was cut.
 */
static enum import_result run_frame(struct pickle_reader *reader)
{
    uint64_t length = 0;
    IMPORT_TRY(take_number(reader, FRAME_LENGTH_BYTES, &length));
    if (length > reader->length - reader->at) {
        return fail_here(reader, IMPORT_INCOMPLETE,
                         "it has %" PRIu64 " bytes, but only %zu follow (a cut file?)", length,
                         reader->length - reader->at);
    }
    return IMPORT_OK;
}

static enum import_result run_stop(struct pickle_reader *reader)
{
    if (reader->mark_count != 0 || reader->stack_count != 1) {
        return REFUSE(reader, "%zu values and %zu marks are left where one value should be",
                      reader->stack_count, reader->mark_count);
    }
    if (reader->at != reader->length) {
        return REFUSE(reader, "%zu bytes follow the end", reader->length - reader->at);
    }
    reader->is_ended = true;
    return IMPORT_OK;
}

/* --- numbers and texts --- */

/* argument: the kind of a value that has no more to say. */
static enum import_result run_constant(struct pickle_reader *reader)
{
    return push_value(reader, plain_make((enum plain_kind)reader->argument));
}

/* argument: how many bytes; four have a sign. */
static enum import_result run_number(struct pickle_reader *reader)
{
    uint64_t number = 0;
    IMPORT_TRY(take_number(reader, reader->argument, &number));
    return push_value(
        reader,
        plain_make_number(reader->tree, reader->argument == 4 ? (int32_t)number : (int64_t)number));
}

/* Two's complement of any length, the lowest byte first.  What has no sign may have 64 bits, and
 * has a ninth byte then.  argument: the bytes of its length. */
static enum import_result run_long(struct pickle_reader *reader)
{
    uint64_t length = 0, number = 0, sign = 0;
    IMPORT_TRY(take_number(reader, reader->argument, &length));
    const bool is_wide = length == sizeof number + 1;
    if (length > sizeof number && !is_wide) {
        return REFUSE(reader, "an integer of %" PRIu64 " bytes; at most 64 bits are accepted",
                      length);
    }
    IMPORT_TRY(take_number(reader, is_wide ? sizeof number : (unsigned)length, &number));
    if (is_wide) {
        IMPORT_TRY(take_number(reader, 1, &sign));
    }
    if (sign != 0) {
        return REFUSE(reader, "an integer of 9 bytes; at most 64 bits are accepted");
    }
    if (is_wide) {
        return push_value(reader, plain_make_unsigned(reader->tree, number));
    }
    if (length > 0 && length < sizeof number && (number >> (8 * length - 1)) != 0) {
        number |= UINT64_MAX << (8 * length); /* the sign */
    }
    return push_value(reader, plain_make_number(reader->tree, (int64_t)number));
}

static enum import_result run_float(struct pickle_reader *reader)
{
    const unsigned char *bytes = NULL;
    uint64_t bits = 0;
    double number = 0;
    IMPORT_TRY(take_bytes(reader, sizeof bits, &bytes));
    for (size_t i = 0; i < sizeof bits; i++) {
        bits = bits << 8 | bytes[i];
    }
    memcpy(&number, &bits, sizeof number);
    return push_value(reader, isfinite(number) ? plain_make_real(reader->tree, number)
                                               : plain_make(PLAIN_NULL));
}

static bool is_utf8(const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        char character[5] = {0};
        uint32_t point = 0;
        if ((unsigned char)text[i] < 0x80) {
            i++;
            continue;
        }
        memcpy(character, text + i, length - i < 4 ? length - i : 4);
        const size_t bytes = utf8_decode(character, &point);
        if (bytes == 0) {
            return false;
        }
        i += bytes;
    }
    return true;
}

/* argument: the bytes of its length. */
static enum import_result run_text(struct pickle_reader *reader)
{
    uint64_t length = 0;
    const unsigned char *bytes = NULL;
    IMPORT_TRY(take_number(reader, reader->argument, &length));
    IMPORT_TRY(take_bytes(reader, length, &bytes));
    const char *text = (const char *)bytes;
    if (memchr(text, '\0', (size_t)length) != NULL) {
        return REFUSE(reader, "a text with a NUL in it");
    }
    if (length > UINT32_MAX) {
        return REFUSE(reader, "a text of more than 2^32 bytes");
    }
    return !is_utf8(text, (size_t)length)
               ? REFUSE(reader, "a text that is not UTF-8")
               : push_value(reader, plain_make_text(reader->tree, text, (size_t)length));
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
        return REFUSE(
            reader,
            "it adds to a %s that is already used elsewhere and could come to contain itself",
            box.kind == PLAIN_LIST ? "list" : "dict");
    case PLAIN_TOO_DEEP:
        return REFUSE(reader, "containers are nested more than %d deep", PLAIN_DEPTH_MAX);
    case PLAIN_NO_KEY:
        return REFUSE(reader, "a key of a dict is not a text");
    case PLAIN_KEY_TWICE:
        return REFUSE(reader, "the key '%.*s' is given twice",
                      text->length < 40 ? (int)text->length : 40, text->at);
    case PLAIN_TOO_MANY:
        return REFUSE(reader,
                      "more than 2^32 values, or a dict that is filled in more than %d steps",
                      PLAIN_STEPS_MAX);
    }
    return IMPORT_OK;
}

/* The topmost count values go into the box right below them, a list or a dict (keys and values in
 * turn), and off the stack. */
static enum import_result fill_box(struct pickle_reader *reader, size_t count, enum plain_kind kind)
{
    size_t at = 0;
    if (kind == PLAIN_DICT && count % 2 != 0) {
        return REFUSE(reader, "a key without a value");
    }
    IMPORT_TRY(need_values(reader, count + 1));
    const struct plain_value *values = &reader->stack[reader->stack_count - count];
    const struct plain_value box = values[-1];
    if (box.kind != kind) {
        return REFUSE(reader, "there is no %s below its values",
                      kind == PLAIN_LIST ? "list" : "dict");
    }
    const enum plain_result filled = kind == PLAIN_LIST
                                         ? plain_fill_list(reader->tree, box, values, count, &at)
                                         : plain_fill_dict(reader->tree, box, values, count, &at);
    if (filled != PLAIN_DONE) {
        return fail_to_fill(reader, filled, box, values[at]);
    }
    reader->stack_count -= count;
    return IMPORT_OK;
}

/* The topmost count values become one list, tuple or dict in their place, which is closed: the
 * pickler adds nothing to it. */
static enum import_result gather_values(struct pickle_reader *reader, size_t count,
                                        enum plain_kind kind)
{
    const struct plain_value box = plain_make_box(reader->tree, kind);
    IMPORT_TRY(need_values(reader, count));
    IMPORT_TRY(push_value(reader, box));
    /* The box goes below its values. */
    struct plain_value *values = &reader->stack[reader->stack_count - 1 - count];
    memmove(values + 1, values, count * sizeof *values);
    values[0] = box;
    const enum import_result result = fill_box(reader, count, kind);
    plain_close(reader->tree, box);
    return result;
}

/* argument: the kind of box. */
static enum import_result run_empty_box(struct pickle_reader *reader)
{
    return push_value(reader, plain_make_box(reader->tree, (enum plain_kind)reader->argument));
}

/* argument: how many values. */
static enum import_result run_tuple(struct pickle_reader *reader)
{
    return gather_values(reader, reader->argument, PLAIN_LIST);
}

/* Gathers the values above the mark, as a TUPLE or a LIST.  Nothing that comes out tells one from
 * the other. */
static enum import_result run_gather(struct pickle_reader *reader)
{
    size_t count = 0;
    IMPORT_TRY(take_mark(reader, &count));
    return gather_values(reader, count, (enum plain_kind)reader->argument);
}

static enum import_result run_append(struct pickle_reader *reader)
{
    return fill_box(reader, reader->argument == PLAIN_LIST ? 1 : 2,
                    (enum plain_kind)reader->argument);
}

static enum import_result run_appends(struct pickle_reader *reader)
{
    size_t count = 0;
    IMPORT_TRY(take_mark(reader, &count));
    return fill_box(reader, count, (enum plain_kind)reader->argument);
}

/* --- the memo --- */

/* argument: the bytes of the number under which the topmost value is kept; 0: the next one. */
static enum import_result run_put(struct pickle_reader *reader)
{
    uint64_t index = reader->memo_count;
    if (reader->argument > 0) {
        IMPORT_TRY(take_number(reader, reader->argument, &index));
    }
    IMPORT_TRY(need_values(reader, 1));
    if (index > reader->memo_count) {
        return REFUSE(reader, "it sets memo %" PRIu64 ", but the next one is %zu", index,
                      reader->memo_count);
    }
    if (index == reader->memo_count) {
        ARRAY_ADD(reader->memo, reader->memo_count, reader->memo_room) = (struct plain_value){0};
    }
    reader->memo[index] = reader->stack[reader->stack_count - 1];
    return IMPORT_OK;
}

/* It is on the stack once more, and closed. */
static enum import_result run_get(struct pickle_reader *reader)
{
    uint64_t index = 0;
    IMPORT_TRY(take_number(reader, reader->argument, &index));
    if (index >= reader->memo_count) {
        return REFUSE(reader, "it reads memo %" PRIu64 ", but there are only %zu", index,
                      reader->memo_count);
    }
    plain_close(reader->tree, reader->memo[index]);
    return push_value(reader, reader->memo[index]);
}

/* --- the table --- */

/* By opcode, with the names of Python's pickletools; run == NULL: refused. */
static const struct opcode {
    const char *name;
    enum import_result (*run)(struct pickle_reader *reader);
    unsigned argument;
} opcodes[256] = {
    [OPCODE_PROTO] = {"PROTO", run_proto, 0},
    [0x95] = {"FRAME", run_frame, 0},
    ['.'] = {"STOP", run_stop, 0},
    ['('] = {"MARK", run_mark, 0},
    ['0'] = {"POP", run_pop, 1},
    ['1'] = {"POP_MARK", run_pop, 0},
    ['N'] = {"NONE", run_constant, PLAIN_NULL},
    [0x88] = {"NEWTRUE", run_constant, PLAIN_TRUE},
    [0x89] = {"NEWFALSE", run_constant, PLAIN_FALSE},
    ['J'] = {"BININT", run_number, 4},
    ['K'] = {"BININT1", run_number, 1},
    ['M'] = {"BININT2", run_number, 2},
    [0x8A] = {"LONG1", run_long, 1},
    [0x8B] = {"LONG4", run_long, 4},
    ['G'] = {"BINFLOAT", run_float, 0},
    [0x8C] = {"SHORT_BINUNICODE", run_text, 1},
    ['X'] = {"BINUNICODE", run_text, 4},
    [0x8D] = {"BINUNICODE8", run_text, 8},
    [']'] = {"EMPTY_LIST", run_empty_box, PLAIN_LIST},
    ['}'] = {"EMPTY_DICT", run_empty_box, PLAIN_DICT},
    [')'] = {"EMPTY_TUPLE", run_tuple, 0},
    [0x85] = {"TUPLE1", run_tuple, 1},
    [0x86] = {"TUPLE2", run_tuple, 2},
    [0x87] = {"TUPLE3", run_tuple, 3},
    ['t'] = {"TUPLE", run_gather, PLAIN_LIST},
    ['l'] = {"LIST", run_gather, PLAIN_LIST},
    ['d'] = {"DICT", run_gather, PLAIN_DICT},
    ['a'] = {"APPEND", run_append, PLAIN_LIST},
    ['e'] = {"APPENDS", run_appends, PLAIN_LIST},
    ['s'] = {"SETITEM", run_append, PLAIN_DICT},
    ['u'] = {"SETITEMS", run_appends, PLAIN_DICT},
    [0x94] = {"MEMOIZE", run_put, 0},
    ['q'] = {"BINPUT", run_put, 1},
    ['r'] = {"LONG_BINPUT", run_put, 4},
    ['h'] = {"BINGET", run_get, 1},
    ['j'] = {"LONG_BINGET", run_get, 4},
    /* These opcodes name, call or build something: */
    ['c'] = {"GLOBAL", NULL, 0},
    [0x93] = {"STACK_GLOBAL", NULL, 0},
    ['R'] = {"REDUCE", NULL, 0},
    ['b'] = {"BUILD", NULL, 0},
    ['i'] = {"INST", NULL, 0},
    ['o'] = {"OBJ", NULL, 0},
    [0x81] = {"NEWOBJ", NULL, 0},
    [0x92] = {"NEWOBJ_EX", NULL, 0},
    [0x82] = {"EXT1", NULL, 0},
    [0x83] = {"EXT2", NULL, 0},
    [0x84] = {"EXT4", NULL, 0},
    ['P'] = {"PERSID", NULL, 0},
    ['Q'] = {"BINPERSID", NULL, 0},
    /* Types that no snapshot has, and the spellings of protocols 0 and 1: */
    ['2'] = {"DUP", NULL, 0},
    ['I'] = {"INT", NULL, 0},
    ['L'] = {"LONG", NULL, 0},
    ['F'] = {"FLOAT", NULL, 0},
    ['S'] = {"STRING", NULL, 0},
    ['T'] = {"BINSTRING", NULL, 0},
    ['U'] = {"SHORT_BINSTRING", NULL, 0},
    ['V'] = {"UNICODE", NULL, 0},
    ['p'] = {"PUT", NULL, 0},
    ['g'] = {"GET", NULL, 0},
    ['B'] = {"BINBYTES", NULL, 0},
    ['C'] = {"SHORT_BINBYTES", NULL, 0},
    [0x8E] = {"BINBYTES8", NULL, 0},
    [0x8F] = {"EMPTY_SET", NULL, 0},
    [0x90] = {"ADDITEMS", NULL, 0},
    [0x91] = {"FROZENSET", NULL, 0},
    [0x96] = {"BYTEARRAY8", NULL, 0},
    [0x97] = {"NEXT_BUFFER", NULL, 0},
    [0x98] = {"READONLY_BUFFER", NULL, 0},
};

static enum import_result run_next(struct pickle_reader *reader)
{
    reader->begin = reader->at;
    reader->name = "the end";
    if (reader->at == reader->length) {
        return fail_here(reader, IMPORT_INCOMPLETE,
                         "the file ends before the pickle does (a cut file?)");
    }
    const unsigned char code = (unsigned char)reader->text[reader->at++];
    const struct opcode *opcode = &opcodes[code];
    reader->name = opcode->name != NULL ? opcode->name : "unknown opcode";
    if (opcode->name == NULL) {
        return REFUSE(reader, "0x%02x", code);
    }
    if (reader->begin == 0 && code != OPCODE_PROTO) {
        return REFUSE(reader, "a pickle of protocol %d to %d must begin with PROTO",
                      PICKLE_PROTOCOL_MIN, PICKLE_PROTOCOL_MAX);
    }
    if (opcode->run == NULL) {
        return REFUSE(
            reader,
            "refused: a memory snapshot has only plain data, and hbmstress executes nothing from a pickle");
    }
    reader->argument = opcode->argument;
    return opcode->run(reader);
}

enum import_result pickle_read(const char *text, size_t length, struct plain_tree *tree,
                               struct plain_value *root, struct import_error *error)
{
    struct pickle_reader reader = {
        .text = text, .length = length, .name = "", .tree = tree, .error = error};
    enum import_result result = IMPORT_OK;
    while (result == IMPORT_OK && !reader.is_ended) {
        result = run_next(&reader);
    }
    if (result == IMPORT_OK) {
        *root = reader.stack[0];
    }
    free(reader.stack);
    free(reader.marks);
    free(reader.memo);
    return result;
}

bool pickle_recognise(const char *text, size_t length)
{
    if (length < 3 || (unsigned char)text[0] != OPCODE_PROTO || text[1] < PICKLE_PROTOCOL_MIN ||
        text[1] > PICKLE_PROTOCOL_MAX) {
        return false;
    }
    return opcodes[(unsigned char)text[2]].name != NULL;
}
