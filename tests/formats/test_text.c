/* What a file is before any format sees it: packed or not, cut, too long, none at all, or without
 * an end. */
#include "formats/common/text.h"
#include "formats/formats.h"
#include "tests/formats/import_rig.h"
#include "tests/helpers/scratch.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/static_planning/"

EVERY_TEST(.timeout_s = 120, .setup = setup_import, .teardown = teardown_import);

/* Writes bytes to a new file; path gets its name. */
static void write_file(char path[SCRATCH_PATH_BYTES], const void *bytes, size_t length)
{
    scratch_name(path, "test_text");
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, bytes, length), (ssize_t)length);
    ck_assert_int_eq(close(file), 0);
}

/* The text of a file with these bytes. */
static void assert_text(const void *bytes, size_t length, const char *expected)
{
    char path[SCRATCH_PATH_BYTES];
    struct text text;
    write_file(path, bytes, length);
    ck_assert_int_eq(text_read(path, 1 << 20, &text, &refusal), IMPORT_OK);
    ck_assert_str_eq(text.bytes, expected);
    ck_assert_uint_eq(text.length, strlen(expected));
    text_deinit(&text);
    unlink(path);
}

TEST(utf_16_becomes_utf_8)
{
    /* one of each length, and halves of pairs alone */
    static const unsigned char little[] = {0xFF, 0xFE, 'a',  0,    0xE9, 0, 0xAC, 0x20, 0x3D, 0xD8,
                                           0x00, 0xDE, 0x3D, 0xD8, 'b',  0, 0x00, 0xDE, '\n', 0};
    static const unsigned char big[] = {0xFE, 0xFF, 0, 'a', 0, 0xE9, 0xD8, 0x3D, 0xDE, 0x00, 0};
    assert_text(little, sizeof little, "a\u00E9\u20AC\U0001F600\uFFFDb\uFFFD\n");
    assert_text(big, sizeof big, "a\u00E9\U0001F600"); /* cut in the last character */
    assert_text(little, 2, "");
}

/* More than one chunk of what is read and of what is written. */
TEST(utf_16_of_any_length_is_whole)
{
    enum { COUNT = 300001 };
    char *bytes = malloc(2 + 2 * COUNT);
    char *expected = malloc(COUNT + 1);
    ck_assert(bytes != NULL && expected != NULL);
    memcpy(bytes, "\xFE\xFF", 2);
    for (size_t i = 0; i < COUNT; i++) {
        expected[i] = (char)('a' + i % 23);
        bytes[2 + 2 * i] = 0;
        bytes[3 + 2 * i] = expected[i];
    }
    expected[COUNT] = '\0';
    assert_text(bytes, 2 + 2 * COUNT, expected);
    free(bytes);
    free(expected);
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
        ck_assert_int_eq(import_file(copy, "auto", NULL, &import, &refusal), IMPORT_UNREADABLE);
        ck_assert_msg(strstr(refusal.reason, "cut off") != NULL, "cut at %zu: %s", cut,
                      refusal.reason);
        unlink(copy);
    }
}

TEST(cut_archives_are_said_to_be_cut)
{
    assert_every_cut_is_said(FIELD "exclusive.csv.gz");
    assert_every_cut_is_said(FIELD "exclusive.csv.zst");
}

TEST(text_beyond_the_limit_is_refused_in_each_packing)
{
    static const char *const paths[] = {FIELD "exclusive.csv", FIELD "exclusive.csv.gz",
                                        FIELD "exclusive.csv.zst"};
    struct text text;
    ck_assert_int_eq(text_read(paths[0], 1 << 20, &text, &refusal), IMPORT_OK);
    const size_t length = text.length;
    text_deinit(&text);
    ck_assert_int_eq(text_read(paths[0], length, &text, &refusal), IMPORT_OK);
    text_deinit(&text);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(text_read(paths[i], length - 1, &text, &refusal), IMPORT_UNREADABLE);
        ck_assert_ptr_nonnull(strstr(refusal.reason, "limit"));
    }
}

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

TEST(large_texts_are_kept_where_nobody_can_cut_them)
{
    const size_t lengths[] = {TEXT_HEAP_BYTES_MAX - 1, TEXT_HEAP_BYTES_MAX, TEXT_HEAP_BYTES_MAX + 1,
                              TEXT_HEAP_BYTES_MAX + 12345678,
                              TEXT_HEAP_BYTES_MAX + ((size_t)16 << 20)};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char path[SCRATCH_PATH_BYTES];
        struct text text;
        make_sparse(path, lengths[i]);
        ck_assert_int_eq(text_read(path, lengths[i], &text, &refusal), IMPORT_OK);
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

TEST(no_room_for_a_large_text_is_one_line)
{
    char path[SCRATCH_PATH_BYTES];
    struct text text;
    struct rlimit limit = {.rlim_cur = TEXT_HEAP_BYTES_MAX + 1000, .rlim_max = RLIM_INFINITY};
    make_sparse(path, TEXT_HEAP_BYTES_MAX + 5000000);
    char place[SCRATCH_PATH_BYTES], reason[2 * SCRATCH_PATH_BYTES];
    (void)snprintf(place, sizeof place, "%s", scratch_place());
    ck_assert_int_eq(setenv("TMPDIR", "/nonexistent", 1), 0);
    ck_assert_int_eq(text_read(path, SIZE_MAX / 2, &text, &refusal), IMPORT_UNREADABLE);
    ck_assert_str_eq(
        refusal.reason,
        "its text is above 67108864 bytes and cannot be stored in a temporary file in /nonexistent (TMPDIR): No such file or directory");
    ck_assert_int_eq(setenv("TMPDIR", place, 1), 0);
    signal(SIGXFSZ, SIG_IGN); /* a limit on files is as good as a full disk */
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(text_read(path, SIZE_MAX / 2, &text, &refusal), IMPORT_UNREADABLE);
    (void)snprintf(
        reason, sizeof reason,
        "its text is above 67108864 bytes and cannot be stored in a temporary file in %s (TMPDIR): File too large",
        place);
    ck_assert_str_eq(refusal.reason, reason);
    unlink(path);
}

/* The file system of temporary files, smaller than it is, or one that does not say how large it is.
 */
static uint64_t pretended_free_bytes;
static bool counts_no_blocks;

int fstatvfs(int file, struct statvfs *status)
{
    struct statfs real;
    const int result = fstatfs(file, &real);
    *status = (struct statvfs){.f_frsize = (unsigned long)real.f_bsize,
                               .f_blocks = real.f_blocks,
                               .f_bavail = real.f_bavail};
    if (pretended_free_bytes > 0) {
        status->f_bavail = pretended_free_bytes / status->f_frsize;
    }
    if (counts_no_blocks) {
        status->f_blocks = status->f_bavail = 0;
    }
    return result;
}

TEST(a_text_takes_at_most_half_of_what_is_free)
{
    char path[SCRATCH_PATH_BYTES], reason[2 * SCRATCH_PATH_BYTES];
    struct text text;
    make_sparse(path, 2 * TEXT_HEAP_BYTES_MAX);
    pretended_free_bytes = 4 * TEXT_HEAP_BYTES_MAX;
    ck_assert_int_eq(text_read(path, SIZE_MAX / 2, &text, &refusal), IMPORT_OK);
    text_deinit(&text);
    pretended_free_bytes -= 65536;
    ck_assert_int_eq(text_read(path, SIZE_MAX / 2, &text, &refusal), IMPORT_UNREADABLE);
    (void)snprintf(
        reason, sizeof reason,
        "its text is above 67108864 bytes and needs a temporary file in %s (TMPDIR), where half of the free space, 134184960 bytes, is too little",
        scratch_place());
    ck_assert_str_eq(refusal.reason, reason);
    counts_no_blocks = true;
    ck_assert_int_eq(text_read(path, SIZE_MAX / 2, &text, &refusal), IMPORT_OK);
    text_deinit(&text);
    counts_no_blocks = false;
    pretended_free_bytes = 0;
    unlink(path);
}

TEST(a_device_without_an_end_is_not_read)
{
    struct text text;
    ck_assert_int_eq(text_read("/dev/zero", SIZE_MAX / 2, &text, &refusal), IMPORT_UNREADABLE);
    ck_assert_str_eq(refusal.reason, "it is a device, not a file");
}
