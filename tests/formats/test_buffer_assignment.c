/* XLA's dump of a program's buffers: exact sums, the largest of them, and ops that make them. */
#include "tests/formats/import_checks.h"
#include "tests/formats/import_fixture.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum import_result import_string(const char *text)
{
    error = (struct import_error){0};
    return import_text(text, strlen(text), "auto", NULL, &import, &error);
}

EVERY_TEST(.timeout_s = 120, .setup = setup_import, .teardown = teardown_import);

TEST(each_allocation_of_the_device_is_a_block)
{
    import_checks_field("buffer_assignment/small.txt", &import);
    import_checks_ops(&import, "alloc size=4M tag=1\nalloc size=256 unpadded=20 tag=2\n"
                               "alloc size=256 unpadded=8 tag=4\nalloc size=12M tag=3\n");
    ck_assert_uint_eq(import_checks_replay(&import), 0);
    ck_assert_ptr_nonnull(strstr(import.assumed, "just what the program needs"));
}

TEST(the_plan_is_told_with_exact_sums)
{
    import_checks_field("buffer_assignment/small.txt", &import);
    const struct compile_report *report = import.compile_report;
    ck_assert_ptr_nonnull(report);
    ck_assert_uint_eq(report->numbers[COMPILE_GPU_PARAMETERS].range.nominal, 4194304);
    ck_assert_uint_eq(report->numbers[COMPILE_GPU_CONSTANTS].range.nominal, 20);
    ck_assert_uint_eq(report->numbers[COMPILE_GPU_LIVE_OUT].range.nominal, 8);
    ck_assert_uint_eq(report->numbers[COMPILE_GPU_TEMP].range.nominal, 12582912);
    ck_assert_uint_eq(report->numbers[COMPILE_GPU_TOTAL].range.nominal, 16777244);
    ck_assert_str_eq(report->remarks, "3 values of 20.00M share the 12.00M of temporaries, each in "
                                      "its own time");
    ck_assert_uint_eq(report->allocation_count, 6);
    ck_assert_str_eq(report->allocations[0].label, "loop_fusion");
    ck_assert_str_eq(report->allocations[0].shape, "f32[2048,1024]{1,0}");
    ck_assert_str_eq(report->allocations[2].shape, "f32[1024,1024]");
}

TEST(a_dump_without_its_total_or_with_another_says_so)
{
    ck_assert_int_eq(
        import_string("BufferAssignment:\nallocation 0: size 512, preallocated-temp:\n"),
        IMPORT_OK);
    ck_assert_str_eq(import.compile_report->remarks, "the dump is cut off: it has no total");
    ck_assert_int_eq(
        import_string("BufferAssignment:\r\nallocation 0: size 512, parameter 0:\r\n\r\n"
                      "Total bytes used: 513 (513B)\r\n"),
        IMPORT_OK);
    ck_assert_str_eq(import.compile_report->remarks,
                     "its total is 513 bytes, the allocations are 512");
}

static const struct {
    const char *text;
    size_t line;
    const char *reason;
} refused[] = {
    {"BufferAssignment:\n\nTotal bytes used: 0 (0B)\n", 0, "nothing to replay"},
    {"BufferAssignment:\nallocation 0: size x:\n", 2, "has no number or no size"},
    {"BufferAssignment:\nallocation 0: size 99999999999999999999:\n", 2,
     "has no number or no size"},
    {"BufferAssignment:\nallocation 0: size 1125899906842624, constant:\nallocation 1: size 1:\n",
     3, "above 1P"},
    {"BufferAssignment:\n value: <1 a @0> (size=1,offset=0): s8[1]\n", 2, "outside its allocation"},
    {"BufferAssignment:\nallocation 0: size 8, preallocated-temp:\n value: <1 a @0> "
     "(size=8,offset=18446744073709551615): s8[8]\n",
     3, "outside its allocation"},
    {"BufferAssignment:\nallocation 0: size 8, preallocated-temp:\n value: <1 a @0>\n", 3,
     "no name or no size"},
};

TEST(what_is_no_plan_is_refused_with_its_line, .to = sizeof refused / sizeof refused[0])
{
    ck_assert_int_ne(import_string(refused[_i].text), IMPORT_OK);
    ck_assert_msg(strstr(error.reason, refused[_i].reason) != NULL, "%s", error.reason);
    ck_assert_uint_eq(error.line, refused[_i].line);
}

/* The largest are kept, whatever their order. */
TEST(of_many_allocations_the_largest_are_listed)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    fputs("BufferAssignment:\n", stream);
    for (int i = 0; i < 1000; i++) {
        fprintf(stream, "allocation %d: size %d, constant:\n", i, 1 + i * 7919 % 1000);
    }
    fputs("\nTotal bytes used: 500500 (488.8KiB)\n", stream);
    fclose(stream);
    ck_assert_msg(import_string(text) == IMPORT_OK, "%s", error.reason);
    ck_assert_uint_eq(import.compile_report->allocation_count, 64);
    for (size_t i = 0; i < 64; i++) {
        ck_assert_uint_eq(import.compile_report->allocations[i].size.nominal, 1000 - i);
    }
    ck_assert_str_eq(import.compile_report->remarks,
                     "936 smaller allocations and values are not listed here");
    free(text);
}

TEST(any_beginning_and_any_damage_is_read_or_refused)
{
    import_checks_field_damage("buffer_assignment/small.txt", 2000, &import);
}
