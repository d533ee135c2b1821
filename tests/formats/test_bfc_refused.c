/* Dumps of the BFC allocator that are cut or damaged, and other logs, do no harm.  What is refused
 * with which line and reason is in tests/snap/formats_bfc.snap. */
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
