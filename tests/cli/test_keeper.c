/* Where the ranks of a pod meet: who waits in vain, for whom, and what is no message of a rank. */
#include "pod/keeper.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RANK_COUNT = 3, GROUP = 4, HASH = 77 };

static struct setup setup;
static struct keeper *keeper;
static int ends[RANK_COUNT]; /* of the ranks */
static int files[RANK_COUNT], arrivals;

static void say(uint32_t rank, enum frame_kind kind, uint64_t a, uint64_t b, uint64_t c)
{
    struct pod_frame frame = frame_make(kind, rank, 10 + rank);
    frame.numbers[0] = a;
    frame.numbers[1] = b;
    frame.numbers[2] = c;
    ck_assert(frame_send(ends[rank], &frame));
    keeper_hear(keeper, rank);
    keeper_decide(keeper);
}

static enum frame_kind hear(uint32_t rank, uint64_t *last)
{
    struct frame_inbox inbox = {0};
    struct pod_frame frame = {0};
    ck_assert_int_eq(frame_hear(ends[rank], &inbox, &frame), FRAME_HEARD);
    *last = frame.numbers[2];
    return (enum frame_kind)frame.kind;
}

static void expect_nothing(uint32_t rank)
{
    char byte;
    ck_assert_int_eq(recv(ends[rank], &byte, 1, MSG_DONTWAIT), -1);
}

static void begin(void)
{
    uint64_t last = 0;
    setup_init(&setup);
    setup_set_hosts(&setup, RANK_COUNT);
    ck_assert(setup_set_group(&setup, GROUP, 3, "data 0")); /* ranks 0 and 1 */
    arrivals = memfd_create("arrivals", 0);
    keeper = keeper_create(&(struct keeper_plan){
        .setup = &setup, .hash = HASH, .patience_ns = UINT64_MAX / 2, .arrivals = arrivals});
    for (uint32_t i = 0; i < RANK_COUNT; i++) {
        int pair[2];
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        files[i] = pair[0];
        ends[i] = pair[1];
        keeper_connect(keeper, i, pair[0], pair[0]);
    }
    for (uint32_t i = 0; i < RANK_COUNT; i++) {
        say(i, FRAME_HELLO, HASH, RANK_COUNT, 0);
    }
    for (uint32_t i = 0; i < RANK_COUNT; i++) {
        ck_assert_int_eq(hear(i, &last), FRAME_BEGIN);
    }
}

static void end(void)
{
    for (uint32_t i = 0; i < RANK_COUNT; i++) {
        (void)close(files[i]);
        (void)close(ends[i]);
    }
    (void)close(arrivals);
    keeper_destroy(keeper);
}

EVERY_TEST(.setup = begin, .teardown = end);

TEST(members_go_on_when_the_last_one_came)
{
    uint64_t last = 0;
    say(0, FRAME_JOIN, GROUP, 0, 500);
    say(0, FRAME_WAIT, 0, 0, 0);
    expect_nothing(0); /* rank 1 may still come */
    say(1, FRAME_JOIN, GROUP, 0, 300);
    ck_assert_int_eq(hear(0, &last), FRAME_GO);
    ck_assert_uint_eq(last, 500);
    ck_assert_int_eq(hear(1, &last), FRAME_GO);
    ck_assert_uint_eq(keeper_wait_count(keeper), 0);
}

TEST(ranks_that_wait_for_each_other_are_told_at_once)
{
    uint64_t last = 0;
    say(0, FRAME_JOIN, GROUP, 0, 1);
    say(0, FRAME_WAIT, 0, 0, 0);
    say(2, FRAME_JOIN, 0, 0, 1);
    say(2, FRAME_WAIT, 0, 0, 0);
    say(1, FRAME_JOIN, 0, 0, 1);
    expect_nothing(0); /* rank 1 may still join the other one */
    say(1, FRAME_WAIT, 0, 0, 0);
    for (uint32_t i = 0; i < RANK_COUNT; i++) {
        ck_assert_int_eq(hear(i, &last), FRAME_LOST);
    }
    ck_assert_uint_eq(keeper_wait_count(keeper), 3);
    const struct keeper_wait *wait = keeper_wait_at(keeper, 0);
    ck_assert_int_eq(wait->cause, WAIT_FOR_EACH);
    ck_assert_uint_eq(wait->rank, 0);
    ck_assert_uint_eq(wait->missing, 2);
    ck_assert_uint_eq(wait->op, 10);
}

TEST(only_the_dead_member_is_to_blame)
{
    uint64_t last = 0;
    say(0, FRAME_JOIN, 0, 0, 1);
    (void)shutdown(ends[2], SHUT_RDWR);
    keeper_hear(keeper, 2);
    keeper_decide(keeper);
    ck_assert_int_eq(keeper_rank(keeper, 2)->state, RANK_DEAD);
    ck_assert_int_eq(hear(0, &last), FRAME_LOST);
    say(1, FRAME_JOIN, 0, 0, 1);
    ck_assert_int_eq(hear(1, &last), FRAME_LOST);
    ck_assert_uint_eq(keeper_wait_count(keeper), 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(keeper_wait_at(keeper, i)->cause, WAIT_FOR_DEAD);
        ck_assert_uint_eq(keeper_wait_at(keeper, i)->missing, 4); /* not rank 1, which came later */
    }
    ck_assert(!keeper_is_over(keeper));
}

/* What it missed it joins late, so that its next collective is that of the others again. */
TEST(one_that_was_given_up_is_not_behind_afterwards)
{
    uint64_t last = 0;
    say(0, FRAME_JOIN, GROUP, 0, 1);
    say(0, FRAME_WAIT, 0, 0, 0);
    say(1, FRAME_JOIN, 0, 0, 1);
    say(1, FRAME_WAIT, 0, 0, 0);
    say(2, FRAME_JOIN, 0, 0, 1);
    say(2, FRAME_WAIT, 0, 0, 0);
    for (uint32_t i = 0; i < RANK_COUNT; i++) {
        ck_assert_int_eq(hear(i, &last), FRAME_LOST);
    }
    say(0, FRAME_JOIN, GROUP, 1, 700);
    say(1, FRAME_JOIN, GROUP, 0, 500);
    ck_assert_int_eq(hear(1, &last), FRAME_GO);
    ck_assert_uint_eq(last, 500);
    expect_nothing(0);
    say(1, FRAME_JOIN, GROUP, 1, 600);
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert_int_eq(hear(i, &last), FRAME_GO);
        ck_assert_uint_eq(last, 700);
    }
    ck_assert_uint_eq(keeper_late_count(keeper), 1);
}

/* One that was refused at its own execution did not join: its next one is the first that it joins,
 * as in lock step (harness/device/collectives.h). */
TEST(one_that_was_refused_stays_one_behind)
{
    uint64_t last = 0;
    say(0, FRAME_JOIN, GROUP, 0, 1);
    say(1, FRAME_MISSED, GROUP, 0, 0);
    expect_nothing(0);
    say(1, FRAME_JOIN, GROUP, 0, 400);
    ck_assert_int_eq(hear(0, &last), FRAME_GO);
    ck_assert_int_eq(hear(1, &last), FRAME_GO);
    say(0, FRAME_JOIN, GROUP, 1, 900);
    say(1, FRAME_ENDED, 0, 0, 0);
    ck_assert_int_eq(hear(0, &last), FRAME_LOST);
    ck_assert_uint_eq(keeper_wait_count(keeper), 1);
    ck_assert_int_eq(keeper_wait_at(keeper, 0)->cause, WAIT_FOR_ENDED);
    ck_assert_uint_eq(keeper_rank(keeper, 1)->first_missed.numbers[0], GROUP);
}

/* --- the same request --- */

static void say_answer(uint32_t rank, uint64_t which, uint64_t hash,
                       const struct spmd_answer *answer)
{
    say(rank, FRAME_ANSWER, answer_pack(answer), which, hash);
}

static const struct spmd_answer granted = {
    .group = 0, .result = TARGET_OK, .decides = true, .fits = true};
static const struct spmd_answer refused = {
    .result = TARGET_NO_MEMORY, .decides = true, .fits = true};

TEST(ranks_that_are_answered_otherwise_are_told)
{
    say_answer(2, 0, HASH, &refused);
    say_answer(0, 0, HASH, &granted);
    say_answer(1, 0, HASH, &granted);
    say_answer(0, 1, HASH, &granted);
    say_answer(2, 1, HASH, &refused);
    const struct spmd_answers *answers = keeper_answers(keeper);
    ck_assert_uint_eq(answers_difference_count(answers), 2);
    const struct answer_difference *difference = answers_difference_at(answers, 0);
    ck_assert_uint_eq(difference->first.rank, 0);
    ck_assert_uint_eq(difference->first.op, 10);
    ck_assert_uint_eq(difference->first.result, TARGET_OK);
    ck_assert_uint_eq(difference->other.rank, 2);
    ck_assert_uint_eq(difference->count, 2); /* both requests */
    ck_assert_uint_eq(answers_difference_at(answers, 1)->first.rank, 1);
}

TEST(answers_to_other_requests_and_of_other_states_may_differ)
{
    struct spmd_answer other = refused;
    say_answer(0, 0, HASH, &granted);
    say_answer(1, 0, HASH + 1, &refused); /* another request */
    say_answer(1, 1, HASH, &refused);     /* not the first */
    other.fits = false;
    say_answer(2, 0, HASH, &other); /* it has no room */
    say_answer(0, 2, HASH, &granted);
    other.decides = false;
    say_answer(2, 2, HASH, &other);
    other = refused;
    other.group = GROUP;
    say_answer(1, 2, HASH, &other); /* of another group */
    ck_assert_uint_eq(answers_difference_count(keeper_answers(keeper)), 0);
}

/* A rank that is gone owes nothing; one that is late still does. */
TEST(a_late_answer_is_compared_when_others_are_gone)
{
    for (uint64_t i = 0; i < 1000; i++) {
        say_answer(0, i, HASH, &granted);
    }
    (void)shutdown(ends[2], SHUT_RDWR);
    keeper_hear(keeper, 2);
    for (uint64_t i = 0; i < 1000; i++) {
        say_answer(1, i, HASH, i == 999 ? &refused : &granted);
    }
    ck_assert_uint_eq(answers_difference_count(keeper_answers(keeper)), 1);
    ck_assert_uint_eq(answers_difference_at(keeper_answers(keeper), 0)->count, 1);
}

TEST(what_no_rank_says_changes_nothing)
{
    uint64_t last = 0;
    say(0, FRAME_GO, GROUP, 0, 1); /* the keeper's own word */
    say(0, FRAME_HELLO, HASH + 1, 9, 0);
    say(0, FRAME_WAIT, 0, 0, 0); /* for nothing */
    say(0, FRAME_JOIN, GROUP, 0, 1);
    say(0, FRAME_JOIN, GROUP, 0, 1); /* twice */
    say(0, FRAME_OOM, UINT64_MAX, 0, 0);
    expect_nothing(0);
    say(1, FRAME_JOIN, GROUP, 0, 1);
    ck_assert_int_eq(hear(0, &last), FRAME_GO);
    ck_assert_int_eq(keeper_rank(keeper, 0)->state, RANK_RUNNING);
    /* Half a message, and then none of ours. */
    ck_assert_int_eq(write(ends[1], &(struct pod_frame){0}, 3), 3);
    keeper_hear(keeper, 1);
    ck_assert_int_eq(keeper_rank(keeper, 1)->state, RANK_RUNNING);
    ck_assert_int_eq(write(ends[1], "GET / HTTP/1.1", 14), 14);
    keeper_hear(keeper, 1);
    ck_assert_int_eq(keeper_rank(keeper, 1)->state, RANK_DEAD);
    ck_assert_int_eq(hear(1, &last), FRAME_GO);
    ck_assert_int_eq(hear(1, &last), FRAME_REFUSED);
}
