/* What a campaign leaves on the disk: it is read back as it was, and nothing else is taken for it.
 */
#include "campaign/engine/checkpoint.h"
#include "tests/helpers/messages.h"
#include "tests/helpers/scratch.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PART_COUNT = 2, PATH_BYTES = SCRATCH_PATH_BYTES + 32, MESSAGE_BYTES = 512 };
#define DAMAGED "the file is damaged"

static char directory[SCRATCH_PATH_BYTES];
static struct campaign_description description;
static struct checkpoint checkpoint;

static const char *path_of(const char *name)
{
    static char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void make_campaign(void)
{
    struct finding finding = {.part = 1, .count = 3};
    scratch_name(directory, "checkpoint");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    description = (struct campaign_description){
        .head = {.part_count = PART_COUNT, .shard_count = 2, .shard_index = 1, .plan_digest = 7},
        .parts = calloc(PART_COUNT, sizeof *description.parts)};
    strcpy(description.parts[1].name, "the second");
    description.head.argument_count = 2;
    writing_append_bytes(&description.arguments, "--seed\0007", 9);
    checkpoint = (struct checkpoint){.parts = calloc(PART_COUNT, sizeof *checkpoint.parts)};
    checkpoint.state.mark = (struct trials_mark){4, 1, 9};
    checkpoint.parts[1].trials = 5;
    strcpy(finding.signature, "counters: x");
    (void)findings_add(&checkpoint.findings, &finding);
    writing_append_bytes(&checkpoint.saved_files, "repros/a.ops", 13);
}

static void save_campaign(void)
{
    ck_assert(campaign_description_save(&description, directory));
    ck_assert(checkpoint_save(&checkpoint, &description, directory));
}

static void end_campaign(void)
{
    campaign_description_deinit(&description);
    checkpoint_deinit(&checkpoint);
    checkpoint_forget(directory);
    ck_assert_int_eq(rmdir(directory), 0); /* nothing else was left there */
}

/* message NULL: it is read. */
static void check_load(const char *name, const char *message)
{
    struct campaign_description read;
    struct checkpoint at;
    char text[MESSAGE_BYTES], wanted[MESSAGE_BYTES] = "";
    const int before = messages_begin();
    const enum exit_code code = checkpoint_load(directory, &read, &at);
    messages_end(before, text, sizeof text);
    if (message != NULL) {
        (void)snprintf(wanted, sizeof wanted, "hbmstress: %s: %s\n", path_of(name), message);
    }
    ck_assert_str_eq(text, wanted);
    ck_assert_int_eq(code, message == NULL ? EXIT_KEPT : EXIT_USAGE);
    campaign_description_deinit(&read);
    checkpoint_deinit(&at);
}

START_TEST(a_campaign_is_read_back_as_it_was)
{
    struct campaign_description read;
    struct checkpoint at;
    make_campaign();
    save_campaign();
    ck_assert_int_eq(checkpoint_load(directory, &read, &at), EXIT_KEPT);
    ck_assert_int_eq(memcmp(&read.head, &description.head, sizeof read.head), 0);
    ck_assert_str_eq(read.parts[1].name, "the second");
    ck_assert_uint_eq(read.arguments.length, 9);
    ck_assert_int_eq(memcmp(read.arguments.bytes, "--seed\0007", 9), 0);
    ck_assert_int_eq(memcmp(&at.state, &checkpoint.state, sizeof at.state), 0);
    ck_assert_uint_eq(at.parts[1].trials, 5);
    ck_assert_uint_eq(at.findings.count, 1);
    ck_assert_str_eq(at.findings.findings[0].signature, "counters: x");
    ck_assert_uint_eq(at.findings.findings[0].count, 3);
    ck_assert_str_eq(at.saved_files.bytes, "repros/a.ops");
    campaign_description_deinit(&read);
    checkpoint_deinit(&at);
    /* Without arguments, findings and files, too. */
    writing_clear(&description.arguments);
    description.head.argument_count = 0;
    writing_clear(&checkpoint.saved_files);
    findings_deinit(&checkpoint.findings);
    save_campaign();
    check_load("", NULL);
    end_campaign();
}
END_TEST

START_TEST(what_is_forgotten_is_gone)
{
    make_campaign();
    save_campaign();
    ck_assert_int_eq(access(path_of("campaign"), F_OK), 0);
    ck_assert_int_eq(access(path_of("checkpoint"), F_OK), 0);
    checkpoint_forget(directory);
    ck_assert_int_ne(access(path_of("campaign"), F_OK), 0);
    ck_assert_int_ne(access(path_of("checkpoint"), F_OK), 0);
    end_campaign();
}
END_TEST

START_TEST(a_file_that_cannot_be_written_is_told)
{
    make_campaign();
    ck_assert_int_eq(rmdir(directory), 0);
    ck_assert(!campaign_description_save(&description, directory));
    ck_assert_int_eq(errno, ENOENT);
    ck_assert(!checkpoint_save(&checkpoint, &description, directory));
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_int_eq(mkdir(directory, 0700), 0);
    end_campaign();
}
END_TEST

/* Each byte of the head counts, the file's length, and the bytes behind. */
START_TEST(a_changed_file_is_refused)
{
    static const struct {
        long at; /* the byte that is changed; -1: the last one is cut, -2: one is appended */
        const char *message;
    } rows[] = {
        {0, "no campaign wrote this file"},
        {14, "no campaign wrote this file"},
        {15, "another build of hbmstress wrote it; use that build"},
        {16, "another build of hbmstress wrote it; use that build"},
        {24, DAMAGED},
        {32, DAMAGED},
        {40, DAMAGED},
        {-1, DAMAGED},
        {-2, DAMAGED},
    };
    static const char *const names[] = {"campaign", "checkpoint"};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        const long at = rows[i / 2].at;
        make_campaign();
        save_campaign();
        FILE *stream = fopen(path_of(names[i % 2]), "r+e");
        ck_assert_ptr_nonnull(stream);
        ck_assert_int_eq(fseek(stream, at < 0 ? 0 : at, at < 0 ? SEEK_END : SEEK_SET), 0);
        const int byte = fgetc(stream);
        ck_assert_int_eq(fseek(stream, at < 0 ? 0 : at, at < 0 ? SEEK_END : SEEK_SET), 0);
        const long length = ftell(stream);
        if (at == -1) {
            ck_assert_int_eq(ftruncate(fileno(stream), length - 1), 0);
        } else {
            ck_assert_int_ne(fputc(byte ^ 1, stream), EOF);
        }
        ck_assert_int_eq(fclose(stream), 0);
        check_load(names[i % 2], rows[i / 2].message);
        end_campaign();
    }
}
END_TEST

START_TEST(a_file_that_is_not_there_or_too_short_is_refused)
{
    make_campaign();
    check_load("campaign", "there is no campaign to resume");
    ck_assert(campaign_description_save(&description, directory));
    check_load("checkpoint", "there is no campaign to resume");
    save_campaign();
    ck_assert_int_eq(truncate(path_of("campaign"), 39), 0);
    check_load("campaign", "no campaign wrote this file");
    ck_assert_int_eq(truncate(path_of("campaign"), 40), 0);
    check_load("campaign", DAMAGED);
    end_campaign();
}
END_TEST

/* Files whose sums are right, and whose numbers are not. */
START_TEST(numbers_that_cannot_be_are_refused)
{
    for (unsigned i = 0; i < 6; i++) {
        make_campaign();
        struct campaign_head *head = &description.head;
        head->part_count = i == 0 ? 0 : PART_COUNT;
        head->shard_count = i == 1 ? 0 : 2;
        head->shard_index = i == 2 ? 2 : 1;
        head->argument_count = i == 3 ? 3 : i == 4 ? 1 : 2;
        if (i == 5) {
            writing_append_bytes(&description.arguments, "x", 1);
        }
        save_campaign();
        check_load("campaign", DAMAGED);
        end_campaign();
    }
    for (unsigned i = 0; i < 5; i++) {
        make_campaign();
        checkpoint.findings.findings[0].before_count = i == 4 ? 4097 : 4096;
        checkpoint.state.mark.part = i == 0 ? PART_COUNT : 0;
        checkpoint.findings.findings[0].part = i == 1 ? PART_COUNT : 0;
        if (i == 2) {
            writing_append_bytes(&checkpoint.saved_files, "x", 1);
        }
        save_campaign();
        if (i == 3) { /* both are whole, and each is of another campaign */
            description.head.plan_digest++;
            ck_assert(campaign_description_save(&description, directory));
        }
        check_load("checkpoint", "the file is damaged, or belongs to another campaign");
        end_campaign();
    }
}
END_TEST

Suite *suite_of_checkpoint(void)
{
    Suite *suite = suite_create("checkpoint");
    TCase *tests = tcase_create("checkpoint");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, a_campaign_is_read_back_as_it_was);
    tcase_add_test(tests, what_is_forgotten_is_gone);
    tcase_add_test(tests, a_file_that_cannot_be_written_is_told);
    tcase_add_test(tests, a_changed_file_is_refused);
    tcase_add_test(tests, a_file_that_is_not_there_or_too_short_is_refused);
    tcase_add_test(tests, numbers_that_cannot_be_are_refused);
    return suite;
}
