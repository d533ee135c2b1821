/* A finding ends with a list and the line that repeats it, however long its shrinking takes. */
#include "fuzz/finding.h"
#include "harness/op/ops_file.h"
#include "harness/oracle/signature.h"
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"
#include "tests/helpers/scratch.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    REPORT_COUNT = 40,
    OP_COUNT = 60,
    TEXT_BYTES = 1 << 16,
    PATH_BYTES = 4096,
    IN_TIME_MS = 10000,
    FIRST_MS = 20
};

static char folder[SCRATCH_PATH_BYTES];
static char text[TEXT_BYTES], list_path[PATH_BYTES];
static size_t list_count;

/* --- a target that breaks a promise, and takes its time --- */

static const struct target *broken;
static struct target slow;
static uint32_t open_count, opens_that_end;
static clock_t open_clocks;

static enum target_result open_slowly(const struct target_setup *setup,
                                      const struct device_services *services,
                                      struct target_instance **instance,
                                      struct target_contract *contract, char *reason,
                                      size_t reason_bytes)
{
    const clock_t end = clock() + open_clocks;
    (void)fputs("opened\n", stderr);
    while (clock() < end) {
    }
    while (open_count >= opens_that_end) {
        (void)pause();
    }
    open_count++;
    return broken->open(setup, services, instance, contract, reason, reason_bytes);
}

static void set_up(void)
{
    broken = target_find("plant_overlap");
    slow = *broken;
    slow.open = open_slowly;
    open_count = 0;
    open_clocks = 0;
    opens_that_end = UINT32_MAX;
    scratch_name(folder, "it's a_fuzz_finding");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(setenv("HBMSTRESS_FUZZ_OUT", folder, 1), 0);
}

static void tear_down(void)
{
    (void)remove(list_path);
    ck_assert_int_eq(rmdir(folder), 0); /* and nothing else lies there */
}

/* --- a finding in a process of its own --- */

/* The reports say nothing: without them it is the same finding. */
static _Noreturn void make_finding(uint32_t shrink_ms_max)
{
    struct setup setup;
    struct op_list ops;
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    setup_init(&setup);
    setup.capacity_bytes = 1 << 20;
    op_list_init(&ops);
    for (size_t i = 0; i < OP_COUNT; i++) {
        struct op op = op_make(i < REPORT_COUNT ? OP_REPORT : OP_ALLOC);
        op.size_bytes = op.kind == OP_ALLOC ? 512 : 0;
        op_list_append(&ops, &op);
    }
    if (!trial_replay(broken, &setup, &ops, NULL, &trial, reason) ||
        trial.first.kind != VERDICT_BROKEN) {
        _exit(1);
    }
    finding_end_within(&(struct play_finding){"fuzz_test", &slow, "plant_overlap", &setup,
                                              &trial.ops, &trial.first},
                       shrink_ms_max);
}

/* What it prints goes to text; the file that is there in the end, and no other, to list_path and
 * list_count. */
static void find_and_read(uint32_t shrink_ms_max)
{
    FILE *said = tmpfile();
    ck_assert_ptr_nonnull(said);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        (void)dup2(fileno(said), STDERR_FILENO);
        make_finding(shrink_ms_max);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    rewind(said);
    text[fread(text, 1, sizeof text - 1, said)] = '\0';
    (void)fclose(said);

    DIR *there = opendir(folder);
    ck_assert_ptr_nonnull(there);
    for (const struct dirent *file = readdir(there); file != NULL; file = readdir(there)) {
        if (file->d_name[0] != '.') {
            (void)snprintf(list_path, sizeof list_path, "%s/%s", folder, file->d_name);
        }
    }
    (void)closedir(there);
    struct setup setup;
    struct op_list ops;
    struct ops_file_error error;
    op_list_init(&ops);
    ck_assert_int_eq(ops_file_read(list_path, &setup, &ops, &error), OPS_FILE_OK);
    list_count = ops.count;
    op_list_deinit(&ops);
}

static void check_said(void)
{
    char repeat[PATH_BYTES + SCRATCH_PATH_BYTES + 64];
    const char *behind = strrchr(list_path, '\'') +
                         1; /* the folder's quote is told to a shell as such */
    (void)snprintf(repeat, sizeof repeat, "\nrepeat: hbmstress replay '%s/it'\\''%s'\n",
                   scratch_place(), behind);
    ck_assert_msg(
        strstr(text,
               "hbmstress: fuzz_test found: overlap: answer on another block (rule overlap, op ") !=
            NULL,
        "%s", text);
    ck_assert_msg(strstr(text, repeat) != NULL, "%s", text);
    ck_assert_msg(strstr(text, "\nhbmstress-ops 1\n") != NULL, "%s", text);
}

/* How often a list was tried. */
static size_t count_tries(void)
{
    size_t count = 0;
    for (const char *at = strstr(text, "opened\n"); at != NULL; at = strstr(at + 1, "opened\n")) {
        count++;
    }
    return count;
}

EVERY_TEST(.setup = set_up, .teardown = tear_down);

TEST(in_time_a_list_is_shrunk)
{
    find_and_read(IN_TIME_MS);
    check_said();
    ck_assert_uint_gt(count_tries(), 1);
    ck_assert_uint_lt(list_count, REPORT_COUNT);
}

TEST(out_of_processor_time_no_shorter_list_is_tried)
{
    open_clocks = 2 * FIRST_MS * (CLOCKS_PER_SEC / 1000);
    find_and_read(FIRST_MS);
    check_said();
    ck_assert_uint_eq(count_tries(), 1);
    ck_assert_uint_gt(list_count, REPORT_COUNT);
}

TEST(when_a_shorter_list_does_not_end_the_finding_has_the_list_that_did)
{
    opens_that_end = 1;
    find_and_read(FIRST_MS);
    check_said();
    ck_assert_uint_gt(list_count, REPORT_COUNT);
    ck_assert_ptr_nonnull(strstr(text, "a shorter op list did not end"));
}
