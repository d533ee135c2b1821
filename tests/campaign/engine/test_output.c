/* Where a campaign's lines go: whole lines alone are in its file, and a write that fails is told
 * once. */
#include "campaign/engine/output.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct output output;

static void enter_scratch(void)
{
    folder_enter("output");
    output_init(&output, true);
    output.is_pipe_closed = true; /* nobody reads standard output */
}

static void leave_scratch(void)
{
    snap_rest();
    folder_leave();
}

EVERY_TEST(.setup = enter_scratch, .teardown = leave_scratch);

static void write_line(const char *line)
{
    struct writing text;
    writing_init(&text);
    writing_append(&text, line);
    output_line(&output, &text);
    writing_deinit(&text);
}

TEST(lines_are_in_the_file_once_they_are_flushed)
{
    struct stat outer, inner;
    (void)umask(0); /* folders are open to whom the user says */
    ck_assert_int_eq(output_open_results(&output, folder_path("a/b"), 0), EXIT_KEPT);
    SHOW(output.path);
    ck_assert_int_eq(stat(folder_path("a"), &outer), 0);
    ck_assert_int_eq(stat(folder_path("a/b"), &inner), 0);
    ck_assert((outer.st_mode & 0777) == 0777 && (inner.st_mode & 0777) == 0777);
    write_line("one\n");
    write_line("two\n");
    SHOW(output.results_bytes, folder_read("a/b/results.jsonl"));
    output_flush(&output);
    SHOW(folder_read("a/b/results.jsonl"));
    write_line("three\n");
    output_close(&output);
    SHOW(output.is_failed, output.results, folder_read("a/b/results.jsonl"));
}

/* Another campaign begins, or one goes on behind what its checkpoint knows of. */
TEST(a_file_from_before_is_cut_to_what_is_known_of_it)
{
    static const char *const others[] = {"campaign",      "checkpoint",
                                         "summary.json",  "junit.xml",
                                         "results.sarif", "gl-code-quality-report.json"};
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        output_init(&output, true);
        output.is_pipe_closed = true;
        folder_write("results.jsonl", "one\ntwo\nthr");
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            folder_write(others[i], "x");
        }
        ck_assert_int_eq(output_open_results(&output, folder, goes_on ? 8 : 0), EXIT_KEPT);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            show(folder_has("%s", others[i]) ? "%s stays\n" : "", others[i]);
        }
        write_line("four\n");
        SHOW(output.results_bytes);
        output_close(&output);
        show("%s", folder_read("results.jsonl"));
    }
}

/* Room for the names of the files in it is kept.  Other places: tests/snap/run_resume.snap. */
TEST(a_path_that_is_too_long_is_refused)
{
    char longest[FILE_PATH_BYTES];
    enum exit_code code;
    memset(longest, '/', sizeof longest);
    memcpy(longest, folder, strlen(folder));
    ck_assert_int_eq(mkdir(folder_path("summary.json"), 0700), 0);
    for (size_t room = 128; room >= 127; room--) {
        output_init(&output, true);
        output.is_pipe_closed = true;
        longest[sizeof longest - room] = '\0';
        HEAR(code = output_open_results(&output, longest, 0));
        longest[sizeof longest - room] = '/';
        output_close(&output);
        ck_assert_int_eq(code, room == 128 ? EXIT_HARNESS : EXIT_USAGE);
        const char *said = shown_take();
        ck_assert_ptr_nonnull(
            strstr(said, room == 128 ? "summary.json: Is a directory\n" : "File name too long\n"));
    }
}

TEST(a_full_disk_is_told_once_and_ends_the_lines)
{
    ck_assert_int_eq(output_open_results(&output, folder, 0), EXIT_KEPT);
    write_line("one\n");
    output_flush(&output);
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(full, 0);
    ck_assert_int_ge(dup2(full, output.results), 0);
    close(full);
    write_line("two\n");
    HEAR(output_flush(&output));
    write_line("three\n");
    HEAR(output_flush(&output));
    HEAR(output_close(&output));
    SHOW(output.is_failed, output.results_bytes, folder_read("results.jsonl"));
}

/* Standard output is a file meanwhile. */
static int enter_file(void)
{
    const int before = dup(STDOUT_FILENO);
    (void)fflush(stdout);
    const int file = open(folder_path("standard"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(dup2(file, STDOUT_FILENO), 0);
    close(file);
    return before;
}

static void leave_file(int before)
{
    (void)fflush(stdout);
    ck_assert_int_ge(dup2(before, STDOUT_FILENO), 0);
    close(before);
}

/* Which texts go there. */
static void show_all(bool is_json, bool is_closed)
{
    struct writing line;
    output_init(&output, is_json);
    output.is_pipe_closed = is_closed;
    writing_init(&line);
    const int before = enter_file();
    writing_append(&line, "line.");
    output_line(&output, &line);
    output_line_to_results(&output, &line);
    output_line_to_standard(&output, &line);
    output_text(&output, &line);
    writing_clear(&line);
    writing_append(&line, "text.");
    output_text(&output, &line);
    leave_file(before);
    SHOW(is_json, is_closed, folder_read("standard"));
    output_close(&output);
    writing_deinit(&line);
}

TEST(programs_get_lines_and_people_text)
{
    for (int i = 0; i < 4; i++) {
        show_all(i % 2 == 0, i / 2 == 1);
    }
}

/* The code, then the words. */
TEST(the_answer_of_a_child_is_its_code_and_its_words)
{
    struct writing answer;
    const enum exit_code code = EXIT_UNKNOWN;
    writing_init(&answer);
    writing_append_bytes(&answer, &code, sizeof code);
    writing_append(&answer, "words\n");
    const int before = enter_file();
    const enum exit_code for_programs = output_answer(true, &answer);
    const enum exit_code for_people = output_answer(false, &answer);
    (void)fflush(stdout);
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(dup2(full, STDOUT_FILENO), 0);
    close(full);
    enum exit_code failed;
    HEAR(failed = output_answer(true, &answer));
    leave_file(before);
    SHOW(for_programs == EXIT_UNKNOWN, for_people == EXIT_UNKNOWN, failed == EXIT_HARNESS,
         folder_read("standard"));
    writing_deinit(&answer);
}
