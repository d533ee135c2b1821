/* The places that a model finds for a request are those that a look at every block finds, however
 * blocks came, went and moved since it was asked last. */
#include "harness/base/random.h"
#include "harness/device/span_map.h"
#include "harness/device/timeline.h"
#include "harness/model/model_update.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>

enum { G = 512, SLOT_COUNT_MAX = 64, WINDOW_COUNT_MAX = 16, STEP_COUNT = 3000 };

static struct timeline *timeline;
static struct model *model;
static uint32_t op;
/* What is placed; slot_count of them. */
static uint32_t slots[SLOT_COUNT_MAX];
static uint32_t slot_count;
static uint64_t capacity;

static void set_up_model(uint64_t granule_count)
{
    const struct target_contract contract = {
        .granule_bytes = G, .defrag = DEFRAG_REPACK, .queues_frees = true};
    capacity = granule_count * G;
    timeline = timeline_create();
    model = model_create(capacity, &contract, timeline);
    op = slot_count = 0;
}

static void tear_down_model(void)
{
    model_destroy(model);
    timeline_destroy(timeline);
}

/* --- what happens to it --- */

static void add_somewhere(struct random *random)
{
    const uint64_t size = random_between(random, 1, 6) * G;
    const struct model_new what = {.requested_bytes = size, .align_bytes = G};
    const struct target_block at = {op + 1, random_below(random, capacity / G) * G, size};
    uint32_t other = SLOT_NONE;
    if (slot_count == SLOT_COUNT_MAX || at.address + size > capacity) {
        return;
    }
    model_begin_op(model, op++);
    slot_count += model_add(model, &what, &at, &slots[slot_count], &other);
    model_end_op(model, TARGET_OK, false);
}

static void end_one(struct random *random)
{
    const uint32_t i = slot_count == 0 ? 0 : (uint32_t)random_below(random, slot_count);
    if (slot_count > 0 && model_block(model, slots[i])->hold_count == 0) {
        ck_assert(model_end_plain(model, slots[i]));
        slots[i] = slots[--slot_count];
    }
}

/* A hold ends when the block meets another one of these. */
static void pin_one(struct random *random)
{
    if (slot_count > 0) {
        const uint32_t slot = slots[random_below(random, slot_count)];
        (model_block(model, slot)->hold_count > 0 ? model_release : model_hold)(model, slot);
    }
}

static void move_one(struct random *random)
{
    if (slot_count > 0) {
        const uint32_t slot = slots[random_below(random, slot_count)];
        const uint64_t size = model_block(model, slot)->size_bytes;
        const uint64_t address = random_below(random, (capacity - size) / G + 1) * G;
        (void)model_relocate_some(model, &slot, &address, 1);
    }
}

/* It leaves the device, and comes back where there is room for it: at the latest where it was. */
static void strand_one(struct random *random)
{
    if (slot_count > 0) {
        const uint32_t slot = slots[random_below(random, slot_count)];
        const struct block *block = model_block(model, slot);
        const uint64_t before = block->address;
        const uint64_t to = random_below(random, (capacity - block->size_bytes) / G + 1) * G;
        uint32_t other = SLOT_NONE;
        model_strand(model, slot);
        ck_assert(model_return(model, slot, to, &other) ||
                  model_return(model, slot, before, &other));
    }
}

/* Two blocks of one size each take the place of the other. */
static void exchange_two(struct random *random)
{
    const uint32_t i = slot_count < 2 ? 0 : (uint32_t)random_below(random, slot_count - 1);
    if (slot_count >= 2) {
        const uint32_t pair[] = {slots[i], slots[i + 1]};
        const struct block *one = model_block(model, pair[0]);
        const struct block *other = model_block(model, pair[1]);
        const uint64_t addresses[] = {other->address, one->address};
        if (one->size_bytes == other->size_bytes) {
            ck_assert(model_relocate_some(model, pair, addresses, 2));
        }
    }
}

/* All of them go to the bottom, in their order. */
static void pack_all(void)
{
    static uint64_t addresses[SLOT_COUNT_MAX];
    struct span span;
    uint64_t at = 0;
    size_t i = 0;
    uint32_t slot = SLOT_NONE;
    const struct span_map *map = model_map(model);
    EACH_SPAN(map, &span) {
        addresses[i++] = at;
        at += span.end - span.start;
    }
    ck_assert(model_relocate(model, addresses, &slot));
}

static void change_something(struct random *random)
{
    const uint64_t what = random_below(random, 100);
    if (what < 45) {
        add_somewhere(random);
    } else if (what < 75) {
        end_one(random);
    } else if (what < 80) {
        pin_one(random);
    } else if (what < 87) {
        move_one(random);
    } else if (what < 93) {
        strand_one(random);
    } else if (what < 99) {
        exchange_two(random);
    } else {
        pack_all();
    }
}

/* --- a look at every block --- */

/* Blocks by place, from the bottom. */
static size_t list_blocks(const struct block *blocks[SLOT_COUNT_MAX])
{
    struct span span;
    size_t count = 0;
    const struct span_map *map = model_map(model);
    EACH_SPAN(map, &span) {
        blocks[count++] = model_block(model, (uint32_t)span.owner);
    }
    return count;
}

/* What lies in [start, start + size); false: the window is none. */
static bool weigh_window(uint64_t start, const struct model_window_query *query, uint64_t *taken)
{
    const struct block *blocks[SLOT_COUNT_MAX];
    const size_t count = list_blocks(blocks);
    *taken = 0;
    for (size_t i = 0; i < count; i++) {
        const struct block *block = blocks[i];
        if (block->address < start + query->size_bytes &&
            block->address + block->size_bytes > start) {
            *taken += block->size_bytes;
            if (!block_is_movable(block)) {
                return false;
            }
        }
    }
    return start + query->size_bytes <= capacity && *taken < query->taken_bytes;
}

static size_t find_every_window(const struct model_window_query *query,
                                struct model_window windows[SLOT_COUNT_MAX + 1])
{
    const struct block *blocks[SLOT_COUNT_MAX];
    const size_t block_count = list_blocks(blocks);
    size_t count = 0;
    for (size_t i = 0; i <= block_count; i++) {
        const uint64_t start = i == 0 ? 0 : blocks[i - 1]->address + blocks[i - 1]->size_bytes;
        uint64_t taken = 0;
        if (weigh_window(start, query, &taken)) {
            size_t at = count++;
            for (; at > 0 && windows[at - 1].taken_bytes > taken; at--) {
                windows[at] = windows[at - 1];
            }
            windows[at] = (struct model_window){start, taken};
        }
    }
    return count < query->count_max ? count : query->count_max;
}

static bool has_span(uint64_t size_bytes, uint64_t taken_bytes)
{
    const struct block *blocks[SLOT_COUNT_MAX];
    const size_t count = list_blocks(blocks);
    for (size_t first = 0; first <= count; first++) {
        const uint64_t start = first == 0
                                   ? 0
                                   : blocks[first - 1]->address + blocks[first - 1]->size_bytes;
        uint64_t taken = 0;
        for (size_t i = first; i <= count && taken < taken_bytes; i++) {
            const uint64_t end = i == count ? capacity : blocks[i]->address;
            if (end - start >= taken + size_bytes) {
                return true;
            }
            if (i < count && !block_is_movable(blocks[i])) {
                break;
            }
            taken += i < count ? blocks[i]->size_bytes : 0;
        }
    }
    return false;
}

/* --- both --- */

/* False: the model gave up. */
static bool check_windows(const struct model_window_query *query)
{
    struct model_window expected[SLOT_COUNT_MAX + 1];
    struct model_window found[WINDOW_COUNT_MAX];
    size_t count = 0;
    const size_t expected_count = find_every_window(query, expected);
    if (!model_find_windows(model, query, found, &count)) {
        return false;
    }
    ck_assert_uint_eq(count, expected_count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(found[i].start, expected[i].start);
        ck_assert_uint_eq(found[i].taken_bytes, expected[i].taken_bytes);
    }
    return true;
}

EVERY_TEST(.timeout_s = 120);

TEST(windows_and_spans_are_those_that_a_look_at_all_finds, .from = 1, .to = 21)
{
    struct random random;
    uint32_t span_count = 0, found_count = 0, asked_count = 0;
    random_init(&random, (uint64_t)_i);
    set_up_model(random_between(&random, 20, 100));
    for (int step = 0; step < STEP_COUNT; step++) {
        change_something(&random);
        if (random_below(&random, 4) != 0 || slot_count > 20) {
            continue;
        }
        const struct model_window_query query = {
            .size_bytes = random_between(&random, 1, 12) * G,
            .align_bytes = G,
            .taken_bytes = random_between(&random, 1, 16) * G,
            .count_max = random_between(&random, 1, WINDOW_COUNT_MAX)};
        found_count += check_windows(&query);
        asked_count++;
        if (query.size_bytes + query.taken_bytes <= capacity) {
            const bool is_span = has_span(query.size_bytes, query.taken_bytes);
            ck_assert_int_eq(model_may_slide(model, query.size_bytes, query.taken_bytes), is_span);
            span_count += is_span;
        }
        ck_assert(model_invariants_hold(model));
    }
    ck_assert_uint_gt(span_count, 0);
    ck_assert_uint_gt(found_count, asked_count / 2);
    tear_down_model();
}

TEST(the_largest_block_of_a_window_and_what_is_free_above_it_are_found)
{
    const uint64_t places[][2] = {{0, 2}, {4, 3}, {8, 1}, {15, 1}}; /* start, size */
    uint32_t other = SLOT_NONE;
    uint64_t above = 0;
    set_up_model(20);
    for (size_t i = 0; i < 4; i++) {
        const struct model_new what = {.requested_bytes = places[i][1] * G, .align_bytes = G};
        const struct target_block at = {i + 1, places[i][0] * G, places[i][1] * G};
        model_begin_op(model, op++);
        ck_assert(model_add(model, &what, &at, &slots[i], &other));
        model_end_op(model, TARGET_OK, false);
    }
    ck_assert_uint_eq(model_largest_inside(model, 2 * G, 3 * G, &above), 3 * G);
    ck_assert_uint_eq(above, 3 * G);
    ck_assert_uint_eq(model_largest_inside(model, 7 * G, 4 * G, &above), G);
    ck_assert_uint_eq(above, 4 * G);
    ck_assert_uint_eq(model_largest_inside(model, 16 * G, 2 * G, &above), 0);
    ck_assert_uint_eq(above, 2 * G);
    tear_down_model();
}
