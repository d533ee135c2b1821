/* The search for the largest number for which something holds. */
#include "harness/base/edge.h"
#include "tests/helpers/suite.h"

#include <check.h>

/* Holds up to `most`; counts and bounds the tries. */
struct world {
    uint64_t most, lowest_asked, highest_asked;
    unsigned try_count, try_count_max;
};

static bool may_try(void *context)
{
    const struct world *world = context;
    return world->try_count < world->try_count_max;
}

static bool holds(void *context, uint64_t number)
{
    struct world *world = context;
    world->try_count++;
    world->lowest_asked = number < world->lowest_asked ? number : world->lowest_asked;
    world->highest_asked = number > world->highest_asked ? number : world->highest_asked;
    return number <= world->most;
}

static struct edge find(struct world *world, uint64_t low, uint64_t high, uint64_t start,
                        struct edge known)
{
    const struct edge_search search = {
        .low = low, .high = high, .may_try = may_try, .holds = holds, .context = world};
    world->lowest_asked = UINT64_MAX;
    edge_find(&search, start, &known);
    return known;
}

static struct world world_of(uint64_t most)
{
    return (struct world){.most = most, .try_count_max = 1000};
}

TEST(the_edge_is_found_from_any_start)
{
    for (uint64_t most = 2; most < 60; most++) {
        for (uint64_t start = 2; start <= 60; start++) {
            struct world world = world_of(most);
            const struct edge edge = find(&world, 2, 60, start, (struct edge){0});
            ck_assert_uint_eq(edge.holds, most);
            ck_assert_uint_eq(edge.fails, most + 1);
            ck_assert_uint_ge(world.lowest_asked, 2);
            ck_assert_uint_le(world.highest_asked, 60);
        }
    }
}

TEST(nothing_and_everything_have_one_side)
{
    struct world nothing = world_of(1), everything = world_of(UINT64_MAX);
    struct edge edge = find(&nothing, 2, 60, 9, (struct edge){0});
    ck_assert_uint_eq(edge.holds, 0);
    ck_assert_uint_eq(edge.fails, 2);
    edge = find(&everything, 2, 60, 9, (struct edge){0});
    ck_assert_uint_eq(edge.holds, 60);
    ck_assert_uint_eq(edge.fails, 0);
}

TEST(a_high_bound_near_the_end_of_64_bits_does_not_wrap)
{
    struct world world = world_of(UINT64_MAX - 2);
    const struct edge edge = find(&world, 1, UINT64_MAX, UINT64_MAX / 2 + 9, (struct edge){0});
    ck_assert_uint_eq(edge.holds, UINT64_MAX - 2);
    ck_assert_uint_eq(edge.fails, UINT64_MAX - 1);
}

TEST(what_is_known_is_not_tried_again)
{
    struct world world = world_of(11);
    const struct edge edge = find(&world, 1, 100, 1, (struct edge){.holds = 8, .fails = 16});
    ck_assert_uint_eq(edge.holds, 11);
    ck_assert_uint_eq(edge.fails, 12);
    ck_assert_uint_eq(world.try_count, 3); /* 12, 10, 11 */
    ck_assert_uint_ge(world.lowest_asked, 9);
    ck_assert_uint_le(world.highest_asked, 15);
}

TEST(tries_that_run_out_leave_what_was_found)
{
    struct world world = world_of(40);
    world.try_count_max = 3;
    const struct edge edge = find(&world, 1, 1000, 10, (struct edge){0}); /* 10, 20, 40 */
    ck_assert_uint_eq(edge.holds, 40);
    ck_assert_uint_eq(edge.fails, 0);
    ck_assert_uint_eq(world.try_count, 3);
}
