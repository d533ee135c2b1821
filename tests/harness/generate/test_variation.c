/* Other workloads from a recorded one: what each step keeps of the list, and that the same seed
 * gives the same ops. */
#include "harness/generate/variation.h"

#include "harness/generate/slipping.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { OP_COUNT = 300, SEED_COUNT = 20 };

/* --- lists --- */

/* What is varied, and what comes of it. */
static struct setup setup, made_setup;
static struct op_list list, made;
static const struct variation_source source = {&setup, &list};

static void begin_lists(void)
{
    op_list_init(&list);
    op_list_init(&made);
}

static void end_lists(void)
{
    op_list_deinit(&list);
    op_list_deinit(&made);
    snap_rest();
}

/* Whatever a scenario does on one host. */
static void record(const char *scenario, uint64_t seed, struct op_list *ops)
{
    struct trial trial;
    wish_play(&(struct trial_wish){"hbm", scenario_find(scenario), seed, OP_COUNT,
                                   .capacity_bytes = 1 << 20},
              &trial);
    op_list_copy(ops, &trial.ops);
    setup_init(&setup);
    setup_copy(&setup, &trial.setup);
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

/* The ops of that host in *ops are those of `from`, in their order, behind `lead` others, and
 * their references name the same ones. */
static void check_strand(const struct op_list *ops, unsigned host, size_t lead,
                         const struct op_list *from)
{
    uint32_t *numbers = calloc(from->count + 1, sizeof *numbers);
    size_t next = 0;
    for (size_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
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

static size_t count_kind(const struct op_list *ops, enum op_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < ops->count; i++) {
        count += ops->ops[i].kind == kind;
    }
    return count;
}

/* --- repeating --- */

EVERY_TEST(.timeout_s = 60, .setup = begin_lists, .teardown = end_lists);

static void show_repeated(const char *ops, uint32_t count, bool frees_live_end)
{
    read_list(ops, &setup, &list);
    op_list_clear(&made);
    variation_repeat(&list, count, frees_live_end, &made);
    show("%u times%s\n", count, frees_live_end ? ", and what lives is freed" : "");
    show_ops(&made);
    op_list_deinit(&list);
}

TEST(a_list_that_is_repeated_names_its_own_blocks)
{
    show_repeated("0: alloc size=512\n1: free block=0\n", 2, true);
}

TEST(what_is_live_at_the_end_is_carried_on_or_freed)
{
    static const char ops[] = "0: alloc size=512\n1: alloc size=1K\n2: load size=2K stack=0\n"
                              "3: hold block=1\n4: free block=0\n";
    show_repeated(ops, 3, false);
    show_repeated(ops, 3, true);
}

TEST(a_donor_is_not_freed_twice)
{
    show_repeated("0: alloc size=1K\n1: donate block=0 size=512\n", 2, true);
}

/* Of a trial of an allocator that grants all, each block that the first repetition made is gone. */
TEST(a_live_end_that_is_freed_leaves_the_device_empty)
{
    record("training_step", 7, &list);
    variation_repeat(&list, 2, true, &made);
    made.count -= list.count;
    struct run *run = begin_run(target_find("hbm"), &setup);
    run_go_on(run);
    step_all(run, &made);
    ck_assert_uint_eq(model_live_count(run_model(run, 0)), 0);
    run_destroy(run);
}

/* --- merging --- */

TEST(merged_lists_keep_their_order_and_their_references)
{
    struct op_list other;
    op_list_init(&other);
    for (uint64_t seed = 0; seed < SEED_COUNT; seed++) {
        struct random random;
        const struct op_list *lists[] = {&list, &other};
        record("training_step", seed, &list);
        record("recompilation_churn", seed, &other);
        for (size_t i = 0; i < other.count; i++) {
            other.ops[i].host = 1; /* tells them apart */
        }
        op_list_clear(&made);
        random_init(&random, seed);
        variation_merge(&random, lists, 2, &made);
        ck_assert_uint_eq(made.count, list.count + other.count);
        check_strand(&made, 0, 0, &list);
        check_strand(&made, 1, 0, &other);
    }
    op_list_deinit(&other);
}

TEST(a_retry_stays_behind_its_request)
{
    struct random random;
    struct op_list pair;
    const struct op_list *lists[] = {&list, &list};
    read_list("0: alloc size=512\n1: alloc size=512 retry=yes\n", &setup, &pair);
    variation_repeat(&pair, 200, false, &list);
    random_init(&random, 3);
    variation_merge(&random, lists, 2, &made);
    ck_assert_uint_eq(made.count, 800);
    for (size_t i = 0; i < made.count; i++) {
        ck_assert((made.ops[i].flags & OP_RETRY) == (i % 2 == 0 ? 0 : OP_RETRY));
    }
    op_list_deinit(&pair);
}

/* --- hosts --- */

TEST(hosts_start_later_and_are_independent)
{
    const uint64_t skew_ns = 1000000;
    uint64_t latest_ns = 0;
    for (uint64_t seed = 0; seed < SEED_COUNT; seed++) {
        struct random random;
        record("queued_free_race", seed, &list);
        op_list_clear(&made);
        random_init(&random, seed);
        variation_spread(&random, &list, 4, skew_ns, &setup, &made);
        ck_assert_uint_eq(setup.host_count, 4);
        ck_assert(setup.has_clocks);
        ck_assert_uint_eq(setup.clocks[0].ahead_ns, 0);
        check_strand(&made, 0, 0, &list);
        for (unsigned host = 1; host < 4; host++) {
            ck_assert_uint_le(setup.clocks[host].ahead_ns, skew_ns);
            check_strand(&made, host, 1, &list);
        }
        for (size_t i = 0; i < made.count; i++) {
            const struct op *op = &made.ops[i];
            ck_assert(op->ref == OP_NONE || made.ops[op->ref].host == op->host);
            ck_assert(op->event == OP_NONE || made.ops[op->event].host == op->host);
            latest_ns = op->host == 3 && i > 0 && latest_ns == 0 ? op->delay_ns : latest_ns;
        }
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
    read_list("0: fault call=copy nth=7\n1: retire size=512\n2: alloc size=%hole+3\n"
              "3: load size=100 stack=30\n4: advance delay=99ns\n",
              &setup, &list);
    variation_scale(&list, 200);
    show_ops(&list);
}

/* --- tags --- */

TEST(tags_of_one_name_become_one)
{
    struct setup from;
    read_list("tag 1 \"batch\"\ntag 2 \"weights\"\n0: alloc size=512\n1: alloc size=512 tag=1\n"
              "2: alloc size=512 tag=2\n",
              &from, &list);
    setup_init(&setup);
    setup_set_tag(&setup, 1, "weights");
    variation_adopt_tags(&setup, &from, &list);
    show_ops(&list);
    for (unsigned tag = 0; tag < 4; tag++) {
        show("%s'%s'", tag == 0 ? "tags " : ", ", setup.tags[tag]);
    }
    show("\n");
}

/* --- whole trials --- */

static const struct variation_bounds all = {.repeat_count_max = 3,
                                            .is_interleaved = true,
                                            .percents = {50, 200},
                                            .percent_count = 2,
                                            .host_count = 1,
                                            .skew_ns = 1000};

/* Of the list and itself. */
static struct variation draw(const struct variation_bounds *bounds, uint64_t trial, uint64_t seed)
{
    return variation_draw(&source, &source, bounds, trial, seed);
}

static void make(const struct variation *drawn, uint64_t seed)
{
    setup_init(&made_setup);
    variation_make(&source, &source, drawn, seed, &made_setup, &made);
}

TEST(the_first_trial_is_the_list_as_it_is)
{
    record("host_skew", 1, &list);
    const struct variation variation = draw(&all, 0, 99);
    make(&variation, 99);
    ck_assert_uint_eq(made.count, list.count);
    ck_assert(memcmp(made.ops, list.ops, list.count * sizeof *list.ops) == 0);
    ck_assert(memcmp(&made_setup, &setup, sizeof setup) == 0);
}

TEST(each_kind_has_its_turn)
{
    record("training_step", 1, &list);
    for (uint64_t trial = 1; trial < 200; trial++) {
        const struct variation drawn = draw(&all, trial, trial * 7);
        const uint64_t turn = trial % 4;
        ck_assert(turn != 1 || (drawn.repeat_count > 1 && !drawn.interleaves));
        ck_assert(turn != 2 || (drawn.repeat_count == 1 && drawn.interleaves));
        ck_assert(turn != 3 || (drawn.repeat_count == 1 && !drawn.interleaves));
        ck_assert((turn == 1 || turn == 2) == (drawn.percent == 100));
    }
}

TEST(what_is_not_allowed_is_not_drawn)
{
    const struct variation_bounds none = {
        .repeat_count_max = 1, .keeps_capacity = true, .host_count = 1};
    record("training_step", 1, &list);
    for (uint64_t trial = 0; trial < 40; trial++) {
        const struct variation drawn = draw(&none, trial, trial);
        ck_assert_uint_eq(drawn.repeat_count, 1);
        ck_assert_uint_eq(drawn.percent, 100);
        ck_assert(!drawn.interleaves && !drawn.scales_capacity);
    }
}

TEST(a_seed_gives_one_list_which_no_reference_breaks)
{
    struct op_list first;
    struct variation_bounds bounds = all;
    bounds.host_count = 3;
    record("training_step", 5, &list);
    op_list_init(&first);
    for (uint64_t trial = 0; trial < 40; trial++) {
        const struct variation drawn = draw(&bounds, trial, trial);
        make(&drawn, trial);
        op_list_copy(&first, &made);
        make(&drawn, trial);
        ck_assert_uint_eq(made.count, first.count);
        ck_assert(memcmp(made.ops, first.ops, made.count * sizeof *made.ops) == 0);
        ck_assert_uint_eq(made_setup.host_count, trial == 0 ? 1 : 3);
        ck_assert_uint_gt(made_setup.capacity_bytes, 0);
        for (size_t i = 0; i < made.count; i++) {
            ck_assert(made.ops[i].ref == OP_NONE || made.ops[i].ref < i);
            ck_assert(made.ops[i].event == OP_NONE || made.ops[i].event < i);
            ck_assert_uint_lt(made.ops[i].host, made_setup.host_count);
        }
    }
    op_list_deinit(&first);
}

TEST(a_trial_is_no_longer_than_is_said)
{
    struct variation_bounds bounds = all;
    bounds.host_count = 3;
    record("training_step", 5, &list);
    const uint64_t most = variation_op_count_max(&source, &source, &bounds);
    size_t longest = 0;
    for (uint64_t trial = 0; trial < 100; trial++) {
        struct variation drawn = draw(&bounds, trial, trial);
        drawn.frees_live_end = false;
        make(&drawn, trial);
        longest = made.count > longest ? made.count : longest;
    }
    ck_assert_uint_le(longest, most + 3);
    ck_assert_uint_ge(longest, most);
}

/* --- the ops of a run --- */

TEST(references_follow_what_is_slipped_in_between)
{
    struct given given;
    struct op op;
    read_list("0: alloc size=512\n1: free block=0\n2: touch block=0\n", &setup, &list);
    list.ops[2].ref = 7; /* names what comes later */
    given_init(&given, &list);
    ck_assert(given_next(&given, 4, &op));
    ck_assert(given_next(&given, 9, &op));
    ck_assert_uint_eq(op.ref, 4);
    ck_assert(given_next(&given, 10, &op));
    ck_assert_uint_eq(op.ref, OP_NONE);
    ck_assert(!given_next(&given, 11, &op));
    given_deinit(&given);
}

/* The same list with faults between its ops: all of its ops are there, and only faults besides. */
TEST(a_given_list_is_run_as_it_is)
{
    char reason[RUN_REASON_BYTES] = "";
    record("fragmentation_storm", 3, &list);
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
}
