/* Every format takes its own small files, says where bad input is wrong, and survives any cut or damage. */
#include "formats/formats.h"
#include "formats/printed_size.h"
#include "formats/text.h"
#include "harness/ops_file.h"
#include "harness/random.h"
#include "harness/size.h"
#include "tests/scratch.h"
#include "tests/suite.h"

#include <check.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/"

static struct import import;
static struct import_error error;

static void setup_import(void)
{
    import_init(&import);
    error = (struct import_error){0};
}

static void teardown_import(void)
{
    import_deinit(&import);
}

static enum import_result import_string(const char *text, const char *format)
{
    error = (struct import_error){0};
    return import_text(text, strlen(text), format, NULL, &import, &error);
}

/* The ops as text, one a line; the caller frees. */
static char *ops_text(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    char op[OP_TEXT_BYTES];
    for (size_t i = 0; i < import.ops.count; i++) {
        fprintf(stream, "%s\n", op_print(&import.ops.ops[i], op));
    }
    fclose(stream);
    return text;
}

static void assert_ops(const char *expected)
{
    char *text = ops_text();
    ck_assert_str_eq(text, expected);
    free(text);
}

static void assert_imports(const char *path, const char *format)
{
    char text[4096 + IMPORT_REASON_BYTES];
    const enum import_result result = import_file(path, "auto", NULL, &import, &error);
    ck_assert_msg(result == IMPORT_OK, "%s", import_error_print(path, &error, text, sizeof text));
    ck_assert_str_eq(import.format->name, format);
}

/* --- the registry --------------------------------------------------------------------------- */

START_TEST(format_names_are_unique_and_found)
{
    for (size_t i = 0; formats[i] != NULL; i++) {
        ck_assert_ptr_eq(format_find(formats[i]->name), formats[i]);
        ck_assert(formats[i]->summary[0] != '\0');
        ck_assert(formats[i]->recognise != NULL && formats[i]->import != NULL);
    }
    ck_assert_ptr_null(format_find("nothing"));
}
END_TEST

START_TEST(unknown_formats_and_texts_are_refused_with_the_known_names)
{
    ck_assert_int_eq(import_string("id,lower,upper,size\na,0,1,1\n", "csv"), IMPORT_UNRECOGNISED);
    char expected[IMPORT_REASON_BYTES] = "there is no format 'csv'; one of auto";
    for (size_t i = 0; formats[i] != NULL; i++) {
        strcat(strcat(expected, ", "), formats[i]->name);
    }
    ck_assert_str_eq(error.reason, expected);
    ck_assert_int_eq(import_string("what is this\n", "auto"), IMPORT_UNRECOGNISED);
    ck_assert_ptr_nonnull(strstr(error.reason, "static_planning"));
    ck_assert_uint_eq(error.line, 0);
}
END_TEST

START_TEST(what_the_user_fixed_wins)
{
    struct setup fixed = {.granule_bytes = 1024, .chip = "v5e", .target = "first_fit"};
    ck_assert(setup_set_option(&fixed, "defrag", "slide"));
    const struct import_options options = {.fixed = &fixed};
    ck_assert_int_eq(import_file(FIELD "static_planning/exclusive.csv", NULL, &options, &import, &error), IMPORT_OK);
    ck_assert_uint_eq(import.setup.granule_bytes, 1024);
    ck_assert_uint_eq(import.setup.capacity_bytes, chip_find("v5e")->capacity_bytes);
    ck_assert_str_eq(import.setup.target, "first_fit");
    ck_assert_str_eq(setup_option(&import.setup, "defrag"), "slide");
    fixed.granule_bytes = 48;
    ck_assert_int_eq(import_file(FIELD "static_planning/exclusive.csv", NULL, &options, &import, &error),
                     IMPORT_INVALID);
}
END_TEST

/* --- files ----------------------------------------------------------------------------------- */

/* A control of two bytes and an escape in three, which lax decoders take for one; letters of others stay. */
START_TEST(no_control_character_of_a_text_is_printed)
{
    static const char text[] = "Thread,Time,Action,Pointer,Size,Stream\n1,00:00:00.000000,\xC2\x9B" "2J\xC2\x85"
                               "\xE0\x80\x9B\x1B[m\xC3\xA9\n";
    ck_assert_int_eq(import_text(text, sizeof text - 1, "rmm", NULL, &import, &error), IMPORT_INVALID);
    ck_assert_msg(strstr(error.reason, ": '??2J??????[m\xC3\xA9'") != NULL, "%s", error.reason);
}
END_TEST

START_TEST(compressed_files_give_the_same_ops)
{
    assert_imports(FIELD "static_planning/exclusive.csv", "static_planning");
    char *plain = ops_text();
    assert_imports(FIELD "static_planning/exclusive.csv.gz", "static_planning");
    assert_ops(plain);
    assert_imports(FIELD "static_planning/exclusive.csv.zst", "static_planning");
    assert_ops(plain);
    free(plain);
}
END_TEST

/* Writes bytes to a new file; path gets its name. */
static void write_file(char path[SCRATCH_PATH_BYTES], const void *bytes, size_t length)
{
    scratch_name(path, "test_formats");
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, bytes, length), (ssize_t)length);
    ck_assert_int_eq(close(file), 0);
}

static void assert_every_cut_is_said(const char *path)
{
    FILE *stream = fopen(path, "rb");
    char bytes[4096];
    ck_assert_ptr_nonnull(stream);
    const size_t length = fread(bytes, 1, sizeof bytes, stream);
    fclose(stream);
    for (size_t cut = 4; cut < length; cut++) {
        char copy[SCRATCH_PATH_BYTES];
        write_file(copy, bytes, cut);
        ck_assert_int_eq(import_file(copy, "auto", NULL, &import, &error), IMPORT_UNREADABLE);
        ck_assert_msg(strstr(error.reason, "cut off") != NULL, "cut at %zu: %s", cut, error.reason);
        unlink(copy);
    }
}

START_TEST(cut_archives_are_said_to_be_cut)
{
    assert_every_cut_is_said(FIELD "static_planning/exclusive.csv.gz");
    assert_every_cut_is_said(FIELD "static_planning/exclusive.csv.zst");
}
END_TEST

START_TEST(archives_of_two_members_are_read_whole)
{
    char bytes[8192];
    char path[SCRATCH_PATH_BYTES];
    struct text once;
    struct text twice;
    FILE *stream = fopen(FIELD "static_planning/exclusive.csv.gz", "rb");
    const size_t length = fread(bytes, 1, 4096, stream);
    fclose(stream);
    memcpy(bytes + length, bytes, length);
    write_file(path, bytes, 2 * length);
    ck_assert_int_eq(text_read(FIELD "static_planning/exclusive.csv.gz", 1 << 20, &once, &error), IMPORT_OK);
    ck_assert_int_eq(text_read(path, 1 << 20, &twice, &error), IMPORT_OK);
    ck_assert_uint_eq(twice.length, 2 * once.length);
    text_deinit(&once);
    text_deinit(&twice);
    unlink(path);
}
END_TEST

/* Writes the archive of the corpus with bytes before and behind it. */
static void write_around(char path[SCRATCH_PATH_BYTES], const char *archive, const char *before, size_t before_length,
                         const char *behind)
{
    char bytes[8192];
    FILE *stream = fopen(archive, "rb");
    ck_assert_ptr_nonnull(stream);
    memcpy(bytes, before, before_length);
    size_t length = before_length + fread(bytes + before_length, 1, 4096, stream);
    fclose(stream);
    memcpy(bytes + length, behind, strlen(behind));
    write_file(path, bytes, length + strlen(behind));
}

START_TEST(an_archive_may_begin_with_a_frame_that_is_skipped)
{
    static const char frame[] = "\x5F\x2A\x4D\x18\x04\x00\x00\x00" "abcd";
    char path[SCRATCH_PATH_BYTES];
    write_around(path, FIELD "static_planning/exclusive.csv.zst", frame, sizeof frame - 1, "");
    ck_assert_msg(import_file(path, "auto", NULL, &import, &error) == IMPORT_OK, "%s", error.reason);
    unlink(path);
}
END_TEST

START_TEST(what_follows_an_archive_is_named)
{
    char path[SCRATCH_PATH_BYTES];
    write_around(path, FIELD "static_planning/exclusive.csv.gz", "", 0, "\n");
    ck_assert_int_eq(import_file(path, "auto", NULL, &import, &error), IMPORT_UNREADABLE);
    ck_assert_ptr_nonnull(strstr(error.reason, "followed by something that is not gzip"));
    unlink(path);
}
END_TEST

/* A frame that asks for a window of 1 GiB, and holds nothing. */
START_TEST(a_window_that_is_too_large_is_named)
{
    static const char frame[] = "\x28\xB5\x2F\xFD\x00\xA0\x01\x00\x00";
    char path[SCRATCH_PATH_BYTES];
    write_file(path, frame, sizeof frame - 1);
    ck_assert_int_eq(import_file(path, "auto", NULL, &import, &error), IMPORT_UNREADABLE);
    ck_assert_ptr_nonnull(strstr(error.reason, "a window above 128 MiB"));
    unlink(path);
}
END_TEST

START_TEST(text_beyond_the_limit_is_refused_in_each_packing)
{
    static const char *const paths[] = {FIELD "static_planning/exclusive.csv", FIELD "static_planning/exclusive.csv.gz",
                                        FIELD "static_planning/exclusive.csv.zst"};
    struct text text;
    ck_assert_int_eq(text_read(paths[0], 1 << 20, &text, &error), IMPORT_OK);
    const size_t length = text.length;
    text_deinit(&text);
    ck_assert_int_eq(text_read(paths[0], length, &text, &error), IMPORT_OK);
    text_deinit(&text);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(text_read(paths[i], length - 1, &text, &error), IMPORT_UNREADABLE);
        ck_assert_ptr_nonnull(strstr(error.reason, "limit"));
    }
}
END_TEST

START_TEST(missing_files_directories_and_empty_files_are_said)
{
    char path[SCRATCH_PATH_BYTES];
    char text[512];
    ck_assert_int_eq(import_file("/nonexistent/x", "auto", NULL, &import, &error), IMPORT_UNREADABLE);
    ck_assert_str_eq(import_error_print("x", &error, text, sizeof text), "x: No such file or directory");
    ck_assert_int_eq(import_file(scratch_place(), "auto", NULL, &import, &error), IMPORT_UNREADABLE);
    ck_assert_str_eq(error.reason, "is a directory, not a file");
    write_file(path, "", 0);
    ck_assert_int_eq(import_file(path, "auto", NULL, &import, &error), IMPORT_INCOMPLETE);
    ck_assert_str_eq(error.reason, "the file is empty");
    unlink(path);
}
END_TEST

/* A file of length bytes, all 0 but the last, that takes no room on the disk. */
static void make_sparse(char path[SCRATCH_PATH_BYTES], size_t length)
{
    write_file(path, "", 0);
    ck_assert_int_eq(truncate(path, (off_t)length - 1), 0);
    FILE *stream = fopen(path, "ab");
    ck_assert_ptr_nonnull(stream);
    ck_assert_int_eq(fputc('x', stream), 'x');
    ck_assert_int_eq(fclose(stream), 0);
}

START_TEST(large_texts_are_kept_where_nobody_can_cut_them)
{
    const size_t lengths[] = {TEXT_HEAP_BYTES_MAX - 1, TEXT_HEAP_BYTES_MAX, TEXT_HEAP_BYTES_MAX + 1,
                              TEXT_HEAP_BYTES_MAX + 12345678, TEXT_HEAP_BYTES_MAX + ((size_t)16 << 20)};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char path[SCRATCH_PATH_BYTES];
        struct text text;
        make_sparse(path, lengths[i]);
        ck_assert_int_eq(text_read(path, lengths[i], &text, &error), IMPORT_OK);
        ck_assert_int_eq(truncate(path, 0), 0);
        ck_assert_uint_eq(text.length, lengths[i]);
        ck_assert_int_eq(text.is_mapped, lengths[i] > TEXT_HEAP_BYTES_MAX);
        ck_assert_int_eq(text.bytes[lengths[i] - 1], 'x');
        ck_assert_int_eq(text.bytes[lengths[i]], '\0');
        ck_assert_ptr_eq(memchr(text.bytes, 'x', lengths[i]), text.bytes + lengths[i] - 1);
        text_deinit(&text);
        unlink(path);
    }
}
END_TEST

START_TEST(no_room_for_a_large_text_is_one_line)
{
    char path[SCRATCH_PATH_BYTES];
    struct text text;
    struct rlimit limit = {.rlim_cur = TEXT_HEAP_BYTES_MAX + 1000, .rlim_max = RLIM_INFINITY};
    make_sparse(path, TEXT_HEAP_BYTES_MAX + 5000000);
    char place[SCRATCH_PATH_BYTES], reason[2 * SCRATCH_PATH_BYTES];
    (void)snprintf(place, sizeof place, "%s", scratch_place());
    ck_assert_int_eq(setenv("TMPDIR", "/nonexistent", 1), 0);
    ck_assert_int_eq(text_read(path, SIZE_MAX / 2, &text, &error), IMPORT_UNREADABLE);
    ck_assert_str_eq(error.reason, "its text is above 67108864 bytes and cannot be kept in a temporary file in "
                                   "/nonexistent (TMPDIR): No such file or directory");
    ck_assert_int_eq(setenv("TMPDIR", place, 1), 0);
    signal(SIGXFSZ, SIG_IGN); /* a limit on files is as good as a full disk */
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(text_read(path, SIZE_MAX / 2, &text, &error), IMPORT_UNREADABLE);
    (void)snprintf(reason, sizeof reason, "its text is above 67108864 bytes and cannot be kept in a temporary file in %s "
                   "(TMPDIR): File too large", place);
    ck_assert_str_eq(error.reason, reason);
    unlink(path);
}
END_TEST

/* The file system of temporary files, smaller than it is, or one that does not say how large it is. */
static uint64_t pretended_free_bytes;
static bool counts_no_blocks;

int fstatvfs(int file, struct statvfs *status)
{
    struct statfs real;
    const int result = fstatfs(file, &real);
    *status = (struct statvfs){
        .f_frsize = (unsigned long)real.f_bsize, .f_blocks = real.f_blocks, .f_bavail = real.f_bavail};
    if (pretended_free_bytes > 0) {
        status->f_bavail = pretended_free_bytes / status->f_frsize;
    }
    if (counts_no_blocks) {
        status->f_blocks = status->f_bavail = 0;
    }
    return result;
}

START_TEST(a_text_takes_at_most_half_of_what_is_free)
{
    char path[SCRATCH_PATH_BYTES], reason[2 * SCRATCH_PATH_BYTES];
    struct text text;
    make_sparse(path, 2 * TEXT_HEAP_BYTES_MAX);
    pretended_free_bytes = 4 * TEXT_HEAP_BYTES_MAX;
    ck_assert_int_eq(text_read(path, SIZE_MAX / 2, &text, &error), IMPORT_OK);
    text_deinit(&text);
    pretended_free_bytes -= 65536;
    ck_assert_int_eq(text_read(path, SIZE_MAX / 2, &text, &error), IMPORT_UNREADABLE);
    (void)snprintf(reason, sizeof reason, "its text is above 67108864 bytes, and takes more than half of what was free for "
                   "temporary files in %s (TMPDIR): 134184960 bytes", scratch_place());
    ck_assert_str_eq(error.reason, reason);
    counts_no_blocks = true;
    ck_assert_int_eq(text_read(path, SIZE_MAX / 2, &text, &error), IMPORT_OK);
    text_deinit(&text);
    counts_no_blocks = false;
    pretended_free_bytes = 0;
    unlink(path);
}
END_TEST

START_TEST(a_device_without_an_end_is_not_read)
{
    struct text text;
    ck_assert_int_eq(text_read("/dev/zero", SIZE_MAX / 2, &text, &error), IMPORT_UNREADABLE);
    ck_assert_str_eq(error.reason, "it is a device, not a file");
}
END_TEST

/* --- ops --------------------------------------------------------------------------------------- */

START_TEST(ops_are_read_as_they_are)
{
    assert_imports(FIELD "ops/small.ops", "ops");
    assert_ops("alloc size=8M tag=3\nuse block=0 delay=5ms\nfree_after block=0 event=1\n");
    ck_assert_str_eq(setup_option(&import.setup, "defrag"), "slide");
    ck_assert_int_eq(import_string("hbmstress-ops 1\n\n0: alloc sise=8\n", "auto"), IMPORT_INVALID);
    ck_assert_uint_eq(error.line, 3);
    ck_assert_uint_eq(error.column, 10);
}
END_TEST

/* --- static planning ---------------------------------------------------------------------------- */

START_TEST(frees_come_before_allocs_of_the_same_time)
{
    assert_imports(FIELD "static_planning/exclusive.csv", "static_planning");
    assert_ops("alloc size=512\nalloc size=1K\nfree block=1\nalloc size=1K\nfree block=0\nfree block=3\n"
               "alloc size=2560\nfree block=6\n");
    ck_assert_uint_eq(import.setup.capacity_bytes, 2560);
    ck_assert_uint_eq(import.setup.granule_bytes, 512);
    ck_assert_str_eq(setup_option(&import.setup, "defrag"), "repack");
}
END_TEST

START_TEST(included_ends_in_any_column_order_give_the_same_ops)
{
    assert_imports(FIELD "static_planning/exclusive.csv", "static_planning");
    char *exclusive = ops_text();
    assert_imports(FIELD "static_planning/inclusive_crlf.csv", "static_planning");
    assert_ops(exclusive);
    free(exclusive);
}
END_TEST

START_TEST(optional_columns_are_used_or_said_to_be_unused)
{
    assert_imports(FIELD "static_planning/all_columns.csv", "static_planning");
    assert_ops("alloc size=100\nalloc size=4K align=64\nfree block=0\nalloc size=300\nfree block=1\nfree block=3\n");
    ck_assert_uint_eq(import.setup.granule_bytes, 1);
    ck_assert_ptr_nonnull(strstr(import.notes, "1 buffers have gaps"));
    ck_assert_ptr_nonnull(strstr(import.notes, "offsets"));
    ck_assert_ptr_nonnull(strstr(import.notes, "1 columns of unknown names"));
}
END_TEST

START_TEST(odd_sizes_and_times_before_zero_are_kept)
{
    assert_imports(FIELD "static_planning/odd_sizes.csv", "static_planning");
    ck_assert_uint_eq(import.setup.granule_bytes, 1);
    ck_assert_uint_eq(import.setup.capacity_bytes, 13);
    assert_ops("alloc size=7\nalloc size=6\nfree block=0\nalloc size=5\nfree block=1\nfree block=3\n");
}
END_TEST

static const struct {
    const char *text;
    size_t line, column;
    const char *reason; /* part of it */
} bad_plans[] = {
    {"id,lower,upper,size\na,0,1,0\n", 2, 7, "size 0"},
    {"id,lower,upper,size\na,0,1,x\n", 2, 7, "the size"},
    {"id,lower,upper,size\na,0,1,-5\n", 2, 7, "the size"},
    {"id,lower,upper,size\na,0,1,9223372036854775808\n", 2, 7, "the size"},
    {"id,lower,upper,size\na,0,1,1125899906842624\nb,0,1,1\n", 3, 0, "2^50"},
    {"id,lower,upper,size\na,5,5,1\n", 2, 5, "ends before"},
    {"id,start,end,size\na,5,9223372036854775807,1\n", 2, 5, "2^63 - 1"},
    {"id,lower,upper,size\na,0,99999999999999999999,1\n", 2, 5, "the last time"},
    {"id,lower,upper,size\na,0,1\n", 2, 0, "3 fields where the header has 4"},
    {"id,lower,upper,size\na,0,1,1,1\n", 2, 0, "5 fields"},
    {"id,lower,upper,size\na,0,1,1\nb,0,1,1\na,2,3,1\n", 4, 0, "came before"},
    {"id,lower,upper,size\n,0,1,1\n", 2, 1, "the id is empty"},
    {"id,lower,upper,size\n\"a,0,1,1\n", 2, 1, "quote"},
    {"id,lower,upper,size,alignment\na,0,1,1,3\n", 2, 9, "power of two"},
    {"id,lower,upper,size,alignment\na,0,1,1,33554432\n", 2, 9, "power of two"},
    {"id,lower,upper,end,size\na,0,1,1,1\n", 1, 0, "both 'upper'"},
    {"id,buffer,lower,upper,size\na,a,0,1,1\n", 1, 4, "two columns"},
    {"id,lower,upper\na,0,1\n", 1, 0, "no column 'size'"},
    {"id,lower,upper,size\n", 1, 0, "no buffer"},
};

START_TEST(bad_plans_are_refused_with_their_place)
{
    ck_assert_int_ne(import_string(bad_plans[_i].text, "static_planning"), IMPORT_OK);
    ck_assert_msg(strstr(error.reason, bad_plans[_i].reason) != NULL, "%s", error.reason);
    ck_assert_uint_eq(error.line, bad_plans[_i].line);
    ck_assert_uint_eq(error.column, bad_plans[_i].column);
    ck_assert_uint_eq(import.ops.count, 0);
}
END_TEST

START_TEST(nul_bytes_in_a_plan_are_refused_with_their_place)
{
    static const char text[] = "id,lower,upper,size\na,0,1,\0001\n";
    ck_assert_int_eq(import_text(text, sizeof text - 1, "auto", NULL, &import, &error), IMPORT_INVALID);
    ck_assert_uint_eq(error.line, 2);
    ck_assert_uint_eq(error.column, 7);
}
END_TEST

START_TEST(a_last_line_without_its_end_and_a_byte_order_mark_are_taken)
{
    ck_assert_int_eq(import_string("\xEF\xBB\xBFid,lower,upper,size\na,0,1,7", "auto"), IMPORT_OK);
    assert_ops("alloc size=7\nfree block=0\n");
}
END_TEST

/* --- printed sizes -------------------------------------------------------------------------------- */

START_TEST(a_printed_size_is_exactly_the_sizes_that_print_so)
{
    struct random random;
    random_init(&random, 1);
    for (int i = 0; i < 3000; i++) {
        char text[SIZE_TEXT_BYTES];
        char edge[SIZE_TEXT_BYTES];
        struct size_range range;
        const uint64_t size_bytes = i < 3 ? (uint64_t)i : random_log_uniform(&random, 1, UINT64_C(1) << 62);
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
END_TEST

START_TEST(printed_sizes_that_are_none_are_refused)
{
    static const char *const bad[] = {"", "B", "1", "1.M", ".5M", "1.2", "1.5X", "-1B", "99999999E", "1 M", "1.1234567M",
                                      "1234567890123M", "1.0\0M"};
    struct size_range range;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(!printed_size_parse(bad[i], strlen(bad[i]), &range), "%s", bad[i]);
    }
    ck_assert(printed_size_parse("16G", 3, &range)); /* as people write it */
    ck_assert_uint_eq(range.nominal, UINT64_C(16) << 30);
    ck_assert(printed_size_parse("0.50G", 5, &range));
    ck_assert_uint_eq(range.nominal, UINT64_C(512) << 20);
}
END_TEST

START_TEST(aligned_ranges_hold_multiples_only)
{
    struct size_range range;
    ck_assert(printed_size_parse("6.43M", 5, &range));
    ck_assert(printed_size_align(&range, 512));
    ck_assert_uint_eq(range.low % 512 + range.high % 512 + range.nominal % 512, 0);
    ck_assert(printed_size_parse("1.7K", 4, &range));
    ck_assert(!printed_size_align(&range, 512));
}
END_TEST

/* --- tpu messages ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const char *ops;
    uint64_t capacity_bytes;
    uint64_t granule_bytes;
    bool is_in_pieces;
    const char *note; /* part of the notes; may be NULL */
} messages[] = {
    {"buffer", "alloc size=7959195136 tag=2\nalloc size=96M\n", UINT64_C(7662) << 20, 512, false, "2 messages"},
    {"buffer_code", "alloc size=6810880K tag=2\nalloc size=1280M\n", 0, 512, false, NULL},
    {"buffer_abbreviated", "alloc size=7845468K tag=2\nalloc size=7680K\n", 0, 512, false, NULL},
    {"buffer_pieces",
     "alloc size=34099K tag=3\nalloc size=512 tag=2\nalloc size=34099K tag=3\nalloc size=512 tag=2\n"
     "alloc size=210432 tag=3\nalloc size=7929225728 tag=2\nfree block=0\nfree block=2\nfree block=4\n"
     "alloc size=40M\n",
     0, 512, true, "in pieces"},
    {"buffer_below_free", NULL, 0, 512, true, "assumed that the largest piece"},
    {"program_allocate", NULL, 0, 512, false, "line 2: Error loading program 'jit_decode'"},
    {"program_reserve", "alloc size=2798M tag=2\nload size=512 stack=5632M tag=1\n", 0, 512, false, "one granule"},
    {"program_reserve_pieces", NULL, 0, 512, true, NULL},
    {"program_reserve_busy",
     "load size=512 stack=1G tag=4\nexecute program=0 delay=never\nalloc size=6423576064 tag=2\n"
     "load size=512 stack=2G tag=1\n",
     0, 512, false, NULL},
    {"program_reserve_nothing_free",
     "load size=512 stack=64M tag=1\nalloc size=8034188800 tag=2\nexecute program=0 delay=0s\n", 0, 512, false, NULL},
    {"program_reserve_image", "alloc size=1262M tag=2\nload size=268435968 stack=6G tag=1\n", 0, 512, false,
     "an image of 268435968 bytes"},
    {"program_reserve_table", "alloc size=15104M tag=2\nload size=512 stack=2621441K\n", UINT64_C(16) << 30, 512,
     false, "said by the message"},
    {"driver", NULL, 0, 512, true, NULL},
    {"small_granule", NULL, 0, 64, false, NULL},
};
enum { MESSAGE_COUNT = sizeof messages / sizeof messages[0] };

START_TEST(each_form_of_message_becomes_its_shortest_ops)
{
    char path[4096];
    snprintf(path, sizeof path, FIELD "tpu_message/%s.log", messages[_i].name);
    assert_imports(path, "tpu_message");
    if (messages[_i].ops != NULL) {
        assert_ops(messages[_i].ops);
    }
    if (messages[_i].capacity_bytes != 0) {
        ck_assert_uint_eq(import.setup.capacity_bytes, messages[_i].capacity_bytes);
    }
    ck_assert_uint_eq(import.setup.granule_bytes, messages[_i].granule_bytes);
    const char *defrag = setup_option(&import.setup, "defrag");
    ck_assert_int_eq(messages[_i].is_in_pieces, defrag != NULL && strcmp(defrag, "none") == 0);
    ck_assert(messages[_i].note == NULL || strstr(import.notes, messages[_i].note) != NULL);
}
END_TEST

START_TEST(coordinates_and_names_are_taken_over)
{
    assert_imports(FIELD "tpu_message/buffer.log", "tpu_message");
    ck_assert_uint_eq(import.setup.coordinate[0], 2);
    ck_assert_uint_eq(import.setup.coordinate[1], 1);
    assert_imports(FIELD "tpu_message/buffer_code.log", "tpu_message");
    ck_assert_uint_eq(import.setup.coordinate[3], 1);
    assert_imports(FIELD "tpu_message/program_reserve.log", "tpu_message");
    ck_assert_str_eq(import.setup.tags[1], "jit_update");
}
END_TEST

START_TEST(a_cut_message_says_what_is_missing)
{
    char text[512];
    ck_assert_int_eq(import_file(FIELD "tpu_message/cut.log", "auto", NULL, &import, &error), IMPORT_INCOMPLETE);
    ck_assert_str_eq(import_error_print("cut.log", &error, text, sizeof text),
                     "cut.log:1:21: the message is cut off or damaged: it does not say the free, reserved and reservable bytes");
}
END_TEST

/* Whatever is cut off the end: the import says so, or it gives what the whole message gives. */
START_TEST(a_message_cut_anywhere_is_never_taken_for_another)
{
    static const char whole[] = "x: Attempting to allocate 40.00M. That was not possible. There are 100.10M free. Due to "
                                "fragmentation, the largest contiguous region of free memory is 33.30M.";
    ck_assert_int_eq(import_string(whole, "tpu_message"), IMPORT_OK);
    const size_t op_count = import.ops.count;
    const size_t first_sentence = (size_t)(strstr(whole, " Due") - whole);
    for (size_t length = 1; length < sizeof whole - 1; length++) {
        const enum import_result result = import_text(whole, length, "tpu_message", NULL, &import, &error);
        if (result == IMPORT_OK) {
            const bool is_whole = length == sizeof whole - 2 && import.ops.count == op_count;
            const bool is_sentence = length >= first_sentence - 1 && length <= first_sentence + 1;
            ck_assert_msg(is_whole || is_sentence, "%.*s", (int)length, whole);
        } else {
            ck_assert_int_eq(result, IMPORT_INCOMPLETE);
            ck_assert(error.reason[0] != '\0');
        }
    }
}
END_TEST

static const struct {
    const char *text;
    const char *reason;
} contradictions[] = {
    {"Attempting to reserve 1.00G at the bottom of memory. That was not possible. There are 1.00G free, 2.00G reserved, "
     "and 1.50G reservable.",
     "contradict"},
    {"Attempting to allocate 99.00M. That was not possible. There are 8000.00P free.", "more than"},
    {"Attempting to allocate 99.00M. That was not possible. There are 9999999999.00P free.", "does not say"},
    {"Attempting to allocate 0B. That was not possible. There are 0B free.", "the request"},
    {"Attempting to allocate 1.00G. That was not possible. There are 2.00G free. Due to fragmentation, the largest "
     "contiguous region of free memory is 512B.",
     "100000 pieces"},
    {"Attempting to allocate 1.00G. That was not possible. There are 2.00G free. Due to fragmentation, the largest "
     "contiguous region of free memory is 1.50G.",
     "not above the largest"},
};

START_TEST(contradictions_are_refused)
{
    ck_assert_int_ne(import_string(contradictions[_i].text, "tpu_message"), IMPORT_OK);
    ck_assert_msg(strstr(error.reason, contradictions[_i].reason) != NULL, "%s", error.reason);
    ck_assert_uint_eq(error.line, 1);
}
END_TEST

START_TEST(a_capacity_that_cannot_hold_the_message_is_refused)
{
    const struct setup fixed = {.capacity_bytes = 64 << 20};
    const struct import_options options = {.fixed = &fixed};
    ck_assert_int_eq(import_file(FIELD "tpu_message/buffer.log", "auto", &options, &import, &error), IMPORT_INVALID);
    ck_assert_str_eq(error.reason,
                     "the capacity of 67108864 bytes is below the 74994176 bytes that the message needs");
}
END_TEST

/* --- any bytes ---------------------------------------------------------------------------------------- */

static const char *const all_files[] = {
    "ops/small.ops",
    "static_planning/exclusive.csv",
    "static_planning/inclusive_crlf.csv",
    "static_planning/all_columns.csv",
    "static_planning/odd_sizes.csv",
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

START_TEST(a_cut_at_any_byte_never_crashes)
{
    struct text text;
    read_corpus(_i, &text);
    for (size_t length = 0; length <= text.length; length++) {
        import_bytes(text.bytes, length, "auto");
        for (size_t i = 0; formats[i] != NULL; i++) {
            import_bytes(text.bytes, length, formats[i]->name);
        }
    }
    text_deinit(&text);
}
END_TEST

START_TEST(damage_at_any_byte_never_crashes)
{
    static const char likely[] = "\0\n\r\t ,.:;\"'0129-xBKMGTP(\xFF";
    struct text text;
    struct random random;
    read_corpus(_i, &text);
    random_init(&random, (uint64_t)_i);
    for (int i = 0; i < 2000; i++) {
        char *copy = malloc(text.length);
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, text.bytes, text.length);
        for (uint64_t count = random_between(&random, 1, 4); count > 0; count--) {
            copy[random_below(&random, text.length)] = likely[random_below(&random, sizeof likely - 1)];
        }
        import_bytes(copy, text.length, "auto");
        free(copy);
    }
    text_deinit(&text);
}
END_TEST

static Suite *suite_make(void)
{
    Suite *suite = suite_create("formats");
    TCase *cases = tcase_create("formats");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, setup_import, teardown_import);
    tcase_add_test(cases, format_names_are_unique_and_found);
    tcase_add_test(cases, unknown_formats_and_texts_are_refused_with_the_known_names);
    tcase_add_test(cases, what_the_user_fixed_wins);
    tcase_add_test(cases, no_control_character_of_a_text_is_printed);
    tcase_add_test(cases, compressed_files_give_the_same_ops);
    tcase_add_test(cases, cut_archives_are_said_to_be_cut);
    tcase_add_test(cases, archives_of_two_members_are_read_whole);
    tcase_add_test(cases, an_archive_may_begin_with_a_frame_that_is_skipped);
    tcase_add_test(cases, what_follows_an_archive_is_named);
    tcase_add_test(cases, a_window_that_is_too_large_is_named);
    tcase_add_test(cases, text_beyond_the_limit_is_refused_in_each_packing);
    tcase_add_test(cases, missing_files_directories_and_empty_files_are_said);
    tcase_add_test(cases, large_texts_are_kept_where_nobody_can_cut_them);
    tcase_add_test(cases, no_room_for_a_large_text_is_one_line);
    tcase_add_test(cases, a_text_takes_at_most_half_of_what_is_free);
    tcase_add_test(cases, a_device_without_an_end_is_not_read);
    tcase_add_test(cases, ops_are_read_as_they_are);
    tcase_add_test(cases, frees_come_before_allocs_of_the_same_time);
    tcase_add_test(cases, included_ends_in_any_column_order_give_the_same_ops);
    tcase_add_test(cases, optional_columns_are_used_or_said_to_be_unused);
    tcase_add_test(cases, odd_sizes_and_times_before_zero_are_kept);
    tcase_add_loop_test(cases, bad_plans_are_refused_with_their_place, 0,
                        (int)(sizeof bad_plans / sizeof bad_plans[0]));
    tcase_add_test(cases, nul_bytes_in_a_plan_are_refused_with_their_place);
    tcase_add_test(cases, a_last_line_without_its_end_and_a_byte_order_mark_are_taken);
    tcase_add_test(cases, a_printed_size_is_exactly_the_sizes_that_print_so);
    tcase_add_test(cases, printed_sizes_that_are_none_are_refused);
    tcase_add_test(cases, aligned_ranges_hold_multiples_only);
    tcase_add_loop_test(cases, each_form_of_message_becomes_its_shortest_ops, 0, MESSAGE_COUNT);
    tcase_add_test(cases, coordinates_and_names_are_taken_over);
    tcase_add_test(cases, a_cut_message_says_what_is_missing);
    tcase_add_test(cases, a_message_cut_anywhere_is_never_taken_for_another);
    tcase_add_loop_test(cases, contradictions_are_refused, 0, (int)(sizeof contradictions / sizeof contradictions[0]));
    tcase_add_test(cases, a_capacity_that_cannot_hold_the_message_is_refused);
    tcase_add_loop_test(cases, a_cut_at_any_byte_never_crashes, 0, FILE_COUNT);
    tcase_add_loop_test(cases, damage_at_any_byte_never_crashes, 0, FILE_COUNT);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return suite_run(suite_make());
}
