#include "explore/private/order_shadow.h"

#include "explore/private/check.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_CAPACITY_FIRST = 1 << 12, CELL_CAPACITY_FIRST = 1 << 12 };

static struct shadow_word *create_words(uint32_t capacity)
{
    struct shadow_word *words = calloc(capacity, sizeof *words);
    EXPLORE_CHECK(words != NULL);
    return words;
}

void shadow_init(struct shadow *shadow)
{
    *shadow = (struct shadow){.words = create_words(WORD_CAPACITY_FIRST),
                              .word_capacity = WORD_CAPACITY_FIRST,
                              .cells = calloc(CELL_CAPACITY_FIRST, sizeof *shadow->cells),
                              .cell_capacity = CELL_CAPACITY_FIRST};
    EXPLORE_CHECK(shadow->cells != NULL);
    shadow_reset(shadow);
}

void shadow_deinit(struct shadow *shadow)
{
    free(shadow->words);
    free(shadow->cells);
    *shadow = (struct shadow){0};
}

void shadow_reset(struct shadow *shadow)
{
    if (++shadow->generation == 0) {
        memset(shadow->words, 0, shadow->word_capacity * sizeof *shadow->words);
        shadow->generation = 1;
    }
    shadow->word_count = 0;
    shadow->cell_count = 1;
    shadow->unused = 0;
}

/* --- words --- */

/* Returns the place where the word is, or would be. */
static struct shadow_word *find_word_place(const struct shadow *shadow, uintptr_t address)
{
    uint64_t at = (uint64_t)(address >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 32;
    for (;; at++) {
        struct shadow_word *word = &shadow->words[at & (shadow->word_capacity - 1)];
        if (word->generation != shadow->generation || word->address == address) {
            return word;
        }
    }
}

/* Words without cells stay behind; where they are most, no more room is needed. */
static void grow_words(struct shadow *shadow)
{
    struct shadow_word *const old = shadow->words;
    const uint32_t old_capacity = shadow->word_capacity;
    uint32_t live_count = 0;
    for (uint32_t i = 0; i < old_capacity; i++) {
        live_count += old[i].generation == shadow->generation && old[i].cells != 0;
    }
    EXPLORE_CHECK(old_capacity <= UINT32_MAX / 2);
    shadow->word_capacity = live_count > old_capacity / 4 ? old_capacity * 2 : old_capacity;
    shadow->words = create_words(shadow->word_capacity);
    shadow->word_count = live_count;
    for (uint32_t i = 0; i < old_capacity; i++) {
        if (old[i].generation == shadow->generation && old[i].cells != 0) {
            *find_word_place(shadow, old[i].address) = old[i];
        }
    }
    free(old);
}

static struct shadow_word *find_word(struct shadow *shadow, uintptr_t address)
{
    struct shadow_word *word = find_word_place(shadow, address);
    if (word->generation == shadow->generation) {
        return word;
    }
    if (shadow->word_count >= shadow->word_capacity / 2) {
        grow_words(shadow);
        word = find_word_place(shadow, address);
    }
    *word = (struct shadow_word){.address = address, .generation = shadow->generation};
    shadow->word_count++;
    return word;
}

/* --- cells --- */

static uint32_t take_cell(struct shadow *shadow)
{
    const uint32_t unused = shadow->unused;
    if (unused != 0) {
        shadow->unused = shadow->cells[unused].next;
        return unused;
    }
    if (shadow->cell_count == shadow->cell_capacity) {
        EXPLORE_CHECK(shadow->cell_capacity <= UINT32_MAX / 2);
        shadow->cell_capacity *= 2;
        shadow->cells = realloc(shadow->cells, shadow->cell_capacity * sizeof *shadow->cells);
        EXPLORE_CHECK(shadow->cells != NULL);
    }
    return shadow->cell_count++;
}

/* Takes the bytes of mask out of the cell that *link names; *link then names the one to look at
 * next. */
static uint32_t *clear_cell(struct shadow *shadow, uint32_t *link, uint8_t mask)
{
    const uint32_t index = *link;
    struct shadow_cell *cell = &shadow->cells[index];
    cell->mask &= (uint8_t)~mask;
    if (cell->mask != 0) {
        return &cell->next;
    }
    *link = cell->next;
    cell->next = shadow->unused;
    shadow->unused = index;
    return link;
}

/* --- accesses --- */

/* Whatever races with the weaker of the two races with the stronger. */
static bool is_stronger(bool is_write, bool is_atomic, bool other_is_write, bool other_is_atomic)
{
    return (is_write || !other_is_write) && (!is_atomic || other_is_atomic);
}

/* The lane did at least as much to these bytes since its last release: whoever touched them
 * meanwhile was compared with that. */
static bool is_access_known(const struct shadow *shadow, const struct shadow_word *word,
                            uint8_t mask, const struct shadow_access *touch)
{
    const struct access *access = touch->access;
    for (uint32_t i = word->cells; i != 0; i = shadow->cells[i].next) {
        const struct shadow_cell *cell = &shadow->cells[i];
        if (cell->lane == access->lane && cell->clock == touch->seen[access->lane] &&
            is_stronger(cell->is_write, cell->is_atomic, access->is_write, touch->is_atomic) &&
            (mask & ~cell->mask) == 0) {
            return true;
        }
    }
    return false;
}

static void describe_race(const struct shadow_cell *cell, uintptr_t word, uint8_t both,
                          const struct access *later, struct race *race)
{
    const unsigned first = (unsigned)__builtin_ctz(both);
    const unsigned stop = 32 - (unsigned)__builtin_clz(both);
    *race = (struct race){
        .address = (const void *)(word + first),
        .size_bytes = stop - first,
        .earlier = {.lane = cell->lane,
                    .is_write = cell->is_write,
                    .op = cell->op,
                    .place = cell->place},
        .later = *later,
    };
}

static bool find_race(const struct shadow *shadow, const struct shadow_word *word, uint8_t mask,
                      const struct shadow_access *touch, struct race *race)
{
    for (uint32_t i = word->cells; i != 0; i = shadow->cells[i].next) {
        const struct shadow_cell *cell = &shadow->cells[i];
        if ((cell->mask & mask) != 0 && (cell->is_write || touch->access->is_write) &&
            !(cell->is_atomic && touch->is_atomic) && cell->lane != touch->access->lane &&
            cell->clock > touch->seen[cell->lane]) {
            describe_race(cell, word->address, cell->mask & mask, touch->access, race);
            return true;
        }
    }
    return false;
}

/* True if all that will race with the cell will race with this access, too: it comes after the cell
 * and is at least as strong. */
static bool is_replaced(const struct shadow_cell *cell, const struct shadow_access *touch)
{
    return cell->clock <= touch->seen[cell->lane] &&
           is_stronger(touch->access->is_write, touch->is_atomic, cell->is_write, cell->is_atomic);
}

static void replace_cells(struct shadow *shadow, struct shadow_word *word, uint8_t mask,
                          const struct shadow_access *touch)
{
    for (uint32_t *link = &word->cells; *link != 0;) {
        struct shadow_cell *cell = &shadow->cells[*link];
        const bool is_cleared = (cell->mask & mask) != 0 && is_replaced(cell, touch);
        link = is_cleared ? clear_cell(shadow, link, mask) : &cell->next;
    }
}

bool shadow_touch(struct shadow *shadow, uintptr_t address, uint8_t mask,
                  const struct shadow_access *touch, struct race *race)
{
    struct shadow_word *word = find_word(shadow, address);
    if (is_access_known(shadow, word, mask, touch)) {
        return false;
    }
    if (find_race(shadow, word, mask, touch, race)) {
        return true;
    }
    replace_cells(shadow, word, mask, touch);
    const struct access *access = touch->access;
    const uint32_t index = take_cell(shadow);
    shadow->cells[index] = (struct shadow_cell){.place = access->place,
                                                .op = access->op,
                                                .clock = touch->seen[access->lane],
                                                .next = word->cells,
                                                .mask = mask,
                                                .lane = access->lane,
                                                .is_write = access->is_write,
                                                .is_atomic = touch->is_atomic};
    word->cells = index;
    return false;
}

/* --- memory that was given back --- */

static void forget_word(struct shadow *shadow, struct shadow_word *word, uint8_t mask)
{
    for (uint32_t *link = &word->cells; *link != 0;) {
        link = clear_cell(shadow, link, mask);
    }
}

void shadow_forget(struct shadow *shadow, uintptr_t address, size_t size_bytes)
{
    const uintptr_t end = address + size_bytes;
    if (size_bytes / 8 < shadow->word_capacity) {
        for (uintptr_t at = address & ~(uintptr_t)7; at < end; at += 8) {
            struct shadow_word *word = find_word_place(shadow, at);
            if (word->generation == shadow->generation) {
                forget_word(shadow, word, shadow_mask(at, address, end));
            }
        }
        return;
    }
    for (uint32_t i = 0; i < shadow->word_capacity; i++) {
        struct shadow_word *word = &shadow->words[i];
        if (word->generation == shadow->generation && word->address + 8 > address &&
            word->address < end) {
            forget_word(shadow, word, shadow_mask(word->address, address, end));
        }
    }
}

/* --- invariants --- */

/* Adds the cells of a list to *count; false: it goes on and on, or a cell in use has no byte. */
static bool count_cells(const struct shadow *shadow, uint32_t first, bool is_used, uint32_t *count)
{
    for (uint32_t i = first; i != 0; i = shadow->cells[i].next) {
        const struct shadow_cell *cell = &shadow->cells[i];
        if (i >= shadow->cell_count || ++*count >= shadow->cell_count ||
            (is_used && (cell->mask == 0 || cell->lane >= LANE_COUNT_MAX))) {
            return false;
        }
    }
    return true;
}

bool shadow_invariants_hold(const struct shadow *shadow)
{
    uint32_t word_count = 0, cell_count = 0;
    for (uint32_t i = 0; i < shadow->word_capacity; i++) {
        const struct shadow_word *word = &shadow->words[i];
        if (word->generation == shadow->generation) {
            word_count++;
            if (word->address % 8 != 0 || find_word_place(shadow, word->address) != word ||
                !count_cells(shadow, word->cells, true, &cell_count)) {
                return false;
            }
        }
    }
    return word_count == shadow->word_count && word_count <= shadow->word_capacity / 2 &&
           count_cells(shadow, shadow->unused, false, &cell_count) &&
           cell_count + 1 == shadow->cell_count;
}
