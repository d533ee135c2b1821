#include "formats/radix.h"

#include "formats/room.h"

#include <stdlib.h>
#include <string.h>

/* 2 Ki counters of a digit stay in the first cache. */
enum { DIGIT_BITS = 11, DIGIT_COUNT = 6, DIGIT_VALUES = 1 << DIGIT_BITS };

static unsigned digit_of(uint64_t key, unsigned digit)
{
    return (unsigned)(key >> (digit * DIGIT_BITS)) & (DIGIT_VALUES - 1);
}

static bool is_sorted(const struct radix_item *items, size_t count)
{
    size_t i = 1;
    while (i < count && items[i - 1].key <= items[i].key) {
        i++;
    }
    return i >= count;
}

/* How often each digit has each value; all are counted in one pass. */
struct counts {
    uint32_t of[DIGIT_COUNT][DIGIT_VALUES];
};

static void count_digits(const struct radix_item *items, size_t count, struct counts *counts)
{
    memset(counts, 0, sizeof *counts);
    for (size_t i = 0; i < count; i++) {
        const uint64_t key = items[i].key;
        for (unsigned digit = 0; digit < DIGIT_COUNT; digit++) {
            counts->of[digit][digit_of(key, digit)]++;
        }
    }
}

/* Counts become places. */
static void sum_up(uint32_t *places)
{
    uint32_t sum = 0;
    for (size_t value = 0; value < DIGIT_VALUES; value++) {
        const uint32_t of_value = places[value];
        places[value] = sum;
        sum += of_value;
    }
}

static void sort_digit(const struct radix_item *from, struct radix_item *to, size_t count, unsigned digit,
                       uint32_t *places)
{
    for (size_t i = 0; i < count; i++) {
        to[places[digit_of(from[i].key, digit)]++] = from[i];
    }
}

/* The sorted items are in items or in other: returns where. */
static struct radix_item *sort_all(struct radix_item *items, struct radix_item *other, size_t count,
                                   struct counts *counts)
{
    struct radix_item *from = items;
    struct radix_item *to = other;
    count_digits(items, count, counts);
    for (unsigned digit = 0; digit < DIGIT_COUNT; digit++) {
        if (counts->of[digit][digit_of(items[0].key, digit)] == count) {
            continue; /* all have the same */
        }
        sum_up(counts->of[digit]);
        sort_digit(from, to, count, digit, counts->of[digit]);
        struct radix_item *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

bool radix_sort(struct radix_item *items, size_t count)
{
    if (is_sorted(items, count)) {
        return true;
    }
    struct radix_item *other = malloc(count * sizeof *other);
    struct counts *counts = malloc(sizeof *counts);
    if (other != NULL && counts != NULL) {
        room_advise(other, count * sizeof *other);
        const struct radix_item *sorted = sort_all(items, other, count, counts);
        if (sorted != items) {
            memcpy(items, sorted, count * sizeof *items);
        }
    }
    const bool is_done = other != NULL && counts != NULL;
    free(counts);
    free(other);
    return is_done;
}
