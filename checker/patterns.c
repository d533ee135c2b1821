#include "checker/private/check.h"

#include <stdlib.h>

enum { SETS_MAX = 1 << 23 }; /* so that there is memory for them */

/* A set of items is a number with one digit for each type.  Sets are in layers, one for each span
 * that is filled, and a set may be in several. */
struct patterns {
    uint64_t *sets;
    uint32_t *slots; /* by set: its index from 1; 0 = none.  Those of earlier layers stay in it */
    size_t count, count_max, slot_count;
    size_t layer; /* the first set of the layer that is made */
    uint64_t steps;
    json_int_t spare;        /* what may stay of the span, after one set of the layer before */
    json_int_t rest[64 + 1]; /* sizes of what that set leaves, from each type on */
};

static void reach_set(struct check *check, struct patterns *patterns, uint64_t set)
{
    size_t slot = (size_t)(set % 0xfffffffb * 0x9e3779b1 >> 7) & (patterns->slot_count - 1);
    for (; patterns->slots[slot] != 0; slot = (slot + 1) & (patterns->slot_count - 1)) {
        const size_t index = patterns->slots[slot] - 1;
        if (index >= patterns->layer && patterns->sets[index] == set) {
            return;
        }
    }
    if (check_require(check, patterns->count < patterns->count_max,
                      "proof: more than %zu sets are reached", patterns->count_max)) {
        patterns->sets[patterns->count++] = set;
        patterns->slots[slot] = (uint32_t)patterns->count;
    }
}

/* Adds so many of type t and of those after it as may be in a span with so much room.  code: the
 * digits of the set from t on. */
static void fill_span(struct check *check, struct patterns *patterns, size_t t, uint64_t set,
                      uint64_t code, uint64_t weight, json_int_t room)
{
    if (!check_require(check, ++patterns->steps <= check->pattern_steps_max,
                       "proof: it takes too many steps")) {
        return;
    }
    if (t == check->item_count) {
        reach_set(check, patterns, set);
        return;
    }
    const struct checked_piece *type = &check->items[t];
    const uint64_t base = (uint64_t)(type->count + 1);
    const json_int_t left = type->count - (json_int_t)(code % base);
    const json_int_t most = LEAST(left, room / type->size);
    for (json_int_t more = most; more >= 0 && check->result == CERTIFICATE_VALID; more--) {
        const json_int_t room_then = room - more * type->size;
        if (room_then > patterns->spare + patterns->rest[t + 1]) {
            return;
        }
        fill_span(check, patterns, t + 1, set + (uint64_t)more * weight, code / base, weight * base,
                  room_then);
    }
}

/* The sets that follow one when a span is filled; filled: the sizes of the spans before it. */
static void follow_set(struct check *check, struct patterns *patterns, uint64_t set,
                       json_int_t slack, json_int_t filled, json_int_t room)
{
    json_int_t placed = 0;
    uint64_t code = set;
    for (size_t t = 0; t < check->item_count; t++) {
        const struct checked_piece *type = &check->items[t];
        const json_int_t taken = (json_int_t)(code % (uint64_t)(type->count + 1));
        code /= (uint64_t)(type->count + 1);
        placed += taken * type->size;
        patterns->rest[t] = (type->count - taken) * type->size;
    }
    patterns->rest[check->item_count] = 0;
    for (size_t t = check->item_count; t-- > 0;) {
        patterns->rest[t] += patterns->rest[t + 1];
    }
    patterns->spare = slack - (filled - placed);
    fill_span(check, patterns, 0, set, set, 1, room);
}

static bool number_sets(struct check *check)
{
    uint64_t whole = 1;
    for (size_t t = 0; t < check->item_count; t++) {
        const uint64_t base = (uint64_t)(check->items[t].count + 1);
        if (!check_require(check, whole <= (UINT64_C(1) << 63) / base,
                           "proof: there are too many sets to number them")) {
            return false;
        }
        whole *= base;
    }
    return true;
}

static void fill_spans(struct check *check, struct patterns *patterns, json_int_t slack)
{
    json_int_t filled = 0;
    reach_set(check, patterns, 0);
    for (size_t left = check->span_count; patterns->count > patterns->layer; left--) {
        const size_t first = patterns->layer, end = patterns->count;
        if (!check_require(check, left > 0, "proof: all items can be placed")) {
            return;
        }
        patterns->layer = end;
        for (size_t i = first; i < end && check->result == CERTIFICATE_VALID; i++) {
            follow_set(check, patterns, patterns->sets[i], slack, filled,
                       check->spans[left - 1].size);
        }
        filled += check->spans[left - 1].size;
        if (check->result != CERTIFICATE_VALID) {
            return;
        }
    }
    check_require(check, patterns->count == patterns->count_max, "proof: only %zu sets are reached",
                  patterns->count);
}

void check_patterns(struct check *check)
{
    struct patterns patterns = {.slot_count = 16};
    json_int_t sets, slack;
    if (!check_unpack(check, check->proof, "proof", "{s:s,s:I}", "kind", &check->kind, "sets",
                      &sets) ||
        !check_require(check, is_in_range(sets, 1, SETS_MAX, 1), "proof: sets is out of range")) {
        return;
    }
    for (size_t i = 0; i < check->item_count; i++) {
        check->items[i].key = check->granule;
    }
    (void)pieces_make_types(check, 0, &slack);
    if (check->result != CERTIFICATE_VALID || !number_sets(check)) {
        return;
    }
    patterns.count_max = (size_t)sets;
    while (patterns.slot_count < 2 * patterns.count_max) {
        patterns.slot_count *= 2;
    }
    patterns.sets = calloc(patterns.count_max, sizeof *patterns.sets);
    patterns.slots = calloc(patterns.slot_count, sizeof *patterns.slots);
    if (check_has_memory(check, patterns.sets != NULL && patterns.slots != NULL)) {
        fill_spans(check, &patterns, slack);
    }
    free(patterns.sets);
    free(patterns.slots);
}
