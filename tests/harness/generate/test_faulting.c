/* Faults slipped into scenarios: which are on, how often they strike, and that nothing else of a
 * trial changes. */
#include "harness/generate/faulting.h"
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/scenario_count.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRIAL_COUNT = 2000, OP_COUNT = 1500, HOST_COUNT = 3 };

static struct op_list slipped; /* the ops between those of a scenario; ref: where each came */

/* Models of an empty device, for faulting_next alone. */
static struct run *open_run(uint32_t host_count)
{
    struct setup setup;
    setup_init(&setup);
    setup.capacity_bytes = UINT64_C(64) << 20;
    setup.host_count = host_count;
    return begin_run(target_find("null"), &setup);
}

static void slip_faults(struct faulting *faulting, const struct run *run, uint32_t own_count)
{
    struct scenario_view view;
    struct op op;
    op_list_clear(&slipped);
    run_view(run, &view);
    view.op_number = 0;
    for (uint32_t i = 0; i < own_count; view.op_number++) {
        if (faulting_next(faulting, &view, &op)) {
            op.ref = view.op_number; /* no fault has a reference */
            op_list_append(&slipped, &op);
        } else {
            i++;
        }
    }
}

static void end_list(void)
{
    op_list_deinit(&slipped);
}

EVERY_TEST(.timeout_s = 120, .teardown = end_list);

TEST(a_kind_is_on_in_a_quarter_of_all_trials)
{
    const struct fault_options wanted = {.kinds = FAULTING_ALL};
    uint32_t on_counts[FAULTING_KIND_COUNT] = {0};
    uint32_t without_any = 0;
    for (uint64_t seed = 0; seed < TRIAL_COUNT; seed++) {
        struct faulting faulting;
        uint32_t on = 0;
        faulting_init(&faulting, &wanted, seed);
        for (unsigned i = 0; i < FAULTING_KIND_COUNT; i++) {
            on_counts[i] += faulting.kinds[i].period != 0;
            on += faulting.kinds[i].period != 0;
        }
        without_any += on == 0;
    }
    for (unsigned i = 0; i < FAULTING_KIND_COUNT; i++) {
        ck_assert_uint_ge(on_counts[i], TRIAL_COUNT * 20 / 100);
        ck_assert_uint_le(on_counts[i], TRIAL_COUNT * 30 / 100);
    }
    ck_assert_uint_gt(without_any, 0);
}

TEST(chances_are_spread_over_their_range)
{
    const struct fault_options wanted = {.kinds = 1u << FAULT_COPY};
    uint32_t low = 0, high = 0;
    for (uint64_t seed = 0; seed < TRIAL_COUNT; seed++) {
        struct faulting faulting;
        faulting_init(&faulting, &wanted, seed);
        const uint32_t period = faulting.kinds[FAULT_COPY].period;
        if (period == 0) {
            continue;
        }
        ck_assert_uint_ge(period, FAULTING_PERIOD_MIN);
        ck_assert_uint_le(period, FAULTING_PERIOD_MAX);
        low += period < 200;
        high += period >= 200;
    }
    ck_assert_uint_gt(low, TRIAL_COUNT / 16);
    ck_assert_uint_gt(high, TRIAL_COUNT / 16);
}

TEST(only_kinds_that_are_on_and_wished_for_come)
{
    struct run *run = open_run(1);
    for (uint64_t seed = 0; seed < 200; seed++) {
        const struct fault_options wanted = {.kinds = (uint32_t)random_derive(seed, 1) &
                                                      FAULTING_ALL};
        struct faulting faulting;
        faulting_init(&faulting, &wanted, seed);
        const struct faulting drawn = faulting;
        slip_faults(&faulting, run, OP_COUNT);
        for (size_t i = 0; i < slipped.count; i++) {
            const struct op *op = &slipped.ops[i];
            ck_assert(op->kind == OP_FAULT || op->kind == OP_RETIRE);
            const unsigned kind = op->kind == OP_RETIRE ? FAULTING_RETIRE : op->tag;
            ck_assert_uint_ne(drawn.kinds[kind].period, 0);
            ck_assert_uint_ne(wanted.kinds >> kind & 1, 0);
        }
    }
    run_destroy(run);
}

TEST(no_wish_gives_no_op)
{
    struct run *run = open_run(1);
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct faulting faulting;
        faulting_init(&faulting, &(struct fault_options){0}, seed);
        slip_faults(&faulting, run, OP_COUNT);
        ck_assert_uint_eq(slipped.count, 0);
    }
    run_destroy(run);
}

TEST(another_wish_does_not_change_what_is_on)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct faulting all, two;
        faulting_init(&all, &(struct fault_options){.kinds = FAULTING_ALL}, seed);
        faulting_init(&two, &(struct fault_options){.kinds = 1u << FAULT_WAIT | 1u << FAULT_ANY},
                      seed);
        ck_assert_uint_eq(all.kinds[FAULT_WAIT].period, two.kinds[FAULT_WAIT].period);
        ck_assert_uint_eq(all.kinds[FAULT_ANY].period, two.kinds[FAULT_ANY].period);
        ck_assert_uint_eq(two.kinds[FAULT_COPY].period, 0);
    }
}

/* What one trial's faults are, and what they are together. */
struct seen {
    uint64_t faults, disarms, for_ever, retires, first_calls, last_calls, delayed;
    uint64_t by_host[HOST_COUNT];
};

static void check_fault(const struct op *op, struct seen *seen, bool armed[FAULT_KIND_COUNT],
                        uint8_t hosts[FAULT_KIND_COUNT], uint32_t since[FAULT_KIND_COUNT])
{
    ck_assert_uint_lt(op->tag, FAULT_KIND_COUNT);
    if (op->size_bytes == 0) {
        ck_assert(armed[op->tag]);
        ck_assert_uint_eq(op->host, hosts[op->tag]);
        ck_assert_uint_ge(op->ref - since[op->tag], FAULTING_LAST_OPS_MIN);
        armed[op->tag] = false;
        seen->disarms++;
        return;
    }
    ck_assert(!armed[op->tag]);
    const bool is_poll = op->tag == FAULT_POLL_JUMP;
    ck_assert_uint_le(op->size_bytes, is_poll ? FAULTING_NTH_POLL_MAX : FAULTING_NTH_MAX);
    const bool has_delay = fault_info((enum fault_kind)op->tag)->has_delay;
    ck_assert(has_delay ? op->delay_ns >= 1000 && op->delay_ns <= UINT64_C(10000000000)
                        : op->delay_ns == 0);
    armed[op->tag] = (op->flags & OP_FOR_EVER) != 0;
    hosts[op->tag] = op->host;
    since[op->tag] = op->ref;
    seen->for_ever += (op->flags & OP_FOR_EVER) != 0;
    seen->first_calls += op->size_bytes == 1;
    seen->last_calls += op->size_bytes == FAULTING_NTH_MAX;
    seen->delayed += has_delay;
    seen->by_host[op->host]++;
    seen->faults++;
}

TEST(faults_are_of_every_sort_and_what_lasts_is_disarmed)
{
    struct run *run = open_run(HOST_COUNT);
    struct seen seen = {0};
    uint64_t op_count = 0;
    for (uint64_t seed = 0; seed < TRIAL_COUNT; seed++) {
        struct faulting faulting;
        bool armed[FAULT_KIND_COUNT] = {0};
        uint8_t hosts[FAULT_KIND_COUNT] = {0};
        uint32_t since[FAULT_KIND_COUNT] = {0};
        uint64_t retires = 0;
        uint64_t strikes = 0;
        faulting_init(&faulting, &(struct fault_options){.kinds = FAULTING_ALL}, seed);
        slip_faults(&faulting, run, OP_COUNT);
        for (size_t i = 0; i < slipped.count; i++) {
            const struct op *op = &slipped.ops[i];
            ck_assert_uint_lt(op->host, HOST_COUNT);
            retires += op->kind == OP_RETIRE;
            if (op->size_bytes > 0) { /* not one that disarms */
                ck_assert_uint_le(strikes++ * FAULTING_OPS_PER_FAULT, op->ref);
            }
            if (op->kind == OP_FAULT) {
                check_fault(op, &seen, armed, hosts, since);
            }
        }
        ck_assert_uint_le(retires, FAULTING_RETIRE_COUNT_MAX);
        seen.retires += retires;
        op_count += OP_COUNT + slipped.count;
    }
    run_destroy(run);
    ck_assert_uint_gt(seen.retires, 0);
    ck_assert_uint_gt(seen.delayed, 0);
    ck_assert_uint_gt(seen.disarms * 10,
                      seen.for_ever * 7); /* the others are cut off by the end of their trial */
    ck_assert_uint_gt(seen.for_ever * 100, seen.faults * 8);
    ck_assert_uint_lt(seen.for_ever * 100, seen.faults * 12);
    ck_assert_uint_gt(seen.first_calls, 5 * seen.last_calls);
    ck_assert_uint_gt(seen.last_calls, 0);
    for (int i = 0; i < HOST_COUNT; i++) {
        ck_assert_uint_gt(seen.by_host[i] * HOST_COUNT * 10, seen.faults * 9);
    }
    /* Over all trials a fault comes every 20 to 100 ops: often enough to matter, rarely enough to
     * recover. */
    ck_assert_uint_gt(seen.faults * 100, op_count);
    ck_assert_uint_lt(seen.faults * 20, op_count);
}

/* --- whole trials --- */

/* Drops the faults; what is left is numbered anew. */
static size_t drop_faults(struct op_list *list)
{
    bool *keep = calloc(list->count + 1, sizeof *keep);
    const size_t before = list->count;
    for (size_t i = 0; i < list->count; i++) {
        keep[i] = list->ops[i].kind != OP_FAULT && list->ops[i].kind != OP_RETIRE;
    }
    op_list_filter(list, keep);
    free(keep);
    return before - list->count;
}

/* first_fit asks its device for host memory alone, so that its answers stay the same under all
 * other faults. */
static const uint32_t harmless = FAULTING_ALL & ~(1u << FAULT_HOST_MEMORY | 1u << FAULT_ANY |
                                                  1u << FAULT_CLOCK_JUMP | 1u << FAULT_POLL_JUMP |
                                                  1u << FAULTING_RETIRE);

/* The deep ones walk over the numbers of ops, which a fault shifts: up to the first one they choose
 * the same. */
static size_t count_to_compare(const struct scenario *scenario, const struct op_list *ops)
{
    size_t count = 0;
    while (count < ops->count && ops->ops[count].kind != OP_FAULT &&
           ops->ops[count].kind != OP_RETIRE) {
        count++;
    }
    return strncmp(scenario->name, "deep_", 5) == 0 ? count : SIZE_MAX;
}

TEST(a_scenario_chooses_the_same_ops_with_and_without_faults, .count = count_scenarios)
{
    const struct scenario *scenario = scenarios[_i];
    size_t fault_count = 0;
    size_t op_count = 0;
    if (scenario->shares_device) { /* first_fit neither sleeps nor grows */
        return;
    }
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct trial with, without;
        wish_play(&(struct trial_wish){"first_fit", scenario, seed, OP_COUNT, .faults = harmless},
                  &with);
        wish_play(&(struct trial_wish){"first_fit", scenario, seed, .op_count_max = OP_COUNT},
                  &without);
        const size_t compared_count = count_to_compare(scenario, &with.ops);
        fault_count += drop_faults(&with.ops);
        (void)drop_faults(&without.ops); /* the generator has its own */
        ck_assert_uint_le(with.ops.count, without.ops.count);
        for (size_t i = 0; i < with.ops.count && i < compared_count; i++) {
            ck_assert_msg(op_equal(&with.ops.ops[i], &without.ops.ops[i]),
                          "%s seed %" PRIu64 ": op %zu differs", scenario->name, seed, i);
        }
        op_count += with.ops.count;
        trial_deinit(&with);
        trial_deinit(&without);
    }
    ck_assert_uint_gt(fault_count, 20);
    ck_assert_uint_gt(op_count, 0);
}

TEST(a_recorded_trial_with_faults_replays_to_the_same_observations, .count = count_scenarios)
{
    const struct scenario *scenario = scenarios[_i];
    size_t fault_count = 0;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct trial first, again;
        char reason[RUN_REASON_BYTES] = "";
        wish_play(&(struct trial_wish){"hbm", scenario, seed, OP_COUNT, .faults = FAULTING_ALL},
                  &first);
        ck_assert_msg(
            trial_replay(target_find("hbm"), &first.setup, &first.ops, NULL, &again, reason), "%s",
            reason);
        ck_assert_uint_eq(first.digest, again.digest);
        ck_assert_uint_eq(first.ops.count, again.ops.count);
        fault_count += first.totals.by_kind[OP_FAULT];
        trial_deinit(&first);
        trial_deinit(&again);
    }
    ck_assert_uint_gt(fault_count, 0);
}

/* What was told of before each op. */
static void take_chosen(void *context, const struct op *op)
{
    op_list_append(context, op);
}

TEST(each_op_of_a_trial_is_told_of_before_it_is_run)
{
    struct op_list told;
    struct setup setup;
    struct trial trial;
    char reason[RUN_REASON_BYTES] = "";
    op_list_init(&told);
    setup_init(&setup);
    setup.capacity_bytes = UINT64_C(1) << 20;
    setup.seed = 3;
    const struct trial_plan plan = {.target = target_find("first_fit"),
                                    .scenario = scenarios[0],
                                    .setup = &setup,
                                    .op_count_max = OP_COUNT,
                                    .faults = {.kinds = FAULTING_ALL},
                                    .chosen = take_chosen,
                                    .context = &told};
    ck_assert_msg(trial_run(&plan, NULL, &trial, reason), "%s", reason);
    ck_assert_uint_gt(trial.totals.by_kind[OP_FAULT], 0);
    ck_assert_uint_eq(told.count, trial.ops.count);
    for (size_t i = 0; i < told.count; i++) {
        ck_assert_uint_eq(told.ops[i].kind, trial.ops.ops[i].kind);
        ck_assert_uint_eq(told.ops[i].tag, trial.ops.ops[i].tag);
    }
    trial_deinit(&trial);
    op_list_deinit(&told);
}
