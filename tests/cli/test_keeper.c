/* Where the ranks of a pod meet: who waits in vain, for whom, and what is no message of a rank. */
#include "cli/pod/keeper.h"
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
    struct frame frame = frame_make(kind, rank, 10 + rank);
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
    struct frame frame = {0};
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

START_TEST(members_go_on_when_the_last_one_came)
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
END_TEST

START_TEST(ranks_that_wait_for_each_other_are_told_at_once)
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
END_TEST

START_TEST(only_the_dead_member_is_to_blame)
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
END_TEST

START_TEST(what_no_rank_says_changes_nothing)
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
    ck_assert_int_eq(write(ends[1], &(struct frame){0}, 3), 3);
    keeper_hear(keeper, 1);
    ck_assert_int_eq(keeper_rank(keeper, 1)->state, RANK_RUNNING);
    ck_assert_int_eq(write(ends[1], "GET / HTTP/1.1", 14), 14);
    keeper_hear(keeper, 1);
    ck_assert_int_eq(keeper_rank(keeper, 1)->state, RANK_DEAD);
    ck_assert_int_eq(hear(1, &last), FRAME_GO);
    ck_assert_int_eq(hear(1, &last), FRAME_REFUSED);
}
END_TEST

Suite *suite_of_keeper(void)
{
    Suite *suite = suite_create("keeper");
    TCase *tcase = tcase_create("keeper");
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, members_go_on_when_the_last_one_came);
    tcase_add_test(tcase, ranks_that_wait_for_each_other_are_told_at_once);
    tcase_add_test(tcase, only_the_dead_member_is_to_blame);
    tcase_add_test(tcase, what_no_rank_says_changes_nothing);
    suite_add_tcase(suite, tcase);
    return suite;
}
