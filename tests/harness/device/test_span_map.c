/* The ordered ranges against a plain array of bytes. */
#include "harness/base/random.h"
#include "harness/device/span_map.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { BYTE_COUNT = 4096, STEP_COUNT = 4000 };

struct naive {
    uint64_t owner[BYTE_COUNT], offset[BYTE_COUNT]; /* owner 0 = nothing */
};

static struct span_map map;
static struct span span;

static void check_equal(const struct naive *naive)
{
    struct span_cursor cursor;
    uint64_t at = 0;
    for (bool found = span_map_first(&map, &cursor); found; found = span_map_next(&map, &cursor)) {
        span_map_get(&map, &cursor, &span);
        for (; at < span.start; at++) {
            ck_assert_uint_eq(naive->owner[at], 0);
        }
        for (; at < span.end; at++) {
            ck_assert_uint_eq(naive->owner[at], span.owner);
            ck_assert_uint_eq(naive->offset[at], span.offset + (at - span.start));
        }
    }
    for (; at < BYTE_COUNT; at++) {
        ck_assert_uint_eq(naive->owner[at], 0);
    }
}

static void begin_map(void)
{
    span_map_init(&map);
}

static void end_map(void)
{
    span_map_deinit(&map);
}

EVERY_TEST(.timeout_s = 120, .setup = begin_map, .teardown = end_map);

TEST(random_inserts_and_erases_equal_an_array_of_bytes, .to = 4)
{
    static struct naive naive;
    struct random random;
    memset(&naive, 0, sizeof naive);
    random_init(&random, (uint64_t)_i);
    for (uint64_t step = 1; step <= STEP_COUNT; step++) {
        const uint64_t start = random_below(&random, BYTE_COUNT - 1);
        const uint64_t longest = random_chance(&random, 1, 20) ? BYTE_COUNT : 12;
        const uint64_t end = start + 1 + random_below(&random, longest);
        const uint64_t stop = end > BYTE_COUNT ? BYTE_COUNT : end;
        span_map_erase(&map, start, stop);
        memset(&naive.owner[start], 0, (stop - start) * sizeof naive.owner[0]);
        if (random_chance(&random, 2, 3)) {
            span_map_insert(&map, &(struct span){start, stop, step, 7});
            for (uint64_t i = start; i < stop; i++) {
                naive.owner[i] = step;
                naive.offset[i] = 7 + (i - start);
            }
        }
        ck_assert(span_map_invariants_hold(&map));
        if (step % 64 == 0) {
            check_equal(&naive);
        }
    }
}

TEST(find_gives_the_first_range_that_ends_above_the_address)
{
    ck_assert(!span_map_intersects(&map, 0, 100, &span));
    span_map_insert(&map, &(struct span){10, 20, 1, 0});
    span_map_insert(&map, &(struct span){20, 30, 2, 0});
    ck_assert(!span_map_intersects(&map, 0, 10, &span));
    ck_assert(span_map_intersects(&map, 0, 11, &span));
    ck_assert_uint_eq(span.owner, 1);
    ck_assert(span_map_intersects(&map, 20, 21, &span));
    ck_assert_uint_eq(span.owner, 2);
    ck_assert(!span_map_intersects(&map, 30, 31, &span));
    ck_assert(!span_map_intersects(&map, 15, 15, &span));
}

TEST(a_claim_is_the_new_range_or_one_that_is_in_its_way)
{
    const struct span_claim first = span_map_claim(&map, 10, 20, 1);
    ck_assert(first.is_free);
    ck_assert(span_map_claim(&map, 20, 30, 2).is_free);
    span_map_get(&map, &first.cursor, &span);
    ck_assert(span.start == 10 && span.end == 20 && span.owner == 1 && span.offset == 0);
    static const struct span refused[] = {
        {5, 11, 1, 0}, {12, 13, 1, 0}, {19, 20, 1, 0}, {29, 40, 2, 0}, {20, 21, 2, 0}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const struct span_claim claim = span_map_claim(&map, refused[i].start, refused[i].end, 3);
        ck_assert(!claim.is_free);
        span_map_get(&map, &claim.cursor, &span);
        ck_assert_uint_eq(span.owner, refused[i].owner);
        ck_assert_uint_eq(map.count, 2);
    }
    span_map_remove(&map, first.cursor);
    ck_assert(span_map_claim(&map, 0, 20, 3).is_free);
    ck_assert(span_map_invariants_hold(&map));
}

/* The bounds are sums, as those of callers: a loop takes them as they are. */
TEST(loops_go_over_the_ranges_that_their_bounds_meet)
{
    uint64_t all = 0, between = 0, within = 0;
    const uint64_t from = 12, bytes = 30;
    EACH_SPAN(&map, &span) {
        ck_abort_msg("there is none");
    }
    for (uint64_t i = 0; i < 6; i++) {
        span_map_insert(&map, &(struct span){10 * i, 10 * i + 5, i + 1, 0});
    }
    EACH_SPAN(&map, &span) {
        all = all * 10 + span.owner;
    }
    EACH_SPAN_BETWEEN(&map, from, from + bytes, &span) {
        between = between * 10 + span.owner;
    }
    EACH_SPAN_IN(&map, from, from + bytes, &span) {
        within = within * 10 + span.owner;
        span_map_erase(&map, span.start, span.end);
    }
    ck_assert_uint_eq(all, 123456);
    ck_assert_uint_eq(between, 2345);
    ck_assert_uint_eq(within, 2345);
    ck_assert_uint_eq(map.count, 2);
}
