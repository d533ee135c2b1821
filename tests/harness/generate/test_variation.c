/* Other workloads from a recorded one: what each step keeps of the list, and that the same seed
 * gives the same ops. */
#include "harness/generate/variation.h"

#include "harness/generate/slipping.h"
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { OP_COUNT = 300, SEED_COUNT = 20 };

/* --- lists --- */

static uint32_t add(struct op_list *list, enum op_kind kind, uint32_t ref, uint64_t size_bytes)
{
    struct op op = op_make(kind);
    op.ref = ref;
    op.size_bytes = size_bytes;
    op_list_append(list, &op);
    return (uint32_t)list->count - 1;
}

/* Whatever a scenario does on one host. */
static void record(const char *scenario, uint64_t seed, struct setup *setup, struct op_list *list)
{
    struct setup wanted;
    struct trial trial;
    char reason[RUN_REASON_BYTES] = "";
    setup_init(&wanted);
    setup_init(setup);
    wanted.capacity_bytes = UINT64_C(1) << 20;
    wanted.seed = seed;
    const struct trial_plan plan = {.target = target_find("hbm"),
                                    .scenario = scenario_find(scenario),
                                    .setup = &wanted,
                                    .op_count_max = OP_COUNT};
    ck_assert_msg(trial_run(&plan, NULL, &trial, reason), "%s", reason);
    op_list_init(list);
    op_list_copy(list, &trial.ops);
    setup_copy(setup, &trial.setup);
    trial_deinit(&trial);
}

/* All but tags, hosts and references, which are compared apart. */
static bool is_like(const struct op *a, const struct op *b)
{
    struct op left = *a, right = *b;
    left.host = right.host = 0;
    left.ref = right.ref = left.event = right.event = OP_NONE;
    return op_equal(&left, &right);
}

/* The ops of that host in *list are those of `from`, in their order, behind `lead` others, and
 * their references name the same ones. */
static void check_strand(const struct op_list *list, unsigned host, size_t lead,
                         const struct op_list *from)
{
    uint32_t *numbers = calloc(from->count + 1, sizeof *numbers);
    size_t next = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct op *op = &list->ops[i];
        if (op->host != host || lead > 0) {
            lead -= op->host == host;
            continue;
        }
        ck_assert_uint_lt(next, from->count);
        const struct op *own = &from->ops[next];
        ck_assert_msg(is_like(op, own), "op %zu is not op %zu of the list", i, next);
        ck_assert_uint_eq(op->ref, own->ref == OP_NONE ? OP_NONE : numbers[own->ref]);
        ck_assert_uint_eq(op->event, own->event == OP_NONE ? OP_NONE : numbers[own->event]);
        numbers[next++] = (uint32_t)i;
    }
    ck_assert_uint_eq(next, from->count);
    free(numbers);
}

static size_t count_kind(const struct op_list *list, enum op_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        count += list->ops[i].kind == kind;
    }
    return count;
}

/* --- repeating --- */

EVERY_TEST(.timeout_s = 60);

TEST(a_list_that_is_repeated_names_its_own_blocks)
{
    struct op_list list, twice;
    op_list_init(&list);
    op_list_init(&twice);
    const uint32_t block = add(&list, OP_ALLOC, OP_NONE, 512);
    add(&list, OP_FREE, block, 0);
    variation_repeat(&list, 2, true, &twice);
    ck_assert_uint_eq(twice.count, 4);
    ck_assert_uint_eq(twice.ops[1].ref, 0);
    ck_assert_uint_eq(twice.ops[3].ref, 2);
    op_list_deinit(&list);
    op_list_deinit(&twice);
}

TEST(what_is_live_at_the_end_is_carried_on_or_freed)
{
    struct op_list list, carried, freed;
    op_list_init(&list);
    op_list_init(&carried);
    op_list_init(&freed);
    const uint32_t gone = add(&list, OP_ALLOC, OP_NONE, 512);
    const uint32_t stays = add(&list, OP_ALLOC, OP_NONE, 1024);
    const uint32_t program = add(&list, OP_LOAD, OP_NONE, 2048);
    add(&list, OP_HOLD, stays, 0);
    add(&list, OP_FREE, gone, 0);
    variation_repeat(&list, 3, false, &carried);
    variation_repeat(&list, 3, true, &freed);
    ck_assert_uint_eq(carried.count, 3 * list.count);
    ck_assert_uint_eq(freed.count, 3 * list.count + 2 * 3);
    ck_assert_uint_eq(freed.ops[5].kind, OP_RELEASE);
    ck_assert_uint_eq(freed.ops[5].ref, stays);
    ck_assert_uint_eq(freed.ops[6].kind, OP_FREE);
    ck_assert_uint_eq(freed.ops[6].ref, stays);
    ck_assert_uint_eq(freed.ops[7].kind, OP_UNLOAD);
    ck_assert_uint_eq(freed.ops[7].ref, program);
    ck_assert_uint_eq(freed.ops[8 + 5].ref, 8 + stays);
    op_list_deinit(&list);
    op_list_deinit(&carried);
    op_list_deinit(&freed);
}

TEST(a_donor_is_not_freed_twice)
{
    struct op_list list, freed;
    op_list_init(&list);
    op_list_init(&freed);
    const uint32_t donor = add(&list, OP_ALLOC, OP_NONE, 1024);
    const uint32_t output = add(&list, OP_DONATE, donor, 512);
    variation_repeat(&list, 2, true, &freed);
    ck_assert_uint_eq(count_kind(&freed, OP_FREE), 1);
    ck_assert_uint_eq(freed.ops[2].ref, output);
    op_list_deinit(&list);
    op_list_deinit(&freed);
}

/* Of a trial of an allocator that grants all, each block that the first repetition made is gone. */
TEST(a_live_end_that_is_freed_leaves_the_device_empty)
{
    struct setup setup;
    struct op_list list, freed;
    record("training_step", 7, &setup, &list);
    op_list_init(&freed);
    variation_repeat(&list, 2, true, &freed);
    const size_t second = freed.count - list.count;
    char reason[RUN_REASON_BYTES] = "";
    struct run *run = run_create(target_find("hbm"), &setup, reason);
    ck_assert_msg(run != NULL, "%s", reason);
    run_go_on(run);
    for (size_t i = 0; i < second; i++) {
        (void)run_step(run, &freed.ops[i]);
    }
    ck_assert_uint_eq(model_live_count(run_model(run, 0)), 0);
    run_destroy(run);
    op_list_deinit(&list);
    op_list_deinit(&freed);
}

/* --- merging --- */

TEST(merged_lists_keep_their_order_and_their_references)
{
    for (uint64_t seed = 0; seed < SEED_COUNT; seed++) {
        struct setup setup;
        struct op_list list, other, merged;
        struct random random;
        record("training_step", seed, &setup, &list);
        record("recompilation_churn", seed, &setup, &other);
        for (size_t i = 0; i < other.count; i++) {
            other.ops[i].host = 1; /* tells them apart */
        }
        const struct op_list *lists[] = {&list, &other};
        op_list_init(&merged);
        random_init(&random, seed);
        variation_merge(&random, lists, 2, &merged);
        ck_assert_uint_eq(merged.count, list.count + other.count);
        check_strand(&merged, 0, 0, &list);
        check_strand(&merged, 1, 0, &other);
        op_list_deinit(&list);
        op_list_deinit(&other);
        op_list_deinit(&merged);
    }
}

TEST(a_retry_stays_behind_its_request)
{
    struct op_list list, merged;
    struct random random;
    op_list_init(&list);
    op_list_init(&merged);
    for (int i = 0; i < 200; i++) {
        add(&list, OP_ALLOC, OP_NONE, 512);
        const uint32_t retry = add(&list, OP_ALLOC, OP_NONE, 512);
        list.ops[retry].flags = OP_RETRY;
    }
    const struct op_list *lists[] = {&list, &list};
    random_init(&random, 3);
    variation_merge(&random, lists, 2, &merged);
    for (size_t i = 0; i < merged.count; i++) {
        ck_assert((merged.ops[i].flags & OP_RETRY) == (i % 2 == 0 ? 0 : OP_RETRY));
    }
    op_list_deinit(&list);
    op_list_deinit(&merged);
}

/* --- hosts --- */

TEST(hosts_start_later_and_are_independent)
{
    const uint64_t skew_ns = 1000000;
    uint64_t latest_ns = 0;
    for (uint64_t seed = 0; seed < SEED_COUNT; seed++) {
        struct setup setup;
        struct op_list list, spread;
        struct random random;
        record("queued_free_race", seed, &setup, &list);
        op_list_init(&spread);
        random_init(&random, seed);
        variation_spread(&random, &list, 4, skew_ns, &setup, &spread);
        ck_assert_uint_eq(setup.host_count, 4);
        ck_assert(setup.has_clocks);
        ck_assert_uint_eq(setup.clocks[0].ahead_ns, 0);
        check_strand(&spread, 0, 0, &list);
        for (unsigned host = 1; host < 4; host++) {
            ck_assert_uint_le(setup.clocks[host].ahead_ns, skew_ns);
            check_strand(&spread, host, 1, &list);
        }
        for (size_t i = 0; i < spread.count; i++) {
            const struct op *op = &spread.ops[i];
            ck_assert(op->ref == OP_NONE || spread.ops[op->ref].host == op->host);
            ck_assert(op->event == OP_NONE || spread.ops[op->event].host == op->host);
            latest_ns = op->host == 3 && i > 0 && latest_ns == 0 ? op->delay_ns : latest_ns;
        }
        op_list_deinit(&list);
        op_list_deinit(&spread);
    }
    ck_assert_uint_gt(latest_ns, 0);
}

/* --- sizes --- */

TEST(sizes_are_scaled_exactly)
{
    ck_assert_uint_eq(variation_scale_bytes(512, 200), 1024);
    ck_assert_uint_eq(variation_scale_bytes(513, 50), 256);
    ck_assert_uint_eq(variation_scale_bytes(1, 50), 1);
    ck_assert_uint_eq(variation_scale_bytes(0, 200), 0);
    ck_assert_uint_eq(variation_scale_bytes(199, 100), 199);
    ck_assert_uint_eq(variation_scale_bytes(UINT64_MAX, 50), UINT64_MAX / 2);
    ck_assert_uint_eq(variation_scale_bytes(UINT64_MAX, 200), UINT64_MAX);
    ck_assert_uint_eq(variation_scale_bytes(1000003, 137), 1370004);
}

TEST(what_is_no_size_is_not_scaled)
{
    struct op_list list;
    op_list_init(&list);
    add(&list, OP_FAULT, OP_NONE, 7);
    add(&list, OP_RETIRE, OP_NONE, 512);
    const uint32_t fitted = add(&list, OP_ALLOC, OP_NONE, 3);
    list.ops[fitted].flags = OP_FITTED;
    struct op load = op_make(OP_LOAD);
    load.size_bytes = 100;
    load.stack_bytes = 30;
    op_list_append(&list, &load);
    struct op advance = op_make(OP_ADVANCE);
    advance.delay_ns = 99;
    op_list_append(&list, &advance);
    variation_scale(&list, 200);
    ck_assert_uint_eq(list.ops[0].size_bytes, 7);
    ck_assert_uint_eq(list.ops[1].size_bytes, 512);
    ck_assert_uint_eq(list.ops[2].size_bytes, 3);
    ck_assert_uint_eq(list.ops[3].size_bytes, 200);
    ck_assert_uint_eq(list.ops[3].stack_bytes, 60);
    ck_assert_uint_eq(list.ops[4].delay_ns, 99);
    op_list_deinit(&list);
}

/* --- tags --- */

TEST(tags_of_one_name_become_one)
{
    struct setup to, from;
    struct op_list list;
    setup_init(&to);
    setup_init(&from);
    setup_set_tag(&to, 1, "weights");
    setup_set_tag(&from, 1, "batch");
    setup_set_tag(&from, 2, "weights");
    op_list_init(&list);
    for (uint8_t tag = 0; tag < 3; tag++) {
        const uint32_t block = add(&list, OP_ALLOC, OP_NONE, 512);
        list.ops[block].tag = tag;
    }
    variation_adopt_tags(&to, &from, &list);
    ck_assert_uint_eq(list.ops[0].tag, 0);
    ck_assert_str_eq(to.tags[list.ops[1].tag], "batch");
    ck_assert_uint_ne(list.ops[1].tag, 1);
    ck_assert_uint_eq(list.ops[2].tag, 1);
    op_list_deinit(&list);
}

/* --- whole trials --- */

static const struct variation_bounds all = {.repeat_count_max = 3,
                                            .is_interleaved = true,
                                            .percents = {50, 200},
                                            .percent_count = 2,
                                            .host_count = 1,
                                            .skew_ns = 1000};

TEST(the_first_trial_is_the_list_as_it_is)
{
    struct setup setup, made;
    struct op_list list, ops;
    record("host_skew", 1, &setup, &list);
    const struct variation_source source = {&setup, &list};
    const struct variation variation = variation_draw(&source, &source, &all, 0, 99);
    op_list_init(&ops);
    setup_init(&made);
    variation_make(&source, &source, &variation, 99, &made, &ops);
    ck_assert_uint_eq(ops.count, list.count);
    ck_assert(memcmp(ops.ops, list.ops, list.count * sizeof *list.ops) == 0);
    ck_assert(memcmp(&made, &setup, sizeof setup) == 0);
    op_list_deinit(&list);
    op_list_deinit(&ops);
}

TEST(each_kind_has_its_turn)
{
    struct setup setup;
    struct op_list list;
    record("training_step", 1, &setup, &list);
    const struct variation_source source = {&setup, &list};
    for (uint64_t trial = 1; trial < 200; trial++) {
        const struct variation drawn = variation_draw(&source, &source, &all, trial, trial * 7);
        const uint64_t turn = trial % 4;
        ck_assert(turn != 1 || (drawn.repeat_count > 1 && !drawn.interleaves));
        ck_assert(turn != 2 || (drawn.repeat_count == 1 && drawn.interleaves));
        ck_assert(turn != 3 || (drawn.repeat_count == 1 && !drawn.interleaves));
        ck_assert((turn == 1 || turn == 2) == (drawn.percent == 100));
    }
    op_list_deinit(&list);
}

TEST(what_is_not_allowed_is_not_drawn)
{
    struct setup setup;
    struct op_list list;
    record("training_step", 1, &setup, &list);
    const struct variation_source source = {&setup, &list};
    const struct variation_bounds none = {
        .repeat_count_max = 1, .keeps_capacity = true, .host_count = 1};
    for (uint64_t trial = 0; trial < 40; trial++) {
        const struct variation drawn = variation_draw(&source, &source, &none, trial, trial);
        ck_assert_uint_eq(drawn.repeat_count, 1);
        ck_assert_uint_eq(drawn.percent, 100);
        ck_assert(!drawn.interleaves && !drawn.scales_capacity);
    }
    op_list_deinit(&list);
}

TEST(a_seed_gives_one_list_which_no_reference_breaks)
{
    struct setup setup, made, again_made;
    struct op_list list, ops, again;
    struct variation_bounds bounds = all;
    bounds.host_count = 3;
    record("training_step", 5, &setup, &list);
    const struct variation_source source = {&setup, &list};
    op_list_init(&ops);
    op_list_init(&again);
    for (uint64_t trial = 0; trial < 40; trial++) {
        const struct variation drawn = variation_draw(&source, &source, &bounds, trial, trial);
        setup_init(&made);
        setup_init(&again_made);
        variation_make(&source, &source, &drawn, trial, &made, &ops);
        variation_make(&source, &source, &drawn, trial, &again_made, &again);
        ck_assert_uint_eq(ops.count, again.count);
        ck_assert(memcmp(ops.ops, again.ops, ops.count * sizeof *ops.ops) == 0);
        ck_assert_uint_eq(made.host_count, trial == 0 ? 1 : 3);
        ck_assert_uint_gt(made.capacity_bytes, 0);
        for (size_t i = 0; i < ops.count; i++) {
            ck_assert(ops.ops[i].ref == OP_NONE || ops.ops[i].ref < i);
            ck_assert(ops.ops[i].event == OP_NONE || ops.ops[i].event < i);
            ck_assert_uint_lt(ops.ops[i].host, made.host_count);
        }
    }
    op_list_deinit(&list);
    op_list_deinit(&ops);
    op_list_deinit(&again);
}

TEST(a_trial_is_no_longer_than_is_said)
{
    struct setup setup, made;
    struct op_list list, ops;
    struct variation_bounds bounds = all;
    bounds.host_count = 3;
    record("training_step", 5, &setup, &list);
    const struct variation_source source = {&setup, &list};
    const uint64_t most = variation_op_count_max(&source, &source, &bounds);
    size_t longest = 0;
    op_list_init(&ops);
    for (uint64_t trial = 0; trial < 100; trial++) {
        struct variation drawn = variation_draw(&source, &source, &bounds, trial, trial);
        drawn.frees_live_end = false;
        setup_init(&made);
        variation_make(&source, &source, &drawn, trial, &made, &ops);
        longest = ops.count > longest ? ops.count : longest;
    }
    ck_assert_uint_le(longest, most + 3);
    ck_assert_uint_ge(longest, most);
    op_list_deinit(&list);
    op_list_deinit(&ops);
}

/* --- the ops of a run --- */

TEST(references_follow_what_is_slipped_in_between)
{
    struct op_list list;
    struct given given;
    struct op op;
    op_list_init(&list);
    const uint32_t block = add(&list, OP_ALLOC, OP_NONE, 512);
    add(&list, OP_FREE, block, 0);
    add(&list, OP_TOUCH, 7, 0); /* names what comes later */
    given_init(&given, &list);
    ck_assert(given_next(&given, 4, &op));
    ck_assert(given_next(&given, 9, &op));
    ck_assert_uint_eq(op.ref, 4);
    ck_assert(given_next(&given, 10, &op));
    ck_assert_uint_eq(op.ref, OP_NONE);
    ck_assert(!given_next(&given, 11, &op));
    given_deinit(&given);
    op_list_deinit(&list);
}

/* The same list with faults between its ops: all of its ops are there, and only faults besides. */
TEST(a_given_list_is_run_as_it_is)
{
    struct setup setup;
    struct op_list list;
    char reason[RUN_REASON_BYTES] = "";
    record("fragmentation_storm", 3, &setup, &list);
    for (unsigned with_faults = 0; with_faults < 2; with_faults++) {
        struct trial trial;
        const struct trial_plan plan = {.target = target_find("hbm"),
                                        .scenario = scenario_find("fragmentation_storm"),
                                        .setup = &setup,
                                        .op_count_max = 2 * OP_COUNT,
                                        .faults = {.kinds = with_faults == 0 ? 0 : FAULTING_ALL},
                                        .given = &list};
        ck_assert_msg(trial_run(&plan, NULL, &trial, reason), "%s", reason);
        ck_assert_uint_ge(trial.ops.count, list.count);
        ck_assert_uint_eq(count_kind(&trial.ops, OP_ALLOC), count_kind(&list, OP_ALLOC));
        if (with_faults == 0) {
            ck_assert(memcmp(trial.ops.ops, list.ops, list.count * sizeof *list.ops) == 0);
        }
        trial_deinit(&trial);
    }
    op_list_deinit(&list);
}
