/* The order in which trials are run and counted: parts made up, results made up, each session a
 * line of what is done, and a line of what comes of it. */
#include "campaign/trials/trials.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

EVERY_TEST(.teardown = snap_rest);

enum { PART_COUNT_MAX = 3, SESSION_BYTES = 512 };

static struct scenario scenarios_made[PART_COUNT_MAX];
static struct part parts[PART_COUNT_MAX];
static struct plan plan;
static struct trials *trials;
static struct trials_progress progress[PART_COUNT_MAX];

/* "2000 4000": ops of a trial of each part, without bounds; a test sets those that it is about. */
static void make_plan(const char *ops_per_trial)
{
    size_t count = 0;
    memset(parts, 0, sizeof parts);
    for (char *rest = (char *)ops_per_trial; *rest != '\0'; count++) {
        scenarios_made[count] = (struct scenario){
            .name = "made up", .ops_per_trial = (uint32_t)strtoul(rest, &rest, 10)};
        parts[count].scenario = &scenarios_made[count];
        parts[count].op_count_max = parts[count].trial_count_max = parts[count]
                                                                       .duration_ns = UINT64_MAX;
    }
    plan = (struct plan){.parts = parts, .count = count, .shard_count = 1};
}

/* Asks for the next task: "a0:2000" is trial 0 of the first part with that bound, with an asterisk
 * when it is run twice, "-" is none. */
static void start_one(void)
{
    struct task task = {0};
    if (trials_next(trials, &task)) {
        show(" %c%u:%u%s", 'a' + (int)task.part, (unsigned)task.trial, (unsigned)task.op_count_max,
             task.is_sampled ? "*" : "");
    } else {
        show(" -");
    }
}

/* "a2": the result of that trial; a2/400 has that bound, a2=1600 did so many ops (else all), in
 * a2@6 nanoseconds (else 1); a2!: its target refused, a2x: it crashed. */
static void put(const char *word)
{
    struct trial_result result;
    char *rest;
    trial_result_init(&result);
    struct task *task = &result.head.task;
    task->part = (uint32_t)(word[0] - 'a');
    task->trial = strtoull(word + 1, &rest, 10);
    const bool has_bound = *rest == '/';
    task->op_count_max = has_bound ? strtoull(rest + 1, &rest, 10)
                                   : scenarios_made[task->part].ops_per_trial;
    const uint64_t ops = *rest == '='   ? strtoull(rest + 1, &rest, 10)
                         : *rest == '!' ? 0
                                        : task->op_count_max;
    result.head.totals.ops = ops - ops / 4;
    result.head.totals.skipped = ops / 4;
    result.head.elapsed_ns = *rest == '@' ? strtoull(rest + 1, &rest, 10) : 1;
    result.head.end = *rest == '!'   ? TRIAL_RESULT_REFUSED
                      : *rest == 'x' ? TRIAL_RESULT_CRASHED
                                     : TRIAL_RESULT_DONE;
    writing_append(&result.all, "a line");
    trials_put(trials, &result);
    ck_assert_uint_eq(result.all.length, 0); /* it was taken over */
    trial_result_deinit(&result);
}

/* Takes all that count by now: "a0", and a dot. */
static void take_all(void)
{
    struct trial_result result;
    while (trials_take(trials, &result)) {
        show(" %c%u", 'a' + (int)result.head.task.part, (unsigned)result.head.task.trial);
        ck_assert_uint_eq(result.all.length, strlen("a line"));
        trial_result_deinit(&result);
    }
    show(" .");
}

/* "5": starts five trials; "a2": its result, as above; ".": takes all; "stop", and "end-a" of a
 * part. */
static void play(const char *session)
{
    char text[SESSION_BYTES];
    (void)snprintf(text, sizeof text, "%s", session);
    for (char *rest = text; rest != NULL;) {
        const char *word = strsep(&rest, " ");
        if (strcmp(word, ".") == 0) {
            take_all();
        } else if (strcmp(word, "stop") == 0) {
            trials_stop(trials);
        } else if (strncmp(word, "end-", 4) == 0) {
            trials_finish(trials, (size_t)(word[4] - 'a'));
        } else if (isdigit((unsigned char)*word)) {
            for (unsigned long i = strtoul(word, NULL, 10); i > 0; i--) {
                start_one();
            }
        } else {
            put(word);
        }
        ck_assert(trials_invariants_hold(trials));
    }
    (void)trials_save(trials, progress, sizeof *progress);
}

/* A session of trials of that plan, and all that is said in it. */
static void check_session(uint64_t replay_sample, uint64_t window, const char *session,
                          const char *wanted)
{
    trials = trials_create(&plan, replay_sample, window);
    play(session);
    trials_destroy(trials);
    ck_assert_str_eq(shown_take() + 1, wanted);
}

static struct task next_task(void)
{
    struct task task = {0};
    ck_assert(trials_next(trials, &task));
    return task;
}

/* As that of a trial that ran out of memory so often. */
static void put_justified(uint64_t trial, uint64_t count)
{
    struct trial_result result;
    trial_result_init(&result);
    result.head.task = (struct task){.trial = trial, .op_count_max = 2000};
    result.head.totals.ops = 2000;
    result.head.saved_count = count;
    for (uint64_t i = 0; i < count; i++) {
        result.head.saved[i].verdict.kind = VERDICT_JUSTIFIED;
    }
    trials_put(trials, &result);
    ck_assert(trials_take(trials, &result));
    trial_result_deinit(&result);
}

TEST(justified_refusals_are_diagnosed_until_two_were_counted)
{
    make_plan("2000");
    trials = trials_create(&plan, 0, 100);
    for (uint64_t i = 0; i < 3; i++) {
        ck_assert(next_task().is_diagnosed);
        put_justified(i, i > 0);
    }
    ck_assert(!next_task().is_diagnosed);
    trials_destroy(trials);
    trials = trials_create(&plan, 0, 100);
    for (int i = 0; i <= TRIAL_RESULT_JUSTIFIED_TRIAL_COUNT; i++) {
        ck_assert_int_eq(next_task().is_diagnosed, i < TRIAL_RESULT_JUSTIFIED_TRIAL_COUNT);
    }
    trials_destroy(trials);
}

/* Those of the first so many tasks that are. */
static void check_kept(unsigned count, const char *wanted)
{
    trials = trials_create(&plan, 0, 100);
    for (unsigned i = 0; i < count; i++) {
        const struct task task = next_task();
        show(task.is_kept ? " %c%u" : "", 'a' + (int)task.part, (unsigned)task.trial);
    }
    trials_destroy(trials);
    ck_assert_str_eq(shown_take(), wanted);
}

TEST(lists_of_the_first_trials_of_each_part_are_to_be_kept)
{
    make_plan("2000 2000");
    parts[0].keep_count = 2;
    parts[1].keep_count = 1;
    check_kept(8, " a0 b0 a1");
    make_plan("2000");
    parts[0].keep_count = 4;
    plan.shard_count = 3;
    plan.shard_index = 2;
    check_kept(4, " a2"); /* of numbers 2, 5, 8, 11 of the whole */
}

TEST(parts_with_long_trials_run_in_fewer_rounds)
{
    make_plan("1 6000 1999");
    check_session(0, 100, "10",
                  "a0:1 b0:6000 c0:1999 a1:1 c1:1999 a2:1 c2:1999 a3:1 b1:6000 c3:1999");
}

/* It would keep every promise. */
TEST(a_scenario_without_ops_a_trial_ends_the_process, .signal = SIGABRT)
{
    make_plan("2000 0");
    check_session(0, 100, "10", "");
}

/* How many trials come before the first one of the part. */
static size_t count_before(uint32_t part)
{
    size_t count = 0;
    trials = trials_create(&plan, 0, 1000);
    while (next_task().part != part) {
        count++;
    }
    trials_destroy(trials);
    return count;
}

TEST(very_long_trials_wait_for_others_of_which_somebody_asked)
{
    make_plan("20000 2000");
    ck_assert_uint_eq(count_before(0), 64);
    ck_assert_uint_eq(count_before(1), 0);
    parts[1].is_tentative = true; /* its lanes */
    ck_assert_uint_eq(count_before(0), 0);
    make_plan("20000");
    ck_assert_uint_eq(count_before(0), 0);
}

TEST(trials_are_started_in_the_order_in_which_they_count)
{
    for (uint32_t shard_count = 1; shard_count <= 3; shard_count++) {
        make_plan("2000 6000 20000");
        parts[0].head_start = 3;
        plan.shard_count = shard_count;
        plan.shard_index = shard_count - 1;
        trials = trials_create(&plan, 0, 1000);
        struct task last = next_task();
        for (int i = 0; i < 500; i++) {
            const struct task task = next_task();
            ck_assert(rounds_count_before(&plan, &last, &task));
            ck_assert(!rounds_count_before(&plan, &task, &last));
            last = task;
        }
        trials_destroy(trials);
    }
}

TEST(trials_of_a_scenario_that_is_run_once_are_not_repeated)
{
    make_plan("2000 2000");
    scenarios_made[1].is_run_once = true;
    check_session(1, 10, "4", "a0:2000* b0:2000 a1:2000* b1:2000");
}

TEST(results_count_in_the_order_of_the_rounds_whoever_is_first)
{
    make_plan("2000 4000");
    check_session(0, 100, "5 a2 b1 . b0 a0 . a1 .",
                  "a0:2000 b0:4000 a1:2000 a2:2000 b1:4000 . a0 b0 . a1 a2 b1 .");
}

TEST(only_the_next_one_that_counts_is_started_beyond_the_window)
{
    make_plan("2000 2000");
    check_session(0, 2, "3 b0 . 1 a0 . 3", "a0:2000 b0:2000 - . - a0 b0 . a1:2000 b1:2000 -");
}

/* With a window of none the trial that counts next is still run, of whichever part and round. */
TEST(the_trial_that_counts_next_is_always_run)
{
    make_plan("2000 4000");
    check_session(0, 0, "2 a0=100 . 2 b0=100 . 2 a1=100 . 2 a2=100 . 2 b1=100 .",
                  "a0:2000 - a0 . b0:4000 - b0 . a1:2000 - a1 . a2:2000 - a2 . b1:4000 - b1 .");
}

/* So many at once, of which the last started ends first; each second trial stays below its bound.
 */
static void play_at_once(unsigned count)
{
    struct task tasks[8] = {{0}};
    unsigned started = 0;
    uint64_t ops[PART_COUNT_MAX] = {0};
    trials = trials_create(&plan, 16, 8);
    for (;;) {
        while (started < count && trials_next(trials, &tasks[started])) {
            started++;
        }
        if (started == 0) {
            break;
        }
        struct trial_result result;
        trial_result_init(&result);
        const struct task *task = &result.head.task;
        result.head.task = tasks[--started];
        const uint64_t bound = task->op_count_max;
        result.head.totals.ops = task->trial % 2 == 1 ? bound : (bound * 3 + 3) / 4;
        trials_put(trials, &result);
        while (trials_take(trials, &result)) {
            show(" %c%u:%u", 'a' + (int)task->part, (unsigned)task->trial,
                 (unsigned)task->op_count_max);
            ops[task->part] += result.head.totals.ops;
            trial_result_deinit(&result);
        }
    }
    trials_destroy(trials);
    ck_assert(ops[0] == 250 && ops[1] == 250);
}

TEST(results_count_in_the_same_order_with_any_number_of_workers)
{
    char alone[SESSION_BYTES];
    make_plan("100 30");
    parts[0].op_count_max = parts[1].op_count_max = 250;
    play_at_once(1);
    (void)snprintf(alone, sizeof alone, "%s", shown_take());
    for (unsigned count = 2; count <= 8; count++) {
        play_at_once(count);
        ck_assert_str_eq(shown_take(), alone);
    }
    show("%s\n", alone);
}

TEST(a_trial_seed_depends_on_seed_scenario_and_number_alone)
{
    make_plan("100 30");
    scenarios_made[1].name = "other";
    const uint64_t seed = plan_trial_seed(&parts[0], 3);
    ck_assert_uint_ne(seed, plan_trial_seed(&parts[0], 4));
    ck_assert_uint_ne(seed, plan_trial_seed(&parts[1], 3));
    strcpy(parts[0].name, "another section");
    parts[0].op_count_max = 1;
    ck_assert_uint_eq(seed, plan_trial_seed(&parts[0], 3));
    parts[0].setup.seed = 1;
    ck_assert_uint_ne(seed, plan_trial_seed(&parts[0], 3));
}

/* The bound of the next trial is known only when what runs can no longer change it.  The first one
 * here ended by itself, and no trial counts for more than its bound. */
TEST(a_bound_on_ops_is_used_up_to_the_last_op)
{
    make_plan("2000");
    parts[0].op_count_max = 6000;
    check_session(0, 100, "4 a0=1600 . 1 a1=9000 . 2 a2 . 2 a3/400 . 1",
                  "a0:2000 a1:2000 a2:2000 - a0 . - a1 . - - a2 . a3:400 - a3 . -");
}

TEST(a_shard_has_its_own_trials_and_its_share_of_the_ops)
{
    make_plan("2000 2000");
    plan.shard_index = 1;
    plan.shard_count = 3;
    parts[0].op_count_max = 10; /* 3 and a rest */
    parts[1].trial_count_max = 5;
    check_session(2, 100, "4 a1/4=3 b1 b4 . 2 a4/1 . 1",
                  "a1:4 b1:2000* b4:2000 - a1 b1 . a4:1* - a4 b4 . -");
}

TEST(a_shard_beyond_the_last_trial_has_none)
{
    make_plan("2000 2000");
    plan.shard_index = 2;
    plan.shard_count = 3;
    parts[0].trial_count_max = 2;
    parts[1].trial_count_max = 3;
    check_session(0, 100, "2 b2 .", "b2:2000 - b2 .");
}

/* One result waits when all ends. */
TEST(every_so_manieth_trial_is_a_sample)
{
    make_plan("2000");
    check_session(3, 100, "5 a2", "a0:2000* a1:2000 a2:2000 a3:2000 a4:2000*");
}

/* Else each part would have its first trial run again. */
TEST(parts_have_their_samples_at_different_trials)
{
    make_plan("2000 2000 2000");
    check_session(3, 100, "9",
                  "a0:2000* b0:2000 c0:2000 a1:2000 b1:2000 c1:2000* a2:2000 b2:2000* c2:2000");
}

/* Every second trial has faults, and every fourth a small device: samples meet all of them. */
TEST(samples_of_a_part_meet_each_kind_of_trial)
{
    enum { SAMPLE_PERIOD = 32, KIND_COUNT = 4, SAMPLE_COUNT = 8 };
    uint32_t counts[KIND_COUNT] = {0};
    make_plan("2000");
    trials = trials_create(&plan, SAMPLE_PERIOD, SAMPLE_PERIOD * SAMPLE_COUNT);
    for (uint64_t k = 0; k < SAMPLE_PERIOD * SAMPLE_COUNT; k++) {
        counts[k % KIND_COUNT] += next_task().is_sampled;
    }
    trials_destroy(trials);
    for (size_t i = 0; i < KIND_COUNT; i++) {
        ck_assert_uint_eq(counts[i], SAMPLE_COUNT / KIND_COUNT);
    }
}

/* The fourth, the sixteenth, and so on up to one of four times as many as are run again. */
TEST(some_trials_are_compared_with_a_fresh_instance)
{
    static const uint64_t samples[] = {0, 1, 3, 16};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        make_plan("2000");
        trials = trials_create(&plan, samples[i], 1000);
        show("one in %u is run again, compared are:", (unsigned)samples[i]);
        for (uint64_t k = 0; k < 130; k++) {
            const struct task task = next_task();
            ck_assert_uint_eq(task.trial, k);
            show(task.is_compared ? " %u" : "", (unsigned)k);
        }
        show("\n");
        trials_destroy(trials);
    }
}

/* What ended its part with trial 0. */
TEST(a_part_ends_at_each_of_its_bounds)
{
    static const struct {
        uint64_t op_count_max, trial_count_max, duration_ns;
        const char *result;
        bool goes_on;
    } rows[] = {
        {UINT64_MAX, UINT64_MAX, 500, "a0=1@499", true},
        {UINT64_MAX, UINT64_MAX, 500, "a0=1@500", false},
        {4001, UINT64_MAX, UINT64_MAX, "a0", true},
        {2000, UINT64_MAX, UINT64_MAX, "a0", false},
        {UINT64_MAX, 2, UINT64_MAX, "a0=1", true},
        {UINT64_MAX, 1, UINT64_MAX, "a0=1", false},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, "a0=0", false},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, "a0=1x", true},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, "a0=1!", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char session[32];
        make_plan("2000");
        parts[0].op_count_max = rows[i].op_count_max;
        parts[0].trial_count_max = rows[i].trial_count_max;
        parts[0].duration_ns = rows[i].duration_ns;
        (void)snprintf(session, sizeof session, "1 %s . 1", rows[i].result);
        check_session(0, 100, session, rows[i].goes_on ? "a0:2000 a0 . a1:2000" : "a0:2000 a0 . -");
        ck_assert_msg(progress[0].is_finished == !rows[i].goes_on, "row %zu", i);
    }
}

/* The second result of the part that ended is dropped, and the window has room for another. */
TEST(what_was_started_beyond_the_end_of_a_part_is_forgotten)
{
    make_plan("2000 2000");
    check_session(0, 4, "5 a0 . end-a a1 4 b1 b0 .",
                  "a0:2000 b0:2000 a1:2000 b1:2000 - a0 . b2:2000 b3:2000 - - b0 b1 .");
}

TEST(what_was_started_before_the_stop_counts)
{
    make_plan("2000 2000");
    check_session(0, 100, "3 stop 1 a1 a0 b0 .", "a0:2000 b0:2000 a1:2000 - a0 b0 a1 .");
}

TEST(a_part_with_a_note_is_not_run)
{
    make_plan("2000 2000");
    strcpy(parts[0].note, "x");
    check_session(0, 100, "2", "b0:2000 b1:2000");
}

/* Two processes, the second after what counted in the first, give the trials of one. */
TEST(another_process_goes_on_where_the_first_one_stood)
{
    make_plan("2000 4000");
    parts[0].op_count_max = 5000;
    parts[1].duration_ns = 10;
    trials = trials_create(&plan, 2, 3);
    play("3 a0=1000 b0@6 a1 . 1");
    const struct trials_mark mark = trials_save(trials, progress, sizeof *progress);
    trials_destroy(trials);
    show("\n");
    SHOW(mark.round, mark.part, mark.taken, progress[0].op_count, progress[0].taken,
         progress[1].elapsed_ns, progress[0].is_finished, progress[1].is_finished);
    ck_assert(trials_can_restore(&plan, &mark, progress, sizeof *progress));
    trials = trials_create(&plan, 2, 3);
    trials_restore(trials, &mark, progress, sizeof *progress);
    play("4 a2 b1@4 . 1");
    show("\n");
    SHOW(progress[0].is_finished, progress[1].is_finished);
    trials_destroy(trials);
}

/* A file may say anything of where a campaign stands. */
TEST(where_no_campaign_comes_to_is_refused)
{
    static const struct {
        struct trials_mark mark;
        struct trials_progress made[2];
        bool can_restore;
    } rows[] = {
        {{2, 0, 3}, {{2, 3000, 6, false}, {1, 4000, 6, false}}, true},
        {{2, 1, 4}, {{3, 3000, 6, false}, {1, 4000, 6, false}}, true},
        {{2, 2, 3}, {{2, 3000, 6, false}, {1, 4000, 6, false}}, false},
        {{3, 0, 3}, {{2, 3000, 6, false}, {1, 4000, 6, false}}, false},
        {{2, 0, 3}, {{1, 3000, 6, false}, {1, 4000, 6, false}}, false},
        {{2, 0, 3}, {{2, 3000, 6, false}, {2, 4000, 6, false}}, false},
        {{2, 0, 3}, {{2, 5001, 6, false}, {1, 4000, 6, false}}, false},
        {{2, 0, 3}, {{5, 3000, 6, true}, {1, 4000, 6, false}}, true},
        {{2, 0, 3}, {{6, 3000, 6, true}, {1, 4000, 6, false}}, false},
        {{2, 0, 3}, {{UINT64_MAX, 3000, 6, true}, {1, 4000, 6, false}}, false},
    };
    make_plan("2000 4000");
    parts[0].op_count_max = 5000;
    parts[0].trial_count_max = 5;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_msg(trials_can_restore(&plan, &rows[i].mark, rows[i].made, sizeof *progress) ==
                          rows[i].can_restore,
                      "row %zu", i);
    }
}

TEST(a_head_start_comes_before_all_others_and_counts_first)
{
    make_plan("2000 2000");
    parts[1].head_start = 3;
    check_session(0, 100, "8 b1 b0 a0 . a1 b3 b2 .",
                  "a0:2000 b0:2000 b1:2000 b2:2000 a1:2000 b3:2000 a2:2000 b4:2000 a0 b0 b1 . b2 "
                  "a1 b3 .");
}

TEST(a_stride_leaves_rounds_out)
{
    make_plan("2000 2000");
    parts[1].stride = 3;
    check_session(0, 100, "7", "a0:2000 b0:2000 a1:2000 a2:2000 a3:2000 b1:2000 a4:2000");
}

TEST(a_small_device_that_is_refused_does_not_end_its_part)
{
    make_plan("2000");
    parts[0].small_period = 4;
    parts[0].capacity_is_free = true;
    trials = trials_create(&plan, 0, 100);
    play("4 a0 a1 a2! .");
    ck_assert(!progress[0].is_finished);
    play("a3! ."); /* its device is not small */
    ck_assert(progress[0].is_finished);
    trials_destroy(trials);
    ck_assert_str_eq(shown_take(), " a0:2000 a1:2000 a2:2000 a3:2000 a0 a1 a2 . a3 .");
}
