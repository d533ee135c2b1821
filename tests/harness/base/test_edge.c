/* The search for the largest number for which something holds. */
#include "harness/base/edge.h"
#include "tests/helpers/shown.h"
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

static void show_edge(struct world world, uint64_t low, uint64_t high, uint64_t start,
                      struct edge known)
{
    const struct edge edge = find(&world, low, high, start, known);
    SHOW(edge.holds, edge.fails, world.try_count, world.lowest_asked, world.highest_asked);
}

TEST(what_holds_up_to_a_number_has_an_edge, .teardown = snap_rest)
{
    const struct edge none = {0};
    show("nothing and everything have one side:\n");
    show_edge(world_of(1), 2, 60, 9, none);
    show_edge(world_of(UINT64_MAX), 2, 60, 9, none);
    show("near the end of 64 bits nothing wraps:\n");
    show_edge(world_of(UINT64_MAX - 2), 1, UINT64_MAX, UINT64_MAX / 2 + 9, none);
    show("what is known is not tried again:\n");
    show_edge(world_of(11), 1, 100, 1, (struct edge){.holds = 8, .fails = 16});
    show("tries that run out leave what was found:\n");
    show_edge((struct world){.most = 40, .try_count_max = 3}, 1, 1000, 10, none);
}
