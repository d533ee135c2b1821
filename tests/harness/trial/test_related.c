/* The rule `relation`: sound targets answer related lists alike, and who does not is found. */
#include "harness/trial/related.h"

#include "harness/generate/faulting.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/shown.h"
#include "tests/helpers/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { K = 1024, OP_COUNT = 600, SEED_COUNT = 2, M = 1024 * K };

/* --- what is asked --- */

EVERY_TEST(.timeout_s = 120);

TEST(every_size_of_an_op_is_doubled_and_nothing_else, .teardown = snap_rest)
{
    struct setup setup;
    struct op_list list;
    read_list("0: alloc size=513 unpadded=100 align=4K tag=9\n1: load size=1K stack=3K\n"
              "2: retire size=1K address=5K\n3: free_after block=0 delay=77ns\n"
              "4: fault call=copy nth=3\n5: alloc size=18446744073709551615\n"
              "6: alloc size=4611686018427387904\n",
              &setup, &list);
    for (size_t i = 0; i < list.count; i++) {
        ck_assert(related_scale_op(&list.ops[i], &list.ops[i]));
    }
    show_ops(&list);
    list.ops[0].align_log2 = OP_ALIGN_LOG2_MAX; /* which has no double */
    ck_assert(!related_scale_op(&list.ops[0], &list.ops[1]));
    op_list_deinit(&list);
}

TEST(who_does_not_promise_granules_alone_is_not_asked_at_twice_the_size)
{
    struct setup setup;
    setup_init(&setup);
    setup.capacity_bytes = M;
    setup.granule_bytes = 512;
    ck_assert(related_sizes_scale(&setup));
    ck_assert(setup_set_option(&setup, "defrag", "slide"));
    ck_assert(setup_set_option(&setup, "granule", "512"));
    ck_assert(related_sizes_scale(&setup));
    struct setup other = setup;
    ck_assert(setup_set_option(&other, "arena", "64K"));
    ck_assert(!related_sizes_scale(&other));
    other = setup;
    other.has_rounding = true;
    ck_assert(related_sizes_scale(&other));
    other.rounding.kind = ROUNDING_CLASSES;
    ck_assert(!related_sizes_scale(&other));
    other.rounding = (struct target_rounding){.overhead_bytes = 16};
    ck_assert(!related_sizes_scale(&other));
    other = setup;
    other.capacity_bytes = UINT64_C(1) << 50;
    ck_assert(!related_sizes_scale(&other));
}

/* --- sound targets --- */

/* False: the target has not an option that the scenario draws. */
static bool run_list(const struct target *target, const struct scenario *scenario,
                     const char *defrag, uint64_t seed, bool has_faults, struct trial *trial)
{
    char reason[RUN_REASON_BYTES];
    struct setup setup;
    setup_init(&setup);
    setup.seed = seed;
    if (defrag != NULL) {
        ck_assert(setup_set_option(&setup, "defrag", defrag));
    }
    const struct trial_plan plan = {.target = target,
                                    .scenario = scenario,
                                    .setup = &setup,
                                    .capacity_is_free = true,
                                    .op_count_max = OP_COUNT,
                                    .faults = {.kinds = has_faults ? FAULTING_ALL : 0}};
    return trial_run(&plan, NULL, trial, reason);
}

static size_t expect_alike(const struct target *target, const struct trial *trial, const char *what)
{
    struct verdict broken;
    size_t compared[RELATED_COUNT] = {0};
    for (unsigned i = 0; i < RELATED_COUNT; i++) {
        const bool breaks = (i != RELATED_SIZES || related_sizes_scale(&trial->setup)) &&
                            related_breaks_one(target, trial, (enum related)i, &broken,
                                               &compared[i]);
        ck_assert_msg(!breaks, "%s in %s, %s, seed %" PRIu64 ", op %u: %s", target->name,
                      trial->setup.scenario, what, trial->setup.seed, broken.op, broken.reason);
    }
    return compared[RELATED_SIZES];
}

/* first_fit declares what it is told to, and never moves a block. */
static const struct sound {
    const struct target *target;
    const char *defrag;
    bool has_faults;
    unsigned compared_min; /* percent of the ops, at twice the size */
} sounds[] = {{&target_hbm, "none", false, 85},       {&target_hbm, "slide", false, 85},
              {&target_hbm, "repack", false, 85},     {&target_hbm, "none", true, 85},
              {&target_hbm, "slide", true, 85},       {&target_hbm, "repack", true, 85},
              {&target_first_fit, "none", false, 85}, {&target_first_fit, "none", true, 85},
              {&target_threaded, NULL, false, 85}};

TEST(a_sound_target_answers_related_lists_alike, .to = sizeof sounds / sizeof sounds[0])
{
    const struct sound *sound = &sounds[_i];
    const char *defrag = sound->defrag == NULL ? "as it is" : sound->defrag;
    uint64_t op_count = 0;
    uint64_t compared_count = 0;
    for (size_t i = 0; scenarios[i] != NULL; i++) {
        for (uint64_t seed = 1; seed <= SEED_COUNT; seed++) {
            struct trial trial;
            if (!run_list(sound->target, scenarios[i], sound->defrag, seed, sound->has_faults,
                          &trial)) {
                continue;
            }
            if (!trial_is_ended(&trial)) {
                compared_count += expect_alike(sound->target, &trial, defrag);
                op_count += trial.ops.count;
            }
            trial_deinit(&trial);
        }
    }
    printf("%s %s%s: %" PRIu64 " of %" PRIu64 " ops compared at twice the size\n",
           sound->target->name, defrag, sound->has_faults ? " with faults" : "", compared_count,
           op_count);
    ck_assert_uint_gt(op_count, OP_COUNT);
    ck_assert_uint_ge(compared_count * 100, op_count * sound->compared_min);
}

/* --- targets that look at what they should not --- */

static struct target target;
static struct trial trial;
static struct verdict broken;

static void end_trial(void)
{
    trial_deinit(&trial);
}

static enum target_result (*alloc_soundly)(struct target_instance *instance,
                                           const struct target_request *request,
                                           struct target_block *block);

/* A size in 20 bits: 1 MiB is nothing. */
static enum target_result alloc_truncated(struct target_instance *instance,
                                          const struct target_request *request,
                                          struct target_block *block)
{
    struct target_request small = *request;
    small.size_bytes %= M;
    return alloc_soundly(instance, &small, block);
}

/* A request of 1 MiB or more begins at a multiple of 64 KiB, because large blocks are mapped so. */
static enum target_result alloc_large_aligned(struct target_instance *instance,
                                              const struct target_request *request,
                                              struct target_block *block)
{
    struct target_request large = *request;
    if (request->size_bytes >= M && request->align_bytes < 64 * K) {
        large.align_bytes = 64 * K;
        if (alloc_soundly(instance, &large, block) == TARGET_OK) {
            return TARGET_OK;
        }
    }
    return alloc_soundly(instance, request, block);
}

/* A table by id has 2^12 places. */
static enum target_result alloc_named(struct target_instance *instance,
                                      const struct target_request *request,
                                      struct target_block *block)
{
    struct target_request high = *request;
    high.align_bytes = request->id % 4 == 0 ? 4 * K : request->align_bytes;
    return alloc_soundly(instance, &high, block);
}

/* Five blocks from the top of 8 MiB down: the third has almost 1 MiB, and none has more. */
static void run_five(enum target_result (*alloc)(struct target_instance *instance,
                                                 const struct target_request *request,
                                                 struct target_block *block))
{
    char reason[RUN_REASON_BYTES];
    struct op_list ops;
    struct setup setup;
    target = target_first_fit;
    alloc_soundly = target_first_fit.alloc;
    target.alloc = alloc;
    read_list("capacity 8M\n0: alloc size=1K\n1: alloc size=3K\n2: alloc size=1023K\n"
              "3: alloc size=600K\n4: alloc size=1K\n",
              &setup, &ops);
    ck_assert_msg(trial_replay(&target, &setup, &ops, NULL, &trial, reason), "%s", reason);
    ck_assert_int_eq(trial.first.kind, VERDICT_NONE);
    op_list_deinit(&ops);
}

TEST(a_rule_that_breaks_at_twice_the_size_alone_is_found, .teardown = end_trial)
{
    run_five(alloc_truncated);
    ck_assert(related_breaks(&target, &trial, &broken));
    ck_assert_int_eq(broken.rule, RULE_RELATION);
    ck_assert_uint_eq(broken.op, 2);
    ck_assert_str_eq(broken.mechanism, "differs at twice the size");
    ck_assert_msg(strncmp(broken.reason, "at twice the size it breaks too_small: ", 39) == 0, "%s",
                  broken.reason);
}

TEST(places_may_depend_on_sizes, .teardown = end_trial)
{
    size_t compared_count = 0;
    run_five(alloc_large_aligned);
    ck_assert(!related_breaks(&target, &trial, &broken));
    ck_assert(!related_breaks_one(&target, &trial, RELATED_SIZES, &broken, &compared_count));
    ck_assert_uint_eq(compared_count, 2);
}

TEST(places_do_not_depend_on_ids, .teardown = end_trial)
{
    run_five(alloc_named);
    ck_assert(related_breaks(&target, &trial, &broken));
    ck_assert_int_eq(broken.rule, RULE_RELATION);
    ck_assert_str_eq(broken.mechanism, "differs under other ids");
    ck_assert_uint_eq(broken.op, 0);
}
