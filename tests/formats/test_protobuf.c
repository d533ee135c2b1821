/* The wire format is read field by field, and whatever breaks it is named by its byte. */
#include "formats/common/protobuf.h"
#include "formats/common/tags.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct protobuf reader;
static struct protobuf_field field;
static struct import_error error;

static void read_from(const char *text, size_t length)
{
    reader = protobuf_of(text, length);
    error = (struct import_error){0};
}

TEST(each_wire_type_is_read)
{
    static const char text[] = "\x08\x96\x01"
                               "\x11\x08\x07\x06\x05\x04\x03\x02\x81"
                               "\x1A\x03"
                               "abc"
                               "\x25\x01\x02\x03\x84";
    read_from(text, sizeof text - 1);
    ck_assert_int_eq(protobuf_next(&reader, &field, &error), IMPORT_OK);
    ck_assert(field.number == 1 && field.type == PROTOBUF_VARINT && field.value == 150 &&
              field.at == 0);
    ck_assert_int_eq(protobuf_next(&reader, &field, &error), IMPORT_OK);
    ck_assert(field.number == 2 && field.type == PROTOBUF_FIXED64 &&
              field.value == UINT64_C(0x8102030405060708));
    ck_assert_int_eq(protobuf_next(&reader, &field, &error), IMPORT_OK);
    ck_assert(field.number == 3 && field.type == PROTOBUF_BYTES &&
              protobuf_is_text(&field.bytes, "abc"));
    ck_assert(!protobuf_is_text(&field.bytes, "ab") && !protobuf_is_text(&field.bytes, "abd"));
    ck_assert_int_eq(protobuf_next(&reader, &field, &error), IMPORT_OK);
    ck_assert(field.number == 4 && field.type == PROTOBUF_FIXED32 &&
              field.value == UINT32_C(0x84030201));
    ck_assert_int_eq(protobuf_next(&reader, &field, &error), IMPORT_OK);
    ck_assert_uint_eq(field.number, 0);
}

TEST(the_largest_number_and_field_are_read)
{
    static const char text[] = "\xF8\xFF\xFF\xFF\x0F\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01";
    read_from(text, sizeof text - 1);
    ck_assert_int_eq(protobuf_next(&reader, &field, &error), IMPORT_OK);
    ck_assert_uint_eq(field.number, (UINT32_C(1) << 29) - 1);
    ck_assert_uint_eq(field.value, UINT64_MAX);
}

#define BYTES(text) text, sizeof text - 1
static const struct {
    const char *text;
    size_t length;
    enum import_result result;
    const char *reason;
} bad[] = {
    {BYTES("\x08"), IMPORT_INCOMPLETE, "byte 1: the file is cut off: it ends within a field"},
    {BYTES("\x08\x80"), IMPORT_INCOMPLETE, "byte 1: the file is cut off: it ends within a field"},
    {BYTES("\x88"), IMPORT_INCOMPLETE, "byte 0: the file is cut off: it ends within a field"},
    {BYTES("\x09\x01\x02\x03\x04\x05\x06\x07"), IMPORT_INCOMPLETE,
     "byte 0: the file is cut off: it ends within a "
     "field"},
    {BYTES("\x0D\x01\x02\x03"), IMPORT_INCOMPLETE,
     "byte 0: the file is cut off: it ends within a field"},
    {BYTES("\x0A\x03"
           "ab"),
     IMPORT_INCOMPLETE, "byte 0: the file is cut off: a field has 3 bytes, but only 2 are left"},
    {BYTES("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"), IMPORT_INCOMPLETE,
     "byte 0: the file is cut off: a field has 18446744073709551615 bytes, but only 0 are left"},
    {BYTES("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02"), IMPORT_INVALID,
     "byte 1: a number has more than 64 bits"},
    {BYTES("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), IMPORT_INVALID,
     "byte 1: a number has more than 64 bits"},
    {BYTES("\x00\x01"), IMPORT_INVALID, "byte 0: the field number is not 1 to 2^29 - 1"},
    {BYTES("\x80\x80\x80\x80\x10\x01"), IMPORT_INVALID,
     "byte 0: the field number is not 1 to 2^29 - 1"},
    {BYTES("\x0B"), IMPORT_INVALID, "byte 0: a group, which files of this kind never have"},
    {BYTES("\x0C"), IMPORT_INVALID, "byte 0: a group, which files of this kind never have"},
    {BYTES("\x0E"), IMPORT_INVALID, "byte 0: unknown wire type"},
    {BYTES("\x0F"), IMPORT_INVALID, "byte 0: unknown wire type"},
};

TEST(what_breaks_the_format_is_named_by_its_byte, .to = sizeof bad / sizeof bad[0])
{
    read_from(bad[_i].text, bad[_i].length);
    ck_assert_int_eq(protobuf_next(&reader, &field, &error), bad[_i].result);
    ck_assert_str_eq(error.reason, bad[_i].reason);
}

TEST(a_message_that_ends_too_early_inside_the_file_is_no_cut)
{
    read_from("\x0A\x02\x08\x80\x10\x01", 6);
    ck_assert_int_eq(protobuf_next(&reader, &field, &error), IMPORT_OK);
    struct protobuf inner = field.bytes;
    ck_assert_int_eq(protobuf_next(&inner, &field, &error), IMPORT_INVALID);
    ck_assert_str_eq(error.reason, "byte 3: a message ends within a field");
    read_from("\x0A\x03\x0A\x04x", 5);
    ck_assert_int_eq(protobuf_next(&reader, &field, &error), IMPORT_OK);
    inner = field.bytes;
    ck_assert_int_eq(protobuf_next(&inner, &field, &error), IMPORT_INVALID);
    ck_assert_str_eq(error.reason, "byte 2: a field has 4 bytes, but its message has only 1 left");
}

TEST(packed_numbers_are_read_one_by_one)
{
    uint64_t value = 0;
    read_from("\x0A\x04\x01\x80\x01\x7F", 6);
    ck_assert_int_eq(protobuf_next(&reader, &field, &error), IMPORT_OK);
    static const uint64_t expected[] = {1, 128, 127};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(protobuf_number(&field.bytes, &value, &error), IMPORT_OK);
        ck_assert_uint_eq(value, expected[i]);
    }
    ck_assert_uint_eq(field.bytes.offset, field.bytes.end);
}

/* --- names --- */

/* Keeps the order in which names are given tags. */
static uint8_t keep_name(void *context, size_t rank, const char *name)
{
    uint32_t *order = context;
    order[rank] = (uint32_t)strtoul(name + strlen("name "), NULL, 10);
    return rank == 0 ? 7 : 0;
}

TEST(names_are_told_apart_and_ranked_by_bytes)
{
    struct name_table table = {0};
    uint32_t order[1000];
    char name[32];
    for (uint32_t i = 0; i < 1000; i++) {
        const int length = snprintf(name, sizeof name, "name %" PRIu32, i);
        ck_assert_uint_eq(name_table_add(&table, name, (size_t)length), i);
        name_table_weigh(&table, i, 1 + i % 500);
    }
    ck_assert_uint_eq(name_table_add(&table, "name 7, and more", 6), 7);
    uint8_t *tags = name_table_give_tags(&table, keep_name, order);
    ck_assert_uint_eq(tags[499], 7);
    ck_assert_uint_eq(tags[999], 0);
    free(tags);
    ck_assert_uint_eq(order[0], 499);
    ck_assert_uint_eq(order[1], 999);
    ck_assert_uint_eq(order[998], 0);
    ck_assert_uint_eq(order[999], 500);
    name_table_weigh(&table, 0, UINT64_MAX);
    name_table_weigh(&table, 0, UINT64_MAX);
    ck_assert_uint_eq(table.names[0].bytes, UINT64_MAX);
    name_table_deinit(&table);
}

TEST(long_names_keep_their_end_in_whole_characters)
{
    struct name_table table = {0};
    char name[128];
    memset(name, 'x', sizeof name);
    name_table_add(&table, name, 63);
    ck_assert_uint_eq(strlen(table.names[0].text), 63);
    ck_assert_int_eq(table.names[0].text[0], 'x');
    memcpy(name + 128 - 61, "\xC3\xA9", 2); /* the second byte would come first */
    name_table_add(&table, name, 128);
    ck_assert_str_eq(table.names[1].text,
                     "...xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    name_table_add(&table, "a\0b", 3);
    ck_assert_str_eq(table.names[2].text, "a_b");
    name_table_deinit(&table);
}

TEST(devices_are_told_apart_by_the_whole_name)
{
    struct name_table table = {0};
    char name[200];
    char kept[64];
    char other[64];
    memset(name, 'x', sizeof name);
    ck_assert_uint_eq(name_table_add_whole(&table, name, sizeof name), 0);
    name_keep(name, sizeof name, kept, sizeof kept);
    name[0] = 'y';
    ck_assert_uint_eq(name_table_add_whole(&table, name, sizeof name), 1);
    name_keep(name, sizeof name, other, sizeof other);
    ck_assert_str_ne(kept, other);
    ck_assert_str_eq(kept + 17, other + 17); /* the end */
    ck_assert_uint_eq(strlen(kept), 63);
    name[0] = 'x';
    ck_assert_uint_eq(name_table_add_whole(&table, name, sizeof name), 0);
    name_keep("a\0b", 3, kept, sizeof kept);
    ck_assert_str_eq(kept, "a_b");
    name_table_deinit(&table);
}
