/* The map of numbers holds what an array over all keys would. */
#include "harness/base/number_map.h"
#include "harness/base/random.h"
#include "tests/helpers/suite.h"

#include <check.h>

enum { KEY_COUNT = 512, DEED_COUNT = 20000 };

/* Keys as ops have them, keys far apart, and the largest ones. */
static uint32_t spread_key(uint64_t number, int way)
{
    switch (way) {
    case 0:
        return (uint32_t)number;
    case 1:
        return (uint32_t)number * 1024 * 1024;
    default:
        return NUMBER_NONE - 1 - (uint32_t)number;
    }
}

TEST(it_holds_what_an_array_holds, .to = 3)
{
    struct number_map map = {0};
    uint32_t array[KEY_COUNT];
    size_t there = 0;
    struct random random;
    random_init(&random, 7);
    for (size_t i = 0; i < KEY_COUNT; i++) {
        array[i] = NUMBER_NONE;
    }
    for (uint32_t i = 0; i < DEED_COUNT; i++) {
        const uint64_t number = random_below(&random, KEY_COUNT);
        const bool is_set = random_chance(&random, 1, 2);
        there += is_set && array[number] == NUMBER_NONE;
        there -= !is_set && array[number] != NUMBER_NONE;
        array[number] = is_set ? i : NUMBER_NONE;
        if (is_set) {
            number_map_set(&map, spread_key(number, _i), i);
        } else {
            number_map_remove(&map, spread_key(number, _i));
        }
        const uint64_t other = random_below(&random, KEY_COUNT);
        ck_assert_uint_eq(number_map_find(&map, spread_key(other, _i)), array[other]);
    }
    ck_assert_uint_eq(map.count, there);
    for (size_t i = 0; i < KEY_COUNT; i++) {
        ck_assert_uint_eq(number_map_find(&map, spread_key(i, _i)), array[i]);
    }
    number_map_deinit(&map);
}

TEST(its_memory_follows_what_lives_and_not_the_keys)
{
    struct number_map map = {0};
    for (uint32_t key = 0; key < 100000; key++) {
        number_map_set(&map, key, key);
        if (key >= 20) {
            number_map_remove(&map, key - 20);
        }
    }
    ck_assert_uint_eq(map.count, 20);
    ck_assert_uint_le(map.capacity, 64);
    number_map_deinit(&map);
}

TEST(no_key_is_in_none)
{
    struct number_map map = {0};
    ck_assert_uint_eq(number_map_find(&map, 3), NUMBER_NONE);
    number_map_remove(&map, 3);
    number_map_set(&map, 3, 4);
    number_map_remove(&map, 3);
    ck_assert_uint_eq(number_map_find(&map, NUMBER_NONE), NUMBER_NONE);
    number_map_deinit(&map);
    ck_assert_uint_eq(map.capacity, 0);
}
