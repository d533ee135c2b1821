#include "checker/private/check.h"

#include <inttypes.h>
#include <stdlib.h>

/* The limits of best fit: with more, rounding by every size takes too long. */
enum { ROUNDED_SPANS_MAX = 64, ROUNDED_SIZES_MAX = 1024 };

static bool has_refuting_unit(const struct check *check, json_int_t unit)
{
    return pieces_sum(check->items, check->item_count, unit) >
           pieces_sum(check->spans, check->span_count, unit);
}

/* Says so if the rounding is a proof that nothing fits. */
static void require_no_rounding(struct check *check, json_int_t unit)
{
    check_require(check, !has_refuting_unit(check, unit),
                  "proof: trivial: rounding by %" PRId64 " shows that nothing fits", (int64_t)unit);
}

static json_int_t find_divisor(const struct check *check)
{
    json_int_t divisor = 0;
    for (size_t i = 0; i < check->item_count; i++) {
        for (json_int_t other = check->items[i].size; other != 0;) {
            const json_int_t rest = divisor % other;
            divisor = other;
            other = rest;
        }
    }
    return divisor;
}

static size_t count_sizes(const struct check *check)
{
    size_t count = 0;
    for (size_t i = 0; i < check->item_count; i++) {
        count += i == 0 || check->items[i].size != check->items[i - 1].size;
    }
    return count;
}

/* Items and spans are sorted.  The sums were compared already, which is rounding by the granule. */
static void require_no_roundings(struct check *check)
{
    const bool tries_sizes = check->span_count <= ROUNDED_SPANS_MAX &&
                             count_sizes(check) <= ROUNDED_SIZES_MAX;
    const struct checked_piece *items = check->items;
    require_no_rounding(check, find_divisor(check));
    /* Without an item or a span all fits in place.  Larger than every span: rounding by its size.
     */
    if (items[0].size > check->spans[0].size) {
        require_no_rounding(check, items[0].size);
    }
    for (size_t i = 0; tries_sizes && i < check->item_count; i++) {
        if (i == 0 || items[i].size != items[i - 1].size) {
            require_no_rounding(check, items[i].size);
        }
    }
}

/* Each item, largest first, into the span with the least room that takes it: does one take none? */
static bool has_item_left(const struct check *check, struct tree_node *rooms)
{
    struct tree_node *root = NULL;
    for (size_t i = 0; i < check->span_count; i++) {
        rooms[i].key = check->spans[i].size;
        root = tree_put(root, &rooms[i]);
    }
    for (size_t i = 0; i < check->item_count; i++) {
        struct tree_node *around[2];
        tree_find_around(root, check->items[i].size, around);
        if (around[1] == NULL) {
            return true;
        }
        root = tree_take(root, around[1]);
        around[1]->key -= check->items[i].size;
        root = tree_put(root, around[1]);
    }
    return false;
}

/* Requires that best fit fails with room to align each item wherever it is put. */
static void require_no_best_fit(struct check *check)
{
    struct tree_node *rooms = calloc(check->span_count + 1, sizeof *rooms);
    for (size_t i = 0; i < check->item_count; i++) {
        check->items[i].size += check->items[i].key - check->granule;
    }
    qsort(check->items, check->item_count, sizeof *check->items, pieces_compare);
    if (check_has_memory(check, rooms != NULL)) {
        check_require(check, has_item_left(check, rooms),
                      "proof: trivial: best fit, largest first, places all");
    }
    free(rooms);
}

static bool has_absent(const struct check *check)
{
    const struct checked_block *blocks = check->blocks;
    bool is_found = false;
    for (size_t i = 0; i < check->block_count; i++) {
        is_found = is_found || (blocks[i].fate != GONE && blocks[i].address == IN_HOST_MEMORY);
    }
    return is_found;
}

/* A search that is worth its steps was not settled by what takes none.  Without items the request
 * fits where it is. */
void check_is_open(struct check *check)
{
    if (!has_absent(check)) {
        check_require(check, spans_find_slide(check) == check->block_count + 1,
                      "proof: trivial: the request fits where the movable blocks are");
    }
    qsort(check->spans, check->span_count, sizeof *check->spans, pieces_compare);
    qsort(check->items, check->item_count, sizeof *check->items, pieces_compare);
    if (check->result == CERTIFICATE_VALID) {
        require_no_roundings(check);
    }
    if (check->result == CERTIFICATE_VALID) {
        require_no_best_fit(check);
    }
}
