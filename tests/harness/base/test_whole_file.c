/* A file that is written is there whole, or what was there before stays. */
#include "harness/base/whole_file.h"
#include "tests/helpers/scratch.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LARGE_BYTES = 1 << 20, LIMIT_BYTES = 1 << 16 };

static char directory[SCRATCH_PATH_BYTES];
static char path[SCRATCH_PATH_BYTES + 8], partial[WHOLE_FILE_PATH_BYTES];
static char large[LARGE_BYTES];

static void setup_directory(void)
{
    scratch_name(directory, "whole_file");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    (void)snprintf(path, sizeof path, "%s/file", directory);
    (void)snprintf(partial, sizeof partial, "%s.partial", path);
    ck_assert(whole_file_write(path, "before", strlen("before"), true));
    memset(large, 'x', sizeof large);
}

static void teardown_directory(void)
{
    (void)unlink(partial);
    (void)unlink(path);
    ck_assert_int_eq(rmdir(directory), 0);
}

static void check_content(const char *expected)
{
    char content[16] = "";
    FILE *stream = fopen(path, "r");
    ck_assert_ptr_nonnull(stream);
    ck_assert_uint_lt(fread(content, 1, sizeof content - 1, stream), sizeof content);
    ck_assert_int_eq(fclose(stream), 0);
    ck_assert_str_eq(content, expected);
}

/* As on a full disk: a part is written, and no more. */
static void limit_file_size(void)
{
    const struct rlimit limit = {LIMIT_BYTES, LIMIT_BYTES};
    ck_assert_ptr_ne(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

EVERY_TEST(.setup = setup_directory, .teardown = teardown_directory);

TEST(a_written_file_replaces_the_one_before)
{
    ck_assert(whole_file_write(path, "after", strlen("after"), false));
    check_content("after");
    ck_assert_int_ne(access(partial, F_OK), 0);
}

TEST(a_failed_write_leaves_the_file_before_and_no_part)
{
    limit_file_size();
    ck_assert(!whole_file_write(path, large, sizeof large, false));
    ck_assert_int_eq(errno, EFBIG);
    check_content("before");
    ck_assert_int_ne(access(partial, F_OK), 0);
}

/* What is noticed only when the stream is flushed. */
TEST(a_write_that_fails_at_the_end_is_one)
{
    static char buffer[2 * LARGE_BYTES];
    FILE *stream = whole_file_begin(path, partial);
    ck_assert_ptr_nonnull(stream);
    ck_assert_int_eq(setvbuf(stream, buffer, _IOFBF, sizeof buffer), 0);
    limit_file_size();
    ck_assert_uint_eq(fwrite(large, 1, sizeof large, stream), sizeof large);
    ck_assert(!whole_file_end(stream, partial, path, true));
    ck_assert_int_eq(errno, EFBIG);
    check_content("before");
}

TEST(what_a_killed_process_left_is_replaced)
{
    FILE *left = fopen(partial, "w");
    ck_assert_ptr_nonnull(left);
    ck_assert_int_ge(fputs("half of somet", left), 0);
    ck_assert_int_eq(fclose(left), 0);
    ck_assert(whole_file_write(path, "after", strlen("after"), true));
    check_content("after");
}

TEST(a_path_without_room_for_its_ending_is_refused)
{
    char name[WHOLE_FILE_PATH_BYTES];
    memset(name, 'n', sizeof name);
    name[sizeof name - 4] = '\0';
    ck_assert_ptr_null(whole_file_begin(name, partial));
    ck_assert_int_eq(errno, ENAMETOOLONG);
    partial[0] = '\0';
}
