/* Code compiled for the thread sanitizer, run in lanes of ours (tests/explore/explored_code.h). */
#include "explore/chance.h"
#include "explore/order.h"
#include "explore/scheduler.h"
#include "tests/explore/explored_code.h"
#include "tests/helpers/suite.h"

#include <stdbool.h>
#include <string.h>

enum { SCHEDULE_COUNT = 100, BACKEND_COUNT = SCHEDULER_THREADS + 1 };

/* Two lanes, and what they share. */
struct pair {
    void (*bodies[2])(void *context);
    struct explored explored;
};

static struct scheduler *scheduler;
static struct order *order;
static struct scheduler_report report;

/* The run of a test is the backend. */
static void set_up_scheduler(void)
{
    int run;
    (void)test_running(&run);
    scheduler = scheduler_create((enum scheduler_backend)(run % BACKEND_COUNT));
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

/* --- races --- */

EVERY_TEST(.setup = set_up_scheduler, .teardown = tear_down_scheduler);

/* Two bodies race in every schedule, or in none. */
static const struct {
    const char *promise;
    void (*one)(void *), (*two)(void *);
    bool is_race;
} rows[] = {
    {"an unlocked counter races in every schedule", explored_count_plain, explored_count_plain,
     true},
    {"an atomic counter does not race", explored_count_atomic, explored_count_atomic, false},
    {"what a release publishes does not race", explored_publish, explored_await, false},
    {"what a release publishes does not race", explored_await, explored_publish, false},
    {"what a relaxed store publishes races", explored_publish_relaxed, explored_await, true},
    {"what a relaxed store publishes races", explored_await, explored_publish_relaxed, true},
    {"a plain look at an atomic races", explored_publish, explored_look_plainly, true},
    {"copies are accesses of all their bytes", explored_copy, explored_clear, true},
    {"copies are accesses of all their bytes", explored_clear, explored_assign, true},
    {"neighbouring bytes do not race", explored_write_one, explored_write_two, false},
    {"neighbouring bytes do not race", explored_write_one, explored_write_one, true},
    {"blocks that change hands do not race", explored_use_blocks, explored_use_blocks, false},
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

TEST(two_bodies_race_or_not, .to = ROW_COUNT * BACKEND_COUNT)
{
    const size_t row = (size_t)_i / BACKEND_COUNT;
    const unsigned count = count_outcomes(rows[row].one, rows[row].two, SCHEDULER_RACE);
    ck_assert_msg(count == (rows[row].is_race ? SCHEDULE_COUNT : 0), "%s: %u", rows[row].promise,
                  count);
}

TEST(a_race_names_both_lanes_and_both_places, .to = BACKEND_COUNT)
{
    static struct pair pair = {.bodies = {explored_count_plain, explored_count_plain}};
    ck_assert_int_eq(run_schedule(&pair, 0), SCHEDULER_RACE);
    ck_assert_ptr_nonnull(strstr(report.text, "lane 1 wrote 8 bytes at explored_count_plain+0x"));
    const char *later = strstr(report.text, "; lane 2 ");
    /* clang does not tell of a read before a write to the same place. */
    ck_assert(later != NULL && strstr(later, "s at explored_count_plain+0x") != NULL);
    ck_assert_ptr_nonnull(strstr(report.text, "(test_instrumented)"));
}

TEST(without_an_order_nothing_races, .to = BACKEND_COUNT)
{
    static struct pair pair = {.bodies = {explored_count_plain, explored_count_plain}};
    struct chance chance = {0};
    const struct scheduler_plan plan = {
        .strategy = &any, .strategy_state = &chance, .body = run_pair, .context = &pair};
    scheduler_run(scheduler, &plan, &report);
    ck_assert_int_eq(report.outcome, SCHEDULER_FINISHED);
    ck_assert_uint_eq(pair.explored.plain, 2 * EXPLORED_COUNT);
}

TEST(a_spinning_lock_orders_and_lets_others_run, .to = BACKEND_COUNT)
{
    static struct pair pair = {.bodies = {explored_count_locked, explored_count_locked}};
    for (unsigned schedule = 0; schedule < SCHEDULE_COUNT; schedule++) {
        ck_assert_int_eq(run_schedule(&pair, schedule), SCHEDULER_FINISHED);
        ck_assert_uint_eq(pair.explored.guarded, 2 * EXPLORED_COUNT);
    }
}

/* --- steps --- */

/* No race: only the order of whole operations is wrong, so they must be points at which lanes
 * switch. */
TEST(a_check_that_is_too_old_is_found, .to = BACKEND_COUNT)
{
    static struct pair pair = {.bodies = {explored_take_carelessly, explored_take_carelessly}};
    unsigned twice = 0;
    for (unsigned schedule = 0; schedule < SCHEDULE_COUNT; schedule++) {
        ck_assert_int_eq(run_schedule(&pair, schedule), SCHEDULER_FINISHED);
        twice += pair.explored.owner_count == 2;
        ck_assert(schedule > 0 || pair.explored.owner_count == 1);
    }
    ck_assert_uint_gt(twice, SCHEDULE_COUNT / 10);
    ck_assert_uint_lt(twice, SCHEDULE_COUNT);
}

TEST(a_schedule_repeats_exactly, .to = BACKEND_COUNT)
{
    static struct pair pair = {.bodies = {explored_await, explored_publish}};
    uint64_t step_counts[SCHEDULE_COUNT];
    for (unsigned turn = 0; turn < 2; turn++) {
        for (unsigned schedule = 0; schedule < SCHEDULE_COUNT; schedule++) {
            ck_assert_int_eq(run_schedule(&pair, schedule), SCHEDULER_FINISHED);
            ck_assert(turn == 0 || step_counts[schedule] == report.step_count);
            step_counts[schedule] = report.step_count;
        }
    }
}

/* A run that is cut leaves looks behind that the next one must not count on. */
TEST(looks_of_one_run_do_not_count_in_the_next, .to = BACKEND_COUNT)
{
    static struct pair waits_in_vain = {.bodies = {explored_await, explored_write_one}};
    static struct pair pair = {.bodies = {explored_await, explored_publish}};
    ck_assert_int_eq(run_schedule(&pair, 0), SCHEDULER_FINISHED);
    const uint64_t step_count = report.step_count;
    ck_assert_int_eq(run_schedule(&waits_in_vain, 0), SCHEDULER_LIVELOCK);
    ck_assert_int_eq(run_schedule(&pair, 0), SCHEDULER_FINISHED);
    ck_assert_uint_eq(report.step_count, step_count);
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

TEST(in_lanes_results_are_the_same, .to = BACKEND_COUNT)
{
    const char *wrong = "nothing was tried";
    struct chance chance = {0};
    const struct scheduler_plan plan = {.strategy = &any,
                                        .strategy_state = &chance,
                                        .body = try_atomics,
                                        .context = &wrong,
                                        .order = order};
    scheduler_run(scheduler, &plan, &report);
    ck_assert_int_eq(report.outcome, SCHEDULER_FINISHED);
    ck_assert_msg(wrong == NULL, "%s", wrong);
    ck_assert_uint_gt(report.step_count, 50);
}
