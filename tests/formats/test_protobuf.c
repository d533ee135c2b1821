/* The wire format is read field by field, and whatever breaks it is named by its byte. */
#include "formats/common/protobuf.h"
#include "formats/common/tags.h"
#include "harness/base/writing.h"
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct protobuf reader;
static struct protobuf_field field;
static struct import_error error;

static struct writing shown;

static void snap_shown(void)
{
    if (shown.length > 0) {
        snap(writing_string(&shown));
    }
    writing_deinit(&shown);
}

EVERY_TEST(.teardown = snap_shown);

static void read_from(const char *text, size_t length)
{
    reader = protobuf_of(text, length);
    error = (struct import_error){0};
}

/* Shows each field up to the end of the text, or why there is no next one. */
static void show_fields(struct protobuf *from)
{
    enum import_result result;
    while ((result = protobuf_next(from, &field, &error)) == IMPORT_OK && field.number != 0) {
        writing_append_format(&shown, "byte %zu: %" PRIu32 " ", field.at, field.number);
        if (field.type == PROTOBUF_BYTES) {
            struct protobuf inner = field.bytes;
            writing_append_format(&shown, "bytes up to %zu\n", (size_t)inner.end);
        } else {
            writing_append_format(&shown, "type %d value 0x%" PRIx64 "\n", (int)field.type,
                                  field.value);
        }
    }
    if (result != IMPORT_OK) {
        writing_append_format(&shown, "%s: %s\n",
                              result == IMPORT_INCOMPLETE ? "incomplete" : "invalid", error.reason);
    }
}

#define BYTES(text) text, sizeof text - 1

TEST(each_wire_type_the_largest_number_and_field_are_read)
{
    read_from(BYTES("\x08\x96\x01"
                    "\x11\x08\x07\x06\x05\x04\x03\x02\x81"
                    "\x25\x01\x02\x03\x84"
                    "\xF8\xFF\xFF\xFF\x0F\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"
                    "\x1A\x03"
                    "abc"));
    show_fields(&reader);
    read_from(BYTES("\x1A\x03"
                    "abc"));
    ck_assert_int_eq(protobuf_next(&reader, &field, &error), IMPORT_OK);
    ck_assert(protobuf_is_text(&field.bytes, "abc"));
    ck_assert(!protobuf_is_text(&field.bytes, "ab") && !protobuf_is_text(&field.bytes, "abd"));
}

/* Cut off, too long a number, no field number, a group, no wire type. */
static const struct {
    const char *text;
    size_t length;
} bad[] = {
    {BYTES("\x08")},
    {BYTES("\x08\x80")},
    {BYTES("\x88")},
    {BYTES("\x09\x01\x02\x03\x04\x05\x06\x07")},
    {BYTES("\x0D\x01\x02\x03")},
    {BYTES("\x0A\x03"
           "ab")},
    {BYTES("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01")},
    {BYTES("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02")},
    {BYTES("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01")},
    {BYTES("\x00\x01")},
    {BYTES("\x80\x80\x80\x80\x10\x01")},
    {BYTES("\x0B")},
    {BYTES("\x0C")},
    {BYTES("\x0E")},
    {BYTES("\x0F")},
};

TEST(what_breaks_the_format_is_named_by_its_byte)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        read_from(bad[i].text, bad[i].length);
        show_fields(&reader);
    }
}

TEST(a_message_that_ends_too_early_inside_the_file_is_no_cut)
{
    static const char *const texts[] = {"\x0A\x02\x08\x80\x10\x01", "\x0A\x03\x0A\x04x"};
    for (size_t i = 0; i < 2; i++) {
        read_from(texts[i], strlen(texts[i]));
        ck_assert_int_eq(protobuf_next(&reader, &field, &error), IMPORT_OK);
        struct protobuf inner = field.bytes;
        show_fields(&inner);
    }
}

TEST(packed_numbers_are_read_one_by_one)
{
    uint64_t value = 0;
    read_from(BYTES("\x0A\x04\x01\x80\x01\x7F"));
    ck_assert_int_eq(protobuf_next(&reader, &field, &error), IMPORT_OK);
    while (field.bytes.offset < field.bytes.end) {
        ck_assert_int_eq(protobuf_number(&field.bytes, &value, &error), IMPORT_OK);
        writing_append_format(&shown, "%" PRIu64 "\n", value);
    }
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
