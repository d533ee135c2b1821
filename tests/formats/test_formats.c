/* Every format takes its own small files, says where bad input is wrong, and survives any cut or
 * damage. */
#include "formats/common/printed_size.h"
#include "formats/common/text.h"
#include "formats/formats.h"
#include "harness/base/random.h"
#include "harness/base/size.h"
#include "tests/formats/import_checks.h"
#include "tests/formats/import_fixture.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/"

static enum import_result import_string(const char *text, const char *format)
{
    error = (struct import_error){0};
    return import_text(text, strlen(text), format, NULL, &import, &error);
}

/* --- the registry --- */

EVERY_TEST(.timeout_s = 120, .setup = setup_import, .teardown = teardown_import);

TEST(format_names_are_unique_and_found)
{
    for (size_t i = 0; formats[i] != NULL; i++) {
        ck_assert_ptr_eq(format_find(formats[i]->name), formats[i]);
        ck_assert(formats[i]->summary[0] != '\0');
        ck_assert(formats[i]->recognise != NULL && formats[i]->import != NULL);
    }
    ck_assert_ptr_null(format_find("nothing"));
}

TEST(unknown_formats_and_texts_are_refused_with_the_known_names)
{
    ck_assert_int_eq(import_string("id,lower,upper,size\na,0,1,1\n", "csv"), IMPORT_UNRECOGNISED);
    char expected[IMPORT_REASON_BYTES] = "unknown format 'csv'; valid are auto";
    for (size_t i = 0; formats[i] != NULL; i++) {
        strcat(strcat(expected, ", "), formats[i]->name);
    }
    ck_assert_str_eq(error.reason, expected);
    ck_assert_int_eq(import_string("what is this\n", "auto"), IMPORT_UNRECOGNISED);
    ck_assert_ptr_nonnull(strstr(error.reason, "static_planning"));
    ck_assert_uint_eq(error.line, 0);
}

TEST(what_the_user_fixed_wins)
{
    struct setup fixed = {.granule_bytes = 1024, .chip = "v5e", .target = "first_fit"};
    ck_assert(setup_set_option(&fixed, "defrag", "slide"));
    const struct import_options options = {.fixed = &fixed};
    ck_assert_int_eq(
        import_file(FIELD "static_planning/exclusive.csv", NULL, &options, &import, &error),
        IMPORT_OK);
    ck_assert_uint_eq(import.setup.granule_bytes, 1024);
    ck_assert_uint_eq(import.setup.capacity_bytes, chip_find("v5e")->capacity_bytes);
    ck_assert_str_eq(import.setup.target, "first_fit");
    ck_assert_str_eq(setup_option(&import.setup, "defrag"), "slide");
    fixed.granule_bytes = 48;
    ck_assert_int_eq(
        import_file(FIELD "static_planning/exclusive.csv", NULL, &options, &import, &error),
        IMPORT_INVALID);
}

/* A control of two bytes and an escape in three, which lax decoders take for one; letters of others
 * stay. */
TEST(no_control_character_of_a_text_is_printed)
{
    static const char text[] = "Thread,Time,Action,Pointer,Size,Stream\n1,00:00:00.000000,\xC2\x9B"
                               "2J\xC2\x85"
                               "\xE0\x80\x9B\x1B[m\xC3\xA9\n";
    ck_assert_int_eq(import_text(text, sizeof text - 1, "rmm", NULL, &import, &error),
                     IMPORT_INVALID);
    ck_assert_msg(strstr(error.reason, ": '??2J??????[m\xC3\xA9'") != NULL, "%s", error.reason);
}

/* --- ops --- */

TEST(ops_are_read_as_they_are)
{
    import_checks_file(FIELD "ops/small.ops", "ops", NULL, &import);
    import_checks_ops(&import,
                      "alloc size=8M tag=3\nuse block=0 delay=5ms\nfree_after block=0 event=1\n");
    ck_assert_str_eq(setup_option(&import.setup, "defrag"), "slide");
    ck_assert_int_eq(import_string("hbmstress-ops 1\n\n0: alloc sise=8\n", "auto"), IMPORT_INVALID);
    ck_assert_uint_eq(error.line, 3);
    ck_assert_uint_eq(error.column, 10);
}

/* --- printed sizes --- */

TEST(a_printed_size_is_exactly_the_sizes_that_print_so)
{
    struct random random;
    random_init(&random, 1);
    for (int i = 0; i < 3000; i++) {
        char text[SIZE_TEXT_BYTES];
        char edge[SIZE_TEXT_BYTES];
        struct size_range range;
        const uint64_t size_bytes = i < 3 ? (uint64_t)i
                                          : random_log_uniform(&random, 1, UINT64_C(1) << 62);
        size_print_field(size_bytes, text);
        ck_assert_msg(printed_size_parse(text, strlen(text), &range), "%s", text);
        ck_assert(range.low <= size_bytes && size_bytes <= range.high);
        ck_assert(range.low <= range.nominal && range.nominal <= range.high);
        size_print_field(range.low, edge);
        ck_assert_str_eq(edge, text);
        size_print_field(range.high, edge);
        ck_assert_str_eq(edge, text);
        size_print_field(range.high + 1, edge);
        ck_assert_str_ne(edge, text);
        if (range.low > 0) {
            size_print_field(range.low - 1, edge);
            ck_assert_str_ne(edge, text);
        }
    }
}

TEST(printed_sizes_that_are_none_are_refused)
{
    static const char *const bad[] = {"",          "B",   "1",          "1.M",
                                      ".5M",       "1.2", "1.5X",       "-1B",
                                      "99999999E", "1 M", "1.1234567M", "1234567890123M",
                                      "1.0\0M"};
    struct size_range range;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(!printed_size_parse(bad[i], strlen(bad[i]), &range), "%s", bad[i]);
    }
    ck_assert(printed_size_parse("16G", 3, &range)); /* as people write it */
    ck_assert_uint_eq(range.nominal, UINT64_C(16) << 30);
    ck_assert(printed_size_parse("0.50G", 5, &range));
    ck_assert_uint_eq(range.nominal, UINT64_C(512) << 20);
}

TEST(aligned_ranges_hold_multiples_only)
{
    struct size_range range;
    ck_assert(printed_size_parse("6.43M", 5, &range));
    ck_assert(printed_size_align(&range, 512));
    ck_assert_uint_eq(range.low % 512 + range.high % 512 + range.nominal % 512, 0);
    ck_assert(printed_size_parse("1.7K", 4, &range));
    ck_assert(!printed_size_align(&range, 512));
}

/* --- any bytes --- */

static const char *const all_files[] = {
    "ops/small.ops",
    "static_planning/exclusive.csv",
    "static_planning/inclusive_crlf.csv",
    "static_planning/all_columns.csv",
    "static_planning/odd_sizes.csv",
    "device_stats/checks_fail.txt",
    "device_stats/gpu_pool.txt",
    "device_stats/julia.txt",
    "device_stats/no_limit.txt",
    "device_stats/reserved_most.json",
    "device_stats/tpu_one.txt",
    "device_usage/maxtext.log",
    "device_usage/not_available.txt",
    "device_usage/nvidia_smi.txt",
    "device_usage/tpu_info_2025.txt",
    "device_usage/tpu_info_2026.txt",
    "kineto/cpu_only.json",
    "kineto/cut.json",
    "kineto/missing_events.json",
    "kineto/no_memory_events.json",
    "kineto/out_of_memory.json",
    "kineto/trailing_comma.json",
    "kineto/window.json",
    "torch_message/a1_cached.log",
    "torch_message/a2_reserved.log",
    "torch_message/async.log",
    "torch_message/b1_container.log",
    "torch_message/b1_fraction_not_said.log",
    "torch_message/b3_allowed_hip.log",
    "torch_message/b3_processes.log",
    "torch_message/b3_unallocated.log",
    "torch_message/b5_no_device_kind.log",
    "torch_message/bare.log",
    "torch_message/cut.log",
    "torch_message/mps.log",
    "torch_message/retry.log",
    "torch_message/xpu.log",
    "torch_stats/dict.txt",
    "torch_stats/stats.json",
    "torch_stats/summary.txt",
    "torch_stats/zeros.json",
    "torch_timeline/bad_action.json",
    "torch_timeline/cut.json",
    "torch_timeline/picture.html",
    "torch_timeline/rows.raw.json",
    "torch_timeline/sums.json",
    "tpu_message/buffer.log",
    "tpu_message/buffer_code.log",
    "tpu_message/buffer_abbreviated.log",
    "tpu_message/buffer_pieces.log",
    "tpu_message/buffer_below_free.log",
    "tpu_message/program_allocate.log",
    "tpu_message/program_reserve.log",
    "tpu_message/program_reserve_pieces.log",
    "tpu_message/program_reserve_busy.log",
    "tpu_message/program_reserve_nothing_free.log",
    "tpu_message/program_reserve_image.log",
    "tpu_message/program_reserve_table.log",
    "tpu_message/driver.log",
    "tpu_message/small_granule.log",
    "tpu_message/cut.log",
};
enum { FILE_COUNT = sizeof all_files / sizeof all_files[0] };

/* Imports exactly these bytes, in memory of their own so that a read beyond them is seen. */
static void import_bytes(const char *bytes, size_t length, const char *format)
{
    char *copy = malloc(length + (length == 0 ? 1 : 0));
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, length);
    error = (struct import_error){0};
    const enum import_result result = import_text(copy, length, format, NULL, &import, &error);
    free(copy);
    if (result == IMPORT_OK) {
        ck_assert_ptr_nonnull(import.format);
        return;
    }
    ck_assert_uint_eq(import.ops.count, 0);
    ck_assert(error.reason[0] != '\0' && strchr(error.reason, '\n') == NULL);
}

static void read_corpus(int index, struct text *text)
{
    char path[4096];
    snprintf(path, sizeof path, FIELD "%s", all_files[index]);
    ck_assert_int_eq(text_read(path, 1 << 20, text, &error), IMPORT_OK);
}

TEST(a_cut_at_any_byte_never_crashes, .to = FILE_COUNT)
{
    struct text text;
    read_corpus(_i, &text);
    for (size_t length = 0; length <= text.length; length += draws_period()) {
        import_bytes(text.bytes, length, "auto");
        for (size_t i = 0; formats[i] != NULL; i++) {
            import_bytes(text.bytes, length, formats[i]->name);
        }
    }
    text_deinit(&text);
}

TEST(damage_at_any_byte_never_crashes, .to = FILE_COUNT)
{
    static const char likely[] = "\0\n\r\t ,.:;\"'0129-xBKMGTP(\xFF";
    struct text text;
    struct random random;
    read_corpus(_i, &text);
    random_init(&random, (uint64_t)_i);
    for (uint64_t i = 0; i < draws_count(2000, 1); i++) {
        char *copy = malloc(text.length);
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, text.bytes, text.length);
        for (uint64_t count = random_between(&random, 1, 4); count > 0; count--) {
            copy[random_below(&random, text.length)] =
                likely[random_below(&random, sizeof likely - 1)];
        }
        import_bytes(copy, text.length, "auto");
        free(copy);
    }
    text_deinit(&text);
}
