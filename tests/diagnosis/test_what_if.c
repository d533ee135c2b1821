/* What if: over drawn lists and those of every scenario, each variant keeps every promise, and each
 * row says the truth of it. */
#include "diagnosis/what_if.h"
#include "harness/generate/generate.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/diagnosis/remedy_lists.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DRAWN_COUNT = 40, DRAWN_OPS = 400, PARAMETERS_TRIED = 4, TRIAL_OPS = 1200 };

/* What the tests below went through. */
struct occupancy {
    unsigned applied, refused, fits, fails;
};

/* Applies every remedy with its first parameters; remedy_list_measure fails the test for what is
 * illegal. */
static void try_all(struct remedy_list *list, struct occupancy *occupancy)
{
    char note[REMEDY_NOTE_BYTES];
    for (size_t i = 0; remedies[i] != NULL; i++) {
        const struct remedy *remedy = remedies[i];
        uint64_t parameter = 0;
        for (size_t k = 0; k < PARAMETERS_TRIED; k++) {
            if (remedy->parameter == NULL ? k > 0
                                          : !remedy->parameter(&list->given, k, &parameter, note)) {
                break;
            }
            if (!remedy_apply(remedy, &list->given, parameter, &list->result)) {
                occupancy->refused++;
                ck_assert_str_ne(list->result.note, "");
                continue;
            }
            struct what_if_row row;
            remedy_list_measure(list, &row);
            occupancy->applied++;
            occupancy->fits += row.end == WHAT_IF_FITS;
            occupancy->fails += row.end == WHAT_IF_NO_MEMORY;
            ck_assert_uint_le(row.peak_bytes, row.capacity_bytes);
            ck_assert_uint_le(row.headroom_bytes, row.capacity_bytes);
        }
    }
}

static void draw_ops(uint64_t seed, struct setup *setup, struct op_list *ops)
{
    char reason[RUN_REASON_BYTES] = "";
    struct random random;
    struct generate generate;
    setup_init(setup);
    setup->capacity_bytes = UINT64_C(4) << 20;
    struct run *run = run_create(target_find("hbm"), setup, reason);
    ck_assert_msg(run != NULL, "%s", reason);
    random_init(&random, seed);
    /* No faults: where a call of the device is refused depends on how many came before it. */
    generate_init(&generate, &random, setup->capacity_bytes, 512, &(struct generate_limits){0});
    for (unsigned i = 0; i < DRAWN_OPS; i++) {
        const struct op op = generate_next(&generate, &random, run_model(run, 0), 0);
        run_step(run, &op);
    }
    op_list_copy(ops, run_ops(run));
    run_destroy(run);
}

static int count_scenarios(void)
{
    int count = 0;
    while (scenarios[count] != NULL) {
        count++;
    }
    return count;
}

TEST(variants_of_drawn_lists_are_legal_and_keep_every_promise)
{
    struct occupancy occupancy = {0};
    for (uint64_t seed = 1; seed <= DRAWN_COUNT; seed++) {
        struct setup setup;
        struct op_list ops;
        struct remedy_list list;
        op_list_init(&ops);
        draw_ops(seed, &setup, &ops);
        setup.capacity_bytes *= seed % 2 == 0 ? 16
                                              : 1; /* most of these do not run out, and stay long */
        remedy_list_take(&list, &setup, &ops);
        try_all(&list, &occupancy);
        remedy_list_deinit(&list);
        op_list_deinit(&ops);
    }
    printf("drawn lists: %u variants, %u fit, %u run out; %u refusals\n", occupancy.applied,
           occupancy.fits, occupancy.fails, occupancy.refused);
    ck_assert_uint_gt(occupancy.fits, 200);
    ck_assert_uint_gt(occupancy.fails, 200);
}

/* --- every scenario --- */

static bool run_trial(const struct scenario *scenario, uint64_t seed, struct trial *trial)
{
    struct setup setup;
    char reason[RUN_REASON_BYTES] = "";
    setup_init(&setup);
    setup.capacity_bytes = UINT64_C(16) << 20;
    setup.seed = seed;
    const struct trial_plan plan = {.target = target_find("hbm"),
                                    .scenario = scenario,
                                    .setup = &setup,
                                    .op_count_max = TRIAL_OPS};
    ck_assert_msg(trial_run(&plan, NULL, trial, reason), "%s", reason);
    ck_assert_int_eq(trial->first.kind, VERDICT_NONE);
    return trial->totals.ooms > 0;
}

/* What the rows say is what a replay of their lists shows. */
static void check_row(void *context, const struct what_if_row *row, const struct setup *setup,
                      const struct op_list *ops)
{
    struct occupancy *occupancy = context;
    struct trial again;
    char reason[RUN_REASON_BYTES] = "";
    ck_assert_msg(trial_replay(target_find("hbm"), setup, ops, NULL, &again, reason), "%s: %s",
                  row->title, reason);
    ck_assert_int_eq(again.first.kind, VERDICT_NONE);
    ck_assert_msg((again.totals.ooms == 0) == (row->end == WHAT_IF_FITS),
                  "%s: %s, but %" PRIu64 " OOMs", row->title, what_if_end_name(row->end),
                  again.totals.ooms);
    occupancy->fits += row->end == WHAT_IF_FITS;
    occupancy->fails += row->end != WHAT_IF_FITS;
    trial_deinit(&again);
}

TEST(every_row_of_every_scenario_is_true_when_its_list_is_replayed, .count = count_scenarios)
{
    const struct scenario *scenario = scenarios[_i];
    const struct target *target = target_find("hbm");
    struct occupancy occupancy = {0};
    const struct what_if_wish wanted = {.take = check_row, .context = &occupancy};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct trial trial;
        struct what_if what_if;
        const bool has_oom = run_trial(scenario, seed, &trial);
        ck_assert_int_eq(what_if_run(target, &trial.setup, &trial.ops, &wanted, &what_if),
                         WHAT_IF_DONE);
        ck_assert(has_oom == (what_if.op != OP_NONE));
        ck_assert(has_oom == (what_if.rows[0].end == WHAT_IF_NO_MEMORY));
        ck_assert(!has_oom || what_if.smallest > 0);
        what_if_deinit(&what_if);
        trial_deinit(&trial);
    }
    printf("%s: %u lists fit, %u do not\n", scenario->name, occupancy.fits, occupancy.fails);
    ck_assert_uint_gt(occupancy.fits, 0);
}

/* --- the table --- */

static void run_text(const char *text, struct what_if *what_if, struct remedy_list *list)
{
    remedy_list_parse(list, text);
    ck_assert_int_eq(
        what_if_run(list->given.target, list->given.setup, list->given.ops, NULL, what_if),
        WHAT_IF_DONE);
}

static const struct what_if_row *row_of(const struct what_if *what_if, const char *title)
{
    for (size_t i = 0; i < what_if->count; i++) {
        if (strcmp(what_if->rows[i].title, title) == 0) {
            return &what_if->rows[i];
        }
    }
    ck_abort_msg("no row %s", title);
    return NULL;
}

TEST(the_smallest_capacity_is_exact)
{
    struct what_if what_if;
    struct remedy_list list;
    /* The block of 4K is held in the middle: what is asked for fits above or below it, not around
     * it. */
    run_text("capacity 1M\n0: alloc size=300K\n1: alloc size=4K\n2: hold block=1\n3: free block=0\n"
             "4: alloc size=900K\n",
             &what_if, &list);
    const struct what_if_row *row = &what_if.rows[what_if.count - 1];
    ck_assert_str_eq(row->remedy->name, "capacity");
    ck_assert_int_eq(row->end, WHAT_IF_FITS);
    ck_assert(row->is_smallest);
    remedy_list_apply(&list, &remedy_capacity, row->capacity_bytes);
    remedy_list_measure(&list, &(struct what_if_row){0});
    remedy_list_apply(&list, &remedy_capacity, row->capacity_bytes - 512);
    struct what_if_row less;
    remedy_list_measure(&list, &less);
    ck_assert_int_eq(less.end, WHAT_IF_NO_MEMORY);
    ck_assert_uint_eq(less.requested_bytes, 900 << 10);
    ck_assert_uint_eq(less.failed_op, 4);
    what_if_deinit(&what_if);
    remedy_list_deinit(&list);
}

TEST(the_first_of_the_table_that_fits_is_the_smallest_change)
{
    struct what_if what_if;
    struct remedy_list list;
    run_text("capacity 1M\n0: alloc size=600K\n1: output size=600K\n2: free block=0\n", &what_if,
             &list);
    ck_assert_uint_eq(
        what_if.op,
        1); /* and the free after it is left out: nothing says that the input ends there */
    ck_assert_int_eq(row_of(&what_if, "donation")->end, WHAT_IF_DOES_NOT_APPLY);
    ck_assert_str_eq(what_if.rows[what_if.smallest].title, "trim-25"); /* 450K twice */
    ck_assert_uint_eq(row_of(&what_if, "sharding-2")->peak_bytes, 600 << 10);
    ck_assert_uint_eq(what_if_headroom_bytes(row_of(&what_if, "sharding-2")), 424 << 10);
    ck_assert_uint_eq(row_of(&what_if, "as-it-is")->largest_hole_bytes, 424 << 10);
    what_if_deinit(&what_if);
    remedy_list_deinit(&list);
    run_text(
        "capacity 1M\noption defrag=none\n0: alloc size=400K\n1: alloc size=100K\n2: free block=0\n"
        "3: alloc size=600K\n",
        &what_if, &list);
    ck_assert_str_eq(what_if.rows[what_if.smallest].title, "defrag-slide");
    what_if_deinit(&what_if);
    remedy_list_deinit(&list);
}

TEST(a_list_that_fits_says_so)
{
    struct what_if what_if;
    struct remedy_list list;
    run_text("capacity 1M\n0: alloc size=600K\n", &what_if, &list);
    ck_assert_uint_eq(what_if.op, OP_NONE);
    ck_assert_uint_eq(what_if.smallest, 0);
    ck_assert_uint_eq(what_if_headroom_bytes(&what_if.rows[0]), 424 << 10);
    what_if_deinit(&what_if);
    remedy_list_deinit(&list);
}

TEST(what_only_fills_free_memory_is_in_no_peak)
{
    struct what_if what_if;
    struct remedy_list list;
    run_text(
        "capacity 1M\ntag 9 \"free later\"\n0: alloc size=300K\n1: alloc size=500K tag=9\n2: alloc size=100K\n"
        "3: free block=1\n4: alloc size=50K\n",
        &what_if, &list);
    ck_assert_uint_eq(what_if.rows[0].peak_bytes, 450 << 10);
    ck_assert_uint_eq(what_if_headroom_bytes(&what_if.rows[0]), 574 << 10);
    what_if_deinit(&what_if);
    remedy_list_deinit(&list);
}

TEST(what_is_retired_is_in_no_peak_and_leaves_its_host_less_headroom)
{
    struct what_if what_if;
    struct remedy_list list;
    run_text("capacity 1M\nhosts 2\n0: retire size=600K address=424K host=1\n1: alloc size=500K\n"
             "2: alloc size=200K host=1\n3: free block=2\n",
             &what_if, &list);
    ck_assert_uint_eq(what_if.rows[0].peak_bytes, 500 << 10);
    ck_assert_uint_eq(what_if_headroom_bytes(&what_if.rows[0]), 224 << 10);
    ck_assert_uint_eq(what_if.rows[0].largest_hole_bytes, 224 << 10);
    what_if_deinit(&what_if);
    remedy_list_deinit(&list);
}

/* A request that found no host memory made nothing. */
TEST(what_the_device_refused_takes_no_room)
{
    struct what_if what_if;
    struct remedy_list list;
    run_text(
        "capacity 64M\n0: fault call=host_memory\n1: alloc size=40M\n2: alloc size=40M\n3: alloc size=32M\n",
        &what_if, &list);
    ck_assert_uint_eq(what_if.rows[what_if.count - 1].capacity_bytes, 80 << 20);
    what_if_deinit(&what_if);
    remedy_list_deinit(&list);
}

TEST(a_variant_in_which_memory_cannot_be_retired_says_nothing)
{
    struct what_if what_if;
    struct remedy_list list;
    run_text(
        "capacity 64M\n0: alloc size=32M\n1: alloc size=8M\n2: free block=0\n3: retire size=32M address=32M\n"
        "4: alloc size=60M\n",
        &what_if, &list);
    ck_assert_int_eq(what_if.rows[0].end, WHAT_IF_NO_MEMORY);
    ck_assert_int_eq(row_of(&what_if, "sharding-2")->end, WHAT_IF_DOES_NOT_APPLY);
    ck_assert_ptr_nonnull(
        strstr(row_of(&what_if, "sharding-2")->note, "op 3 of this variant retires"));
    what_if_deinit(&what_if);
    remedy_list_deinit(&list);
    run_text("capacity 64M\n0: retire size=16M address=48M\n1: alloc size=40M\n2: alloc size=9M\n",
             &what_if, &list);
    const struct what_if_row *last = &what_if.rows[what_if.count - 1];
    ck_assert_uint_eq(last->capacity_bytes, 49 << 20);
    ck_assert_str_eq(last->note, "15.00M less; retired ranges left out: 1");
    what_if_deinit(&what_if);
    remedy_list_deinit(&list);
}

/* What an allocation evicts makes the hole larger than it was when least was free. */
TEST(the_hole_is_that_of_the_tightest_moment)
{
    struct what_if what_if;
    struct remedy_list list;
    run_text("capacity 64M\n0: load size=32M stack=0\n1: alloc size=31M\n2: alloc size=16M\n",
             &what_if, &list);
    ck_assert_uint_eq(what_if_headroom_bytes(&what_if.rows[0]), 1 << 20);
    ck_assert_uint_eq(what_if.rows[0].largest_hole_bytes, 1 << 20);
    what_if_deinit(&what_if);
    remedy_list_deinit(&list);
}

TEST(each_named_tag_has_its_row_and_all_of_them_the_last_however_many)
{
    bool named_tags[OP_TAG_COUNT];
    const struct what_if_wish wanted = {.named_tags = named_tags};
    struct what_if what_if;
    struct remedy_list list;
    size_t row_count = 0;
    memset(named_tags, true, sizeof named_tags);
    remedy_list_parse(&list, "0: alloc size=600K\n1: alloc size=600K\n");
    ck_assert_int_eq(
        what_if_run(list.given.target, list.given.setup, list.given.ops, &wanted, &what_if),
        WHAT_IF_DONE);
    for (size_t i = 0; i < what_if.count; i++) {
        row_count += strncmp(what_if.rows[i].title, "checkpointing-", strlen("checkpointing-")) ==
                     0;
    }
    ck_assert_uint_eq(row_count, OP_TAG_COUNT + 1);
    (void)row_of(&what_if, "checkpointing-all-that-are-named");
    what_if_deinit(&what_if);
    remedy_list_deinit(&list);
}

TEST(what_did_nothing_is_left_out_but_not_the_events_that_others_name)
{
    struct what_if what_if;
    struct remedy_list list;
    remedy_list_parse(
        &list,
        "capacity 1M\n0: alloc size=4K\n1: free block=0\n2: use block=0 delay=1ms\n"
        "3: touch block=0\n"
        "4: alloc size=8K\n5: free_after block=4 event=2\n6: alloc size=2M\n7: alloc size=4K\n");
    ck_assert_uint_eq(list.base.left_out_count,
                      1); /* the touch; what follows the refusal is cut off */
    ck_assert_uint_eq(list.given.ops->count, 6);
    ck_assert_int_eq(list.given.ops->ops[4].kind, OP_FREE_AFTER);
    ck_assert_uint_eq(list.given.ops->ops[4].event, 2);
    ck_assert_int_eq(
        what_if_run(list.given.target, list.given.setup, list.given.ops, NULL, &what_if),
        WHAT_IF_DONE);
    ck_assert_uint_eq(what_if.op, 5);
    what_if_deinit(&what_if);
    remedy_list_deinit(&list);
}

TEST(a_list_from_where_the_request_was_granted_is_run_whole)
{
    struct what_if what_if;
    struct remedy_list list;
    run_text(
        "capacity 1M\n0: alloc size=600K\n1: alloc size=600K\n2: touch block=1\n3: alloc size=600K\n"
        "4: free block=1\n",
        &what_if, &list);
    ck_assert(list.base.is_whole);
    ck_assert(what_if.is_whole);
    ck_assert_uint_eq(what_if.op, 1);
    ck_assert_uint_eq(list.given.ops->count, 5);
    ck_assert_uint_eq(what_if.rows[what_if.count - 1].capacity_bytes, 1800 << 10);
    what_if_deinit(&what_if);
    remedy_list_deinit(&list);
}

TEST(lanes_become_one_client)
{
    struct what_if what_if;
    struct remedy_list list;
    remedy_list_parse(&list, "capacity 1M\n0: alloc size=600K\n1: alloc size=600K lane=1\n"
                             "2: switch op=0 point=1 to=1\n");
    ck_assert(list.base.has_lanes);
    ck_assert_uint_eq(list.given.ops->count, 2);
    ck_assert_uint_eq(list.given.ops->ops[1].lane, 0);
    ck_assert_int_eq(
        what_if_run(list.given.target, list.given.setup, list.given.ops, NULL, &what_if),
        WHAT_IF_DONE);
    what_if_deinit(&what_if);
    remedy_list_deinit(&list);
}

TEST(what_breaks_a_promise_after_the_last_op_does_not_fit)
{
    struct what_if what_if;
    struct remedy_list list;
    run_text("capacity 1M\ntarget plant_not_coalesced\n0: alloc size=600K\n1: alloc size=600K\n",
             &what_if, &list);
    ck_assert_int_eq(what_if.rows[0].end, WHAT_IF_NO_MEMORY);
    ck_assert_int_eq(row_of(&what_if, "chip-v2")->end, WHAT_IF_BROKEN);
    ck_assert_uint_eq(row_of(&what_if, "chip-v2")->failed_op, 2);
    ck_assert_uint_eq(what_if.smallest, what_if.count);
    what_if_deinit(&what_if);
    remedy_list_deinit(&list);
}

TEST(a_list_that_breaks_another_promise_is_not_tried)
{
    struct what_if what_if;
    struct setup setup;
    struct op_list ops;
    const struct target *target = target_find("plant_overlap");
    struct trial trial;
    char reason[RUN_REASON_BYTES] = "";
    ck_assert_ptr_nonnull(target);
    setup_init(&setup);
    setup.capacity_bytes = UINT64_C(16) << 20;
    setup.seed = 1;
    op_list_init(&ops);
    const struct trial_plan plan = {.target = target,
                                    .scenario = scenario_find("fragmentation_storm"),
                                    .setup = &setup,
                                    .op_count_max = 20000};
    ck_assert(trial_run(&plan, NULL, &trial, reason));
    ck_assert_int_eq(trial.first.kind, VERDICT_BROKEN);
    ck_assert_int_eq(what_if_run(target, &trial.setup, &trial.ops, NULL, &what_if),
                     WHAT_IF_PROMISE_BROKE);
    ck_assert_uint_eq(what_if.count, 0);
    what_if_deinit(&what_if);
    trial_deinit(&trial);
}
