#include "measure/smallest.h"

#include "harness/base/check.h"
#include "measure/judged.h"

/* Tries a capacity, in steps; false: the search is over. */
static bool try_steps(const struct smallest_search *search, uint64_t steps,
                      struct smallest *smallest)
{
    bool goes_on = true;
    smallest->try_count++;
    const bool is_served = search->serves(search->context, steps * search->step_bytes, &goes_on);
    smallest->is_cut = !goes_on;
    return is_served && goes_on;
}

static uint64_t round_up(uint64_t bytes, uint64_t step_bytes)
{
    return bytes / step_bytes + (bytes % step_bytes != 0);
}

static uint64_t larger_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void smallest_keep_limits(struct smallest_search *search, const struct target_limits *limits)
{
    const uint64_t least = limits->smallest_capacity_bytes, most = limits->largest_capacity_bytes;
    search->from_bytes = larger_of(search->from_bytes, larger_of(least, 1));
    search->step_bytes = larger_of(search->step_bytes, larger_of(limits->capacity_step_bytes, 1));
    search->to_bytes = larger_of(search->to_bytes, least);
    search->to_bytes = most != 0 && search->to_bytes > most ? most : search->to_bytes;
}

struct smallest smallest_find(const struct smallest_search *search)
{
    struct smallest smallest = {0};
    CHECK(search->from_bytes >= 1 && search->step_bytes >= 1);
    const uint64_t end = search->to_bytes / search->step_bytes;
    const uint64_t first = round_up(search->from_bytes, search->step_bytes);
    const uint64_t near = search->precision_bytes / search->step_bytes;
    uint64_t low = first - 1, high = first; /* low serves not */
    while (high <= end && !try_steps(search, high, &smallest) && !smallest.is_cut) {
        low = high;
        high = high == end ? end + 1 : high > end / 2 ? end : 2 * high;
    }
    if (high > end || smallest.is_cut) {
        return smallest;
    }
    while (high - low > 1 && high - low > near && !smallest.is_cut) {
        const uint64_t middle = low + (high - low) / 2;
        if (try_steps(search, middle, &smallest)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    smallest.bytes = smallest.is_cut ? 0 : high * search->step_bytes;
    return smallest;
}

enum { TIMES_MAX = 8, PRECISION_PARTS = 128 };

struct served_list {
    const struct target *target;
    const struct setup *setup;
    const struct op_list *ops;
};

static bool serves_list(void *context, uint64_t capacity_bytes, bool *goes_on)
{
    const struct served_list *list = context;
    struct setup setup = *list->setup;
    setup_set_capacity(&setup, capacity_bytes);
    *goes_on = true;
    return judged_first_refused(list->target, &setup, list->ops) == list->ops->count;
}

/* The most that is tried: below what serves, where that is known. */
static uint64_t find_end(const struct target_limits *limits, const struct smallest_search *search,
                         uint64_t served_bytes)
{
    if (served_bytes != 0) {
        return served_bytes - 1;
    }
    const uint64_t end = search->from_bytes > UINT64_MAX / (2 * TIMES_MAX)
                             ? UINT64_MAX
                             : search->from_bytes * TIMES_MAX + search->step_bytes;
    const uint64_t largest = limits->largest_capacity_bytes;
    return largest != 0 && end > largest ? largest : end;
}

struct smallest least_capacity_find(const struct target *target, const struct setup *setup,
                                    const struct op_list *ops, uint64_t from_bytes,
                                    uint64_t served_bytes)
{
    struct served_list list = {target, setup, ops};
    const struct target_limits *limits = &target->limits;
    struct smallest_search search = {.from_bytes = from_bytes,
                                     .step_bytes = setup->granule_bytes,
                                     .precision_bytes = from_bytes / PRECISION_PARTS,
                                     .serves = serves_list,
                                     .context = &list};
    smallest_keep_limits(&search, limits);
    search.to_bytes = find_end(limits, &search, served_bytes);
    struct smallest smallest = smallest_find(&search);
    if (smallest.bytes == 0) {
        smallest.bytes = served_bytes;
    }
    return smallest;
}
