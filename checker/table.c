#include "checker/private/check.h"

#include <stdlib.h>

enum { SETS_MAX = 1 << 23 }; /* no table has more, so that there is memory for it */

/* A set of items as a number with one digit for each type, and the least that its orders lose. */
struct table_set {
    uint64_t code;
    json_int_t lost;
};
struct pack_table {
    struct table_set
        *sets;       /* in the order in which they were reached, so that fewer items come first */
    uint32_t *slots; /* by code: the number of its set, from 1; 0 = not reached */
    size_t count, count_max, slot_count;
    uint64_t whole; /* the code of all items */
    json_int_t slack;
};

static void reach_set(struct check *check, struct pack_table *table, uint64_t code, json_int_t lost)
{
    size_t slot = (size_t)(code % 0xfffffffb * 0x9e3779b1 >> 7) & (table->slot_count - 1);
    while (table->slots[slot] != 0 && table->sets[table->slots[slot] - 1].code != code) {
        slot = (slot + 1) & (table->slot_count - 1);
    }
    if (table->slots[slot] != 0) {
        struct table_set *set = &table->sets[table->slots[slot] - 1];
        set->lost = LEAST(set->lost, lost);
    } else if (check_require(check, code != table->whole, "proof: all items can be placed") &&
               check_require(check, table->count < table->count_max,
                             "proof: more than %zu sets are reached", table->count_max)) {
        table->sets[table->count++] = (struct table_set){code, lost};
        table->slots[slot] = (uint32_t)table->count;
    }
}

/* Reaches the sets with one item more. */
static void follow_set(struct check *check, struct pack_table *table, struct table_set set)
{
    const struct checked_piece *span = &check->spans[check->span_count - 1];
    json_int_t at = set.lost;
    uint64_t rest = set.code;
    for (const struct checked_piece *type = check->items; rest > 0; type++) {
        at += type->size * (json_int_t)(rest % (uint64_t)(type->count + 1));
        rest /= (uint64_t)(type->count + 1);
    }
    for (; span > check->spans && at >= span->size; span--) {
        at -= span->size;
    }
    for (at += span->key;; span--, at = span->key) {
        const json_int_t room = span->key + span->size - at;
        uint64_t weight = 1;
        bool has_fitting = false;
        rest = set.code;
        for (size_t t = 0; t < check->item_count; t++) {
            const struct checked_piece *type = &check->items[t];
            const uint64_t base = (uint64_t)(type->count + 1);
            const json_int_t padding = round_up(at, type->key) - at;
            if (rest % base + 1 < base && padding + type->size <= room) {
                has_fitting = true;
                if (set.lost + padding <= table->slack) {
                    reach_set(check, table, set.code + weight, set.lost + padding);
                }
            }
            rest /= base;
            weight *= base;
        }
        set.lost += room;
        if (has_fitting || span == check->spans || set.lost > table->slack) {
            return;
        }
    }
}

static void fill_table(struct check *check, struct pack_table *table)
{
    table->whole = 1;
    for (size_t t = 0; t < check->item_count; t++) {
        const uint64_t base = (uint64_t)(check->items[t].count + 1);
        if (!check_require(check, table->whole <= (UINT64_C(1) << 63) / base,
                           "proof: there are too many sets to number them")) {
            return;
        }
        table->whole *= base;
    }
    table->whole--;
    for (table->slot_count = 16; table->slot_count < 2 * table->count_max;) {
        table->slot_count *= 2;
    }
    table->sets = calloc(table->count_max, sizeof *table->sets);
    table->slots = calloc(table->slot_count, sizeof *table->slots);
    if (!check_has_memory(check, table->sets != NULL && table->slots != NULL)) {
        return;
    }
    reach_set(check, table, 0, 0);
    for (size_t i = 0; i < table->count && check->result == CERTIFICATE_VALID; i++) {
        follow_set(check, table, table->sets[i]);
    }
    check_require(check, table->count == table->count_max, "proof: only %zu sets are reached",
                  table->count);
}

void check_table(struct check *check)
{
    struct pack_table table = {0};
    json_int_t sets;
    if (!check_unpack(check, check->proof, "proof", "{s:s,s:I}", "kind", &check->kind, "sets",
                      &sets) ||
        !check_require(check, is_in_range(sets, 1, SETS_MAX, 1), "proof: sets is out of range")) {
        return;
    }
    table.count_max = (size_t)sets;
    (void)pieces_make_types(check, 0, &table.slack);
    if (check->result == CERTIFICATE_VALID) {
        fill_table(check, &table);
    }
    free(table.sets);
    free(table.slots);
}
