/* The order in which trials are run and counted: parts made up, results made up, each session
 * written down as one line. */
#include "campaign/trials/trials.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { PART_COUNT_MAX = 3, LOG_BYTES = 1024 };

static struct scenario scenarios_made[PART_COUNT_MAX];
static struct part parts[PART_COUNT_MAX];
static struct plan plan;
static struct trials *trials;
static char said[LOG_BYTES];

static void note(const char *text)
{
    const size_t used = strlen(said);
    ck_assert_uint_lt(used + strlen(text) + 2, sizeof said);
    (void)snprintf(said + used, sizeof said - used, "%s%s", used == 0 ? "" : " ", text);
}

/* Parts without bounds; a test sets those that it is about, and then creates the trials. */
static void make_plan(size_t count, const uint32_t ops_per_trial[])
{
    memset(parts, 0, sizeof parts);
    said[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        scenarios_made[i] = (struct scenario){.name = "made up", .ops_per_trial = ops_per_trial[i]};
        parts[i].scenario = &scenarios_made[i];
        parts[i].op_count_max = parts[i].trial_count_max = parts[i].duration_ns = UINT64_MAX;
    }
    plan = (struct plan){.parts = parts, .count = count, .shard_count = 1};
}

static void begin_trials(uint64_t replay_sample, uint64_t window)
{
    trials = trials_create(&plan, replay_sample, window);
}

/* Asks for the next task: "a0:2000" is trial 0 of the first part with that bound, with an asterisk
 * when it is run twice, "-" is none. */
static struct task start_one(void)
{
    struct task task = {0};
    char text[64] = "-";
    if (trials_next(trials, &task)) {
        (void)snprintf(text, sizeof text, "%c%u:%u%s", 'a' + (int)task.part, (unsigned)task.trial,
                       (unsigned)task.op_count_max, task.is_sampled ? "*" : "");
    }
    note(text);
    ck_assert(trials_invariants_hold(trials));
    return task;
}

/* Bit i: the i-th task from now on is to be kept. */
static unsigned start_kept(unsigned count)
{
    unsigned kept = 0;
    struct task task = {0};
    for (unsigned i = 0; i < count && trials_next(trials, &task); i++) {
        kept |= (unsigned)task.is_kept << i;
    }
    return kept;
}

static void start_all(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        (void)start_one();
    }
}

/* The result of a trial that did so many ops, some of them skipped. */
static void put_with(uint32_t part, uint64_t trial, uint64_t bound, uint64_t ops, uint64_t elapsed,
                     enum trial_result_end end)
{
    struct trial_result result;
    trial_result_init(&result);
    result.head.task = (struct task){.part = part, .trial = trial, .op_count_max = bound};
    result.head.totals.ops = ops - ops / 4;
    result.head.totals.skipped = ops / 4;
    result.head.elapsed_ns = elapsed;
    result.head.end = end;
    writing_append(&result.all, "a line");
    trials_put(trials, &result);
    ck_assert(trials_invariants_hold(trials));
    ck_assert_uint_eq(result.all.length, 0); /* it was taken over */
    trial_result_deinit(&result);
}

static void put(uint32_t part, uint64_t trial, uint64_t bound, uint64_t ops)
{
    put_with(part, trial, bound, ops, 1, TRIAL_RESULT_DONE);
}

/* Takes all that count by now: "a0". */
static void take_all(void)
{
    struct trial_result result;
    while (trials_take(trials, &result)) {
        char text[32];
        (void)snprintf(text, sizeof text, "%c%u", 'a' + (int)result.head.task.part,
                       (unsigned)result.head.task.trial);
        note(text);
        ck_assert(trials_invariants_hold(trials));
        ck_assert_uint_eq(result.all.length, strlen("a line"));
        trial_result_deinit(&result);
    }
    note(".");
}

static void end_trials(const char *wanted)
{
    trials_destroy(trials);
    ck_assert_str_eq(said, wanted);
}

/* As those of a trial that ran out of memory so often. */
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

static struct task next_task(void)
{
    struct task task = {0};
    ck_assert(trials_next(trials, &task));
    return task;
}

static bool is_next_diagnosed(void)
{
    return next_task().is_diagnosed;
}

TEST(justified_refusals_are_diagnosed_until_two_were_counted)
{
    make_plan(1, (uint32_t[]){2000});
    begin_trials(0, 100);
    ck_assert(is_next_diagnosed());
    put_justified(0, 0);
    ck_assert(is_next_diagnosed());
    put_justified(1, 1);
    ck_assert(is_next_diagnosed());
    put_justified(2, 1);
    ck_assert(!is_next_diagnosed());
    trials_destroy(trials);
    begin_trials(0, 100);
    for (int i = 0; i < TRIAL_RESULT_JUSTIFIED_TRIAL_COUNT; i++) {
        ck_assert(is_next_diagnosed());
    }
    ck_assert(!is_next_diagnosed());
    trials_destroy(trials);
}

TEST(lists_of_the_first_trials_of_each_part_are_to_be_kept)
{
    make_plan(2, (uint32_t[]){2000, 2000});
    parts[0].keep_count = 2;
    parts[1].keep_count = 1;
    begin_trials(0, 100);
    ck_assert_uint_eq(start_kept(8), 0x7); /* a0 b0 a1, and no others */
    trials_destroy(trials);
    make_plan(1, (uint32_t[]){2000});
    parts[0].keep_count = 4;
    plan.shard_count = 3;
    plan.shard_index = 2;
    begin_trials(0, 100);
    ck_assert_uint_eq(start_kept(4), 0x1); /* numbers 2, 5, 8, 11 of the whole */
    trials_destroy(trials);
}

TEST(parts_with_long_trials_run_in_fewer_rounds)
{
    make_plan(3, (const uint32_t[]){1, 6000, 1999});
    begin_trials(0, 100);
    start_all(10);
    end_trials("a0:1 b0:6000 c0:1999 a1:1 c1:1999 a2:1 c2:1999 a3:1 b1:6000 c3:1999");
}

/* It would keep every promise. */
TEST(a_scenario_without_ops_a_trial_ends_the_process, .signal = SIGABRT)
{
    make_plan(2, (const uint32_t[]){2000, 0});
    begin_trials(0, 100);
    start_all(10);
}

/* How many trials come before the first one of the part. */
static size_t count_before(uint32_t part)
{
    size_t count = 0;
    begin_trials(0, 1000);
    while (next_task().part != part) {
        count++;
    }
    trials_destroy(trials);
    return count;
}

TEST(very_long_trials_wait_for_others_of_which_somebody_asked)
{
    make_plan(2, (const uint32_t[]){20000, 2000});
    ck_assert_uint_eq(count_before(0), 64);
    ck_assert_uint_eq(count_before(1), 0);
    parts[1].is_tentative = true; /* its lanes */
    ck_assert_uint_eq(count_before(0), 0);
    make_plan(1, (const uint32_t[]){20000});
    ck_assert_uint_eq(count_before(0), 0);
}

TEST(trials_are_started_in_the_order_in_which_they_count)
{
    for (uint32_t shard_count = 1; shard_count <= 3; shard_count++) {
        make_plan(3, (const uint32_t[]){2000, 6000, 20000});
        parts[0].head_start = 3;
        plan.shard_count = shard_count;
        plan.shard_index = shard_count - 1;
        begin_trials(0, 1000);
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
    make_plan(2, (const uint32_t[]){2000, 2000});
    scenarios_made[1].is_run_once = true;
    begin_trials(1, 10);
    start_all(4);
    end_trials("a0:2000* b0:2000 a1:2000* b1:2000");
}

TEST(results_count_in_the_order_of_the_rounds_whoever_is_first)
{
    make_plan(2, (const uint32_t[]){2000, 4000});
    begin_trials(0, 100);
    start_all(5);
    put(0, 2, 2000, 2000);
    put(1, 1, 4000, 4000);
    take_all();
    put(1, 0, 4000, 4000);
    put(0, 0, 2000, 2000);
    take_all();
    put(0, 1, 2000, 2000);
    take_all();
    end_trials("a0:2000 b0:4000 a1:2000 a2:2000 b1:4000 . a0 b0 . a1 a2 b1 .");
}

TEST(only_the_next_one_that_counts_is_started_beyond_the_window)
{
    make_plan(2, (const uint32_t[]){2000, 2000});
    begin_trials(0, 2);
    start_all(3);
    put(1, 0, 2000, 2000);
    take_all();
    start_all(1);
    put(0, 0, 2000, 2000);
    take_all();
    start_all(3);
    end_trials("a0:2000 b0:2000 - . - a0 b0 . a1:2000 b1:2000 -");
}

/* With a window of none the trial that counts next is still run, of whichever part and round. */
TEST(the_trial_that_counts_next_is_always_run)
{
    make_plan(2, (const uint32_t[]){2000, 4000});
    begin_trials(0, 0);
    for (unsigned i = 0; i < 5; i++) {
        const struct task task = start_one();
        start_all(1);
        put(task.part, task.trial, task.op_count_max, 100);
        take_all();
    }
    end_trials("a0:2000 - a0 . b0:4000 - b0 . a1:2000 - a1 . a2:2000 - a2 . b1:4000 - b1 .");
}

/* The bound of the next trial is known only when what runs can no longer change it. */
TEST(a_bound_on_ops_is_used_up_to_the_last_op)
{
    make_plan(1, (const uint32_t[]){2000});
    parts[0].op_count_max = 6000;
    begin_trials(0, 100);
    start_all(4);
    put(0, 0, 2000, 1600); /* it ended by itself */
    take_all();
    start_all(1);
    put(0, 1, 2000, 9000); /* no trial counts for more than its bound */
    take_all();
    start_all(2);
    put(0, 2, 2000, 2000);
    take_all();
    start_all(2);
    put(0, 3, 400, 400);
    take_all();
    start_all(1);
    end_trials("a0:2000 a1:2000 a2:2000 - a0 . - a1 . - - a2 . a3:400 - a3 . -");
}

TEST(a_shard_has_its_own_trials_and_its_share_of_the_ops)
{
    make_plan(2, (const uint32_t[]){2000, 2000});
    plan.shard_index = 1;
    plan.shard_count = 3;
    parts[0].op_count_max = 10; /* 3 and a rest */
    parts[1].trial_count_max = 5;
    begin_trials(2, 100);
    start_all(4);
    put(0, 1, 4, 3);
    put(1, 1, 2000, 2000);
    put(1, 4, 2000, 2000);
    take_all();
    start_all(2);
    put(0, 4, 1, 1);
    take_all();
    start_all(1);
    end_trials("a1:4 b1:2000* b4:2000 - a1 b1 . a4:1* - a4 b4 . -");
}

TEST(a_shard_beyond_the_last_trial_has_none)
{
    make_plan(2, (const uint32_t[]){2000, 2000});
    plan.shard_index = 2;
    plan.shard_count = 3;
    parts[0].trial_count_max = 2;
    parts[1].trial_count_max = 3;
    begin_trials(0, 100);
    start_all(2);
    put(1, 2, 2000, 2000);
    take_all();
    end_trials("b2:2000 - b2 .");
}

TEST(every_so_manieth_trial_is_a_sample)
{
    make_plan(1, (const uint32_t[]){2000});
    begin_trials(3, 100);
    start_all(5);
    put(0, 2, 2000, 2000); /* it waits when all ends */
    end_trials("a0:2000* a1:2000 a2:2000 a3:2000 a4:2000*");
}

/* Else each part would have its first trial run again. */
TEST(parts_have_their_samples_at_different_trials)
{
    make_plan(3, (const uint32_t[]){2000, 2000, 2000});
    begin_trials(3, 100);
    start_all(9);
    end_trials("a0:2000* b0:2000 c0:2000 a1:2000 b1:2000 c1:2000* a2:2000 b2:2000* c2:2000");
}

/* Every second trial has faults, and every fourth a small device: samples meet all of them. */
TEST(samples_of_a_part_meet_each_kind_of_trial)
{
    enum { SAMPLE_PERIOD = 32, KIND_COUNT = 4, SAMPLE_COUNT = 8 };
    uint32_t counts[KIND_COUNT] = {0};
    struct task task;
    make_plan(1, (const uint32_t[]){2000});
    begin_trials(SAMPLE_PERIOD, SAMPLE_PERIOD * SAMPLE_COUNT);
    for (uint64_t k = 0; k < SAMPLE_PERIOD * SAMPLE_COUNT && trials_next(trials, &task); k++) {
        counts[k % KIND_COUNT] += task.is_sampled;
    }
    trials_destroy(trials);
    for (size_t i = 0; i < KIND_COUNT; i++) {
        ck_assert_uint_eq(counts[i], SAMPLE_COUNT / KIND_COUNT);
    }
}

/* The fourth, the sixteenth, and so on up to one of four times as many as are run again. */
TEST(some_trials_are_compared_with_a_fresh_instance)
{
    static const struct {
        uint64_t replay_sample, compared[6];
    } rows[] = {
        {0, {0}}, {1, {3, 4, 9, 14, 19, 20}}, {3, {3, 16, 29, 42, 55, 68}}, {16, {3, 15, 68}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t seen = 0;
        struct task task;
        make_plan(1, (const uint32_t[]){2000});
        begin_trials(rows[i].replay_sample, 1000);
        for (uint64_t k = 0; k < 130 && trials_next(trials, &task); k++) {
            ck_assert_uint_eq(task.trial, k);
            if (task.is_compared && seen < 6) {
                ck_assert_uint_eq(k, rows[i].compared[seen]);
                seen++;
            }
        }
        trials_destroy(trials);
        ck_assert_uint_ge(seen, rows[i].replay_sample == 0 ? 0 : 3);
        ck_assert(rows[i].replay_sample != 0 || seen == 0);
    }
}

/* What ended its part with trial 0; trial 1 was started by then, and counts no more. */
TEST(a_part_ends_at_each_of_its_bounds)
{
    static const struct {
        uint64_t op_count_max, trial_count_max, duration_ns, ops, elapsed_ns;
        enum trial_result_end end;
        bool goes_on;
    } rows[] = {
        {UINT64_MAX, UINT64_MAX, 500, 1, 499, TRIAL_RESULT_DONE, true},
        {UINT64_MAX, UINT64_MAX, 500, 1, 500, TRIAL_RESULT_DONE, false},
        {4001, UINT64_MAX, UINT64_MAX, 2000, 1, TRIAL_RESULT_DONE, true},
        {2000, UINT64_MAX, UINT64_MAX, 2000, 1, TRIAL_RESULT_DONE, false},
        {UINT64_MAX, 2, UINT64_MAX, 1, 1, TRIAL_RESULT_DONE, true},
        {UINT64_MAX, 1, UINT64_MAX, 1, 1, TRIAL_RESULT_DONE, false},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, 0, 1, TRIAL_RESULT_DONE, false},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, 1, 1, TRIAL_RESULT_CRASHED, true},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, 1, 1, TRIAL_RESULT_REFUSED, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trials_progress progress[1];
        struct trial_result result;
        make_plan(1, (const uint32_t[]){2000});
        parts[0].op_count_max = rows[i].op_count_max;
        parts[0].trial_count_max = rows[i].trial_count_max;
        parts[0].duration_ns = rows[i].duration_ns;
        begin_trials(0, 100);
        (void)start_one();
        put_with(0, 0, 2000, rows[i].ops, rows[i].elapsed_ns, rows[i].end);
        ck_assert(trials_take(trials, &result));
        trial_result_deinit(&result);
        (void)trials_save(trials, progress, sizeof *progress);
        ck_assert_msg(progress[0].is_finished == !rows[i].goes_on, "row %zu", i);
        trials_destroy(trials);
    }
}

TEST(what_was_started_beyond_the_end_of_a_part_is_forgotten)
{
    make_plan(2, (const uint32_t[]){2000, 2000});
    begin_trials(0, 4);
    start_all(5);
    put(0, 0, 2000, 2000);
    take_all();
    trials_finish(trials, 0);
    put(0, 1, 2000, 2000); /* dropped */
    start_all(4);          /* the window has room for what was forgotten */
    put(1, 1, 2000, 2000);
    put(1, 0, 2000, 2000);
    take_all();
    end_trials("a0:2000 b0:2000 a1:2000 b1:2000 - a0 . b2:2000 b3:2000 - - b0 b1 .");
}

TEST(what_was_started_before_the_stop_counts)
{
    make_plan(2, (const uint32_t[]){2000, 2000});
    begin_trials(0, 100);
    start_all(3);
    trials_stop(trials);
    start_all(1);
    put(0, 1, 2000, 2000);
    put(0, 0, 2000, 2000);
    put(1, 0, 2000, 2000);
    take_all();
    end_trials("a0:2000 b0:2000 a1:2000 - a0 b0 a1 .");
}

TEST(a_part_with_a_note_is_not_run)
{
    make_plan(2, (const uint32_t[]){2000, 2000});
    strcpy(parts[0].note, "x");
    begin_trials(0, 100);
    start_all(2);
    end_trials("b0:2000 b1:2000");
}

/* Two processes, the second after what counted in the first, give the trials of one. */
TEST(another_process_goes_on_where_the_first_one_stood)
{
    struct trials_progress progress[2];
    make_plan(2, (const uint32_t[]){2000, 4000});
    parts[0].op_count_max = 5000;
    parts[1].duration_ns = 10;
    begin_trials(2, 3);
    start_all(3);
    put(0, 0, 2000, 1000);
    put_with(1, 0, 4000, 4000, 6, TRIAL_RESULT_DONE);
    put(0, 1, 2000, 2000);
    take_all();
    start_all(1);
    const struct trials_mark mark = trials_save(trials, progress, sizeof *progress);
    trials_destroy(trials);
    ck_assert_uint_eq(mark.round, 2);
    ck_assert_uint_eq(mark.part, 0);
    ck_assert_uint_eq(mark.taken, 3);
    ck_assert_uint_eq(progress[0].op_count, 3000);
    ck_assert_uint_eq(progress[0].taken, 2);
    ck_assert_uint_eq(progress[1].elapsed_ns, 6);
    ck_assert(!progress[0].is_finished && !progress[1].is_finished);

    ck_assert(trials_can_restore(&plan, &mark, progress, sizeof *progress));
    begin_trials(2, 3);
    trials_restore(trials, &mark, progress, sizeof *progress);
    start_all(4);
    put(0, 2, 2000, 2000);
    put_with(1, 1, 4000, 4000, 4, TRIAL_RESULT_DONE);
    take_all();
    start_all(1);
    (void)trials_save(trials, progress, sizeof *progress);
    ck_assert(progress[0].is_finished && progress[1].is_finished);
    end_trials("a0:2000* b0:4000 a1:2000 a0 b0 a1 . a2:2000 a2:2000 b1:4000* b2:4000* - a2 b1 . -");
}

/* A file may say anything of where a campaign stands. */
TEST(where_no_campaign_comes_to_is_refused)
{
    static const struct {
        struct trials_mark mark;
        struct trials_progress progress[2];
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
    make_plan(2, (const uint32_t[]){2000, 4000});
    parts[0].op_count_max = 5000;
    parts[0].trial_count_max = 5;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_msg(trials_can_restore(&plan, &rows[i].mark, rows[i].progress,
                                         sizeof *rows[i].progress) == rows[i].can_restore,
                      "row %zu", i);
    }
}

TEST(a_head_start_comes_before_all_others_and_counts_first)
{
    make_plan(2, (const uint32_t[]){2000, 2000});
    parts[1].head_start = 3;
    begin_trials(0, 100);
    start_all(8);
    put(1, 1, 2000, 2000);
    put(1, 0, 2000, 2000);
    put(0, 0, 2000, 2000);
    take_all();
    put(0, 1, 2000, 2000);
    put(1, 3, 2000, 2000);
    put(1, 2, 2000, 2000);
    take_all();
    end_trials(
        "a0:2000 b0:2000 b1:2000 b2:2000 a1:2000 b3:2000 a2:2000 b4:2000 a0 b0 b1 . b2 a1 b3 .");
}

TEST(a_stride_leaves_rounds_out)
{
    make_plan(2, (const uint32_t[]){2000, 2000});
    parts[1].stride = 3;
    begin_trials(0, 100);
    start_all(7);
    end_trials("a0:2000 b0:2000 a1:2000 a2:2000 a3:2000 b1:2000 a4:2000");
}

TEST(a_small_device_that_is_refused_does_not_end_its_part)
{
    struct trials_progress progress[PART_COUNT_MAX];
    make_plan(1, (const uint32_t[]){2000});
    parts[0].small_period = 4;
    parts[0].capacity_is_free = true;
    begin_trials(0, 100);
    start_all(4);
    put(0, 0, 2000, 2000);
    put(0, 1, 2000, 2000);
    put_with(0, 2, 2000, 0, 1, TRIAL_RESULT_REFUSED);
    take_all();
    (void)trials_save(trials, progress, sizeof *progress);
    ck_assert(!progress[0].is_finished);
    put_with(0, 3, 2000, 0, 1, TRIAL_RESULT_REFUSED); /* its device is not small */
    take_all();
    (void)trials_save(trials, progress, sizeof *progress);
    ck_assert(progress[0].is_finished);
    end_trials("a0:2000 a1:2000 a2:2000 a3:2000 a0 a1 a2 . a3 .");
}
