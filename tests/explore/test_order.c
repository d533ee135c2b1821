/* Which accesses of lanes are ordered, by hand and against the definition. */
#include "explore/chance.h"
#include "explore/order.h"
#include "explore/private/order_shadow.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <string.h>

static struct order *order;
static struct race race;
static unsigned char memory[64] __attribute__((aligned(8)));
static const char objects[3];

static void set_up_order(void)
{
    order = order_create();
}

static void tear_down_order(void)
{
    ck_assert(order_invariants_hold(order));
    order_destroy(order);
}

static bool is_access_racing(uint8_t lane, bool is_write, size_t at, size_t size_bytes)
{
    const struct access access = {
        .lane = lane, .is_write = is_write, .op = lane + 10u, .place = &memory[at]};
    return order_access(order, &access, &memory[at], size_bytes, &race);
}

static bool races_atomic(uint8_t lane, bool is_write, size_t at)
{
    const struct access access = {.lane = lane, .is_write = is_write, .op = STEP_OP_NONE};
    return order_atomic_access(order, &access, &memory[at], 8, &race);
}

EVERY_TEST(.setup = set_up_order, .teardown = tear_down_order);

TEST(what_one_lane_does_is_ordered)
{
    for (unsigned i = 0; i < 4; i++) {
        ck_assert(!is_access_racing(0, i % 2 == 0, 0, 8));
        order_release(order, 0, &objects[0]);
    }
}

TEST(unordered_accesses_race_when_one_writes)
{
    ck_assert(!is_access_racing(0, true, 0, 4));
    ck_assert(is_access_racing(1, true, 0, 4));
    ck_assert(is_access_racing(1, false, 0, 4));
    ck_assert(!is_access_racing(0, false, 16, 4));
    ck_assert(!is_access_racing(1, false, 16, 4));
    ck_assert(is_access_racing(2, true, 16, 4));
}

TEST(a_race_says_who_met_whom_where)
{
    ck_assert(!is_access_racing(3, true, 2, 4));
    ck_assert(is_access_racing(1, false, 4, 4));
    ck_assert_ptr_eq(race.address, &memory[4]);
    ck_assert_uint_eq(race.size_bytes, 2);
    ck_assert_uint_eq(race.earlier.lane, 3);
    ck_assert_uint_eq(race.earlier.op, 13);
    ck_assert(race.earlier.is_write);
    ck_assert_ptr_eq(race.earlier.place, &memory[2]);
    ck_assert_uint_eq(race.later.lane, 1);
    ck_assert(!race.later.is_write);
    ck_assert_ptr_eq(race.later.place, &memory[4]);
}

TEST(a_release_orders_what_was_before_it_and_no_more)
{
    ck_assert(!is_access_racing(0, true, 0, 8));
    order_release(order, 0, &objects[0]);
    ck_assert(!is_access_racing(0, true, 8, 8));
    order_acquire(order, 1, &objects[0]);
    ck_assert(!is_access_racing(1, true, 0, 8));
    ck_assert(is_access_racing(1, true, 8, 8));
}

TEST(another_object_orders_nothing)
{
    ck_assert(!is_access_racing(0, true, 0, 8));
    order_release(order, 0, &objects[0]);
    order_acquire(order, 1, &objects[1]);
    ck_assert(is_access_racing(1, true, 0, 8));
}

TEST(order_goes_through_a_chain_of_three_lanes)
{
    ck_assert(!is_access_racing(0, true, 0, 8));
    order_release(order, 0, &objects[0]);
    order_acquire(order, 1, &objects[0]);
    order_release(order, 1, &objects[1]);
    order_acquire(order, 2, &objects[1]);
    ck_assert(!is_access_racing(2, true, 0, 8));
}

TEST(a_write_after_reads_must_come_after_all_of_them)
{
    ck_assert(!is_access_racing(0, false, 0, 8));
    ck_assert(!is_access_racing(1, false, 0, 8));
    order_release(order, 1, &objects[0]);
    order_acquire(order, 2, &objects[0]);
    ck_assert(is_access_racing(2, true, 0, 8));
    ck_assert_uint_eq(race.earlier.lane, 0);
    order_release(order, 0, &objects[0]);
    order_acquire(order, 2, &objects[0]);
    ck_assert(!is_access_racing(2, true, 0, 8));
}

TEST(starts_and_joins_order)
{
    ck_assert(!is_access_racing(0, true, 0, 8));
    order_start(order, 0, 1);
    ck_assert(!is_access_racing(1, true, 0, 8));
    ck_assert(!is_access_racing(1, true, 8, 8));
    ck_assert(is_access_racing(0, true, 8, 8));
    ck_assert(!is_access_racing(0, true, 16, 8));
    ck_assert(is_access_racing(1, false, 16, 8));
    order_join(order, 0, 1);
    ck_assert(!is_access_racing(0, true, 0, 16));
}

TEST(bytes_of_one_word_do_not_meet)
{
    for (uint8_t lane = 0; lane < 8; lane++) {
        ck_assert(!is_access_racing(lane, true, lane, 1));
    }
    for (uint8_t lane = 0; lane < 8; lane++) {
        ck_assert(!is_access_racing(lane, true, lane, 1));
        ck_assert(is_access_racing(8, false, lane, 1));
        ck_assert_uint_eq(race.earlier.lane, lane);
    }
}

TEST(ranges_meet_at_their_ends)
{
    ck_assert(!is_access_racing(0, true, 3, 30));
    ck_assert(!is_access_racing(1, true, 2, 1));
    ck_assert(!is_access_racing(1, true, 33, 8));
    ck_assert(is_access_racing(1, false, 32, 1));
    ck_assert(is_access_racing(1, false, 0, 4));
}

TEST(memory_given_back_is_new)
{
    ck_assert(!is_access_racing(0, true, 0, 24));
    order_release(order, 0, &memory[9]);
    order_forget(order, &memory[5], 10);
    ck_assert(!is_access_racing(1, true, 5, 10));
    ck_assert(is_access_racing(1, true, 4, 1));
    ck_assert(is_access_racing(1, true, 15, 1));
    order_acquire(order, 1, &memory[9]);
    ck_assert(is_access_racing(1, true, 4, 1));
}

TEST(much_memory_given_back_is_new)
{
    ck_assert(!is_access_racing(0, true, 0, 24));
    order_release(order, 0, &memory[9]);
    order_forget(order, &memory[8], (size_t)1 << 40);
    ck_assert(!is_access_racing(1, true, 8, 16));
    order_acquire(order, 1, &memory[9]);
    ck_assert(is_access_racing(1, true, 7, 1));
}

TEST(a_reset_forgets_all)
{
    ck_assert(!is_access_racing(0, true, 0, 8));
    order_release(order, 0, &objects[0]);
    order_reset(order);
    ck_assert(!is_access_racing(1, true, 0, 8));
    order_acquire(order, 2, &objects[0]);
    ck_assert(is_access_racing(2, true, 0, 8));
    ck_assert_uint_eq(race.earlier.lane, 1);
}

TEST(much_is_remembered)
{
    enum { WORD_COUNT = 100000 };
    static uint64_t words[WORD_COUNT];
    for (unsigned turn = 0; turn < 2; turn++) {
        const struct access first = {.lane = 0, .is_write = true}, second = {.lane = 1};
        size_t early = 0, late = 0;
        for (size_t i = 0; i < WORD_COUNT; i++) {
            order_release(order, 0, &words[i]);
            early += order_access(order, &first, &words[i], 8, &race);
        }
        for (size_t i = 0; i < WORD_COUNT; i++) {
            late += order_access(order, &second, &words[i], 1, &race);
        }
        ck_assert_uint_eq(early, 0);
        ck_assert_uint_eq(late, WORD_COUNT);
        order_reset(order);
    }
}

/* --- atomic operations --- */

TEST(a_relaxed_store_ends_what_another_lane_released)
{
    ck_assert(!is_access_racing(0, true, 0, 8));
    order_atomic_store(order, 0, &objects[0], true);
    order_atomic_store(order, 1, &objects[0], false);
    order_atomic_load(order, 2, &objects[0], true);
    ck_assert(is_access_racing(2, false, 0, 8));
}

TEST(a_relaxed_store_goes_on_with_what_the_same_lane_released)
{
    ck_assert(!is_access_racing(0, true, 0, 8));
    order_atomic_store(order, 0, &objects[0], true);
    order_atomic_store(order, 0, &objects[0], false);
    order_atomic_load(order, 2, &objects[0], true);
    ck_assert(!is_access_racing(2, false, 0, 8));
}

TEST(a_release_store_replaces_what_another_lane_released)
{
    ck_assert(!is_access_racing(0, true, 0, 8));
    ck_assert(!is_access_racing(1, true, 8, 8));
    order_atomic_store(order, 0, &objects[0], true);
    order_atomic_store(order, 1, &objects[0], true);
    order_atomic_load(order, 2, &objects[0], true);
    ck_assert(!is_access_racing(2, false, 8, 8));
    ck_assert(is_access_racing(2, false, 0, 8));
}

TEST(an_update_carries_on_what_was_released)
{
    ck_assert(!is_access_racing(0, true, 0, 8));
    order_atomic_store(order, 0, &objects[0], true);
    order_atomic_load(order, 1, &objects[0], false);
    order_atomic_update(order, 1, &objects[0], false);
    ck_assert(is_access_racing(1, false, 0, 8));
    order_atomic_load(order, 2, &objects[0], true);
    ck_assert(!is_access_racing(2, false, 0, 8));
}

TEST(fences_order_through_relaxed_operations)
{
    ck_assert(!is_access_racing(0, true, 0, 8));
    order_atomic_fence(order, 0, false, true);
    ck_assert(!is_access_racing(0, true, 8, 8));
    order_atomic_store(order, 0, &objects[0], false);
    order_atomic_load(order, 1, &objects[0], false);
    ck_assert(is_access_racing(1, false, 0, 8));
    order_atomic_fence(order, 1, true, false);
    ck_assert(!is_access_racing(1, false, 0, 8));
    ck_assert(is_access_racing(1, false, 8, 8));
}

TEST(a_plain_access_races_with_an_atomic_one)
{
    ck_assert(!races_atomic(0, true, 0));
    ck_assert(!races_atomic(1, true, 0));
    ck_assert(is_access_racing(2, false, 0, 8));
    ck_assert(!is_access_racing(2, true, 8, 8));
    ck_assert(races_atomic(1, false, 8));
    ck_assert(!is_access_racing(2, false, 16, 8));
    ck_assert(!races_atomic(1, false, 16));
    ck_assert(races_atomic(1, true, 16));
}

/* --- the definition --- */

enum { TRACE_COUNT = 20000, EVENT_COUNT = 48, LANE_COUNT = 3, BYTE_COUNT = 16 };

/* Each event is a bit; what comes before an event is a set of them. */
struct definition {
    uint64_t before[LANE_COUNT]; /* the next event of the lane */
    uint64_t of_lane[LANE_COUNT];
    uint64_t released[3]; /* by what acquires of the object come after */
    uint64_t reads[BYTE_COUNT], writes[BYTE_COUNT];
    uint32_t ended; /* bit per lane */
};

/* The events that race with an access of the lane. */
static uint64_t find_racing_events(const struct definition *all, uint8_t lane, bool is_write,
                                   size_t at, size_t size_bytes)
{
    uint64_t found = 0;
    for (size_t i = at; i < at + size_bytes; i++) {
        found |= all->writes[i] | (is_write ? all->reads[i] : 0);
    }
    return found & ~all->before[lane] & ~all->of_lane[lane];
}

/* False: the trace ends with a race. */
static bool compare_access(struct definition *all, struct chance *chance, uint8_t lane,
                           uint32_t event)
{
    const size_t at = chance_below(chance, 4) * 4;
    const size_t size_bytes = (size_t)1 << chance_below(chance, at % 8 == 0 ? 4 : 3);
    const size_t from = at + (size_bytes == 1 ? chance_below(chance, 4) : 0);
    const bool is_write = chance_below(chance, 2) == 0;
    const struct access access = {.lane = lane, .is_write = is_write, .op = event};
    const uint64_t expected = find_racing_events(all, lane, is_write, from, size_bytes);
    /* Most traces are to go on for long. */
    if (expected != 0 && chance_below(chance, 16) != 0) {
        return true;
    }
    const bool found = order_access(order, &access, &memory[from], size_bytes, &race);
    ck_assert(order_invariants_hold(order));
    ck_assert_int_eq(found, expected != 0);
    if (found) {
        ck_assert((expected >> race.earlier.op & 1) != 0);
        ck_assert_uint_eq(race.later.op, event);
        return false;
    }
    for (size_t i = from; i < from + size_bytes; i++) {
        *(is_write ? &all->writes[i] : &all->reads[i]) |= UINT64_C(1) << event;
    }
    return true;
}

static void forget_some(struct definition *all, struct chance *chance)
{
    const size_t at = chance_below(chance, BYTE_COUNT);
    const size_t size_bytes = 1 + chance_below(chance, (uint32_t)(BYTE_COUNT - at));
    order_forget(order, &memory[at], size_bytes);
    memset(&all->reads[at], 0, size_bytes * sizeof all->reads[0]);
    memset(&all->writes[at], 0, size_bytes * sizeof all->writes[0]);
}

static void meet_object(struct definition *all, struct chance *chance, uint8_t lane)
{
    const uint32_t object = chance_below(chance, 3);
    if (chance_below(chance, 2) == 0) {
        order_release(order, lane, &objects[object]);
        all->released[object] |= all->before[lane] | all->of_lane[lane];
    } else {
        order_acquire(order, lane, &objects[object]);
        all->before[lane] |= all->released[object];
    }
}

static void start_or_join(struct definition *all, struct chance *chance, uint8_t lane)
{
    const uint8_t other = (uint8_t)((lane + 1 + chance_below(chance, LANE_COUNT - 1)) % LANE_COUNT);
    if ((all->ended >> other & 1) == 0 && all->of_lane[other] == 0) {
        order_start(order, lane, other);
        all->before[other] |= all->before[lane] | all->of_lane[lane];
    } else if (chance_below(chance, 4) == 0) {
        order_join(order, lane, other);
        all->before[lane] |= all->before[other] | all->of_lane[other];
        all->ended |= 1u << other;
    }
}

/* Returns whether the trace ended with a race. */
static bool compare_trace(struct chance *chance)
{
    struct definition all = {0};
    order_reset(order);
    for (uint32_t event = 0; event < EVENT_COUNT; event++) {
        const uint8_t lane = (uint8_t)chance_below(chance, LANE_COUNT);
        const uint32_t kind = chance_below(chance, 32);
        if ((all.ended >> lane & 1) != 0) {
            continue;
        }
        if (kind < 12) {
            if (!compare_access(&all, chance, lane, event)) {
                return true;
            }
        } else if (kind < 30) {
            meet_object(&all, chance, lane);
        } else if (kind < 31) {
            start_or_join(&all, chance, lane);
        } else {
            forget_some(&all, chance);
        }
        all.of_lane[lane] |= UINT64_C(1) << event;
    }
    return false;
}

TEST(random_traces_agree_with_the_definition)
{
    struct chance chance = chance_of(1, 0);
    const uint64_t count = draws_count(TRACE_COUNT, 1);
    uint64_t raced = 0;
    for (uint64_t i = 0; i < count; i++) {
        raced += compare_trace(&chance);
    }
    ck_assert_uint_gt(raced, count / 10);
    ck_assert_uint_lt(raced, count * 9 / 10);
}
