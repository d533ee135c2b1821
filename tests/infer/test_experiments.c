/* The table of experiments, and that each is made on libhbm, repeats, and replays like any list. */
#include "harness/trial/trial_run.h"
#include "infer/effect.h"
#include "infer/experiment.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <string.h>

static const struct limits no_limits;

static void choose(struct setup *setup, const char *target)
{
    setup_init(setup);
    setup->capacity_bytes = UINT64_C(1) << 20;
    (void)snprintf(setup->target, sizeof setup->target, "%s", target);
}

static void make(int number, struct trace *trace)
{
    struct setup setup;
    choose(&setup, "hbm");
    trace_init(trace);
    experiment_make((enum experiment_number)number, &target_hbm, &setup, &no_limits, NULL, trace);
}

START_TEST(each_row_is_whole_and_named_once)
{
    const struct experiment *experiment = &experiments[_i];
    ck_assert_ptr_nonnull(experiment->make);
    ck_assert_uint_gt(strlen(experiment->question), 10);
    ck_assert_uint_gt(strlen(experiment->bounds), 10);
    for (int i = 0; i < _i; i++) {
        ck_assert_str_ne(experiments[i].name, experiment->name);
    }
}
END_TEST

START_TEST(each_is_made_to_its_end_on_libhbm_and_finds_nothing)
{
    struct trace trace;
    make(_i, &trace);
    ck_assert(trace.is_opened);
    ck_assert_str_eq(trace.why, "");
    ck_assert_uint_eq(trace.findings.count, 0);
    for (size_t op = 0; op < trace.ops.count; op++) {
        ck_assert_uint_eq(trace_sight(&trace, (uint32_t)op)->seen.op, op);
    }
    trace_deinit(&trace);
}
END_TEST

START_TEST(each_gives_the_same_ops_and_answers_again)
{
    struct trace one, other;
    make(_i, &one);
    make(_i, &other);
    ck_assert_uint_eq(one.ops.count, other.ops.count);
    for (size_t op = 0; op < one.ops.count; op++) {
        ck_assert(op_equal(&one.ops.ops[op], &other.ops.ops[op]));
        ck_assert_mem_eq(&one.sights[op], &other.sights[op], sizeof one.sights[op]);
    }
    trace_deinit(&one);
    trace_deinit(&other);
}
END_TEST

START_TEST(each_list_replays_with_the_same_answers)
{
    struct setup setup;
    struct trace trace;
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    uint64_t refusals = 0;
    choose(&setup, "hbm");
    make(_i, &trace);
    for (size_t op = 0; op < trace.ops.count; op++) {
        refusals += trace.sights[op].seen.result == TARGET_NO_MEMORY;
    }
    ck_assert(trial_replay(&target_hbm, &setup, &trace.ops, NULL, &trial, reason));
    ck_assert_int_eq(trial.first.kind, VERDICT_NONE);
    ck_assert_uint_eq(trial.totals.ooms, refusals);
    trial_deinit(&trial);
    trace_deinit(&trace);
}
END_TEST

START_TEST(a_trace_comes_back_from_its_bytes)
{
    struct trace trace, again;
    struct writing bytes;
    make(EXPERIMENT_drain, &trace);
    writing_init(&bytes);
    trace_append(&trace, &bytes);
    trace_append(&trace, &bytes);
    trace_init(&again);
    ck_assert_uint_eq(trace_read(&again, bytes.bytes, bytes.length), bytes.length / 2);
    ck_assert_uint_eq(again.asked, trace.asked);
    ck_assert_uint_eq(again.ops.count, trace.ops.count);
    ck_assert_mem_eq(again.sights, trace.sights, trace.ops.count * sizeof *trace.sights);
    /* What a process that died left is no trace. */
    for (size_t length = 0; length < bytes.length / 2; length += 997) {
        ck_assert_uint_eq(trace_read(&again, bytes.bytes, length), 0);
    }
    writing_deinit(&bytes);
    trace_deinit(&again);
    trace_deinit(&trace);
}
END_TEST

static struct effects measure(const char *key, const char *value)
{
    struct setup setup;
    struct writing output;
    struct trace *traces = experiment_traces_create();
    choose(&setup, "hbm");
    ck_assert(key == NULL || setup_set_option(&setup, key, value));
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        experiment_make((enum experiment_number)i, &target_hbm, &setup, &no_limits, NULL,
                        &traces[i]);
    }
    writing_init(&output);
    const struct effects effects = effects_read(traces, &output);
    writing_deinit(&output);
    experiment_traces_destroy(traces);
    return effects;
}

START_TEST(an_option_changes_what_it_is_for_and_nothing_else)
{
    const struct effects usual = measure(NULL, NULL);
    const struct effects same = measure("message_code", "no");
    const struct effects other = measure("message_code", "yes");
    const struct effects undrained = measure("drains", "no");
    for (int i = 0; i < EFFECT_COUNT; i++) {
        ck_assert_uint_eq(usual.hashes[i], same.hashes[i]);
        ck_assert((usual.hashes[i] != other.hashes[i]) == (i == EFFECT_MESSAGES));
    }
    ck_assert_uint_ne(usual.hashes[EFFECT_CONTRACT], undrained.hashes[EFFECT_CONTRACT]);
    ck_assert_uint_ne(usual.hashes[EFFECT_ANSWERS], undrained.hashes[EFFECT_ANSWERS]);
    ck_assert_uint_ne(usual.hashes[EFFECT_DEVICE_CALLS], undrained.hashes[EFFECT_DEVICE_CALLS]);
}
END_TEST

Suite *suite_of_experiments(void);
Suite *suite_of_experiments(void)
{
    Suite *suite = suite_create("experiments");
    TCase *tests = tcase_create("experiments");
    tcase_add_loop_test(tests, each_row_is_whole_and_named_once, 0, EXPERIMENT_COUNT);
    tcase_add_loop_test(tests, each_is_made_to_its_end_on_libhbm_and_finds_nothing, 0,
                        EXPERIMENT_COUNT);
    tcase_add_loop_test(tests, each_gives_the_same_ops_and_answers_again, 0, EXPERIMENT_COUNT);
    tcase_add_loop_test(tests, each_list_replays_with_the_same_answers, 0, EXPERIMENT_COUNT);
    tcase_add_test(tests, a_trace_comes_back_from_its_bytes);
    tcase_add_test(tests, an_option_changes_what_it_is_for_and_nothing_else);
    suite_add_tcase(suite, tests);
    return suite;
}
