#include "formats/torch/private/pickle.h"

#include "formats/torch/private/pickle_reader.h"
#include "harness/base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef enum import_result opcode_run(struct pickle_reader *reader);

enum { OPCODE_PROTO = PICKLE_FIRST_BYTE, FRAME_LENGTH_BYTES = 8 };

static enum import_result run_proto(struct pickle_reader *reader)
{
    uint64_t version = 0;
    if (reader->begin != 0) {
        return pickle_fail(reader, IMPORT_INVALID, "a second pickle begins inside the first");
    }
    const enum import_result result = pickle_take_number(reader, 1, &version);
    if (result == IMPORT_OK && (version < PICKLE_PROTOCOL_MIN || version > PICKLE_PROTOCOL_MAX)) {
        return pickle_fail(reader, IMPORT_INVALID,
                           "protocol %u is not supported; accepted: %d to %d", (unsigned)version,
                           PICKLE_PROTOCOL_MIN, PICKLE_PROTOCOL_MAX);
    }
    return result;
}

/* Frames only help to read ahead, but one that is longer than the file says that the file was cut.
 */
static enum import_result run_frame(struct pickle_reader *reader)
{
    uint64_t length = 0;
    const enum import_result result = pickle_take_number(reader, FRAME_LENGTH_BYTES, &length);
    if (result == IMPORT_OK && length > reader->length - reader->at) {
        return pickle_fail(reader, IMPORT_INCOMPLETE,
                           "it has %" PRIu64 " bytes, but only %zu follow (a cut file?)", length,
                           reader->length - reader->at);
    }
    return result;
}

static enum import_result run_stop(struct pickle_reader *reader)
{
    if (reader->mark_count != 0 || reader->stack_count != 1) {
        return pickle_fail(reader, IMPORT_INVALID,
                           "%zu values and %zu marks are left where one value should be",
                           reader->stack_count, reader->mark_count);
    }
    if (reader->at != reader->length) {
        return pickle_fail(reader, IMPORT_INVALID, "%zu bytes follow the end",
                           reader->length - reader->at);
    }
    reader->is_ended = true;
    return IMPORT_OK;
}

static enum import_result run_pop(struct pickle_reader *reader)
{
    const enum import_result result = pickle_need(reader, 1);
    if (result == IMPORT_OK) {
        pickle_drop(reader, 1);
    }
    return result;
}

static enum import_result run_pop_mark(struct pickle_reader *reader)
{
    size_t count = 0;
    const enum import_result result = pickle_unmark(reader, &count);
    if (result == IMPORT_OK) {
        pickle_drop(reader, count);
    }
    return result;
}

/* --- numbers and texts --- */

static enum import_result run_none(struct pickle_reader *reader)
{
    return pickle_push(reader, plain_make(PLAIN_NULL));
}

static enum import_result run_true(struct pickle_reader *reader)
{
    return pickle_push(reader, plain_make(PLAIN_TRUE));
}

static enum import_result run_false(struct pickle_reader *reader)
{
    return pickle_push(reader, plain_make(PLAIN_FALSE));
}

static enum import_result push_unsigned(struct pickle_reader *reader, unsigned byte_count)
{
    uint64_t number = 0;
    IMPORT_TRY(pickle_take_number(reader, byte_count, &number));
    return pickle_push(reader, plain_make_number(reader->tree, (int64_t)number));
}

static enum import_result run_binint1(struct pickle_reader *reader)
{
    return push_unsigned(reader, 1);
}

static enum import_result run_binint2(struct pickle_reader *reader)
{
    return push_unsigned(reader, 2);
}

static enum import_result run_binint(struct pickle_reader *reader)
{
    uint64_t number = 0;
    IMPORT_TRY(pickle_take_number(reader, 4, &number));
    return pickle_push(reader, plain_make_number(reader->tree, (int32_t)number));
}

/* Two's complement of any length, the lowest byte first.  What has no sign may have 64 bits, and
 * has a ninth byte then. */
static enum import_result push_long(struct pickle_reader *reader, unsigned length_bytes)
{
    uint64_t length = 0;
    uint64_t number = 0;
    uint64_t sign = 0;
    enum import_result result = pickle_take_number(reader, length_bytes, &length);
    const bool is_wide = length == sizeof number + 1;
    if (result == IMPORT_OK && length > sizeof number && !is_wide) {
        return pickle_fail(reader, IMPORT_INVALID,
                           "an integer of %" PRIu64 " bytes; at most 64 bits are accepted", length);
    }
    if (result == IMPORT_OK) {
        result = pickle_take_number(reader, is_wide ? sizeof number : (unsigned)length, &number);
    }
    if (result == IMPORT_OK && is_wide) {
        result = pickle_take_number(reader, 1, &sign);
    }
    if (result != IMPORT_OK) {
        return result;
    }
    if (sign != 0) {
        return pickle_fail(reader, IMPORT_INVALID,
                           "an integer of 9 bytes; at most 64 bits are accepted");
    }
    if (is_wide) {
        return pickle_push(reader, plain_make_unsigned(reader->tree, number));
    }
    if (length > 0 && length < sizeof number && (number >> (8 * length - 1)) != 0) {
        number |= UINT64_MAX << (8 * length); /* the sign */
    }
    return pickle_push(reader, plain_make_number(reader->tree, (int64_t)number));
}

static enum import_result run_long1(struct pickle_reader *reader)
{
    return push_long(reader, 1);
}

static enum import_result run_long4(struct pickle_reader *reader)
{
    return push_long(reader, 4);
}

static enum import_result run_binfloat(struct pickle_reader *reader)
{
    const unsigned char *bytes = NULL;
    uint64_t bits = 0;
    double number = 0;
    IMPORT_TRY(pickle_take(reader, sizeof bits, &bytes));
    for (size_t i = 0; i < sizeof bits; i++) {
        bits = bits << 8 | bytes[i];
    }
    memcpy(&number, &bits, sizeof number);
    return pickle_push(reader, isfinite(number) ? plain_make_real(reader->tree, number)
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

static enum import_result push_text(struct pickle_reader *reader, unsigned length_bytes)
{
    uint64_t length = 0;
    const unsigned char *bytes = NULL;
    IMPORT_TRY(pickle_take_number(reader, length_bytes, &length));
    IMPORT_TRY(pickle_take(reader, length, &bytes));
    if (memchr(bytes, '\0', (size_t)length) != NULL) {
        return pickle_fail(reader, IMPORT_INVALID, "a text with a NUL in it");
    }
    if (length > UINT32_MAX) {
        return pickle_fail(reader, IMPORT_INVALID, "a text of more than 2^32 bytes");
    }
    if (!is_utf8((const char *)bytes, (size_t)length)) {
        return pickle_fail(reader, IMPORT_INVALID, "a text that is not UTF-8");
    }
    return pickle_push(reader, plain_make_text(reader->tree, (const char *)bytes, (size_t)length));
}

static enum import_result run_short_binunicode(struct pickle_reader *reader)
{
    return push_text(reader, 1);
}

static enum import_result run_binunicode(struct pickle_reader *reader)
{
    return push_text(reader, 4);
}

static enum import_result run_binunicode8(struct pickle_reader *reader)
{
    return push_text(reader, 8);
}

/* --- containers --- */

static enum import_result run_empty_list(struct pickle_reader *reader)
{
    return pickle_push(reader, plain_make_box(reader->tree, PLAIN_LIST));
}

static enum import_result run_empty_dict(struct pickle_reader *reader)
{
    return pickle_push(reader, plain_make_box(reader->tree, PLAIN_DICT));
}

static enum import_result run_empty_tuple(struct pickle_reader *reader)
{
    return pickle_gather(reader, 0, PLAIN_LIST);
}

static enum import_result run_tuple1(struct pickle_reader *reader)
{
    return pickle_gather(reader, 1, PLAIN_LIST);
}

static enum import_result run_tuple2(struct pickle_reader *reader)
{
    return pickle_gather(reader, 2, PLAIN_LIST);
}

static enum import_result run_tuple3(struct pickle_reader *reader)
{
    return pickle_gather(reader, 3, PLAIN_LIST);
}

/* TUPLE and LIST: one or the other is told apart by nothing that comes out. */
static enum import_result run_list(struct pickle_reader *reader)
{
    size_t count = 0;
    IMPORT_TRY(pickle_unmark(reader, &count));
    return pickle_gather(reader, count, PLAIN_LIST);
}

static enum import_result run_dict(struct pickle_reader *reader)
{
    size_t count = 0;
    IMPORT_TRY(pickle_unmark(reader, &count));
    return pickle_gather(reader, count, PLAIN_DICT);
}

static enum import_result run_append(struct pickle_reader *reader)
{
    return pickle_fill_list(reader, 1);
}

static enum import_result run_appends(struct pickle_reader *reader)
{
    size_t count = 0;
    IMPORT_TRY(pickle_unmark(reader, &count));
    return pickle_fill_list(reader, count);
}

static enum import_result run_setitem(struct pickle_reader *reader)
{
    return pickle_fill_dict(reader, 2);
}

static enum import_result run_setitems(struct pickle_reader *reader)
{
    size_t count = 0;
    IMPORT_TRY(pickle_unmark(reader, &count));
    return pickle_fill_dict(reader, count);
}

/* --- the memo --- */

static enum import_result run_memoize(struct pickle_reader *reader)
{
    return pickle_memo_put(reader, reader->memo_count);
}

static enum import_result put_memo(struct pickle_reader *reader, unsigned index_bytes)
{
    uint64_t index = 0;
    IMPORT_TRY(pickle_take_number(reader, index_bytes, &index));
    return pickle_memo_put(reader, index);
}

static enum import_result get_memo(struct pickle_reader *reader, unsigned index_bytes)
{
    uint64_t index = 0;
    IMPORT_TRY(pickle_take_number(reader, index_bytes, &index));
    return pickle_memo_get(reader, index);
}

static enum import_result run_binput(struct pickle_reader *reader)
{
    return put_memo(reader, 1);
}

static enum import_result run_long_binput(struct pickle_reader *reader)
{
    return put_memo(reader, 4);
}

static enum import_result run_binget(struct pickle_reader *reader)
{
    return get_memo(reader, 1);
}

static enum import_result run_long_binget(struct pickle_reader *reader)
{
    return get_memo(reader, 4);
}

/* --- the table --- */

/* By opcode, with the names of Python's pickletools; run == NULL: refused. */
static const struct opcode {
    const char *name;
    opcode_run *run;
} opcodes[256] = {
    [OPCODE_PROTO] = {"PROTO", run_proto},
    [0x95] = {"FRAME", run_frame},
    ['.'] = {"STOP", run_stop},
    ['('] = {"MARK", pickle_mark},
    ['0'] = {"POP", run_pop},
    ['1'] = {"POP_MARK", run_pop_mark},
    ['N'] = {"NONE", run_none},
    [0x88] = {"NEWTRUE", run_true},
    [0x89] = {"NEWFALSE", run_false},
    ['J'] = {"BININT", run_binint},
    ['K'] = {"BININT1", run_binint1},
    ['M'] = {"BININT2", run_binint2},
    [0x8A] = {"LONG1", run_long1},
    [0x8B] = {"LONG4", run_long4},
    ['G'] = {"BINFLOAT", run_binfloat},
    [0x8C] = {"SHORT_BINUNICODE", run_short_binunicode},
    ['X'] = {"BINUNICODE", run_binunicode},
    [0x8D] = {"BINUNICODE8", run_binunicode8},
    [']'] = {"EMPTY_LIST", run_empty_list},
    ['}'] = {"EMPTY_DICT", run_empty_dict},
    [')'] = {"EMPTY_TUPLE", run_empty_tuple},
    [0x85] = {"TUPLE1", run_tuple1},
    [0x86] = {"TUPLE2", run_tuple2},
    [0x87] = {"TUPLE3", run_tuple3},
    ['t'] = {"TUPLE", run_list},
    ['l'] = {"LIST", run_list},
    ['d'] = {"DICT", run_dict},
    ['a'] = {"APPEND", run_append},
    ['e'] = {"APPENDS", run_appends},
    ['s'] = {"SETITEM", run_setitem},
    ['u'] = {"SETITEMS", run_setitems},
    [0x94] = {"MEMOIZE", run_memoize},
    ['q'] = {"BINPUT", run_binput},
    ['r'] = {"LONG_BINPUT", run_long_binput},
    ['h'] = {"BINGET", run_binget},
    ['j'] = {"LONG_BINGET", run_long_binget},
    /* What names, calls or builds something: */
    ['c'] = {"GLOBAL", NULL},
    [0x93] = {"STACK_GLOBAL", NULL},
    ['R'] = {"REDUCE", NULL},
    ['b'] = {"BUILD", NULL},
    ['i'] = {"INST", NULL},
    ['o'] = {"OBJ", NULL},
    [0x81] = {"NEWOBJ", NULL},
    [0x92] = {"NEWOBJ_EX", NULL},
    [0x82] = {"EXT1", NULL},
    [0x83] = {"EXT2", NULL},
    [0x84] = {"EXT4", NULL},
    ['P'] = {"PERSID", NULL},
    ['Q'] = {"BINPERSID", NULL},
    /* Types that no snapshot has, and the spellings of protocols 0 and 1: */
    ['2'] = {"DUP", NULL},
    ['I'] = {"INT", NULL},
    ['L'] = {"LONG", NULL},
    ['F'] = {"FLOAT", NULL},
    ['S'] = {"STRING", NULL},
    ['T'] = {"BINSTRING", NULL},
    ['U'] = {"SHORT_BINSTRING", NULL},
    ['V'] = {"UNICODE", NULL},
    ['p'] = {"PUT", NULL},
    ['g'] = {"GET", NULL},
    ['B'] = {"BINBYTES", NULL},
    ['C'] = {"SHORT_BINBYTES", NULL},
    [0x8E] = {"BINBYTES8", NULL},
    [0x8F] = {"EMPTY_SET", NULL},
    [0x90] = {"ADDITEMS", NULL},
    [0x91] = {"FROZENSET", NULL},
    [0x96] = {"BYTEARRAY8", NULL},
    [0x97] = {"NEXT_BUFFER", NULL},
    [0x98] = {"READONLY_BUFFER", NULL},
};

static enum import_result run_next(struct pickle_reader *reader)
{
    reader->begin = reader->at;
    reader->name = "the end";
    if (reader->at == reader->length) {
        return pickle_fail(reader, IMPORT_INCOMPLETE,
                           "the file ends before the pickle does (a cut file?)");
    }
    const unsigned char code = (unsigned char)reader->text[reader->at++];
    const struct opcode *opcode = &opcodes[code];
    reader->name = opcode->name != NULL ? opcode->name : "unknown opcode";
    if (opcode->name == NULL) {
        return pickle_fail(reader, IMPORT_INVALID, "0x%02x", code);
    }
    if (reader->begin == 0 && code != OPCODE_PROTO) {
        return pickle_fail(reader, IMPORT_INVALID,
                           "a pickle of protocol %d to %d must begin with PROTO",
                           PICKLE_PROTOCOL_MIN, PICKLE_PROTOCOL_MAX);
    }
    if (opcode->run == NULL) {
        return pickle_fail(
            reader, IMPORT_INVALID,
            "refused: a memory snapshot has only plain data, and hbmstress executes nothing from a pickle");
    }
    return opcode->run(reader);
}

enum import_result pickle_read(const char *text, size_t length, struct plain_tree *tree,
                               struct plain_value *root, struct import_error *error)
{
    struct pickle_reader reader;
    enum import_result result = IMPORT_OK;
    pickle_reader_init(&reader, text, length, tree, error);
    while (result == IMPORT_OK && !reader.is_ended) {
        result = run_next(&reader);
    }
    if (result == IMPORT_OK) {
        *root = reader.stack[0];
    }
    pickle_reader_deinit(&reader);
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
