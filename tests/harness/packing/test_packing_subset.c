/* Choices of values that nearly fill a room: what they leave is what they say, and no pair leaves
 * less, nor do three values, where these are tried. */
#include "harness/base/random.h"
#include "harness/oracle/packing/private/packing_search.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>

enum { VALUE_COUNT_MAX = 9, DRAW_COUNT = 20000 };

static int compare_descending(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left > right ? -1 : left < right;
}

/* What the best choice of no more than so many values leaves. */
static uint64_t find_least_left(const uint64_t *values, size_t count, uint64_t room,
                                size_t chosen_max)
{
    uint64_t least = room;
    for (size_t i = 0; i < count && chosen_max > 0; i++) {
        if (values[i] <= room) {
            const uint64_t left = find_least_left(&values[i + 1], count - i - 1, room - values[i],
                                                  chosen_max - 1);
            least = left < least ? left : least;
        }
    }
    return least;
}

/* Each index once, ascending; returns their sum. */
static uint64_t sum_chosen(const struct packing_subset *subset)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < subset->chosen_count; i++) {
        ck_assert_uint_lt(subset->chosen[i], subset->count);
        ck_assert(i == 0 || subset->chosen[i - 1] < subset->chosen[i]);
        sum += subset->values[subset->chosen[i]];
    }
    return sum;
}

/* Returns what it leaves. */
static uint64_t check_choice(const uint64_t *values, size_t count, uint64_t room,
                             uint64_t tolerance, uint64_t triple_steps, struct random *chance)
{
    uint32_t chosen[VALUE_COUNT_MAX + 3];
    struct packing_subset subset = {.values = values,
                                    .count = count,
                                    .room = room,
                                    .tolerance = tolerance,
                                    .triple_steps = triple_steps,
                                    .random = chance,
                                    .chosen = chosen};
    packing_subset_choose(&subset);
    ck_assert_uint_eq(sum_chosen(&subset) + subset.left, room);
    const uint64_t least = find_least_left(values, count, room, triple_steps > 0 ? 3 : 2);
    ck_assert_uint_le(subset.left, least > tolerance ? least : tolerance);
    return subset.left;
}

TEST(what_is_left_is_no_more_than_any_pair_or_three_leave)
{
    struct random random;
    random_init(&random, 11);
    for (int i = 0; i < DRAW_COUNT; i++) {
        uint64_t values[VALUE_COUNT_MAX];
        const size_t count = random_below(&random, VALUE_COUNT_MAX + 1);
        for (size_t k = 0; k < count; k++) {
            values[k] = 1 + random_below(&random, 40);
        }
        qsort(values, count, sizeof *values, compare_descending);
        (void)check_choice(values, count, random_below(&random, 100), random_below(&random, 3),
                           i % 3 == 0 ? 0 : 1000, i % 2 == 0 ? NULL : &random);
    }
}

TEST(many_values_fill_the_room)
{
    static const uint64_t values[] = {30, 20, 20, 9, 7, 5, 5, 3};
    for (uint64_t triple_steps = 0; triple_steps <= 1000; triple_steps += 1000) {
        ck_assert_uint_eq(check_choice(values, 8, 99, 0, triple_steps, NULL), 0);
        ck_assert_uint_eq(check_choice(values, 8, 98, 0, triple_steps, NULL), 2);
        ck_assert_uint_eq(check_choice(values, 8, 1000, 0, triple_steps, NULL), 1000 - 99);
        ck_assert_uint_eq(check_choice(values, 8, 2, 0, triple_steps, NULL), 2);
    }
}

/* 6, 5 and 4 fill the room, but they begin behind 12, which is taken first. */
TEST(three_others_are_tried_only_if_there_are_steps_for_it)
{
    static const uint64_t values[] = {12, 6, 5, 4};
    ck_assert_uint_eq(check_choice(values, 4, 15, 0, 0, NULL), 3);
    ck_assert_uint_eq(check_choice(values, 4, 15, 0, 1, NULL), 0);
    ck_assert_uint_eq(check_choice(values, 4, 15, 3, 1, NULL), 3);
}

TEST(nothing_to_place_always_fits)
{
    const struct packing_bin bin = {512, 1024};
    const struct packing_problem problem = {
        .bins = &bin, .bin_count = 1, .granule_bytes = 512, .nodes_max = 100, .wants_proof = true};
    struct packing_answer answer;
    struct packing *packing = packing_create();
    packing_solve(packing, &problem, &answer);
    ck_assert_int_eq(answer.result, PACKING_FITS);
    ck_assert_int_eq(answer.method, PACKING_BY_NOTHING);
    ck_assert_uint_eq(answer.nodes, 0);
    packing_destroy(packing);
}
