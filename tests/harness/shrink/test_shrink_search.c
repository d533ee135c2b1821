/* Shrinking goes on where no single op can go, gives the same for the same, says when it ended, and
 * is done with long lists in few replays.  Prints how short lists of 504 ops with relative
 * references become. */
#include "harness/base/random.h"
#include "harness/shrink/shrink.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOY_OP_COUNT = 504, TOY_SEED_COUNT = 6, TOY_COUNT_MIN = 2, LONG_OP_COUNT = 100000 };
enum { REPLAY_COUNT_MAX = 20000, SEARCH_COUNT_MAX = 1000 };
enum { GRANULE_BYTES = 1 << 10, BREAKING_SEED = 1, PUZZLE_SEED = 1 };

static struct op_list ops;
static struct shrink_result result;

static void end_lists(void)
{
    op_list_deinit(&ops);
    op_list_deinit(&result.ops);
}

static struct setup small_setup(uint64_t granules)
{
    struct setup setup;
    setup_init(&setup);
    setup.capacity_bytes = granules * GRANULE_BYTES;
    setup.granule_bytes = GRANULE_BYTES;
    ck_assert(setup_set_option(&setup, "defrag", "slide"));
    return setup;
}

/* Requests, and frees of whatever lives: as a fuzzer's bytes name it. */
static void draw_toy(uint64_t seed)
{
    struct random random;
    random_init(&random, seed);
    for (int i = 0; i < TOY_OP_COUNT; i++) {
        const enum op_kind end = random_chance(&random, 1, 4) ? OP_FREE_AFTER : OP_FREE;
        struct op op = op_make(random_chance(&random, 11, 20) ? OP_ALLOC : end);
        if (op.kind == OP_ALLOC) {
            op.size_bytes = random_between(&random, 1, 8 * GRANULE_BYTES);
        } else {
            op.flags = OP_RELATIVE;
            op.ref = (uint32_t)random_below(&random, 100);
            op.delay_ns = op.kind == OP_FREE_AFTER ? 1000 : 0;
        }
        op_list_append(&ops, &op);
    }
}

/* Of a list that is told before the end nobody knows whether single ops can go. */
static void check_no_claim(void *context, const struct shrink_result *so_far)
{
    (void)context;
    ck_assert(!so_far->is_minimal);
}

static bool shrink_list(const char *target, const struct setup *setup, const struct op_list *list,
                        uint64_t search_count_max, struct shrink_result *found)
{
    struct shrink_replaying replaying = {.target = target_find(target)};
    const struct shrink_try attempt = {.context = &replaying,
                                       .is_same = shrink_replay,
                                       .setup = setup,
                                       .cost = &replaying.cost,
                                       .op_count_max = 20000000,
                                       .changes_setup = true,
                                       .search_count_max = search_count_max,
                                       .found = check_no_claim};
    return shrink(&attempt, list, REPLAY_COUNT_MAX, found);
}

/* What a list breaks; "" = nothing. */
static void signature_of(const char *target, const struct setup *setup, const struct op_list *list,
                         char signature[SIGNATURE_BYTES])
{
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    ck_assert(trial_replay(target_find(target), setup, list, NULL, &trial, reason));
    signature_print(&trial.first, &trial.ops, signature);
    trial_deinit(&trial);
}

static void check_no_single_op_can_go(const char *target, const struct shrink_result *found,
                                      const char *wanted)
{
    struct op_list rest;
    op_list_init(&rest);
    bool *keep = malloc(found->ops.count);
    ck_assert_ptr_nonnull(keep);
    for (size_t gone = 0; gone < found->ops.count; gone++) {
        char signature[SIGNATURE_BYTES];
        memset(keep, true, found->ops.count);
        keep[gone] = false;
        for (size_t i = 0; i < found->ops.count; i++) {
            const struct op *op = &found->ops.ops[i];
            keep[i] = keep[i] && (op->ref >= i || keep[op->ref]) &&
                      (op->event >= i || keep[op->event]);
        }
        op_list_copy(&rest, &found->ops);
        op_list_filter(&rest, keep);
        signature_of(target, &found->setup, &rest, signature);
        ck_assert_str_ne(signature, wanted);
    }
    free(keep);
    op_list_deinit(&rest);
}

static const struct {
    const char *target;
    bool gains; /* else what chunks and single ops leave is as short already */
} toys[] = {{"plant_contents", true}, {"plant_failed_changed", false}};

EVERY_TEST(.timeout_s = 600, .teardown = end_lists);

TEST(a_search_finds_fewer_ops_with_the_same_finding, .to = sizeof toys / sizeof *toys)
{
    const char *target = toys[_i].target;
    const struct setup setup = small_setup(256);
    size_t plain_count = 0, searched_count = 0, toy_count = 0;
    for (uint64_t seed = 1; seed <= TOY_SEED_COUNT; seed++) {
        struct shrink_result plain, searched, again;
        char wanted[SIGNATURE_BYTES], signature[SIGNATURE_BYTES];
        op_list_clear(&ops);
        draw_toy(seed);
        signature_of(target, &setup, &ops, wanted);
        if (wanted[0] == '\0' || toy_count == TOY_COUNT_MIN) {
            continue;
        }
        toy_count++;
        ck_assert(shrink_list(target, &setup, &ops, 0, &plain));
        ck_assert(shrink_list(target, &setup, &ops, SEARCH_COUNT_MAX, &searched));
        ck_assert(shrink_list(target, &setup, &ops, SEARCH_COUNT_MAX, &again));
        signature_of(target, &searched.setup, &searched.ops, signature);
        ck_assert_str_eq(signature, wanted);
        ck_assert(searched.is_minimal);
        check_no_single_op_can_go(target, &searched, wanted);
        ck_assert_uint_eq(again.ops.count, searched.ops.count);
        ck_assert_int_eq(
            memcmp(again.ops.ops, searched.ops.ops, again.ops.count * sizeof *again.ops.ops), 0);
        ck_assert_uint_eq(again.replays, searched.replays);
        printf("%s, seed %lu: %d ops, %zu without a search, %zu with it, %lu replays\n", target,
               (unsigned long)seed, TOY_OP_COUNT, plain.ops.count, searched.ops.count,
               (unsigned long)searched.replays);
        plain_count += plain.ops.count;
        searched_count += searched.ops.count;
        op_list_deinit(&plain.ops);
        op_list_deinit(&searched.ops);
        op_list_deinit(&again.ops);
    }
    ck_assert_uint_eq(toy_count, TOY_COUNT_MIN);
    ck_assert_uint_le(searched_count, plain_count);
    ck_assert(searched_count < plain_count || !toys[_i].gains);
}

/* A heap that stays nearly full while blocks come and go, then a queued free, and a request that
 * fits after it. */
static void draw_long(uint64_t granules)
{
    struct random random;
    uint32_t *live = malloc(LONG_OP_COUNT * sizeof *live);
    size_t live_count = 0;
    uint64_t used = 0;
    ck_assert_ptr_nonnull(live);
    random_init(&random, 1);
    while (ops.count < LONG_OP_COUNT - 2) {
        const uint64_t size = random_between(&random, 1, 256);
        struct op op = op_make(OP_ALLOC);
        if (live_count == 0 ||
            (used + size < granules / 100 * 95 && random_chance(&random, 3, 5))) {
            op.size_bytes = size * GRANULE_BYTES;
            used += size;
            live[live_count++] = (uint32_t)ops.count;
        } else {
            const size_t gone = (size_t)random_below(&random, live_count);
            op = op_make(OP_FREE);
            op.ref = live[gone];
            used -= ops.ops[op.ref].size_bytes / GRANULE_BYTES;
            live[gone] = live[--live_count];
        }
        op_list_append(&ops, &op);
    }
    struct op late = op_make(OP_FREE_AFTER), last = op_make(OP_ALLOC);
    late.ref = live[live_count / 2];
    late.delay_ns = 1000000000;
    last.size_bytes = (granules - used) * GRANULE_BYTES + ops.ops[late.ref].size_bytes;
    op_list_append(&ops, &late);
    op_list_append(&ops, &last);
    free(live);
}

TEST(a_hundred_thousand_ops_take_few_replays)
{
    const struct setup setup = small_setup(128 << 10);
    draw_long(128 << 10);
    ck_assert(shrink_list("plant_premature_undrained", &setup, &ops, SEARCH_COUNT_MAX, &result));
    printf("%zu ops: %zu are left after %lu replays: %s\n", ops.count, result.ops.count,
           (unsigned long)result.replays, result.first.reason);
    ck_assert(result.is_minimal);
    ck_assert_uint_le(result.ops.count, 8);
    ck_assert_uint_le(result.replays, 5000);
}

TEST(the_device_becomes_simpler_where_it_may)
{
    const char *target = "plant_contents";
    const struct setup setup = small_setup(256);
    char signature[SIGNATURE_BYTES], wanted[SIGNATURE_BYTES];
    draw_toy(BREAKING_SEED);
    ck_assert(shrink_list(target, &setup, &ops, 0, &result));
    signature_of(target, &setup, &ops, wanted);
    signature_of(target, &result.setup, &result.ops, signature);
    ck_assert_str_eq(signature, wanted);
    ck_assert_uint_lt(result.setup.capacity_bytes, setup.capacity_bytes);
    ck_assert_uint_lt(result.setup.granule_bytes, setup.granule_bytes);
}

TEST(a_budget_in_ops_ends_it_and_is_told)
{
    const struct setup setup = small_setup(256);
    draw_toy(BREAKING_SEED);
    struct shrink_replaying replaying = {.target = target_find("plant_contents")};
    const struct shrink_try attempt = {.context = &replaying,
                                       .is_same = shrink_replay,
                                       .setup = &setup,
                                       .cost = &replaying.cost,
                                       .op_count_max = 2000};
    ck_assert(shrink(&attempt, &ops, REPLAY_COUNT_MAX, &result));
    ck_assert(!result.is_minimal);
    ck_assert_uint_lt(result.replays, 100);
}

/* Blocks that stay cut a full device into spans, and a request wants all that two frees leave:
 * whether the others can share out the spans without a gap takes a search.  Returns the granules of
 * the device. */
static uint64_t draw_puzzle(void)
{
    enum { BLOCK_COUNT = 24, BLOCKS_IN_SPAN = 4 };
    struct random random;
    uint64_t granules = 0;
    struct op last = op_make(OP_ALLOC);
    random_init(&random, (uint64_t)PUZZLE_SEED);
    for (int i = 0; i < BLOCK_COUNT; i++) {
        struct op op = op_make(OP_ALLOC);
        const uint64_t size = random_between(&random, 200000, 600000);
        op.size_bytes = size * GRANULE_BYTES;
        granules += size;
        op_list_append(&ops, &op);
    }
    for (uint32_t i = 0; i < BLOCK_COUNT; i++) {
        struct op op = op_make(i % BLOCKS_IN_SPAN == 0 ? OP_HOLD : OP_FREE);
        op.ref = i;
        if (op.kind == OP_HOLD || i == 9 || i == 18) {
            op_list_append(&ops, &op);
            last.size_bytes += op.kind == OP_FREE ? ops.ops[i].size_bytes : 0;
        }
    }
    op_list_append(&ops, &last);
    return granules;
}

static uint64_t cost_of(const struct setup *setup)
{
    struct shrink_replaying replaying = {.target = target_find("hbm")};
    struct verdict first;
    ck_assert(!shrink_replay(&replaying, setup, &ops, &first));
    return replaying.cost;
}

TEST(steps_of_a_verdict_cost_as_well)
{
    struct setup setup = small_setup(draw_puzzle());
    ck_assert(setup_set_option(&setup, "defrag", "repack"));
    const uint64_t searched = cost_of(&setup);
    setup.search_nodes_max = 1;
    const uint64_t unsearched = cost_of(&setup);
    printf("a request after %zu ops costs %lu more where its verdict is searched for\n",
           ops.count - 1, (unsigned long)(searched - unsearched));
    ck_assert_uint_gt(searched, unsearched);
}
