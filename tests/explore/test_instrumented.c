/* Code compiled for the thread sanitizer, run in lanes of ours (tests/explore/explored_code.h). */
#include "explore/chance.h"
#include "explore/order.h"
#include "explore/scheduler.h"
#include "tests/explore/explored_code.h"
#include "tests/helpers/suite.h"

#include <stdbool.h>
#include <string.h>

enum { SCHEDULE_COUNT = 100 };

/* Two lanes, and what they share. */
struct pair {
    void (*bodies[2])(void *context);
    struct explored explored;
};

static struct scheduler *scheduler;
static struct order *order;
static struct scheduler_report report;

/* The loop index of a test is the backend. */
static void set_up_scheduler(int backend)
{
    scheduler = scheduler_create((enum scheduler_backend)backend);
    order = order_create();
}

static void tear_down_scheduler(void)
{
    scheduler_destroy(scheduler);
    order_destroy(order);
}

/* --- a strategy --- */

static uint8_t pick_lane(struct chance *chance, uint64_t lanes)
{
    for (uint32_t skip = chance_below(chance, (uint32_t)__builtin_popcountll(lanes)); skip > 0;
         skip--) {
        lanes &= lanes - 1;
    }
    return (uint8_t)__builtin_ctzll(lanes);
}

/* State: the chance; one of zero takes the default. */
static struct decision choose_any(void *state, const struct choice *choice)
{
    struct chance *chance = state;
    if (chance->state == 0 || choice->lanes == 0) {
        return decision_default(choice);
    }
    return (struct decision){.lane = pick_lane(chance, choice->lanes)};
}

static const struct strategy_kind any = {.name = "any", .choose = choose_any};

/* --- runs --- */

static void run_pair(void *context)
{
    struct pair *pair = context;
    uint8_t lanes[2];
    for (size_t i = 0; i < 2; i++) {
        lanes[i] = scheduler_lane_start(scheduler, true, pair->bodies[i], &pair->explored);
        order_start(order, 0, lanes[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        scheduler_step(scheduler, &(struct step){.kind = STEP_WAIT,
                                                 .gate = scheduler_lane_gate(scheduler, lanes[i])});
        order_join(order, 0, lanes[i]);
    }
}

/* schedule 0 is the default one: the first lane runs to its end, then the second. */
static enum scheduler_outcome run_schedule(struct pair *pair, unsigned schedule)
{
    struct chance chance = schedule == 0 ? (struct chance){0} : chance_of(schedule, 0);
    memset(&pair->explored, 0, sizeof pair->explored);
    const struct scheduler_plan plan = {.strategy = &any,
                                        .strategy_state = &chance,
                                        .body = run_pair,
                                        .context = pair,
                                        .order = order,
                                        .step_count_max = 10000};
    scheduler_run(scheduler, &plan, &report);
    return report.outcome;
}

/* How many of the schedules end so; no other end but FINISHED is allowed. */
static unsigned count_outcomes(void (*one)(void *), void (*two)(void *),
                               enum scheduler_outcome outcome)
{
    static struct pair pair;
    unsigned found = 0;
    pair.bodies[0] = one;
    pair.bodies[1] = two;
    for (unsigned schedule = 0; schedule < SCHEDULE_COUNT; schedule++) {
        const enum scheduler_outcome got = run_schedule(&pair, schedule);
        ck_assert_msg(got == outcome || got == SCHEDULER_FINISHED, "schedule %u: %s: %s", schedule,
                      scheduler_outcome_name(got), report.text);
        found += got == outcome;
    }
    return found;
}

static unsigned count_races(void (*one)(void *), void (*two)(void *))
{
    return count_outcomes(one, two, SCHEDULER_RACE);
}

/* --- races --- */

TEST(an_unlocked_counter_races_in_every_schedule, .from = SCHEDULER_FIBERS,
     .to = SCHEDULER_THREADS + 1)
{
    set_up_scheduler(_i);
    ck_assert_uint_eq(count_races(explored_count_plain, explored_count_plain), SCHEDULE_COUNT);
    tear_down_scheduler();
}

TEST(a_race_names_both_lanes_and_both_places, .from = SCHEDULER_FIBERS, .to = SCHEDULER_THREADS + 1)
{
    static struct pair pair = {.bodies = {explored_count_plain, explored_count_plain}};
    set_up_scheduler(_i);
    ck_assert_int_eq(run_schedule(&pair, 0), SCHEDULER_RACE);
    ck_assert_ptr_nonnull(strstr(report.text, "lane 1 wrote 8 bytes at explored_count_plain+0x"));
    const char *later = strstr(report.text, "; lane 2 ");
    /* clang does not tell of a read before a write to the same place. */
    ck_assert(later != NULL && strstr(later, "s at explored_count_plain+0x") != NULL);
    ck_assert_ptr_nonnull(strstr(report.text, "(test_instrumented)"));
    tear_down_scheduler();
}

TEST(without_an_order_nothing_races, .from = SCHEDULER_FIBERS, .to = SCHEDULER_THREADS + 1)
{
    static struct pair pair = {.bodies = {explored_count_plain, explored_count_plain}};
    struct chance chance = {0};
    set_up_scheduler(_i);
    const struct scheduler_plan plan = {
        .strategy = &any, .strategy_state = &chance, .body = run_pair, .context = &pair};
    scheduler_run(scheduler, &plan, &report);
    ck_assert_int_eq(report.outcome, SCHEDULER_FINISHED);
    ck_assert_uint_eq(pair.explored.plain, 2 * EXPLORED_COUNT);
    tear_down_scheduler();
}

TEST(an_atomic_counter_does_not_race, .from = SCHEDULER_FIBERS, .to = SCHEDULER_THREADS + 1)
{
    set_up_scheduler(_i);
    ck_assert_uint_eq(count_races(explored_count_atomic, explored_count_atomic), 0);
    tear_down_scheduler();
}

TEST(what_a_release_publishes_does_not_race, .from = SCHEDULER_FIBERS, .to = SCHEDULER_THREADS + 1)
{
    set_up_scheduler(_i);
    ck_assert_uint_eq(count_races(explored_publish, explored_await), 0);
    ck_assert_uint_eq(count_races(explored_await, explored_publish), 0);
    tear_down_scheduler();
}

TEST(what_a_relaxed_store_publishes_races, .from = SCHEDULER_FIBERS, .to = SCHEDULER_THREADS + 1)
{
    set_up_scheduler(_i);
    ck_assert_uint_eq(count_races(explored_publish_relaxed, explored_await), SCHEDULE_COUNT);
    ck_assert_uint_eq(count_races(explored_await, explored_publish_relaxed), SCHEDULE_COUNT);
    tear_down_scheduler();
}

TEST(a_plain_look_at_an_atomic_races, .from = SCHEDULER_FIBERS, .to = SCHEDULER_THREADS + 1)
{
    set_up_scheduler(_i);
    ck_assert_uint_eq(count_races(explored_publish, explored_look_plainly), SCHEDULE_COUNT);
    tear_down_scheduler();
}

TEST(a_spinning_lock_orders_and_lets_others_run, .from = SCHEDULER_FIBERS,
     .to = SCHEDULER_THREADS + 1)
{
    static struct pair pair = {.bodies = {explored_count_locked, explored_count_locked}};
    set_up_scheduler(_i);
    for (unsigned schedule = 0; schedule < SCHEDULE_COUNT; schedule++) {
        ck_assert_int_eq(run_schedule(&pair, schedule), SCHEDULER_FINISHED);
        ck_assert_uint_eq(pair.explored.guarded, 2 * EXPLORED_COUNT);
    }
    tear_down_scheduler();
}

TEST(copies_are_accesses_of_all_their_bytes, .from = SCHEDULER_FIBERS, .to = SCHEDULER_THREADS + 1)
{
    set_up_scheduler(_i);
    ck_assert_uint_eq(count_races(explored_copy, explored_clear), SCHEDULE_COUNT);
    ck_assert_uint_eq(count_races(explored_clear, explored_assign), SCHEDULE_COUNT);
    tear_down_scheduler();
}

TEST(neighbouring_bytes_do_not_race, .from = SCHEDULER_FIBERS, .to = SCHEDULER_THREADS + 1)
{
    set_up_scheduler(_i);
    ck_assert_uint_eq(count_races(explored_write_one, explored_write_two), 0);
    ck_assert_uint_eq(count_races(explored_write_one, explored_write_one), SCHEDULE_COUNT);
    tear_down_scheduler();
}

TEST(blocks_that_change_hands_do_not_race, .from = SCHEDULER_FIBERS, .to = SCHEDULER_THREADS + 1)
{
    set_up_scheduler(_i);
    ck_assert_uint_eq(count_races(explored_use_blocks, explored_use_blocks), 0);
    tear_down_scheduler();
}

/* --- steps --- */

/* No race: only the order of whole operations is wrong, so they must be points at which lanes
 * switch. */
TEST(a_check_that_is_too_old_is_found, .from = SCHEDULER_FIBERS, .to = SCHEDULER_THREADS + 1)
{
    static struct pair pair = {.bodies = {explored_take_carelessly, explored_take_carelessly}};
    unsigned twice = 0;
    set_up_scheduler(_i);
    for (unsigned schedule = 0; schedule < SCHEDULE_COUNT; schedule++) {
        ck_assert_int_eq(run_schedule(&pair, schedule), SCHEDULER_FINISHED);
        twice += pair.explored.owner_count == 2;
        ck_assert(schedule > 0 || pair.explored.owner_count == 1);
    }
    ck_assert_uint_gt(twice, SCHEDULE_COUNT / 10);
    ck_assert_uint_lt(twice, SCHEDULE_COUNT);
    tear_down_scheduler();
}

TEST(a_schedule_repeats_exactly, .from = SCHEDULER_FIBERS, .to = SCHEDULER_THREADS + 1)
{
    static struct pair pair = {.bodies = {explored_await, explored_publish}};
    uint64_t step_counts[SCHEDULE_COUNT];
    set_up_scheduler(_i);
    for (unsigned turn = 0; turn < 2; turn++) {
        for (unsigned schedule = 0; schedule < SCHEDULE_COUNT; schedule++) {
            ck_assert_int_eq(run_schedule(&pair, schedule), SCHEDULER_FINISHED);
            ck_assert(turn == 0 || step_counts[schedule] == report.step_count);
            step_counts[schedule] = report.step_count;
        }
    }
    tear_down_scheduler();
}

/* A run that is cut leaves looks behind that the next one must not count on. */
TEST(looks_of_one_run_do_not_count_in_the_next, .from = SCHEDULER_FIBERS,
     .to = SCHEDULER_THREADS + 1)
{
    static struct pair waits_in_vain = {.bodies = {explored_await, explored_write_one}};
    static struct pair pair = {.bodies = {explored_await, explored_publish}};
    set_up_scheduler(_i);
    ck_assert_int_eq(run_schedule(&pair, 0), SCHEDULER_FINISHED);
    const uint64_t step_count = report.step_count;
    ck_assert_int_eq(run_schedule(&waits_in_vain, 0), SCHEDULER_LIVELOCK);
    ck_assert_int_eq(run_schedule(&pair, 0), SCHEDULER_FINISHED);
    ck_assert_uint_eq(report.step_count, step_count);
    tear_down_scheduler();
}

/* --- values --- */

TEST(outside_of_lanes_all_is_plain)
{
    struct explored explored = {.from.bytes = {1, 2, 3}};
    ck_assert_ptr_null(scheduler_current());
    explored_count_plain(&explored);
    explored_count_atomic(&explored);
    explored_publish(&explored);
    explored_await(&explored);
    explored_copy(&explored);
    ck_assert_uint_eq(explored.plain, EXPLORED_COUNT);
    ck_assert_uint_eq(explored.counter, EXPLORED_COUNT);
    ck_assert_uint_eq(explored.read, 7);
    ck_assert_mem_eq(&explored.to, &explored.from, sizeof explored.to);
    ck_assert_ptr_null(explored_atomics());
}

static void try_atomics(void *context)
{
    const char **wrong = context;
    *wrong = explored_atomics();
}

TEST(in_lanes_results_are_the_same, .from = SCHEDULER_FIBERS, .to = SCHEDULER_THREADS + 1)
{
    const char *wrong = "nothing was tried";
    struct chance chance = {0};
    set_up_scheduler(_i);
    const struct scheduler_plan plan = {.strategy = &any,
                                        .strategy_state = &chance,
                                        .body = try_atomics,
                                        .context = &wrong,
                                        .order = order};
    scheduler_run(scheduler, &plan, &report);
    ck_assert_int_eq(report.outcome, SCHEDULER_FINISHED);
    ck_assert_msg(wrong == NULL, "%s", wrong);
    ck_assert_uint_gt(report.step_count, 50);
    tear_down_scheduler();
}
