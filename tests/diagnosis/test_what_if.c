/* What if: over drawn lists and those of every scenario, each variant keeps every promise, and each
 * row says the truth of it.  Rows of lists by hand are in tests/snap/diagnosis_what_if.snap. */
#include "diagnosis/what_if.h"
#include "harness/generate/generate.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/diagnosis/remedy_lists.h"
#include "tests/helpers/scenario_count.h"
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
