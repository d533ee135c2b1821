/* What is lost and the largest request, against a walk over granules and against asking; the
 * smallest device, against all of them. */
#include "harness/base/random.h"
#include "measure/headroom.h"
#include "measure/judged.h"
#include "measure/needs.h"
#include "measure/smallest.h"
#include "targets/targets.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/shown.h"
#include "tests/helpers/suite.h"

#include <string.h>

enum { GRANULE = 512, GRANULES = 24, OP_COUNT = 24, LIST_COUNT = 30 };

struct list {
    struct setup setup;
    struct op_list ops;
};

static void list_draw(struct list *list, uint64_t seed, const char *defrag)
{
    struct random random;
    memset(list, 0, sizeof *list);
    setup_init(&list->setup);
    op_list_init(&list->ops);
    list->setup.capacity_bytes = GRANULES * GRANULE;
    list->setup.granule_bytes = GRANULE;
    ck_assert(setup_set_option(&list->setup, "defrag", defrag));
    random_init(&random, seed);
    for (int i = 0; i < OP_COUNT; i++) {
        struct op op = op_make(OP_ALLOC);
        op.size_bytes = random_between(&random, 1, 3 * GRANULE);
        if (i > 0 && random_chance(&random, 2, 5)) {
            op = op_make(OP_FREE);
            op.ref = (uint32_t)random_below(&random, (uint64_t)i);
        }
        op_list_append(&list->ops, &op);
    }
}

static struct run *list_run(const struct list *list)
{
    struct run *run = begin_run(target_find("hbm"), &list->setup);
    step_all(run, &list->ops);
    return run;
}

/* The longest stretch of granules that no live block covers. */
static uint64_t find_largest_hole(const struct model *model, uint64_t *free_bytes)
{
    bool is_used[GRANULES] = {false};
    uint64_t longest = 0, length = 0, free_count = 0;
    for (size_t i = 0; i < model_live_count(model); i++) {
        const struct block *block = model_live(model, i);
        for (uint64_t at = block->address; at < block->address + block->size_bytes; at += GRANULE) {
            is_used[at / GRANULE] = true;
        }
    }
    for (int i = 0; i < GRANULES; i++) {
        length = is_used[i] ? 0 : length + 1;
        free_count += !is_used[i];
        longest = length > longest ? length : longest;
    }
    *free_bytes = free_count * GRANULE;
    return longest * GRANULE;
}

static void check_headroom(const struct list *list, uint64_t *lost_count)
{
    struct run *run = list_run(list);
    struct oracle *oracle = oracle_create();
    struct oom oom = {0};
    struct headroom headroom;
    uint64_t free_bytes, asked_bytes = 0;
    headroom_take(run_model(run, 0), oracle, &oom, 0, &headroom);
    const uint64_t hole_bytes = find_largest_hole(run_model(run, 0), &free_bytes);
    ck_assert_uint_eq(headroom.free_bytes, free_bytes);
    ck_assert_uint_eq(headroom.largest_hole_bytes, hole_bytes);
    ck_assert_uint_eq(headroom.lost_bytes, free_bytes - hole_bytes);
    ck_assert_uint_eq(headroom.in_use_bytes + headroom.free_bytes, headroom.capacity_bytes);
    ck_assert(room_measure(target_find("hbm"), &list->setup, &list->ops,
                           (uint32_t)list->ops.count - 1, &asked_bytes));
    ck_assert(headroom.largest.is_exact);
    ck_assert_uint_eq(headroom.largest.bytes, asked_bytes);
    *lost_count += headroom.lost_bytes > 0;
    oom_deinit(&oom);
    oracle_destroy(oracle);
    run_destroy(run);
}

TEST(what_is_said_to_fit_is_served_and_what_is_lost_lies_outside_the_largest_hole)
{
    static const char *const defrags[] = {"none", "slide", "repack"};
    uint64_t lost_count = 0;
    for (uint64_t seed = 1; seed <= LIST_COUNT; seed++) {
        struct list list;
        list_draw(&list, seed, defrags[seed % 3]);
        check_headroom(&list, &lost_count);
        op_list_deinit(&list.ops);
    }
    ck_assert_uint_gt(lost_count, LIST_COUNT / 4);
}

/* No smaller device serves the list, and the least that is found does. */
static void check_least(struct list *list, bool is_repack)
{
    struct run *run = list_run(list);
    const struct target_contract contract = *model_contract(run_model(run, 0));
    run_destroy(run);
    const struct needs needs = needs_find(&list->ops, list->ops.count, 0, &contract, OP_TAG_COUNT);
    const struct smallest least = least_capacity_find(target_find("hbm"), &list->setup, &list->ops,
                                                      needs.packed.bytes, 0);
    ck_assert_uint_le(needs.asked.bytes, needs.packed.bytes);
    ck_assert_uint_ge(least.bytes, needs.packed.bytes);
    for (uint64_t bytes = GRANULE; bytes <= least.bytes; bytes += GRANULE) {
        list->setup.capacity_bytes = bytes;
        const bool is_served = judged_first_refused(target_find("hbm"), &list->setup, &list->ops) ==
                               list->ops.count;
        ck_assert(!is_served || bytes >= needs.packed.bytes);
        ck_assert(is_served || bytes < least.bytes);
    }
    if (is_repack) {
        ck_assert_uint_eq(least.bytes, needs.packed.bytes);
    }
}

TEST(no_device_below_the_packed_peak_serves_and_one_that_is_found_does)
{
    for (uint64_t seed = 1; seed <= LIST_COUNT / 3; seed++) {
        struct list list;
        list_draw(&list, seed, seed % 2 == 0 ? "none" : "repack");
        check_least(&list, seed % 2 != 0);
        op_list_deinit(&list.ops);
    }
}

/* The worst share so far, asked with what is known of it, is that of looking at each moment. */
static void check_worst(const struct list *list, const char *target, uint64_t *lost_count)
{
    struct run *run = begin_run(target_find(target), &list->setup);
    struct oracle *oracle = oracle_create();
    struct oom oom = {0};
    struct headroom worst = {0}, now, expected = {0};
    for (size_t i = 0; i < list->ops.count; i++) {
        (void)run_step(run, &list->ops.ops[i]);
        headroom_take(run_model(run, 0), oracle, &oom, 0, &now);
        const bool is_worse = now.free_bytes > 0 && (expected.free_bytes == 0 ||
                                                     now.lost_bytes * expected.free_bytes >
                                                         expected.lost_bytes * now.free_bytes);
        expected = is_worse ? now : expected;
        ck_assert_int_eq(headroom_take_if_worse(run_model(run, 0), oracle, &oom, 0, &worst),
                         is_worse);
        ck_assert_uint_eq(worst.free_bytes, expected.free_bytes);
        ck_assert_uint_eq(worst.lost_bytes, expected.lost_bytes);
        ck_assert_uint_eq(worst.largest_hole_bytes, expected.largest_hole_bytes);
    }
    *lost_count += worst.lost_bytes > 0;
    oom_deinit(&oom);
    oracle_destroy(oracle);
    run_destroy(run);
}

TEST(the_worst_fragmentation_is_that_of_a_look_at_every_moment)
{
    static const char *const names[] = {"hbm", "first_fit", "segments"};
    enum { TARGET_COUNT = sizeof names / sizeof *names };
    uint64_t lost_counts[TARGET_COUNT] = {0};
    for (uint64_t seed = 1; seed <= (uint64_t)TARGET_COUNT * LIST_COUNT; seed++) {
        struct list list;
        list_draw(&list, seed, "none");
        list.setup.option_count = 0;
        check_worst(&list, names[seed % TARGET_COUNT], &lost_counts[seed % TARGET_COUNT]);
        op_list_deinit(&list.ops);
    }
    for (size_t i = 0; i < TARGET_COUNT; i++) {
        ck_assert_uint_gt(lost_counts[i], LIST_COUNT / 4);
    }
}

static void show_needs(const char *text)
{
    struct setup setup;
    struct op_list ops;
    const struct target_contract contract = {.granule_bytes = GRANULE, .evicts = true};
    read_list(text, &setup, &ops);
    const struct needs needs = needs_find(&ops, ops.count, 0, &contract, setup_filler_tag(&setup));
    SHOW(needs.asked.bytes, needs.asked.op, needs.packed.bytes, needs.packed.op,
         needs.block_count_max);
    op_list_deinit(&ops);
}

TEST(a_program_that_may_be_evicted_is_needed_while_it_runs, .teardown = snap_rest)
{
    show_needs("capacity 1M\ntarget hbm\n0: load size=2000 stack=1000\n1: alloc size=3000\n"
               "2: load size=700 stack=5000\n3: execute program=0 delay=1ns\n"
               "4: unload program=2\n");
}

TEST(fillers_and_what_another_host_has_are_not_needed, .teardown = snap_rest)
{
    show_needs("capacity 1M\nhosts 2\ntarget hbm\ntag 3 \"free later\"\n"
               "0: alloc size=8K tag=3\n1: alloc size=64K host=1\n2: alloc size=1000\n"
               "3: free block=0\n4: output size=1000\n5: donate block=4 size=10\n"
               "6: free block=5\n7: alloc size=1\n");
}

TEST(where_a_device_is_known_to_serve_no_larger_one_is_tried)
{
    struct list list;
    list_draw(&list, 1, "none");
    const struct smallest least = least_capacity_find(target_find("hbm"), &list.setup, &list.ops,
                                                      GRANULES * GRANULE, GRANULES * GRANULE);
    ck_assert_uint_eq(least.bytes, GRANULES * GRANULE);
    ck_assert_uint_eq(least.try_count, 0);
    op_list_deinit(&list.ops);
}
