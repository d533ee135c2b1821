/* A trial compared with a fresh instance of its target. */
#include "campaign/process/attempt.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"
#include "tests/campaign/calls.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

EVERY_TEST(.teardown = snap_rest);

#define LIST                                                                             \
    "hbmstress-ops 1\ncapacity 16K\ngranule 512\ntarget hbm\nseed 1\n0: alloc size=1K\n" \
    "1: alloc size=2K\n2: report\n"

static struct setup setup;
static struct op_list ops;
static struct target target;
static unsigned open_count;
ALLOC(alloc_by_count);
static enum target_result (*alloc_of_target)(struct target_instance *instance,
                                             const struct target_request *request,
                                             struct target_block *block) = alloc_by_count;
static enum { FOLLOWS_NOTHING, FOLLOWS_PLACES, FOLLOWS_ANSWERS, DIES_WHEN_FRESH } behaviour;

OPEN(open_counted)
{
    open_count++;
    return target_find("hbm")->open(target_setup, services, instance, contract, reason,
                                    reason_bytes);
}

ALLOC(alloc_by_count)
{
    struct target_request other = *request;
    if (behaviour == FOLLOWS_ANSWERS && open_count > 1 && request->size_bytes == 2048) {
        return TARGET_INVALID;
    }
    if (behaviour == FOLLOWS_PLACES && open_count > 1) {
        other.align_bytes = 8192;
    }
    if (behaviour == DIES_WHEN_FRESH && open_count == 1) {
        (void)raise(SIGSEGV);
    }
    return target_find("hbm")->alloc(instance, &other, block);
}

/* The verdict on the second trial of this process. */
static struct verdict compare(void)
{
    struct trial trial;
    struct verdict broken = {.kind = VERDICT_NONE};
    char reason[RUN_REASON_BYTES];
    read_list(LIST, &setup, &ops);
    target = *target_find("hbm");
    target.open = open_counted;
    target.alloc = alloc_of_target;
    open_count = 0;
    struct fresh *fresh = fresh_create();
    ck_assert_ptr_nonnull(fresh);
    open_count = 1;
    ck_assert(trial_replay(&target, &setup, &ops, NULL, &trial, reason));
    const bool is_broken = fresh_breaks(fresh, &target, &trial, &broken);
    ck_assert_int_eq(is_broken, broken.kind == VERDICT_BROKEN);
    /* It can be asked again. */
    struct verdict again;
    ck_assert_int_eq(fresh_breaks(fresh, &target, &trial, &again), is_broken);
    trial_deinit(&trial);
    fresh_destroy(fresh);
    op_list_deinit(&ops);
    return broken;
}

TEST(an_honest_target_does_the_same_in_a_fresh_process)
{
    behaviour = FOLLOWS_NOTHING;
    ck_assert_int_eq(compare().kind, VERDICT_NONE);
}

TEST(the_first_answer_that_differs_is_named_with_both)
{
    char signature[SIGNATURE_BYTES];
    for (behaviour = FOLLOWS_PLACES; behaviour <= FOLLOWS_ANSWERS; behaviour++) {
        const struct verdict broken = compare();
        show_verdict(&broken);
        show(": %s\n", broken.reason);
        signature_print(&broken, &ops, signature);
        SHOW(signature);
    }
}

TEST(a_fresh_instance_that_dies_says_nothing)
{
    behaviour = DIES_WHEN_FRESH;
    ck_assert_int_eq(compare().kind, VERDICT_NONE);
}

/* Into the pipe to the fresh process, the last that was made. */
ALLOC(write_nonsense)
{
    static const char nonsense[1 << 12];
    int last = -1;
    for (int file = 3; file < 64 && open_count > 1; file++) {
        struct stat status;
        if (fstat(file, &status) == 0 && S_ISFIFO(status.st_mode) &&
            (fcntl(file, F_GETFL) & O_ACCMODE) == O_WRONLY) {
            last = file;
        }
    }
    (void)!write(last, nonsense, sizeof nonsense);
    return target_find("hbm")->alloc(instance, request, block);
}

TEST(what_a_target_writes_to_the_fresh_process_ends_the_comparisons)
{
    (void)signal(SIGPIPE, SIG_IGN);
    alloc_of_target = write_nonsense;
    ck_assert_int_eq(compare().kind, VERDICT_NONE);
}
