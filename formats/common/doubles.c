#include "formats/common/doubles.h"

#include "formats/common/private/radix.h"
#include "formats/common/room.h"
#include "harness/base/check.h"
#include "harness/base/order.h"

#include <stdlib.h>
#include <string.h>

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
