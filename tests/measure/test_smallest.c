/* The smallest capacity is one that was tried and serves, and no more tries are made than needed.
 */
#include "measure/smallest.h"
#include "tests/helpers/suite.h"

/* Serves from a capacity on, but not in one gap above it; counts and notes what was tried. */
struct device {
    uint64_t least_bytes, gap_from_bytes, gap_to_bytes, step_bytes;
    uint64_t last_served_bytes; /* the smallest that served */
    uint32_t try_count, try_count_max;
};

static bool serves(void *context, uint64_t capacity_bytes, bool *goes_on)
{
    struct device *device = context;
    device->try_count++;
    *goes_on = device->try_count_max == 0 || device->try_count < device->try_count_max;
    ck_assert_uint_eq(capacity_bytes % device->step_bytes, 0);
    const bool is_in_gap = capacity_bytes >= device->gap_from_bytes &&
                           capacity_bytes < device->gap_to_bytes;
    const bool is_served = capacity_bytes >= device->least_bytes && !is_in_gap;
    if (is_served &&
        (device->last_served_bytes == 0 || capacity_bytes < device->last_served_bytes)) {
        device->last_served_bytes = capacity_bytes;
    }
    return is_served;
}

static struct smallest find(struct device *device, uint64_t from_bytes, uint64_t to_bytes)
{
    const struct smallest_search search = {.from_bytes = from_bytes,
                                           .to_bytes = to_bytes,
                                           .step_bytes = device->step_bytes,
                                           .serves = serves,
                                           .context = device};
    return smallest_find(&search);
}

TEST(the_smallest_multiple_of_the_step_is_found)
{
    for (uint64_t least = 1; least < 700; least += 13) {
        struct device device = {.least_bytes = least, .step_bytes = 8};
        const struct smallest smallest = find(&device, 1, 4096);
        ck_assert_uint_eq(smallest.bytes, (least + 7) / 8 * 8);
        ck_assert_uint_eq(smallest.try_count, device.try_count);
        ck_assert_uint_le(smallest.try_count, 20);
    }
}

TEST(nothing_below_the_beginning_is_tried)
{
    struct device device = {.least_bytes = 1, .step_bytes = 16};
    ck_assert_uint_eq(find(&device, 1000, 4096).bytes, 1008);
    ck_assert_uint_eq(device.try_count, 1);
}

TEST(where_none_serves_none_is_found_and_the_largest_was_tried)
{
    struct device device = {.least_bytes = 5000, .step_bytes = 16};
    ck_assert_uint_eq(find(&device, 100, 4999).bytes, 0);
    device.least_bytes = 4992; /* the last multiple of 16 up to 4999, and no doubling of 112 */
    ck_assert_uint_eq(find(&device, 100, 4999).bytes, 4992);
    ck_assert_uint_eq(find(&device, 6000, 4999).bytes, 0);
}

/* Less memory may do where more did not. */
TEST(what_is_found_was_served_even_if_more_is_not_always_enough)
{
    for (uint64_t gap = 80; gap < 800; gap += 8) {
        struct device device = {
            .least_bytes = 64, .gap_from_bytes = gap, .gap_to_bytes = gap + 160, .step_bytes = 8};
        const struct smallest smallest = find(&device, 8, 4096);
        ck_assert_uint_eq(smallest.bytes, device.last_served_bytes);
        ck_assert_uint_ne(smallest.bytes, 0);
    }
}

TEST(a_precision_ends_it_sooner_and_not_further_away)
{
    struct device exact = {.least_bytes = 100001, .step_bytes = 1};
    struct device rough = exact;
    const struct smallest all = find(&exact, 1, 1 << 20);
    const struct smallest_search search = {.from_bytes = 1,
                                           .to_bytes = 1 << 20,
                                           .step_bytes = 1,
                                           .precision_bytes = 1000,
                                           .serves = serves,
                                           .context = &rough};
    const struct smallest some = smallest_find(&search);
    ck_assert_uint_eq(all.bytes, 100001);
    ck_assert_uint_ge(some.bytes, 100001);
    ck_assert_uint_le(some.bytes, 101001);
    ck_assert_uint_lt(some.try_count, all.try_count);
}

TEST(a_search_that_is_cut_finds_nothing)
{
    for (uint32_t tries = 1; tries < 10; tries++) {
        struct device device = {.least_bytes = 300, .step_bytes = 8, .try_count_max = tries};
        const struct smallest smallest = find(&device, 8, 4096);
        ck_assert_uint_eq(smallest.bytes, 0);
        ck_assert(smallest.is_cut);
        ck_assert_uint_eq(device.try_count, tries);
    }
}
