/* Where the ranks of a pod meet: who waits in vain, for whom, and what is no message of a rank.
 * Each message is a line, with what the keeper then says to whom. */
#include "pod/keeper.h"
#include "tests/campaign/shown.h"
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

static const char *const kinds[FRAME_KIND_COUNT] = {
    "none",    "hello",  "at",    "alive", "stopped", "join", "missed", "wait",    "oom", "answer",
    "finding", "failed", "ended", "death", "begin",   "go",   "lost",   "refused", "quit"};

/* What the keeper decides, and what it says then. */
static void show_heard(uint32_t rank)
{
    static const char *const states[] = {"coming", "running", "ended", "dead"};
    keeper_hear(keeper, rank);
    keeper_decide(keeper);
    for (uint32_t i = 0; i < RANK_COUNT; i++) {
        char byte;
        while (recv(ends[i], &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 1) {
            struct frame_inbox inbox = {0};
            struct pod_frame frame = {0};
            ck_assert_int_eq(frame_hear(ends[i], &inbox, &frame), FRAME_HEARD);
            show(" -> %u %s %u", i, kinds[frame.kind], (unsigned)frame.numbers[2]);
        }
    }
    const enum rank_state state = keeper_rank(keeper, rank)->state;
    show(state == RANK_RUNNING ? "\n" : " (%s)\n", states[state]);
}

/* "0 join 4 0 500": the rank, the kind and the numbers of its frame. */
static void say(const char *text)
{
    char kind[16];
    unsigned rank;
    unsigned long a = 0, b = 0, c = 0;
    ck_assert_int_ge(sscanf(text, "%u %15s %lu %lu %lu", &rank, kind, &a, &b, &c), 2);
    struct pod_frame frame = frame_make(FRAME_NONE, rank, 10 + rank);
    while (strcmp(kinds[frame.kind], kind) != 0) {
        frame.kind++;
        ck_assert_uint_lt(frame.kind, FRAME_KIND_COUNT);
    }
    memcpy(frame.numbers, (const uint64_t[]){a, b, c}, sizeof frame.numbers);
    ck_assert(frame_send(ends[rank], &frame));
    show("%s", text);
    show_heard(rank);
}

static void say_all(const char *const *texts)
{
    for (; *texts != NULL; texts++) {
        say(*texts);
    }
}
#define SAY(...) say_all((const char *const[]){__VA_ARGS__, NULL})

static void begin(void)
{
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
    SAY("0 hello 77 3", "1 hello 77 3", "2 hello 77 3");
}

static void end(void)
{
    snap_rest();
    for (uint32_t i = 0; i < RANK_COUNT; i++) {
        (void)close(files[i]);
        (void)close(ends[i]);
    }
    (void)close(arrivals);
    keeper_destroy(keeper);
}

EVERY_TEST(.setup = begin, .teardown = end);

/* Who waited in vain, and for whom. */
static void show_waits(void)
{
    static const char *const causes[] = {"dead", "ended", "silent", "each other"};
    SHOW(keeper_wait_count(keeper), keeper_late_count(keeper), keeper_is_over(keeper));
    for (size_t i = 0; i < keeper_wait_count(keeper); i++) {
        const struct keeper_wait *wait = keeper_wait_at(keeper, i);
        show("in vain, as members are %s: ", causes[wait->cause]);
        SHOW(wait->rank, wait->op, wait->group, wait->missing, wait->count);
    }
}

TEST(members_go_on_when_the_last_one_came)
{
    SAY("0 join 4 0 500", "0 wait", "1 join 4 0 300");
    show_waits();
}

TEST(ranks_that_wait_for_each_other_are_told_at_once)
{
    SAY("0 join 4 0 1", "0 wait", "2 join 0 0 1", "2 wait");
    SAY("1 join 0 0 1", "1 wait"); /* before it waits it may still join the other one */
    show_waits();
}

/* Not the rank that came later. */
TEST(only_the_dead_member_is_to_blame)
{
    SAY("0 join 0 0 1");
    (void)shutdown(ends[2], SHUT_RDWR);
    show("2 is gone");
    show_heard(2);
    SAY("1 join 0 0 1");
    show_waits();
}

/* What it missed it joins late, so that its next collective is that of the others again. */
TEST(one_that_was_given_up_is_not_behind_afterwards)
{
    SAY("0 join 4 0 1", "0 wait", "1 join 0 0 1", "1 wait", "2 join 0 0 1", "2 wait");
    SAY("0 join 4 1 700", "1 join 4 0 500", "1 join 4 1 600");
    show_waits();
}

/* One that was refused at its own execution did not join: its next one is the first that it joins,
 * as in lock step (harness/device/collectives.h). */
TEST(one_that_was_refused_stays_one_behind)
{
    SAY("0 join 4 0 1", "1 missed 4", "1 join 4 0 400", "0 join 4 1 900", "1 ended");
    show_waits();
    SHOW(keeper_rank(keeper, 1)->first_missed.numbers[0]);
}

/* --- the same request --- */

static const struct spmd_answer granted = {
    .group = 0, .result = TARGET_OK, .decides = true, .fits = true};
static const struct spmd_answer refused = {
    .result = TARGET_NO_MEMORY, .decides = true, .fits = true};

static void answer(uint32_t rank, uint64_t which, uint64_t hash, const struct spmd_answer *given)
{
    struct pod_frame frame = frame_make(FRAME_ANSWER, rank, 10 + rank);
    memcpy(frame.numbers, (const uint64_t[]){answer_pack(given), which, hash},
           sizeof frame.numbers);
    ck_assert(frame_send(ends[rank], &frame));
    keeper_hear(keeper, rank);
    keeper_decide(keeper);
}

static void show_differences(void)
{
    const struct spmd_answers *answers = keeper_answers(keeper);
    SHOW(answers_difference_count(answers));
    for (size_t i = 0; i < answers_difference_count(answers); i++) {
        const struct answer_difference *difference = answers_difference_at(answers, i);
        const struct answer_place *first = &difference->first, *other = &difference->other;
        SHOW(first->rank, first->op, first->result, other->rank, other->op, other->result,
             difference->group, difference->count);
    }
}

TEST(ranks_that_are_answered_otherwise_are_told)
{
    answer(2, 0, HASH, &refused);
    answer(0, 0, HASH, &granted);
    answer(1, 0, HASH, &granted);
    answer(0, 1, HASH, &granted);
    answer(2, 1, HASH, &refused);
    show_differences(); /* ranks 0 and 2 differ in both requests */
}

TEST(answers_to_other_requests_and_of_other_states_may_differ)
{
    struct spmd_answer other = refused;
    answer(0, 0, HASH, &granted);
    answer(1, 0, HASH + 1, &refused); /* another request */
    answer(1, 1, HASH, &refused);     /* not the first */
    other.fits = false;
    answer(2, 0, HASH, &other); /* it has no room */
    answer(0, 2, HASH, &granted);
    other.decides = false;
    answer(2, 2, HASH, &other);
    other = refused;
    other.group = GROUP;
    answer(1, 2, HASH, &other); /* of another group */
    show_differences();
}

/* A rank that is gone owes nothing; one that is late still does. */
TEST(a_late_answer_is_compared_when_others_are_gone)
{
    for (uint64_t i = 0; i < 1000; i++) {
        answer(0, i, HASH, &granted);
    }
    (void)shutdown(ends[2], SHUT_RDWR);
    keeper_hear(keeper, 2);
    for (uint64_t i = 0; i < 1000; i++) {
        answer(1, i, HASH, i == 999 ? &refused : &granted);
    }
    show_differences();
}

/* The keeper's own word, another list, a wait for nothing, the same twice, and no verdict. */
TEST(what_no_rank_says_changes_nothing)
{
    SAY("0 go 4 0 1", "0 hello 78 9", "0 wait", "0 join 4 0 1", "0 join 4 0 1",
        "0 oom 18446744073709551615");
    SAY("1 join 4 0 1");
    ck_assert_int_eq(write(ends[1], &(struct pod_frame){0}, 3), 3);
    show("half a message");
    show_heard(1);
    ck_assert_int_eq(write(ends[1], "GET / HTTP/1.1", 14), 14);
    show("and then none of ours");
    show_heard(1);
}
