#include "harness/oracle/packing/private/packing_search.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/order.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_MIN = 1 << 8 };
/* A question in a thousand needs many rows: their memory does not stay. */
enum { ROWS_KEPT_MAX = 1 << 14 };

static uint64_t hash_used(uint64_t used)
{
    used ^= used >> 32;
    used *= UINT64_C(0x9e3779b97f4a7c15);
    return used ^ used >> 29;
}

static void clear_slots(struct packing_rows *rows, size_t slot_count)
{
    if (slot_count > rows->slot_capacity) {
        rows->slots = array_resized(rows->slots, slot_count * sizeof *rows->slots);
        rows->slot_capacity = slot_count;
    }
    rows->slot_count = slot_count;
    memset(rows->slots, 0, slot_count * sizeof *rows->slots);
}

void packing_rows_clear(struct packing_rows *rows)
{
    rows->count = 0;
    packing_rows_begin_layer(rows);
}

void packing_rows_begin_layer(struct packing_rows *rows)
{
    clear_slots(rows, SLOTS_MIN);
    rows->layer = rows->count;
}

/* The slot of the row of the last layer with these items; 0 in it: there is none yet. */
static uint32_t *find_slot(const struct packing_rows *rows, uint64_t used)
{
    size_t slot = (size_t)hash_used(used) & (rows->slot_count - 1);
    while (rows->slots[slot] != 0 && rows->rows[rows->slots[slot] - 1].used != used) {
        slot = (slot + 1) & (rows->slot_count - 1);
    }
    return &rows->slots[slot];
}

static void widen_slots(struct packing_rows *rows)
{
    clear_slots(rows, rows->slot_count * 2);
    for (size_t i = rows->layer; i < rows->count; i++) {
        *find_slot(rows, rows->rows[i].used) = (uint32_t)i + 1;
    }
}

struct packing_row *packing_rows_offer(struct packing_rows *rows, size_t rows_max, uint64_t used,
                                       bool *is_new)
{
    uint32_t *slot = find_slot(rows, used);
    *is_new = *slot == 0;
    if (!*is_new) {
        return &rows->rows[*slot - 1];
    }
    if (rows->count == rows_max) {
        return NULL;
    }
    rows->rows = array_grown(rows->rows, rows->count, &rows->capacity, sizeof *rows->rows);
    struct packing_row *row = &rows->rows[rows->count++];
    *row = (struct packing_row){.used = used};
    *slot = (uint32_t)rows->count;
    if ((rows->count - rows->layer) * 2 > rows->slot_count) {
        widen_slots(rows);
    }
    return row;
}

void packing_rows_deinit(struct packing_rows *rows)
{
    free(rows->rows);
    free(rows->slots);
    *rows = (struct packing_rows){0};
}

void packing_rows_trim(struct packing_rows *rows)
{
    if (rows->capacity + rows->slot_capacity > ROWS_KEPT_MAX) {
        packing_rows_deinit(rows);
    }
}

struct thinned {
    struct packing_row row;
    uint64_t lost;
};

static int compare_thinned(const void *a, const void *b)
{
    const struct thinned *left = a;
    const struct thinned *right = b;
    return compare_then(compare_numbers(left->lost, right->lost),
                        compare_numbers(left->row.used, right->row.used));
}

bool packing_rows_thin(struct packing_rows *rows, size_t width, const struct packing_kind *kinds,
                       size_t kind_count, const uint64_t *bins_sum)
{
    struct packing_row *layer = rows->rows + rows->layer;
    const size_t count = rows->count - rows->layer;
    if (count <= width) {
        return true;
    }
    struct thinned *thinned = array_resized(NULL, count * sizeof *thinned);
    for (size_t i = 0; i < count; i++) {
        const uint64_t sum = bins_sum == NULL ? layer[i].place : *bins_sum;
        thinned[i] = (struct thinned){layer[i],
                                      sum - packing_sum_used(kinds, kind_count, layer[i].used)};
    }
    qsort(thinned, count, sizeof *thinned, compare_thinned);
    for (size_t i = 0; i < width; i++) {
        layer[i] = thinned[i].row;
    }
    rows->count = rows->layer + width;
    free(thinned);
    return false;
}

bool packing_rows_assign_bits(struct packing_kind *kinds, size_t kind_count)
{
    enum { USED_BITS = 63 };
    unsigned shift = 0;
    for (size_t i = 0; i < kind_count; i++) {
        unsigned bits = 0;
        while (kinds[i].count >> bits > 0) {
            bits++;
        }
        kinds[i].shift = shift;
        kinds[i].mask = (UINT64_C(1) << bits) - 1;
        shift += bits;
        if (shift > USED_BITS) {
            return false;
        }
    }
    return true;
}
