/* Where a campaign's lines go: whole lines alone are in its file, and a write that fails is told
 * once. */
#include "campaign/engine/output.h"
#include "tests/helpers/messages.h"
#include "tests/helpers/scratch.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_BYTES = 1 << 13 };

static char directory[SCRATCH_PATH_BYTES];
static struct output output;

static const char *path_of(const char *name)
{
    static char path[2 * SCRATCH_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void enter_scratch(void)
{
    scratch_name(directory, "output");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    output_init(&output, true);
    output.is_pipe_closed = true; /* nobody reads standard output */
}

static void leave_scratch(void)
{
    char command[SCRATCH_PATH_BYTES + 16];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", directory);
    ck_assert_int_eq(system(command), 0);
}

static void write_line(const char *line)
{
    struct writing text;
    writing_init(&text);
    writing_append(&text, line);
    output_line(&output, &text);
    writing_deinit(&text);
}

static void check_file(const char *path, const char *wanted)
{
    char text[TEXT_BYTES];
    FILE *stream = fopen(path, "re");
    ck_assert_ptr_nonnull(stream);
    text[fread(text, 1, sizeof text - 1, stream)] = '\0';
    fclose(stream);
    ck_assert_str_eq(text, wanted);
}

static void write_file(const char *path, const char *text)
{
    FILE *stream = fopen(path, "we");
    ck_assert_ptr_nonnull(stream);
    ck_assert_int_ge(fputs(text, stream), 0);
    ck_assert_int_eq(fclose(stream), 0);
}

TEST(lines_are_in_the_file_once_they_are_flushed)
{
    struct stat outer, inner;
    enter_scratch();
    (void)umask(0); /* folders are open to whom the user says */
    ck_assert_int_eq(output_open_results(&output, path_of("a/b"), 0), EXIT_KEPT);
    ck_assert_str_eq(output.path, path_of("a/b/results.jsonl"));
    ck_assert_int_eq(stat(path_of("a"), &outer), 0);
    ck_assert_int_eq(stat(path_of("a/b"), &inner), 0);
    ck_assert_int_eq(outer.st_mode & 0777, 0777);
    ck_assert_int_eq(inner.st_mode & 0777, 0777);
    write_line("one\n");
    write_line("two\n");
    ck_assert_uint_eq(output.results_bytes, 8);
    check_file(path_of("a/b/results.jsonl"), "");
    output_flush(&output);
    check_file(path_of("a/b/results.jsonl"), "one\ntwo\n");
    write_line("three\n");
    output_close(&output);
    ck_assert(!output.is_failed);
    ck_assert_int_eq(output.results, -1);
    check_file(path_of("a/b/results.jsonl"), "one\ntwo\nthree\n");
    leave_scratch();
}

/* Another campaign begins, or one goes on behind what its checkpoint knows of. */
TEST(a_file_from_before_is_cut_to_what_is_known_of_it)
{
    static const char *const others[] = {"campaign",      "checkpoint",
                                         "summary.json",  "junit.xml",
                                         "results.sarif", "gl-code-quality-report.json"};
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        enter_scratch();
        write_file(path_of("results.jsonl"), "one\ntwo\nthr");
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            write_file(path_of(others[i]), "x");
        }
        ck_assert_int_eq(output_open_results(&output, directory, goes_on ? 8 : 0), EXIT_KEPT);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            ck_assert_int_eq(access(path_of(others[i]), F_OK) == 0, goes_on && i < 2);
        }
        write_line("four\n");
        ck_assert_uint_eq(output.results_bytes, goes_on ? 13 : 5);
        output_close(&output);
        check_file(path_of("results.jsonl"), goes_on ? "one\ntwo\nfour\n" : "four\n");
        leave_scratch();
    }
}

static void check_refusal(const char *folder, uint64_t saved_bytes, enum exit_code wanted,
                          const char *wanted_text)
{
    char text[TEXT_BYTES];
    output_init(&output, true);
    output.is_pipe_closed = true;
    const int before = messages_begin();
    ck_assert_int_eq(output_open_results(&output, folder, saved_bytes), wanted);
    messages_end(before, text, sizeof text);
    ck_assert_msg(strstr(text, wanted_text) != NULL, "%s in: %s", wanted_text, text);
    output_close(&output);
}

TEST(a_place_where_no_results_can_be_is_refused)
{
    char longest[FILE_PATH_BYTES];
    enter_scratch();
    write_file(path_of("results.jsonl"), "one\n");
    check_refusal(directory, 5, EXIT_USAGE, "the file is shorter than its checkpoint records");
    check_file(path_of("results.jsonl"), "one\n");
    check_refusal(path_of("results.jsonl"), 0, EXIT_USAGE, "");
    ck_assert_int_eq(mkdir(path_of("summary.json"), 0700), 0);
    check_refusal(directory, 0, EXIT_HARNESS, "summary.json: Is a directory");
    ck_assert_int_eq(mkdir(path_of("x"), 0700), 0);
    ck_assert_int_eq(mkdir(path_of("x/results.jsonl"), 0700), 0);
    check_refusal(path_of("x"), 0, EXIT_USAGE, "results.jsonl: Is a directory");
    /* Room for the names of the files in it is kept. */
    memset(longest, '/', sizeof longest);
    longest[sizeof longest - 128] = '\0';
    memcpy(longest, directory, strlen(directory));
    check_refusal(longest, 0, EXIT_HARNESS, "summary.json: Is a directory");
    longest[sizeof longest - 128] = '/';
    longest[sizeof longest - 127] = '\0';
    check_refusal(longest, 0, EXIT_USAGE, "File name too long");
    leave_scratch();
}

TEST(a_full_disk_is_told_once_and_ends_the_lines)
{
    char text[TEXT_BYTES];
    enter_scratch();
    ck_assert_int_eq(output_open_results(&output, directory, 0), EXIT_KEPT);
    write_line("one\n");
    output_flush(&output);
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(full, 0);
    ck_assert_int_ge(dup2(full, output.results), 0);
    close(full);
    write_line("two\n");
    const int before = messages_begin();
    output_flush(&output);
    write_line("three\n");
    output_flush(&output);
    output_close(&output);
    messages_end(before, text, sizeof text);
    ck_assert(output.is_failed);
    ck_assert_uint_eq(output.results_bytes, 4);
    char wanted[TEXT_BYTES];
    (void)snprintf(wanted, sizeof wanted, "hbmstress: %s: No space left on device\n",
                   path_of("results.jsonl"));
    ck_assert_str_eq(text, wanted);
    check_file(path_of("results.jsonl"), "one\n");
    leave_scratch();
}

/* Standard output in the place of a file: which texts go there. */
static const char *say_all(bool is_json, bool is_closed)
{
    static char text[TEXT_BYTES];
    struct writing line;
    enter_scratch();
    output_init(&output, is_json);
    output.is_pipe_closed = is_closed;
    writing_init(&line);
    const int before = dup(STDOUT_FILENO);
    (void)fflush(stdout);
    const int file = open(path_of("standard"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(dup2(file, STDOUT_FILENO), 0);
    writing_append(&line, "line.");
    output_line(&output, &line);
    output_line_to_results(&output, &line);
    output_line_to_standard(&output, &line);
    output_text(&output, &line);
    writing_clear(&line);
    writing_append(&line, "text.");
    output_text(&output, &line);
    (void)fflush(stdout);
    ck_assert_int_ge(dup2(before, STDOUT_FILENO), 0);
    const ssize_t got = pread(file, text, sizeof text - 1, 0);
    ck_assert_int_ge(got, 0);
    text[got] = '\0';
    close(file);
    close(before);
    output_close(&output);
    writing_deinit(&line);
    leave_scratch();
    return text;
}

TEST(programs_get_lines_and_people_text)
{
    ck_assert_str_eq(say_all(true, false), "line.line.");
    ck_assert_str_eq(say_all(false, false), "line.text.");
    ck_assert_str_eq(say_all(true, true), "");
    ck_assert_str_eq(say_all(false, true), "");
}

/* The code, then the words. */
TEST(the_answer_of_a_child_is_its_code_and_its_words)
{
    struct writing answer;
    const enum exit_code code = EXIT_UNKNOWN;
    char text[64];
    enter_scratch();
    const int before = dup(STDOUT_FILENO);
    const int file = open(path_of("standard"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    (void)fflush(stdout);
    ck_assert_int_ge(dup2(file, STDOUT_FILENO), 0);
    writing_init(&answer);
    writing_append_bytes(&answer, &code, sizeof code);
    writing_append(&answer, "words\n");
    const enum exit_code for_programs = output_answer(true, &answer);
    const enum exit_code for_people = output_answer(false, &answer);
    (void)fflush(stdout);
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(dup2(full, STDOUT_FILENO), 0);
    close(full);
    const int errors = messages_begin();
    const enum exit_code failed = output_answer(true, &answer);
    messages_end(errors, text, sizeof text);
    ck_assert_int_ge(dup2(before, STDOUT_FILENO), 0);
    close(before);
    close(file);
    ck_assert_int_eq(for_programs, EXIT_UNKNOWN);
    ck_assert_int_eq(for_people, EXIT_UNKNOWN);
    ck_assert_int_eq(failed, EXIT_HARNESS);
    ck_assert_str_eq(text, "hbmstress: standard output: No space left on device\n");
    check_file(path_of("standard"), "words\nwords\n");
    writing_deinit(&answer);
    leave_scratch();
}
