/* The generator: every op it makes acts, kinds are switched off per seed, and devices fill up. */
#include "harness/generate/generate.h"
#include "harness/run/run.h"
#include "targets/targets.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OP_COUNT = 1500, SEED_COUNT = 60 };

static struct run *open_run(const char *target, uint64_t capacity_bytes, const char *defrag)
{
    struct setup setup;
    setup_init(&setup);
    setup.capacity_bytes = capacity_bytes;
    if (defrag != NULL) {
        ck_assert(setup_set_option(&setup, "defrag", defrag));
    }
    return begin_run(target_find(target), &setup);
}

/* Steps the run until it is over; what broke is not this test's business. */
static void generate_ops(struct run *run, uint64_t seed, uint64_t count,
                         const struct generate_limits *limits)
{
    struct random random;
    struct generate generate;
    const struct model *model = run_model(run, 0);
    random_init(&random, seed);
    generate_init(&generate, &random, model_capacity_bytes(model), model_granule_bytes(model),
                  limits);
    for (uint64_t i = 0; i < count && !run_is_broken(run); i++) {
        const struct op op = generate_next(&generate, &random, model, 0);
        run_step(run, &op);
    }
}

/* With no limits but weights; NULL: those of every run. */
static struct run *generate_on(uint64_t capacity_bytes, uint64_t seed, uint64_t count,
                               const uint16_t *weights)
{
    struct run *run = open_run("hbm", capacity_bytes, "slide");
    generate_ops(run, seed, count, &(struct generate_limits){.weights = weights});
    return run;
}

EVERY_TEST(.timeout_s = 120);

TEST(almost_every_op_acts)
{
    struct run_totals totals = {0};
    for (uint64_t seed = 1; seed <= draws_count(SEED_COUNT, 1); seed++) {
        struct run *run = open_run("hbm", UINT64_C(64) << 20, seed % 2 == 0 ? "slide" : "repack");
        generate_ops(run, seed, OP_COUNT, &(struct generate_limits){0});
        run_totals_add(&totals, run_totals(run));
        run_destroy(run);
    }
    const uint64_t all = totals.ops + totals.skipped;
    printf("generate: %" PRIu64 " ops, %" PRIu64 " skipped, %" PRIu64 " OOMs\n", all,
           totals.skipped, totals.ooms);
    ck_assert_uint_lt(totals.skipped * 50, all);
    ck_assert_uint_gt(totals.ooms * 100, all);
    for (unsigned kind = 0; kind < OP_FAULT; kind++) {
        ck_assert_msg(totals.by_kind[kind] > 0, "no %s acted",
                      op_kind_info((enum op_kind)kind)->name);
    }
    ck_assert_uint_eq(totals.by_kind[OP_FAULT], 0);
}

TEST(each_seed_switches_some_kinds_off)
{
    uint32_t off_counts[OP_KIND_COUNT] = {0};
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct random random;
        struct generate generate;
        random_init(&random, seed);
        generate_init(&generate, &random, 1 << 20, 512, &(struct generate_limits){0});
        for (unsigned kind = 0; kind < OP_KIND_COUNT; kind++) {
            off_counts[kind] += generate.weights[kind] == 0;
        }
        ck_assert(generate.weights[OP_ALLOC] + generate.weights[OP_OUTPUT] > 0);
        ck_assert(generate.weights[OP_FREE] + generate.weights[OP_FREE_AFTER] > 0);
        ck_assert(generate.weights[OP_ADVANCE] + generate.weights[OP_COMPLETE] > 0);
    }
    ck_assert_uint_eq(off_counts[OP_FAULT], 200);
    ck_assert_uint_gt(off_counts[OP_USE], 20);
    ck_assert_uint_lt(off_counts[OP_USE], 100);
}

TEST(limits_are_kept)
{
    const uint32_t allowed = 1u << OP_ALLOC | 1u << OP_FREE | 1u << OP_ADVANCE;
    const struct generate_limits limits = {
        .allowed_kinds = allowed, .size_max_bytes = 4096, .no_lost_events = true};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct run *run = open_run("first_fit", 1 << 20, NULL);
        generate_ops(run, seed, 300, &limits);
        const struct op_list *ops = run_ops(run);
        for (size_t i = 0; i < ops->count; i++) {
            ck_assert(ops->ops[i].kind == OP_ALLOC || ops->ops[i].kind == OP_FREE ||
                      ops->ops[i].kind == OP_ADVANCE);
            ck_assert(ops->ops[i].kind == OP_ALLOC || ops->ops[i].delay_ns != DELAY_NEVER);
        }
        run_destroy(run);
    }
}

/* What many trials make of weights of 100 each but for one kind. */
static uint64_t count_kind(enum op_kind kind, uint16_t percent, struct run_totals *totals)
{
    struct setup setup;
    setup_init(&setup);
    setup.weights[kind] = percent;
    *totals = (struct run_totals){0};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct run *run = generate_on(UINT64_C(64) << 20, seed, 500, setup.weights);
        run_totals_add(totals, run_totals(run));
        run_destroy(run);
    }
    return totals->by_kind[kind] + totals->skipped_by_kind[kind];
}

TEST(a_kind_that_is_not_allowed_is_not_forced)
{
    const struct generate_limits limits = {.allowed_kinds = 1u << OP_OUTPUT | 1u << OP_HOLD};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct random random;
        struct generate generate;
        random_init(&random, seed);
        generate_init(&generate, &random, 1 << 20, 512, &limits);
        for (unsigned kind = 0; kind < OP_KIND_COUNT; kind++) {
            ck_assert(generate.weights[kind] == 0 || kind == OP_OUTPUT || kind == OP_HOLD);
        }
    }
}

TEST(weights_of_a_hundred_percent_change_nothing)
{
    struct setup setup;
    setup_init(&setup);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct run *plain = generate_on(1 << 20, seed, 300, NULL);
        struct run *weighted = generate_on(1 << 20, seed, 300, setup.weights);
        ck_assert_uint_eq(run_digest(plain), run_digest(weighted));
        run_destroy(plain);
        run_destroy(weighted);
    }
}

/* Not even in the place of a kind that does not apply. */
TEST(a_kind_of_weight_zero_never_comes, .from = OP_OUTPUT, .to = OP_FAULT)
{
    const enum op_kind kind = (enum op_kind)_i;
    struct run_totals totals;
    ck_assert_uint_eq(count_kind(kind, 0, &totals), 0);
    ck_assert_uint_gt(totals.ops, 15000);
}

TEST(a_weight_makes_a_kind_more_or_less_frequent)
{
    static const enum op_kind kinds[] = {OP_EXECUTE, OP_DEFRAGMENT, OP_TOUCH, OP_USE};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct run_totals totals;
        const uint64_t few = count_kind(kinds[i], 10, &totals);
        const uint64_t usual = count_kind(kinds[i], 100, &totals);
        const uint64_t many = count_kind(kinds[i], 1000, &totals);
        ck_assert_uint_gt(few, 0);
        ck_assert_uint_lt(few * 3, usual * 2);
        ck_assert_uint_lt(usual * 2, many);
    }
}

TEST(without_any_free_a_device_just_fills_up)
{
    struct setup setup;
    setup_init(&setup);
    setup.weights[OP_FREE] = setup.weights[OP_FREE_AFTER] = setup.weights[OP_ALLOC] = 0;
    setup.weights[OP_ADVANCE] = setup.weights[OP_COMPLETE] = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct run *run = generate_on(1 << 20, seed, 300, setup.weights);
        const struct run_totals *totals = run_totals(run);
        ck_assert_uint_eq(totals->by_kind[OP_FREE] + totals->by_kind[OP_FREE_AFTER] +
                              totals->by_kind[OP_ALLOC],
                          0);
        ck_assert_uint_eq(totals->by_kind[OP_ADVANCE] + totals->by_kind[OP_COMPLETE], 0);
        ck_assert_uint_gt(totals->by_kind[OP_OUTPUT], 0);
        run_destroy(run);
    }
}

TEST(a_seed_gives_the_same_ops_again)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct run *first = generate_on(1 << 20, seed, 500, NULL);
        struct run *second = generate_on(1 << 20, seed, 500, NULL);
        ck_assert_uint_eq(run_ops(first)->count, run_ops(second)->count);
        ck_assert_mem_eq(run_ops(first)->ops, run_ops(second)->ops,
                         run_ops(first)->count * sizeof *run_ops(first)->ops);
        run_destroy(first);
        run_destroy(second);
    }
}

TEST(tiny_and_huge_devices_are_fine)
{
    const uint64_t capacities[] = {
        512, 1024, 1536, 64 << 10, UINT64_C(96) << 30, UINT64_C(1) << 50};
    for (size_t i = 0; i < sizeof capacities / sizeof capacities[0]; i++) {
        for (uint64_t seed = 1; seed <= 10; seed++) {
            struct run *run = open_run("first_fit", capacities[i], NULL);
            generate_ops(run, seed, 300,
                         &(struct generate_limits){.allowed_kinds = (1u << OP_KIND_COUNT) - 1});
            run_destroy(run);
        }
    }
}

TEST(interesting_sizes_are_around_what_is_free)
{
    struct run *run = open_run("first_fit", 1 << 20, NULL);
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = 1 << 18;
    run_step(run, &op);
    struct random random;
    random_init(&random, 1);
    bool over = false;
    bool exact = false;
    bool under = false;
    for (int i = 0; i < 200; i++) {
        const uint64_t size = generate_interesting_size(&random, run_model(run, 0));
        const uint64_t free_bytes = model_free_bytes(run_model(run, 0));
        ck_assert_uint_ge(size, 1);
        over = over || size == free_bytes + 512;
        exact = exact || size == free_bytes;
        under = under || size == free_bytes - 512;
    }
    ck_assert(over && exact && under);
    run_destroy(run);
}
