/* Whole campaigns in this process, of trials that are known: how each ends, what it leaves, and
 * that another one goes on behind it. */
#include "campaign/base/interrupt.h"
#include "campaign/engine/campaign.h"
#include "tests/campaign/calls.h"
#include "tests/campaign/shown.h"
#include "tests/campaign/trials/trial_player.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD(target) "hbmstress-ops 1\ncapacity 16K\ngranule 512\ntarget " target "\nseed 1\n"
#define SOUND HEAD("hbm") "0: alloc size=16K\n1: alloc size=1K\n2: report\n"
#define UNDRAINED                     \
    HEAD("plant_premature_undrained") \
    "0: alloc size=16K\n1: free_after block=0 delay=1s\n2: alloc size=1K\n3: report\n"

static struct part part;
static struct plan plan;
static struct run_options options;
static struct target special;

static void prepare(const char *text, uint64_t trial_count_max)
{
    trial_player_load(text, "the part", &part);
    part.trial_count_max = trial_count_max;
    special = *part.target;
    part.target = &special;
    plan = (struct plan){.parts = &part, .count = 1, .shard_count = 1, .duration_ns = UINT64_MAX};
    setup_init(&plan.setup);
    run_options_init(&options);
    options.worker_count = 2;
    options.is_json = true;
    options.shrink_budget = 200;
    folder_enter("campaign");
    options.out = folder;
}

static void clean_up(void)
{
    snap_rest();
    op_list_deinit(&trial_player_ops);
    folder_leave();
}

EVERY_TEST(.teardown = clean_up);

/* Standard output goes to a file meanwhile, what is said is shown. */
static enum exit_code run_quietly(struct campaign_description *description,
                                  struct checkpoint *checkpoint)
{
    (void)fflush(stdout);
    const int output = dup(STDOUT_FILENO);
    const int file = open(folder_path("standard"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(dup2(file, STDOUT_FILENO), 0);
    close(file);
    enum exit_code code;
    HEAR(code = checkpoint == NULL
                    ? campaign_run(&options, &plan)
                    : campaign_resume(&options, &plan, folder, description, checkpoint));
    (void)fflush(stdout);
    ck_assert_int_ge(dup2(output, STDOUT_FILENO), 0);
    close(output);
    return code;
}

/* How many lines of results.jsonl have each of these. */
static void show_results(void)
{
    static const char *const wanted[] = {"\"type\":\"start\"", "\"type\":\"trial\"",
                                         "\"type\":\"end\"",   "\"type\":\"verdict\"",
                                         "\"output\":\"",      "by the target"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        show("%u x %s\n", count_text(folder_read("results.jsonl"), wanted[i]), wanted[i]);
    }
}

/* The first time, whichever worker is first. */
DEFRAGMENT(interrupt_parent)
{
    const int file = open(folder_path("interrupted"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                          0600);
    if (file >= 0) {
        close(file);
        (void)kill(getppid(), SIGINT);
    }
    return TARGET_OK;
}

static _Noreturn void run_and_exit(void)
{
    interrupt_install();
    _exit(run_quietly(NULL, NULL) == EXIT_HARNESS && shown_take()[0] == '\0' ? 0 : 1);
}

/* The second process runs what the first did not, and says what one alone would have said. */
TEST(a_campaign_that_is_interrupted_goes_on_in_another_process)
{
    enum { TRIAL_COUNT = 40 };
    struct campaign_description description;
    struct checkpoint checkpoint;
    int status;
    prepare(HEAD("hbm") "0: alloc size=16K\n1: defragment\n2: alloc size=1K\n", TRIAL_COUNT);
    special.defragment = interrupt_parent;
    const pid_t first = fork();
    if (first == 0) {
        run_and_exit();
    }
    ck_assert_int_eq(waitpid(first, &status, 0), first);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(checkpoint_load(folder, &description, &checkpoint), EXIT_KEPT);
    ck_assert(checkpoint.state.end.is_interrupted && !checkpoint.state.is_finished);
    ck_assert(!checkpoint.parts[0].progress.is_finished);
    const uint64_t begun = checkpoint.parts[0].trials;
    const uint64_t elapsed_ns = checkpoint.state.end.elapsed_ns;
    ck_assert_uint_ge(begun, 1); /* what was under way still counts */
    ck_assert_uint_lt(begun, TRIAL_COUNT);
    ck_assert_uint_gt(elapsed_ns, 0);
    ck_assert_uint_eq(count_text(folder_read("results.jsonl"), "\"type\":\"trial\""), begun);

    ck_assert_int_eq(run_quietly(&description, &checkpoint), EXIT_KEPT);
    const char *lines = folder_read("results.jsonl");
    ck_assert_uint_eq(count_text(lines, "\"type\":\"start\""), 1);
    ck_assert_uint_eq(count_text(lines, "\"type\":\"trial\""), TRIAL_COUNT);
    const unsigned line_count = count_text(lines, "\"type\":\"verdict\"");
    ck_assert_int_eq(checkpoint_load(folder, &description, &checkpoint), EXIT_KEPT);
    ck_assert_uint_eq(checkpoint.parts[0].trials, TRIAL_COUNT);
    ck_assert_uint_eq(checkpoint.state.end.trials, TRIAL_COUNT);
    ck_assert_uint_ge(line_count, TRIAL_COUNT); /* some are asked again */
    ck_assert_uint_eq(checkpoint.state.end.totals.justified, line_count);
    ck_assert_uint_gt(checkpoint.state.end.elapsed_ns, elapsed_ns);
    ck_assert(checkpoint.state.is_finished && !checkpoint.state.end.is_interrupted);
    campaign_description_deinit(&description);
    checkpoint_deinit(&checkpoint);
}

/* To whatever is there. */
DEFRAGMENT(write_nonsense)
{
    for (int file = 3; file < 4096; file++) {
        (void)!write(file, "nonsense", 8);
    }
    return TARGET_OK;
}

TEST(a_target_that_spoils_the_answers_is_a_finding_and_the_run_goes_on)
{
    prepare(HEAD("hbm") "0: alloc size=1K\n1: defragment\n", 3);
    special.defragment = write_nonsense;
    options.shrink_budget = 1;
    ck_assert_int_eq(run_quietly(NULL, NULL), EXIT_BROKEN);
    const char *lines = folder_read("results.jsonl");
    ck_assert_uint_eq(count_text(lines, "\"type\":\"trial\""), 3);
    ck_assert_uint_eq(count_text(lines, "nonsense"), 0);
    ck_assert_ptr_nonnull(strstr(lines, "crash: damaged a descriptor of the harness"));
    ck_assert_str_eq(shown_take(), "");
}

/* The trials that are known print a line each. */
DEFRAGMENT(print_line)
{
    (void)printf("{\"type\":\"end\"} by the target\n");
    return TARGET_OK;
}

TEST(what_a_target_prints_is_a_file_that_the_line_of_its_trial_names)
{
    prepare(HEAD("hbm") "0: alloc size=1K\n1: defragment\n", 5);
    special.defragment = print_line;
    ck_assert_int_eq(run_quietly(NULL, NULL), EXIT_KEPT);
    ck_assert_uint_eq(count_text(folder_read("standard"), "by the target"), 0);
    show_results(); /* of the first trials */
    const char *path = strstr(folder_read("results.jsonl"), "\"output\":\"");
    path += strlen("\"output\":\"");
    ck_assert_int_eq(strncmp(path, folder, strlen(folder)), 0);
    path += strlen(folder) + 1;
    const char *text = folder_read("%.*s", (int)strcspn(path, "\""), path);
    ck_assert_uint_ge(count_text(text, "{\"type\":\"end\"} by the target\n"), 1);
}
