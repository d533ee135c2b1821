/* Dumps of the BFC allocator that are cut, damaged, or at odds with themselves are refused with the
 * line and the reason. */
#include "harness/base/random.h"
#include "tests/formats/bfc_rig.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t op_count;
} own[] = {
    {"tf08.log", 10},
    {"tf11.log", 10},
    {"tf14.log", 13},
    {"tf22_windows.log", 16},
    {"tf25_operations.log", 14},
    {"xla_two_dumps.log", 8},
    {"bare.log", 7},
};
enum { OWN_COUNT = sizeof own / sizeof own[0] };

EVERY_TEST(.timeout_s = 300, .setup = rig_setup, .teardown = rig_teardown);

TEST(chunks_that_are_not_listed_make_a_dump_incomplete)
{
    ck_assert_int_eq(rig_import_own("cut.log"), IMPORT_INCOMPLETE);
    ck_assert_str_eq(
        rig.error.reason,
        "lines are missing: InUse is 11540480 bytes, but the chunks in use have 11536384 bytes");
    ck_assert_uint_eq(rig.error.line, 40);
}

TEST(statistics_that_contradict_the_chunks_are_refused)
{
    ck_assert_int_eq(rig_import_own("contradicting.log"), IMPORT_INVALID);
    ck_assert_str_eq(rig.error.reason,
                     "InUse is 2560 bytes, but the chunks in use have 2304 bytes");
    ck_assert_uint_eq(rig.error.line, 42);
}

TEST(a_warning_that_is_no_failure_is_not_taken_for_one)
{
    static const char warning[] =
        "W bfc_allocator.cc:236] Allocator (GPU_0_bfc) ran out of memory trying to allocate "
        "2.00GiB with freed_by_count=0. The caller indicates that this is not a failure\n";
    ck_assert_int_eq(rig_import_text(warning, strlen(warning)), IMPORT_INCOMPLETE);
    ck_assert_str_eq(rig.error.reason, "no out-of-memory dump of a BFC allocator in this text");
}

TEST(other_logs_are_not_recognised)
{
    static const char *const texts[] = {
        "Free at last\nStats:\nLimit: 5\n", "Allocator (x) ran fine\n",
        "Next region of size 5\n",          "",
        "E bfc_allocator.cc:7] is empty\n", "InUse at 1000 of size 256\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ck_assert_uint_eq(format_find("bfc")->recognise(texts[i], strlen(texts[i])), 0);
    }
}

/* Of each line that no other program prints. */
TEST(one_line_without_its_prefix_shows_a_dump_in_a_long_log)
{
    static const char *const lines[] = {
        "Bin (256): \tTotal Chunks: 1, Chunks in use: 1. 256B allocated for chunks. 256B in use in bin.",
        "4 Chunks of size 256 totalling 1.0KiB", "Sum Total of in-use chunks: 2.2KiB",
        "BFCAllocator dump for GPU_0_bfc",
        "Total bytes in pool: 3840 memory_limit_: 3840 available bytes: 0 curr_region_allocation_bytes_: 7680"};
    char text[512];
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        for (int noise = 0; noise < 40; noise++) {
            snprintf(text, sizeof text, "%.*s\nno Chunks\n  %s\r\nand no Bin\n", noise,
                     "Ran on 8 devices. Step 1: loss 9.3, Allocator", lines[i]);
            ck_assert_msg(format_find("bfc")->recognise(text, strlen(text)) == 90, "%s", text);
        }
    }
}

/* The allocator's first line and its map alone, and beside them what the program that asked prints.
 */
TEST(where_no_dump_is_the_statistics_of_the_program_say_more)
{
    char text[2048];
    const int length = snprintf(
        text, sizeof text,
        "W bfc_allocator.cc:482] Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00MiB (rounded "
        "to 1048576)requested by op \nW bfc_allocator.cc:494] %s%s\n",
        "**********************************"
        "****************",
        "**************************************************");
    ck_assert_str_eq(format_recognise(text, (size_t)length)->name, "bfc");
    snprintf(
        text + length, sizeof text - (size_t)length,
        "BufferAssignment OOM Debugging.\nBufferAssignment stats:\n    parameter allocation:   1.00MiB\n");
    ck_assert_str_eq(format_recognise(text, strlen(text))->name, "hbm_report");
    snprintf(text + strlen(text), sizeof text - strlen(text),
             "I bfc_allocator.cc:7] InUse at 1000 of size 256\n");
    ck_assert_str_eq(format_recognise(text, strlen(text))->name, "bfc");
}

/* bare.log with one part replaced. */
TEST(each_contradiction_is_refused_with_its_line)
{
    static const struct {
        const char *from, *to;
        enum import_result result;
        size_t line;
        const char *reason;
    } rows[] = {
        {"(rounded to 2048)", "(rounded to 2560)", IMPORT_INVALID, 3,
         "the sizes of the request contradict"},
        {"1.0KiB allocated for", "1.5KiB allocated for", IMPORT_INVALID, 10,
         "the bin has 1.5KiB in all, but"},
        {"Chunks in use: 1. 2.0", "Chunks in use: 0. 2.0", IMPORT_INVALID, 11,
         "the bin has 1 chunks, 0 in use, but"},
        {"Bin (512)", "Bin (513)", IMPORT_INVALID, 9, "there is no bin of that size"},
        {"of size 3840", "of size 4096", IMPORT_INVALID, 34,
         "this chunk names no next one, but the region is not full"},
        {"Free  at 1000b00 of size 1024 next 18446744073709551615\n", "", IMPORT_INCOMPLETE, 30,
         "lines are missing: the region has 3840 bytes, but only 2816"},
        {"of size 3840", "of size 3584", IMPORT_INVALID, 34,
         "with this chunk, the region of 3584 bytes (line 30)"},
        {"at 1000100 of size 512 next 2", "was", IMPORT_INCOMPLETE, 33,
         "lines are missing before this one: 512 bytes"},
        {"at 1000300", "at 1000200", IMPORT_INVALID, 33,
         "the chunk at 0x1000200 begins before the one above ends"},
        {"size 1024 next 18446744073709551615", "size 1024 next 9", IMPORT_INVALID, 34,
         "the region is full, but"},
        {"next 2", "next 18446744073709551615", IMPORT_INVALID, 32,
         "this chunk names no next one, but the region is not full"},
        {"at 1000000 of size 256", "at 1000100 of size 0", IMPORT_INVALID, 31,
         "the chunk has 0 bytes"},
        {"1 Chunks of size 256", "2 Chunks of size 256", IMPORT_INVALID, 36,
         "the summary has 2 chunks of size 256 in use"},
        {"totalling 2.0KiB", "totalling 2.1KiB", IMPORT_INVALID, 37,
         "1 chunks of size 2048 are 2048"},
        {"1 Chunks of size 256 totalling 256B\n", "", IMPORT_INCOMPLETE, 36,
         "lines are missing: 1 chunks of size 256"},
        {"1 Chunks of size 2048 totalling 2.0KiB\n", "", IMPORT_INCOMPLETE, 36,
         "lines are missing: chunks of size 2048"},
        {"chunks: 2.2KiB", "chunks: 2.3KiB", IMPORT_INVALID, 38,
         "the chunks in use sum to 2304 bytes, not"},
        {"pool: 3840", "pool: 3841", IMPORT_INVALID, 39, "the log gives the regions 3841 bytes"},
        {"available bytes: 0", "available bytes: 5", IMPORT_INVALID, 39,
         "a limit of 3840 and 5 available bytes"},
        {"Limit:                            3840", "Limit: 38", IMPORT_INVALID, 41,
         "the limit of 38 bytes is below"},
        {"MaxInUse:                         2560", "MaxInUse: 25", IMPORT_INVALID, 43,
         "MaxInUse is below InUse"},
        {"InUse:                            2304\n", "", IMPORT_INCOMPLETE, 3,
         "the dump is cut off: it lacks InUse of"},
        {"Next region of size 3840\n", "", IMPORT_INCOMPLETE, 30,
         "lines are missing: there is no 'Next region"},
        {"at 1000000 of size 256", "at 1000000 of size 2305843009213693952", IMPORT_INVALID, 31,
         "with this chunk, the dump lists more than 2^50"},
        {"at 1000000 of size 256", "at fffffffffffffff0 of size 256", IMPORT_INVALID, 31,
         "the chunk at 0xfffffffffffffff0 ends above"},
        {"*******_", "***x****", IMPORT_INVALID, 50,
         "character 8 of the map is '*', but the chunks show no memory in use"},
        {"*******_", "***x*___", IMPORT_INVALID, 50,
         "character 6 of the map is '_', but the chunks show memory in use"},
    };
    char damaged[8192];
    ck_assert_int_eq(rig_import_own("bare.log"), IMPORT_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *at = strstr(rig.text, rows[i].from);
        ck_assert_msg(at != NULL, "%s", rows[i].from);
        snprintf(damaged, sizeof damaged, "%.*s%s%s", (int)(at - rig.text), rig.text, rows[i].to,
                 at + strlen(rows[i].from));
        const enum import_result result = rig_import_text(damaged, strlen(damaged));
        ck_assert_msg(strncmp(rig.error.reason, rows[i].reason, strlen(rows[i].reason)) == 0,
                      "%s: %zu: %s", rows[i].to, rig.error.line, rig.error.reason);
        ck_assert_int_eq(result, rows[i].result);
        ck_assert_uint_eq(rig.error.line, rows[i].line);
    }
}

TEST(a_request_that_would_have_found_room_is_refused)
{
    static char damaged[sizeof rig.text];
    ck_assert_int_eq(rig_import_own("tf11.log"), IMPORT_OK);
    snprintf(damaged, sizeof damaged, "%s", rig.text);
    for (char *at = damaged; (at = strstr(at, "8.00MiB")) != NULL;) {
        memcpy(at, "4.00MiB", 7);
    }
    ck_assert_int_eq(rig_import_text(damaged, strlen(damaged)), IMPORT_INVALID);
    ck_assert_str_eq(
        rig.error.reason,
        "the request of 4194304 bytes would have fitted: a chunk of 7340032 bytes is free");
}

TEST(any_prefix_imports_or_is_refused, .to = OWN_COUNT)
{
    static char cut[BFC_TEXT_BYTES_MAX];
    size_t import_count = 0;
    ck_assert_int_eq(rig_import_own(own[_i].name), IMPORT_OK);
    for (size_t length = 0; length < rig.length; length += draws_period()) {
        memcpy(cut, rig.text, length);
        cut[length] = '\0';
        const enum import_result result = import_text(cut, length, "bfc", NULL, &rig.import,
                                                      &rig.error);
        ck_assert_msg(result == IMPORT_OK || result == IMPORT_INCOMPLETE, "%zu: %zu: %s", length,
                      rig.error.line, rig.error.reason);
        import_count += result == IMPORT_OK;
        ck_assert_uint_eq(result == IMPORT_OK ? rig.import.ops.count : own[_i].op_count,
                          own[_i].op_count);
    }
    ck_assert_uint_gt(import_count, 0); /* what comes behind the statistics is not needed */
}

TEST(damaged_bytes_do_no_harm, .to = OWN_COUNT)
{
    static char damaged[BFC_TEXT_BYTES_MAX];
    struct random random;
    random_init(&random, (uint64_t)_i + 1);
    ck_assert_int_eq(rig_import_own(own[_i].name), IMPORT_OK);
    for (uint64_t round = 0; round < draws_count(1000, 1); round++) {
        memcpy(damaged, rig.text, rig.length);
        for (uint64_t flips = random_between(&random, 1, 8); flips > 0; flips--) {
            damaged[random_below(&random, rig.length)] = (char)random_bits(&random);
        }
        const enum import_result result = import_text(damaged, rig.length, "bfc", NULL, &rig.import,
                                                      &rig.error);
        ck_assert(result == IMPORT_OK || rig.error.reason[0] != '\0');
    }
}
