/* Pickles: numbers of 64 bits, what is shared, bounds, every opcode, cuts and damage.  Values and
 * refusals are in tests/snap/formats_pickle.snap. */
#include "formats/torch/private/plain.h"
#include "harness/base/random.h"
#include "tests/formats/plain_json.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct import_error error;
static struct plain_tree tree;
static struct plain_value root;

/* A string literal with NULs in it, without the last one. */
#define READ(bytes) read_pickle(bytes, sizeof(bytes) - 1)

static enum import_result read_pickle(const char *bytes, size_t length)
{
    plain_deinit(&tree);
    root = plain_make(PLAIN_NOTHING);
    error = (struct import_error){0};
    const enum import_result result = pickle_read(bytes, length, &tree, &root, &error);
    if (result != IMPORT_OK) {
        ck_assert_int_eq(root.kind, PLAIN_NOTHING);
        ck_assert_str_ne(error.reason, "");
    }
    return result;
}

static void teardown_root(void)
{
    plain_deinit(&tree);
}

static void assert_value(enum import_result result, const char *json)
{
    ck_assert_msg(result == IMPORT_OK, "%s", error.reason);
    json_t *read = plain_json(&tree, root);
    char *text = json_dumps(read, JSON_COMPACT | JSON_ENCODE_ANY);
    ck_assert_str_eq(text, json);
    free(text);
    json_decref(read);
}

static void assert_refused(enum import_result result, const char *reason)
{
    ck_assert_int_eq(result, IMPORT_INVALID);
    ck_assert_msg(strstr(error.reason, reason) != NULL, "'%s' is not in '%s'", reason,
                  error.reason);
}

/* --- values --- */

EVERY_TEST(.teardown = teardown_root);

TEST(what_the_memo_shares_is_one_value)
{
    assert_value(READ("\x80\x04](}\x94\x8c\x01"
                      "aK\x01sh\x00h\x00"
                      "e."),
                 "[{\"a\":1},{\"a\":1},{\"a\":1}]");
    ck_assert_uint_eq(plain_at(&tree, root, 0).payload, plain_at(&tree, root, 2).payload);
}

/* 2^64 - 1 has no sign, and nine bytes. */
TEST(numbers_of_64_bits_are_read_with_and_without_a_sign)
{
    static const struct {
        const char *bytes;
        uint64_t number;
        bool is_negative;
    } numbers[] = {
        {"\x80\x04\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00.", UINT64_MAX, false},
        {"\x80\x04\x8a\x09\xfe\xff\xff\xff\xff\xff\xff\xff\x00.", UINT64_MAX - 1, false},
        {"\x80\x04\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f.", INT64_MAX, false},
        {"\x80\x04\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x0f.", (UINT64_C(1) << 60) - 1, false},
        {"\x80\x04\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x07.", (UINT64_C(1) << 59) - 1, false},
        {"\x80\x04\x8a\x08\xff\xff\xff\xff\xff\xff\xff\xff.", UINT64_MAX, true},
        {"\x80\x04\x8a\x08\xff\xff\xff\xff\xff\xff\xff\xf7.", ~(UINT64_C(1) << 59), true},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const size_t length = 4 + (size_t)numbers[i].bytes[3] + 1;
        ck_assert_msg(read_pickle(numbers[i].bytes, length) == IMPORT_OK, "%s", error.reason);
        ck_assert(plain_is_number(root));
        ck_assert_uint_eq(plain_number(&tree, root), numbers[i].number);
        ck_assert(plain_is_negative(root) == numbers[i].is_negative);
    }
}

/* Their values move as they grow, one after the other and between each other. */
TEST(long_lists_and_dicts_keep_all_their_values)
{
    enum { COUNT = 3000 };
    char *bytes = malloc(64 * COUNT);
    size_t length = 0;
    ck_assert_ptr_nonnull(bytes);
    memcpy(bytes, "\x80\x04]\x94", 4);
    length = 4;
    for (int i = 0; i < COUNT; i++) {
        length += (size_t)sprintf(bytes + length, "(}(\x8c\x04%04dM%c%cuM%c%ce", i, i & 0xFF,
                                  i >> 8, i & 0xFF, i >> 8);
    }
    bytes[length++] = '.';
    ck_assert_msg(read_pickle(bytes, length) == IMPORT_OK, "%s", error.reason);
    ck_assert_uint_eq(plain_count(&tree, root), 2 * COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        const struct plain_value dict = plain_at(&tree, root, 2 * i);
        char key[8];
        (void)snprintf(key, sizeof key, "%04zu", i);
        ck_assert_uint_eq(plain_number(&tree, plain_get(&tree, dict, key)), i);
        ck_assert_uint_eq(plain_number(&tree, plain_at(&tree, root, 2 * i + 1)), i);
    }
    free(bytes);
}

/* --- what is refused --- */

TEST(what_could_execute_something_is_refused_by_name_and_offset)
{
    static const struct {
        unsigned char code;
        const char *name;
    } refused[] = {
        {'c', "GLOBAL"},     {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},       {'b', "BUILD"},
        {'i', "INST"},       {'o', "OBJ"},           {0x81, "NEWOBJ"},      {0x92, "NEWOBJ_EX"},
        {0x82, "EXT1"},      {0x83, "EXT2"},         {0x84, "EXT4"},        {'P', "PERSID"},
        {'Q', "BINPERSID"},  {'2', "DUP"},           {'I', "INT"},          {'S', "STRING"},
        {0x8F, "EMPTY_SET"}, {0x96, "BYTEARRAY8"},   {0x97, "NEXT_BUFFER"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        char bytes[] = "\x80\x04]cos\nsystem\n.";
        char expected[64];
        bytes[3] = (char)refused[i].code;
        snprintf(expected, sizeof expected, "byte 3: %s: refused", refused[i].name);
        assert_refused(read_pickle(bytes, sizeof bytes - 1), expected);
    }
}

/* The only ones that do anything are those of the list, whatever follows them. */
TEST(no_other_byte_is_an_opcode)
{
    static const char taken[] =
        "(.01NJKMGX]})tldaesuqrhj\x80\x95\x88\x89\x8a\x8b\x8c\x8d\x85\x86\x87\x94";
    for (int code = 0; code < 256; code++) {
        char bytes[32] = "\x80\x04NNN";
        bytes[5] = (char)code;
        (void)read_pickle(bytes, sizeof bytes);
        const bool is_refused = strstr(error.reason, "byte 5: ") != NULL &&
                                (strstr(error.reason, ": refused") != NULL ||
                                 strstr(error.reason, "unknown opcode") != NULL);
        const bool is_taken = code != 0 && strchr(taken, code) != NULL;
        ck_assert_msg(is_refused != is_taken, "0x%02x: %s", code, error.reason);
    }
}

TEST(nesting_and_the_stack_are_bounded)
{
    char bytes[3 + 2 * PLAIN_DEPTH_MAX + 8] = "\x80\x04";
    size_t length = 2;
    for (int depth = 0; depth < PLAIN_DEPTH_MAX; depth++) {
        bytes[length++] = ']';
    }
    memset(bytes + length, 'a', PLAIN_DEPTH_MAX - 1);
    length += PLAIN_DEPTH_MAX - 1;
    bytes[length] = '.';
    ck_assert_msg(read_pickle(bytes, length + 1) == IMPORT_OK, "%s", error.reason);
    bytes[length] = '\x85'; /* one deeper, as a tuple */
    bytes[length + 1] = '.';
    assert_refused(read_pickle(bytes, length + 2), "containers are nested more than 64 deep");

    char *many = malloc(PICKLE_STACK_MAX + 8);
    memcpy(many, "\x80\x04", 2);
    memset(many + 2, 'N', PICKLE_STACK_MAX + 1);
    assert_refused(read_pickle(many, PICKLE_STACK_MAX + 3), "values wait on the stack");
    memset(many + 2, '(', PICKLE_STACK_MAX + 1);
    assert_refused(read_pickle(many, PICKLE_STACK_MAX + 3), "marks");
    free(many);
}

/* 2^60 values by sharing, in a few bytes: they are never walked here. */
TEST(a_value_that_shares_itself_many_times_costs_nothing)
{
    char bytes[1024] = "\x80\x04]\x94";
    size_t length = 4;
    for (int i = 0; i < 60; i++) {
        const char level[] = {'0', ']', (char)0x94, '(', 'h', (char)i, 'h', (char)i, 'e'};
        memcpy(bytes + length, level, sizeof level);
        length += sizeof level;
    }
    bytes[length++] = '.';
    ck_assert_msg(read_pickle(bytes, length) == IMPORT_OK, "%s", error.reason);
    ck_assert_uint_eq(plain_count(&tree, root), 2);
}

/* --- cuts and damage --- */

static const char whole[] = "\x80\x04}\x94(\x8c\x01"
                            "a\x94](K\x01M\x01\x02J\x01\x02\x03\x04\x8a\x02\x01\x02"
                            "e\x8c\x01"
                            "b\x94G\x3f\xe0\x00\x00\x00\x00\x00\x00\x8c\x01"
                            "c\x94}X\x02\x00\x00\x00"
                            "xyh\x01s\x8c\x01"
                            "d\x94\x88\x89\x86u.";

TEST(every_cut_is_said)
{
    assert_value(READ(whole),
                 "{\"a\":[1,513,67305985,513],\"b\":0.5,\"c\":{\"xy\":\"a\"},\"d\":[true,false]}");
    for (size_t cut = 0; cut < sizeof whole - 1; cut++) {
        ck_assert_msg(read_pickle(whole, cut) == IMPORT_INCOMPLETE, "cut at %zu: %s", cut,
                      error.reason);
    }
    ck_assert_int_eq(READ("\x80\x04\x95\x03\x00\x00\x00\x00\x00\x00\x00N."), IMPORT_INCOMPLETE);
    ck_assert_str_eq(error.reason,
                     "byte 2: FRAME: it has 3 bytes, but only 2 follow (a cut file?)");
}

TEST(damage_never_does_more_than_to_be_refused)
{
    struct random random;
    random_init(&random, 7);
    for (int round = 0; round < 20000; round++) {
        char bytes[sizeof whole];
        memcpy(bytes, whole, sizeof whole);
        const uint64_t flips = random_between(&random, 1, 4);
        for (uint64_t i = 0; i < flips; i++) {
            bytes[random_below(&random, sizeof whole - 1)] = (char)random_bits(&random);
        }
        (void)read_pickle(bytes, sizeof whole - 1);
    }
}
