#include "measure/least.h"

#include "measure/judged.h"

enum { TIMES_MAX = 8, PRECISION_PARTS = 128 };

struct list {
    const struct target *target;
    const struct setup *setup;
    const struct op_list *ops;
};

static bool serves_list(void *context, uint64_t capacity_bytes, bool *goes_on)
{
    const struct list *list = context;
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
    struct list list = {target, setup, ops};
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
