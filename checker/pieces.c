#include "checker/private/check.h"

#include <stdlib.h>

enum { WALK_ITEMS_MAX = 8192 }; /* no search has more, so that the walk may call itself */

json_int_t pieces_sum(const struct piece *pieces, size_t count, json_int_t unit)
{
    json_int_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += pieces[i].size / unit;
    }
    return sum;
}

int pieces_compare(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;
    return a->size != b->size ? (a->size < b->size) - (a->size > b->size)
                              : (a->key > b->key) - (a->key < b->key);
}

size_t pieces_make_types(struct check *check, json_int_t least, json_int_t *slack)
{
    size_t count = check->item_count, type_count = 0;
    qsort(check->spans, check->span_count, sizeof *check->spans, pieces_compare);
    qsort(check->items, count, sizeof *check->items, pieces_compare);
    while (count > 0 && check->items[count - 1].size < least) {
        count--;
    }
    *slack = pieces_sum(check->spans, check->span_count, 1) - pieces_sum(check->items, count, 1);
    check_require(check, *slack >= 0 && check->span_count > 0 && count <= WALK_ITEMS_MAX,
                  "proof: no span, no slack, or too many items");
    for (size_t i = 0; i < count; check->items[type_count - 1].count++, i++) {
        if (i == 0 || pieces_compare(&check->items[type_count - 1], &check->items[i]) != 0) {
            check->items[type_count++] = check->items[i];
        }
    }
    check->item_count = type_count;
    return count;
}
