/* A list with two defects in it: its shrunk list has the one that was asked for, however it is
 * tried. */
#include "campaign/process/attempt.h"
#include "campaign/process/child.h"
#include "campaign/process/shrink_process.h"
#include "harness/base/random.h"
#include "targets/targets.h"
#include "tests/campaign/process/two_defects.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

enum { SEED_COUNT = 12, OP_COUNT = 120, REPLAY_COUNT_MAX = 400 };

static struct setup small_setup(void)
{
    struct setup setup;
    setup_init(&setup);
    setup.capacity_bytes = 64 << 10;
    setup.granule_bytes = 1 << 10;
    return setup;
}

/* Requests of all sizes, frees of them, and reports. */
static void draw_list(uint64_t seed, struct op_list *ops)
{
    struct random random;
    random_init(&random, seed);
    for (uint32_t i = 0; i < OP_COUNT; i++) {
        struct op op = op_make(random_chance(&random, 1, 2)   ? OP_ALLOC
                               : random_chance(&random, 1, 8) ? OP_REPORT
                                                              : OP_FREE);
        op.size_bytes = op.kind == OP_ALLOC ? random_between(&random, 1, 8) << 10 : 0;
        op.ref = op.kind == OP_FREE ? (uint32_t)random_below(&random, i + 1) : OP_NONE;
        op_list_append(ops, &op);
    }
}

/* wanted: of the finding that counts, if the list shows it; NULL = the gravest. */
static void signature_of(const struct target *target, const struct setup *setup,
                         const struct op_list *ops, const char *wanted,
                         char signature[SIGNATURE_BYTES])
{
    const struct attempt attempt = {.target = target,
                                    .setup = setup,
                                    .signature = wanted,
                                    .duration_ns = UINT64_C(60000000000)};
    struct attempt_result result;
    attempt_run(&attempt, ops, NULL, &result);
    memcpy(signature, result.signature, SIGNATURE_BYTES);
}

/* How often what was found first, and how often the shrinker had to fall back, is counted: the test
 * is worth something only when both defects come first now and then. */
static void check_no_slide(const struct target *target, const char *first, const char *second)
{
    /* Of each list the gravest, or every other time the second where the list shows it. */
    unsigned first_count = 0, second_count = 0;
    const struct setup setup = small_setup();
    for (uint64_t seed = 1; seed <= SEED_COUNT; seed++) {
        struct op_list ops;
        struct shrunk shrunk = {0};
        char signature[SIGNATURE_BYTES], shrunk_signature[SIGNATURE_BYTES];
        op_list_init(&ops);
        op_list_init(&shrunk.ops);
        draw_list(seed, &ops);
        const char *wanted = seed % 2 == 0 ? second : NULL;
        signature_of(target, &setup, &ops, wanted, signature);
        const struct shrink_process shrink_process = {.target = target,
                                                      .setup = &setup,
                                                      .ops = &ops,
                                                      .signature = signature,
                                                      .replay_count_max = REPLAY_COUNT_MAX};
        ck_assert_msg(shrink_process_run(&shrink_process, &shrunk) == SHRINK_PROCESS_DONE, "%s: %s",
                      signature, shrunk.why);
        signature_of(target, &setup, &shrunk.ops, signature, shrunk_signature);
        ck_assert_str_eq(shrunk_signature, signature);
        ck_assert_uint_lt(shrunk.ops.count, ops.count);
        first_count += strncmp(signature, first, strlen(first)) == 0;
        second_count += strncmp(signature, second, strlen(second)) == 0;
        op_list_deinit(&ops);
        op_list_deinit(&shrunk.ops);
        writing_deinit(&shrunk.certificate);
    }
    ck_assert_uint_eq(first_count + second_count, SEED_COUNT);
    ck_assert_uint_gt(first_count, 0);
    ck_assert_uint_gt(second_count, 0);
}

EVERY_TEST(.timeout_s = 300);

TEST(of_two_broken_rules_the_one_that_is_wanted_stays)
{
    check_no_slide(&two_rules, "too_small: answer", "counters: bytes_in_use");
}

TEST(a_broken_rule_does_not_become_a_crash_nor_a_crash_a_rule)
{
    check_no_slide(&rule_and_crash, "too_small: answer", "crash: SIGABRT at free_with_defects");
}

TEST(two_crashes_stay_apart)
{
    check_no_slide(&two_crashes, "crash: SIGABRT at crash_on_size",
                   "crash: SIGABRT at free_with_defects");
}

TEST(a_list_that_shows_nothing_is_not_shrunk)
{
    const struct setup setup = small_setup();
    struct op_list ops;
    struct shrunk shrunk = {0};
    op_list_init(&ops);
    op_list_init(&shrunk.ops);
    draw_list(1, &ops);
    const struct shrink_process shrink_process = {
        .target = target_find("hbm"), .setup = &setup, .ops = &ops, .replay_count_max = 100};
    ck_assert_int_eq(shrink_process_run(&shrink_process, &shrunk), SHRINK_PROCESS_NOT_BROKEN);
    op_list_deinit(&ops);
    op_list_deinit(&shrunk.ops);
    writing_deinit(&shrunk.certificate);
}
