/* Small crowded devices: how large they are, what is done there, and that a hole of every length at
 * every place comes soon. */
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "scenarios/private/parts.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

enum { PLACE_COUNT = 16, TRIAL_COUNT = 60 };

static void set_up(struct setup *setup, const char *target, uint64_t seed)
{
    wish_set_up(&(struct trial_wish){target, &scenario_crowded, .seed = seed}, setup);
}

static void begin_as(const struct scenario *scenario, struct setup *setup)
{
    alignas(max_align_t) unsigned char state[SCENARIO_STATE_BYTES] = {0};
    struct random random;
    random_init(&random, setup->seed);
    scenario->begin(state, &random, setup, true);
}

TEST(its_devices_have_two_to_256_granules)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct setup setup;
        set_up(&setup, "hbm", seed);
        begin_as(&scenario_crowded, &setup);
        const uint64_t granule = setup.granule_bytes == 0 ? 512 : setup.granule_bytes;
        ck_assert_uint_eq(setup.capacity_bytes % granule, 0);
        ck_assert_uint_ge(setup.capacity_bytes, 2 * granule);
        ck_assert_uint_le(setup.capacity_bytes, 256 * granule);
    }
}

TEST(where_the_granule_is_unknown_the_capacity_is_a_power_of_two)
{
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct setup setup;
        set_up(&setup, "mine.so", seed);
        begin_as(&scenario_crowded, &setup);
        ck_assert_uint_eq(setup.capacity_bytes & (setup.capacity_bytes - 1), 0);
        ck_assert_uint_ge(setup.capacity_bytes, 8192);
        ck_assert_uint_le(setup.capacity_bytes, 131072);
    }
}

TEST(another_scenario_draws_a_small_one_when_the_capacity_is_0)
{
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct setup setup;
        set_up(&setup, "hbm", seed);
        setup.capacity_bytes = 0;
        begin_as(&scenario_queued_free_race, &setup);
        ck_assert_uint_ge(setup.capacity_bytes, 4 * 128);
        ck_assert_uint_le(setup.capacity_bytes, 256 * 16384);
    }
}

/* What was granted: where it begins and how long it is, in granules. */
struct seen {
    bool pairs[PLACE_COUNT][PLACE_COUNT + 1];
    struct run_totals totals;
};

static void note_place(void *context, const struct run *run, const struct verdict *verdict)
{
    struct seen *seen = context;
    (void)verdict;
    const struct model *model = run_model(run, 0);
    const uint64_t granule = model_granule_bytes(model);
    const struct block *block = model_find(model, model_last_op(model));
    if (block != NULL && block->address / granule < PLACE_COUNT &&
        block->size_bytes / granule <= PLACE_COUNT) {
        seen->pairs[block->address / granule][block->size_bytes / granule] = true;
    }
}

static void run_trials(struct seen *seen)
{
    const struct run_listener listener = {seen, note_place};
    memset(seen, 0, sizeof *seen);
    for (uint64_t seed = 0; seed < TRIAL_COUNT; seed++) {
        char reason[RUN_REASON_BYTES];
        struct setup setup;
        struct trial trial;
        set_up(&setup, "hbm", seed);
        const struct trial_plan plan = {.target = target_find("hbm"),
                                        .scenario = &scenario_crowded,
                                        .setup = &setup,
                                        .capacity_is_free = true,
                                        .op_count_max = 400};
        ck_assert(trial_run(&plan, &listener, &trial, reason));
        ck_assert_int_ne(trial.first.kind, VERDICT_BROKEN);
        run_totals_add(&seen->totals, &trial.totals);
        trial_deinit(&trial);
    }
}

TEST(a_hole_of_every_length_at_every_place_comes_soon)
{
    static struct seen seen;
    unsigned missing = 0;
    run_trials(&seen);
    for (unsigned place = 0; place < PLACE_COUNT; place++) {
        for (unsigned length = 1; length + place <= PLACE_COUNT; length++) {
            missing += !seen.pairs[place][length];
        }
    }
    ck_assert_uint_le(missing, 6); /* of 136 */
}

TEST(every_kind_of_op_comes_and_every_refusal_is_judged)
{
    static struct seen seen;
    run_trials(&seen);
    for (unsigned kind = 0; kind < OP_KIND_COUNT; kind++) {
        const bool is_drawn = kind != OP_FAULT && kind != OP_RETIRE && kind != OP_SWITCH &&
                              kind != OP_SLEEP && kind != OP_WAKE &&
                              !op_is_of_recording((enum op_kind)kind);
        ck_assert_msg(!is_drawn || seen.totals.by_kind[kind] > 0, "no %s",
                      op_kind_info((enum op_kind)kind)->name);
    }
    ck_assert_uint_gt(seen.totals.ooms, 500);
    ck_assert_uint_eq(seen.totals.justified, seen.totals.ooms);
    ck_assert_uint_gt(seen.totals.drains, 0);
    ck_assert_uint_gt(seen.totals.moves, 0);
    ck_assert_uint_gt(seen.totals.evictions, 0);
}
