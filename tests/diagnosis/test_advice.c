/* Which remedy answers a cause, what it is called in each system, and what a list whose memory
 * grows is said to come to. */
#include "diagnosis/advice.h"
#include "diagnosis/cause.h"
#include "diagnosis/largest_batch.h"
#include "diagnosis/private/what_if_parts.h"
#include "diagnosis/what_if.h"
#include "diagnosis/what_if_trial.h"
#include "harness/base/random.h"
#include "harness/op/chip.h"
#include "targets/targets.h"
#include "tests/diagnosis/remedy_lists.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KILO UINT64_C(1024)

/* --- words --- */

TEST(each_remedy_says_what_to_do_and_only_to_those_who_can)
{
    for (size_t i = 0; remedies[i] != NULL; i++) {
        ck_assert((advice_words(remedies[i], "") == NULL) == (remedies[i] == &remedy_pages));
        bool is_for_any = false;
        for (size_t k = 0; systems[k] != NULL; k++) {
            is_for_any = is_for_any || advice_words(remedies[i], systems[k]->name) != NULL;
        }
        ck_assert_msg(is_for_any, "%s", remedies[i]->name);
    }
    const struct remedy *const of_libhbm[] = {&remedy_defrag, &remedy_order, &remedy_drains,
                                              &remedy_evicts, &remedy_program_evicts};
    for (size_t i = 0; i < sizeof of_libhbm / sizeof *of_libhbm; i++) {
        for (size_t k = 0; systems[k] != NULL; k++) {
            ck_assert((advice_words(of_libhbm[i], systems[k]->name) != NULL) == systems[k]->is_tpu);
        }
    }
}

TEST(words_have_the_tag_and_the_value_in_them)
{
    char text[ADVICE_WORDS_BYTES];
    advice_write(&remedy_release, "pytorch", "losses", "release-losses", text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "'losses'"));
    ck_assert_ptr_null(strchr(text, '{'));
    advice_write(&remedy_batch, "", "", "batch-4", text, sizeof text);
    ck_assert_str_eq(text, "divide the batch by 4");
    advice_write(&remedy_batch, "", "", "", text, sizeof text);
    ck_assert_str_eq(text, "divide the batch by n");
    advice_write(&remedy_order, "pytorch", "", "", text, sizeof text);
    ck_assert_str_eq(text, "");
}

TEST(each_cause_has_a_remedy_unless_the_allocator_has_to_change)
{
    for (size_t i = 0; i < CAUSE_COUNT; i++) {
        const bool is_the_allocator_s = causes[i] == &cause_refused_though_it_fits ||
                                        causes[i] == &cause_rounded_up;
        ck_assert_msg(!is_the_allocator_s || causes[i]->remedies[0] == NULL, "%s", causes[i]->name);
    }
    ck_assert_ptr_eq(cause_leak.remedies[0], &remedy_release);
    ck_assert_ptr_null(cause_leak.remedies[1]);
}

/* --- forecast --- */

enum {
    JOB_SEEDS = 24,
    PROJECTED_SEEDS = 9,
    JOB_STEP_OPS = 6,
    JOB_STEPS_SEEN = 60,
    JOB_STEPS_MAX = 4000
};

/* A job that leaves a loss behind in each step, of 1 to 4 granules; 1 MiB is full after some
 * hundreds of them.  Its gradients change from step to step. */
static void make_job(uint64_t seed, unsigned step_count, struct op_list *ops)
{
    struct random random;
    random_init(&random, seed);
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = (64 + random_below(&random, 8) * 16) * KILO;
    op.tag = 1;
    op_list_append(ops, &op);
    for (unsigned step = 0; step < step_count; step++) {
        const uint32_t first = (uint32_t)ops->count;
        op = op_make(OP_ALLOC);
        op.size_bytes = 128 * KILO;
        op.tag = 2;
        op_list_append(ops, &op);
        op.size_bytes = (64 + random_below(&random, 8) * 4) * KILO;
        op.tag = 3;
        op_list_append(ops, &op);
        op = op_make(OP_FREE);
        op.ref = first;
        op_list_append(ops, &op);
        op = op_make(OP_OUTPUT);
        op.size_bytes = 512 * (1 + random_below(&random, 4));
        op.tag = 4;
        op_list_append(ops, &op);
        op = op_make(OP_FREE);
        op.ref = first + 1;
        op_list_append(ops, &op);
        op = op_make(OP_TOUCH);
        op.ref = 0;
        op_list_append(ops, &op);
    }
}

static struct setup make_setup(void)
{
    struct setup setup;
    setup_init(&setup);
    setup.capacity_bytes = 1024 * KILO;
    setup_set_tag(&setup, 1, "params");
    setup_set_tag(&setup, 2, "acts");
    setup_set_tag(&setup, 3, "grads");
    setup_set_tag(&setup, 4, "losses");
    return setup;
}

static uint32_t find_failed_op(const struct setup *setup, const struct op_list *ops)
{
    struct what_if_row row = {0};
    what_if_measure(target_find("hbm"), setup, ops, &row, NULL);
    ck_assert_int_eq(row.end, WHAT_IF_NO_MEMORY);
    return row.failed_op;
}

/* In which step the whole job runs out, from 1. */
static uint64_t find_full_step(const struct setup *setup, const struct op_list *ops)
{
    return (find_failed_op(setup, ops) - 1) / JOB_STEP_OPS + 1;
}

static void take_answer(const struct setup *setup, const struct op_list *ops,
                        const struct cause *cause, const uint8_t *tag,
                        struct what_if_answer *answer)
{
    struct what_if_trial *trial = what_if_trial_create(target_find("hbm"), setup, ops, UINT64_MAX);
    ck_assert(what_if_trial_answer(trial, cause->remedies, tag, answer));
    what_if_trial_destroy(trial);
}

TEST(the_step_in_which_a_leaking_job_runs_out_is_the_one_that_was_forecast)
{
    const struct setup setup = make_setup();
    for (uint64_t seed = 1; seed <= JOB_SEEDS; seed++) {
        struct op_list cut, whole;
        struct forecast forecast;
        op_list_init(&cut);
        op_list_init(&whole);
        make_job(seed, JOB_STEPS_SEEN, &cut);
        make_job(seed, JOB_STEPS_MAX, &whole);
        struct what_if_trial *trial = what_if_trial_create(target_find("hbm"), &setup, &cut,
                                                           UINT64_MAX);
        ck_assert(what_if_trial_forecast(trial, &forecast));
        ck_assert(forecast.grows);
        ck_assert(forecast.has_steps);
        const uint64_t full = find_full_step(&setup, &whole);
        ck_assert_uint_gt(full, 2 * JOB_STEPS_SEEN);
        ck_assert_msg(forecast.full.from <= full && full <= forecast.full.to,
                      "seed %lu: forecast %lu, from %lu to %lu; it is %lu", (unsigned long)seed,
                      (unsigned long)forecast.full.at, (unsigned long)forecast.full.from,
                      (unsigned long)forecast.full.to, (unsigned long)full);
        ck_assert_msg(forecast.full.at * 4 > full * 3 && forecast.full.at * 3 < full * 4,
                      "seed %lu: forecast %lu, it is %lu", (unsigned long)seed,
                      (unsigned long)forecast.full.at, (unsigned long)full);
        what_if_trial_destroy(trial);
        op_list_deinit(&cut);
        op_list_deinit(&whole);
    }
}

TEST(a_released_leak_no_longer_grows_and_the_whole_job_fits)
{
    const struct setup setup = make_setup();
    const uint8_t tag = 4;
    struct op_list cut;
    struct what_if_answer answer;
    struct remedy_list whole;
    struct what_if_row row;
    op_list_init(&cut);
    make_job(7, JOB_STEPS_SEEN, &cut);
    take_answer(&setup, &cut, &cause_leak, &tag, &answer);
    ck_assert(answer.is_tried);
    ck_assert_str_eq(answer.row.title, "release-losses");
    ck_assert_int_eq(answer.row.end, WHAT_IF_FITS);
    ck_assert(!answer.forecast.grows);
    op_list_clear(&cut);
    make_job(7, JOB_STEPS_MAX, &cut);
    cut.count = 6000; /* it runs out after some 3,000 ops */
    remedy_list_take(&whole, &setup, &cut);
    remedy_list_apply(&whole, &remedy_release, tag);
    remedy_list_measure(&whole, &row);
    ck_assert_int_eq(row.end, WHAT_IF_FITS);
    ck_assert_uint_le(row.peak_bytes, answer.row.peak_bytes + 8 * KILO);
    remedy_list_deinit(&whole);
    op_list_deinit(&cut);
}

/* The variant of a longer list, of which none before has run out. */
static uint64_t find_full_step_under(const struct remedy *remedy, uint64_t parameter,
                                     const struct setup *setup, uint64_t seed)
{
    struct op_list ops;
    bool *has_failed = calloc(JOB_STEPS_MAX * JOB_STEP_OPS + 2, sizeof *has_failed);
    struct remedy_case given;
    struct remedy_result result;
    const struct target_contract contract = {.granule_bytes = 512};
    op_list_init(&ops);
    make_job(seed, JOB_STEPS_MAX, &ops);
    remedy_case_init(&given, target_find("hbm"), &contract, setup, &ops, has_failed);
    remedy_result_init(&result);
    ck_assert(remedy_apply(remedy, &given, parameter, &result));
    const uint64_t full = find_full_step(&result.setup, &result.ops);
    remedy_result_deinit(&result);
    remedy_case_deinit(&given);
    op_list_deinit(&ops);
    free(has_failed);
    return full;
}

/* The variant of the first step_count steps; *row and *forecast: what is said of it. */
static void project(const struct remedy *remedy, uint64_t parameter, const struct setup *setup,
                    uint64_t seed, unsigned step_count, struct what_if_row *row,
                    struct forecast *forecast)
{
    struct op_list ops;
    struct remedy_list list;
    op_list_init(&ops);
    make_job(seed, step_count, &ops);
    remedy_list_take(&list, setup, &ops);
    remedy_list_apply(&list, remedy, parameter);
    what_if_measure(target_find("hbm"), &list.result.setup, &list.result.ops, row, forecast);
    remedy_list_deinit(&list);
    op_list_deinit(&ops);
}

TEST(what_a_remedy_predicts_for_a_step_is_what_a_run_to_it_shows)
{
    const struct setup setup = make_setup();
    for (uint64_t seed = 1; seed <= PROJECTED_SEEDS; seed++) {
        const uint64_t n = UINT64_C(2) << seed % 3;
        struct what_if_row row = {0}, later = {0};
        struct forecast forecast, of_later;
        uint64_t peak_bytes[3];
        project(&remedy_batch, n, &setup, seed, JOB_STEPS_SEEN, &row, &forecast);
        ck_assert_int_eq(row.end, WHAT_IF_FITS);
        ck_assert(forecast.grows);
        const uint64_t full = find_full_step_under(&remedy_batch, n, &setup, seed);
        ck_assert_msg(forecast.full.from <= full && full <= forecast.full.to,
                      "seed %lu, batch-%lu: from %lu to %lu; it is %lu", (unsigned long)seed,
                      (unsigned long)n, (unsigned long)forecast.full.from,
                      (unsigned long)forecast.full.to, (unsigned long)full);
        const unsigned step = (unsigned)forecast.full.from - 1;
        forecast_peak(&forecast, step, peak_bytes);
        project(&remedy_batch, n, &setup, seed, step, &later, &of_later);
        ck_assert_int_eq(later.end, WHAT_IF_FITS); /* "fits to step N" fits */
        ck_assert_uint_le(peak_bytes[0], later.peak_bytes);
        ck_assert_uint_le(later.peak_bytes, peak_bytes[2]);
    }
}

TEST(a_smaller_batch_is_no_answer_to_a_leak_and_its_row_says_when_it_ends)
{
    const struct setup setup = make_setup();
    struct op_list ops;
    struct what_if what_if;
    bool is_seen = false;
    op_list_init(&ops);
    make_job(3, JOB_STEPS_MAX, &ops);
    ops.count = find_failed_op(&setup, &ops) + 1; /* nothing names what was refused */
    ck_assert_int_eq(what_if_run(target_find("hbm"), &setup, &ops, NULL, &what_if), WHAT_IF_DONE);
    ck_assert(what_if.grows);
    ck_assert_str_eq(what_if.rows[what_if.smallest].title, "release-losses");
    for (size_t i = 0; i < what_if.count; i++) {
        const struct what_if_row *row = &what_if.rows[i];
        if (row->remedy == &remedy_batch && row->end == WHAT_IF_FITS) {
            const uint64_t full = find_full_step_under(row->remedy, row->parameter, &setup, 3);
            ck_assert_uint_gt(row->full.at, 0);
            ck_assert_msg(row->full.at * 10 > full * 9 && row->full.at * 9 < full * 10,
                          "forecast %lu, it is %lu", (unsigned long)row->full.at,
                          (unsigned long)full);
            is_seen = true;
        }
    }
    ck_assert(is_seen);
    what_if_deinit(&what_if);
    op_list_deinit(&ops);
}

TEST(steady_memory_and_memory_that_only_fills_have_no_forecast)
{
    uint64_t in_use_bytes[4 * 64];
    const struct remedy_steps no_steps = {0};
    struct forecast forecast;
    for (unsigned i = 0; i < 4 * 64; i++) {
        in_use_bytes[i] = 1000 + (i % 4) * 100;
    }
    forecast_take(in_use_bytes, 4 * 64, &no_steps, 100000, &forecast);
    ck_assert(!forecast.grows);
    for (unsigned i = 0; i < 4 * 64; i++) {
        in_use_bytes[i] = 1000 + i * 100;
    }
    forecast_take(in_use_bytes, 4 * 64, &no_steps, 100000, &forecast);
    ck_assert(!forecast.grows);
    for (unsigned i = 0; i < 4 * 64; i++) {
        in_use_bytes[i] = 1000 + i / 8 * 100 + (i % 4) * 1000;
    }
    forecast_take(in_use_bytes, 4 * 64, &no_steps, 100000, &forecast);
    ck_assert(forecast.grows);
    ck_assert(!forecast.has_steps);
    ck_assert_uint_eq(forecast.step_bytes, 100);
    /* The k-th part has at most 1000 + 100 (k - 1) + 3000 bytes. */
    ck_assert_uint_eq(forecast.full.at, 962);
    ck_assert_uint_eq(forecast.full.from, 962);
    ck_assert_uint_eq(forecast.full.to, 962);
}

/* Six steps of activations of 64 KiB over 256 KiB of parameters, on a device of 1 MiB. */
static const char steps_text[] =
    "capacity 1M\ntag 1 \"params\"\ntag 2 \"acts\"\ntag 3 \"more\"\n0: alloc size=256K tag=1\n"
    "1: alloc size=48K tag=2\n2: alloc size=16K tag=3\n3: free block=1\n4: free block=2\n"
    "5: alloc size=48K tag=2\n6: alloc size=16K tag=3\n7: free block=5\n8: free block=6\n"
    "9: alloc size=48K tag=2\n10: alloc size=16K tag=3\n11: free block=9\n12: free block=10\n"
    "13: alloc size=48K tag=2\n14: alloc size=16K tag=3\n15: free block=13\n16: free block=14\n"
    "17: alloc size=48K tag=2\n18: alloc size=16K tag=3\n19: free block=17\n20: free block=18\n"
    "21: alloc size=48K tag=2\n22: alloc size=16K tag=3\n23: free block=21\n24: free block=22\n";

static enum what_if_end run_batch(struct remedy_list *list, uint64_t percent)
{
    struct op_list scaled;
    struct what_if_row row = {0};
    op_list_init(&scaled);
    largest_batch_scale(&list->given, percent, &scaled);
    what_if_measure(list->given.target, list->given.setup, &scaled, &row, NULL);
    op_list_deinit(&scaled);
    return row.end;
}

TEST(the_largest_batch_fits_and_one_percent_more_does_not)
{
    struct remedy_list list;
    struct largest_batch found;
    remedy_list_parse(&list, steps_text);
    ck_assert(
        largest_batch_find(list.given.target, list.given.setup, list.given.ops, 10000, &found));
    ck_assert_uint_eq(found.fits, 1200); /* 768 KiB of 64 */
    ck_assert_uint_eq(found.fails, 1201);
    ck_assert_uint_eq(found.row.peak_bytes, 1024 * KILO);
    ck_assert_int_eq(run_batch(&list, found.fits), WHAT_IF_FITS);
    ck_assert_int_eq(run_batch(&list, found.fails), WHAT_IF_NO_MEMORY);
    ck_assert(!largest_batch_find(list.given.target, list.given.setup, list.given.ops, 80, &found));
    remedy_list_deinit(&list);
    remedy_list_parse(&list, "0: alloc size=256K\n1: alloc size=4K\n2: free block=1\n");
    ck_assert(
        !largest_batch_find(list.given.target, list.given.setup, list.given.ops, 10000, &found));
    remedy_list_deinit(&list);
}

TEST(a_few_percent_less_are_tried_before_half_of_everything)
{
    struct remedy_list list;
    struct what_if_answer answer;
    remedy_list_parse(&list, "capacity 1M\ntag 1 \"dense/weight\"\ntag 2 \"f32[64,1024]\"\n"
                             "0: alloc size=512K tag=1\n1: alloc size=256K tag=2\n"
                             "2: alloc size=260K tag=2\n");
    take_answer(list.given.setup, list.given.ops, &cause_exhausted, NULL, &answer);
    ck_assert_str_eq(answer.row.title, "trim-2");
    ck_assert_int_eq(answer.row.end, WHAT_IF_FITS);
    remedy_list_deinit(&list);
}

TEST(of_several_remedies_the_first_that_fits_is_the_answer)
{
    static const char *const options[][2] = {{"evicts", "no"}, {"program_evicts_program", "no"}};
    struct setup setup = make_setup();
    struct op_list ops;
    struct what_if_answer answer;
    op_list_init(&ops);
    for (size_t i = 0; i < 2; i++) {
        ck_assert(setup_set_option(&setup, options[i][0], options[i][1]));
    }
    for (uint32_t i = 0; i < 7; i++) { /* the shortest way to programs that stay loaded */
        struct op op = op_make(OP_LOAD);
        op.size_bytes = 128 * KILO;
        op_list_append(&ops, &op);
        op = op_make(OP_EXECUTE);
        op.ref = 3 * i;
        op_list_append(&ops, &op);
        op = op_make(OP_ADVANCE);
        op.delay_ns = 1000;
        op_list_append(&ops, &op);
    }
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = 256 * KILO;
    op_list_append(&ops, &op);
    take_answer(&setup, &ops, &cause_exhausted, NULL, &answer);
    ck_assert_ptr_eq(answer.remedy, &remedy_unload);
    ck_assert_int_eq(answer.row.end, WHAT_IF_FITS);
    ops.ops[ops.count - 1].size_bytes = 1500 * KILO; /* now only half of it does */
    take_answer(&setup, &ops, &cause_exhausted, NULL, &answer);
    ck_assert_ptr_eq(answer.remedy, &remedy_unload);
    ck_assert_int_ne(answer.row.end, WHAT_IF_FITS);
    op_list_deinit(&ops);
}

TEST(beyond_the_bound_nothing_is_tried_and_that_is_said)
{
    const struct setup setup = make_setup();
    const uint8_t tag = 4;
    struct op_list ops;
    struct what_if_answer answer;
    struct forecast forecast;
    op_list_init(&ops);
    make_job(1, JOB_STEPS_SEEN, &ops);
    struct what_if_trial *trial = what_if_trial_create(target_find("hbm"), &setup, &ops, 100);
    ck_assert(what_if_trial_answer(trial, cause_leak.remedies, &tag, &answer));
    ck_assert(!answer.is_tried);
    ck_assert_str_eq(answer.row.note, "not tried, for the length of the list");
    ck_assert(!what_if_trial_forecast(trial, &forecast));
    what_if_trial_destroy(trial);
    op_list_deinit(&ops);
}
