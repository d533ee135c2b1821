/* Dumps of the BFC allocator that are cut or damaged, and other logs, do no harm.  What is refused
 * with which line and reason is in tests/snap/formats_bfc.snap. */
#include "tests/formats/import_rig.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
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

EVERY_TEST(.timeout_s = 300, .setup = setup_import, .teardown = teardown_import);

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

/* The caller frees. */
static char *read_own(int index, size_t *length)
{
    char path[512];
    snprintf(path, sizeof path, HBMSTRESS_SOURCE_DIR "/corpus/field/bfc/%s", own[index].name);
    return file_bytes(path, length);
}

TEST(any_prefix_imports_or_is_refused, .to = OWN_COUNT)
{
    size_t import_count = 0, length = 0;
    char *text = read_own(_i, &length);
    for (size_t cut = 0; cut < length; cut += draws_period()) {
        const enum import_result result = import_bytes(text, cut, "bfc");
        ck_assert_msg(result == IMPORT_OK || result == IMPORT_INCOMPLETE, "%zu: %zu: %s", cut,
                      refusal.line, refusal.reason);
        import_count += result == IMPORT_OK;
        ck_assert(result != IMPORT_OK || import.ops.count == own[_i].op_count);
    }
    ck_assert_uint_gt(import_count, 0); /* what comes behind the statistics is not needed */
    free(text);
}

TEST(damaged_bytes_do_no_harm, .to = OWN_COUNT)
{
    size_t length = 0;
    char *text = read_own(_i, &length);
    ck_assert_int_eq(import_bytes(text, length, "auto"), IMPORT_OK);
    (void)damage(text, length, "bfc", draws_count(1000, 1));
    free(text);
}
