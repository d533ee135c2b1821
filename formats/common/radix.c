/* An item is a number of 64 bits: bits of a key, and below them the key's index.  Where the bits in
 * which keys differ do not fit, the lower ones are sorted by first, and then the others: equal
 * items keep their order.
 *
 * Many items are split by their highest bits, until a part is so small that it is sorted in the
 * first cache: each pass over memory that is larger than the caches takes as long as all the passes
 * inside. */
#include "formats/common/radix.h"

#include "formats/common/room.h"
#include "harness/base/check.h"
#include "harness/base/order.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    PART_BITS = 10,      /* a part has about 2^10 items: 16 KiB with the room for their sorting */
    SPLIT_BITS_MAX = 10, /* parts at a time */
    DIGIT_BITS = 8,
    DIGIT_COUNT_MAX = 8
};

static unsigned count_bits(uint64_t number)
{
    return number == 0 ? 0 : 64 - (unsigned)__builtin_clzll(number);
}

/* Counts become places. */
static void sum_up(uint32_t *places, size_t count)
{
    uint32_t sum = 0;
    for (size_t value = 0; value < count; value++) {
        const uint32_t of_value = places[value];
        places[value] = sum;
        sum += of_value;
    }
}

/* By the bits under the mask, from number `shift` on.  Items go where places say, which then are
 * the ends. */
static void move_items(const uint64_t *from, uint64_t *to, size_t count, unsigned shift,
                       uint64_t mask, uint32_t *places)
{
    for (size_t i = 0; i < count; i++) {
        to[places[from[i] >> shift & mask]++] = from[i];
    }
}

/* A few items, digit by digit from the lowest on: bit_count bits from number `shift` on.  Returns
 * where they are then: in items, or in other. */
static uint64_t *sort_part(uint64_t *items, uint64_t *other, size_t count, unsigned shift,
                           unsigned bit_count)
{
    enum { VALUE_COUNT = 1 << DIGIT_BITS };
    const unsigned digit_count = (bit_count + DIGIT_BITS - 1) / DIGIT_BITS;
    uint32_t places[DIGIT_COUNT_MAX][VALUE_COUNT];
    memset(places, 0, digit_count * sizeof places[0]);
    for (size_t i = 0; i < count; i++) {
        uint64_t rest = items[i] >> shift;
        for (unsigned digit = 0; digit < digit_count; digit++, rest >>= DIGIT_BITS) {
            places[digit][rest & (VALUE_COUNT - 1)]++;
        }
    }
    for (unsigned digit = 0; digit < digit_count; digit++, shift += DIGIT_BITS) {
        sum_up(places[digit], VALUE_COUNT);
        move_items(items, other, count, shift, VALUE_COUNT - 1, places[digit]);
        uint64_t *swap = items;
        items = other;
        other = swap;
    }
    return items;
}

/* The bits in which items differ. */
static uint64_t find_differences(const uint64_t *items, size_t count)
{
    uint64_t some = 0;
    uint64_t all = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        some |= items[i];
        all &= items[i];
    }
    return some ^ all;
}

/* Sorts items by all bits from number `shift` on; they end in `other` if that is wanted.  Each
 * split takes away a bit at least, and ten of many items. */
static void sort_items(uint64_t *items, uint64_t *other, size_t count, unsigned shift,
                       bool in_other)
{
    const unsigned bit_count = count < 2 ? 0 : count_bits(find_differences(items, count) >> shift);
    if (bit_count == 0 || count <= (size_t)2 << PART_BITS) {
        const uint64_t *sorted = sort_part(items, other, count, shift, bit_count);
        uint64_t *wanted = in_other ? other : items;
        if (sorted != wanted) {
            memcpy(wanted, sorted, count * sizeof *wanted);
        }
        return;
    }
    unsigned split_bits = count_bits(count) - PART_BITS;
    split_bits = split_bits < SPLIT_BITS_MAX ? split_bits : SPLIT_BITS_MAX;
    split_bits = split_bits < bit_count ? split_bits : bit_count;
    const unsigned split_shift = shift + bit_count - split_bits;
    const uint64_t mask = (UINT64_C(1) << split_bits) - 1;
    uint32_t ends[1 << SPLIT_BITS_MAX] = {0};
    for (size_t i = 0; i < count; i++) {
        ends[items[i] >> split_shift & mask]++;
    }
    sum_up(ends, mask + 1);
    move_items(items, other, count, split_shift, mask, ends);
    size_t begin = 0;
    for (size_t part = 0; part <= mask; part++) {
        sort_items(other + begin, items + begin, ends[part] - begin, shift, !in_other);
        begin = ends[part];
    }
}

/* The bounds of all keys, and whether the keys are sorted. */
struct radix_range {
    uint64_t min, max;
    bool is_sorted;
};

static struct radix_range find_range(const uint64_t *keys, size_t count)
{
    struct radix_range range = {.min = UINT64_MAX, .is_sorted = true};
    uint64_t last = 0;
    for (size_t i = 0; i < count; i++) {
        range.min = keys[i] < range.min ? keys[i] : range.min;
        range.max = keys[i] > range.max ? keys[i] : range.max;
        range.is_sorted &= keys[i] >= last;
        last = keys[i];
    }
    return range;
}

/* Orders by counting each key, if keys may have less than twice as many values as there are keys.
 * counts: a number for each value. */
static void order_by_counting(const uint64_t *keys, size_t count, const struct radix_range *range,
                              uint64_t *order, uint32_t *counts)
{
    const size_t value_count = (size_t)(range->max - range->min) + 1;
    memset(counts, 0, value_count * sizeof *counts);
    for (size_t i = 0; i < count; i++) {
        counts[keys[i] - range->min]++;
    }
    sum_up(counts, value_count);
    for (size_t i = 0; i < count; i++) {
        order[counts[keys[i] - range->min]++] = i;
    }
}

static void order_by_digits(const uint64_t *keys, size_t count, const struct radix_range *range,
                            uint64_t *order, uint64_t *other)
{
    const unsigned key_bits = count_bits(range->max - range->min);
    const unsigned index_bits = count_bits(count - 1);
    const uint64_t mask = (UINT64_C(1) << index_bits) - 1;
    for (unsigned shift = 0; shift < key_bits; shift += 64 - index_bits) {
        for (size_t i = 0; i < count; i++) {
            const uint64_t index = shift == 0 ? i : order[i];
            order[i] = (keys[index] - range->min) >> shift << index_bits | index;
        }
        sort_items(order, other, count, index_bits, false);
        for (size_t i = 0; i < count; i++) {
            order[i] &= mask;
        }
    }
}

void radix_order(const uint64_t *keys, size_t count, uint64_t *order, uint64_t *other)
{
    CHECK(count > 0 && count <= UINT32_MAX);
    const struct radix_range range = find_range(keys, count);
    if (range.is_sorted) {
        for (size_t i = 0; i < count; i++) {
            order[i] = i;
        }
    } else if (range.max - range.min < 2 * count) {
        order_by_counting(keys, count, &range, order, (uint32_t *)other);
    } else {
        order_by_digits(keys, count, &range, order, other);
    }
}

/* --- names that come twice --- */

/* 33 bits: three passes of the sort.  Names of the same hash are compared. */
static uint64_t hash_name(const struct double_name *name)
{
    uint64_t hash = name->length;
    size_t i = 0;
    for (; i + 8 <= name->length; i += 8) {
        uint64_t bytes;
        memcpy(&bytes, name->text + i, sizeof bytes);
        hash = (hash ^ bytes) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    for (; i < name->length; i++) {
        hash = (hash ^ (unsigned char)name->text[i]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    return hash >> 20 & ((UINT64_C(1) << 33) - 1);
}

/* Orders are total: places break ties, so that no sort decides. */
static int compare_names(const void *a, const void *b)
{
    const struct double_name *x = *(const struct double_name *const *)a;
    const struct double_name *y = *(const struct double_name *const *)b;
    const size_t shorter = x->length < y->length ? x->length : y->length;
    return compare_then(memcmp(x->text, y->text, shorter),
                        compare_then(compare_numbers(x->length, y->length), (x > y) - (x < y)));
}

/* Returns the earliest name that repeats one before it, or `twice` if that is earlier. */
static const struct double_name *find_in(const struct double_name **names, size_t count,
                                         const struct double_name *twice)
{
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 1; i < count; i++) {
        const bool is_same = names[i]->length == names[i - 1]->length &&
                             memcmp(names[i]->text, names[i - 1]->text, names[i]->length) == 0;
        if (is_same && (twice == NULL || names[i] < twice)) {
            twice = names[i];
        }
    }
    return twice;
}

/* order: the numbers of all names by their hashes.  sorted: room for as many. */
static const struct double_name *find_in_all(const struct double_name *names, size_t count,
                                             const uint64_t *hashes, const uint64_t *order,
                                             const struct double_name **sorted)
{
    const struct double_name *twice = NULL;
    for (size_t i = 0; i < count; i++) {
        sorted[i] = &names[order[i]];
    }
    for (size_t begin = 0, end; begin < count; begin = end) {
        end = begin + 1;
        while (end < count && hashes[order[end]] == hashes[order[begin]]) {
            end++;
        }
        twice = end - begin == 1 ? twice : find_in(sorted + begin, end - begin, twice);
    }
    return twice;
}

size_t doubles_find(const struct double_name *names, size_t count)
{
    CHECK(count > 0);
    uint64_t *hashes = room_make(count * sizeof *hashes);
    uint64_t *order = room_make(count * sizeof *order);
    void *other = room_make(count * sizeof *order);
    for (size_t i = 0; i < count; i++) {
        hashes[i] = hash_name(&names[i]);
    }
    radix_order(hashes, count, order, other);
    const struct double_name *twice = find_in_all(names, count, hashes, order, other);
    free(hashes);
    free(order);
    free(other);
    return twice == NULL ? count : (size_t)(twice - names);
}
