/* The table of experiments, and that each is made on a sound target, repeats, and replays like any
 * list. */
#include "harness/trial/trial_run.h"
#include "infer/experiment.h"
#include "infer/options.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <string.h>

static const struct limits no_limits;

static void choose(struct setup *setup, const char *target)
{
    setup_init(setup);
    setup->capacity_bytes = experiment_capacity_bytes(strcmp(target, "segments") == 0);
    (void)snprintf(setup->target, sizeof setup->target, "%s", target);
}

/* A sound target that has what the experiment is about: libhbm but for what that cannot have. */
static const struct target *choose_for(int number, struct setup *setup)
{
    const unsigned needs = experiments[number].needs;
    const bool is_of_regions = number == EXPERIMENT_grow || number == EXPERIMENT_trim;
    const char *name = (needs & (EXPERIMENT_STREAMS | EXPERIMENT_RECORDS)) != 0 ? "streamed"
                       : is_of_regions                                          ? "segments"
                                                                                : "hbm";
    choose(setup, name);
    ck_assert((needs & EXPERIMENT_SLEEPS) == 0 || setup_set_option(setup, "sleep", "keeps"));
    return target_find(name);
}

static void make(int number, struct lab_trace *trace)
{
    struct setup setup;
    const struct target *target = choose_for(number, &setup);
    trace_init(trace);
    experiment_make((enum experiment_number)number, target, &setup, &no_limits, NULL, trace);
}

TEST(each_row_is_whole_and_named_once, .to = EXPERIMENT_COUNT)
{
    const struct experiment *experiment = &experiments[_i];
    ck_assert_ptr_nonnull(experiment->make);
    ck_assert_uint_gt(strlen(experiment->question), 10);
    ck_assert_uint_gt(strlen(experiment->bounds), 10);
    for (int i = 0; i < _i; i++) {
        ck_assert_str_ne(experiments[i].name, experiment->name);
    }
}

TEST(each_is_made_to_its_end_and_finds_nothing, .to = EXPERIMENT_COUNT)
{
    struct lab_trace trace;
    make(_i, &trace);
    ck_assert(trace.is_opened);
    ck_assert_str_eq(trace.why, "");
    ck_assert_uint_eq(trace.findings.count, 0);
    for (size_t op = 0; op < trace.ops.count; op++) {
        ck_assert_uint_eq(trace_sight(&trace, (uint32_t)op)->seen.op, op);
    }
    trace_deinit(&trace);
}

TEST(each_gives_the_same_ops_and_answers_again, .to = EXPERIMENT_COUNT)
{
    struct lab_trace one, other;
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

TEST(each_list_replays_with_the_same_answers, .to = EXPERIMENT_COUNT)
{
    struct setup setup;
    struct lab_trace trace;
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    uint64_t refusals = 0;
    const struct target *target = choose_for(_i, &setup);
    make(_i, &trace);
    for (size_t op = 0; op < trace.ops.count; op++) {
        refusals += trace.sights[op].seen.result == TARGET_NO_MEMORY;
    }
    ck_assert(trial_replay(target, &setup, &trace.ops, NULL, &trial, reason));
    ck_assert_int_eq(trial.first.kind, VERDICT_NONE);
    ck_assert_uint_eq(trial.totals.ooms, refusals);
    trial_deinit(&trial);
    trace_deinit(&trace);
}

TEST(a_trace_comes_back_from_its_bytes)
{
    struct lab_trace trace, again;
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

static struct effects measure(const char *key, const char *value)
{
    struct setup setup;
    struct writing output;
    struct lab_trace *traces = experiment_traces_create();
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

TEST(an_option_changes_what_it_is_for_and_nothing_else)
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

TEST(counters_of_owners_are_an_effect_where_they_are_promised)
{
    const struct effects usual = measure("order_binds", "no");
    const struct effects owners = measure("owners", "yes");
    const struct effects bound = measure("order_binds", "yes");
    ck_assert_uint_ne(usual.hashes[EFFECT_COUNTERS], owners.hashes[EFFECT_COUNTERS]);
    ck_assert_uint_ne(usual.hashes[EFFECT_CONTRACT], owners.hashes[EFFECT_CONTRACT]);
    ck_assert_uint_ne(usual.hashes[EFFECT_CONTRACT], bound.hashes[EFFECT_CONTRACT]);
    ck_assert_uint_eq(usual.hashes[EFFECT_COUNTERS], bound.hashes[EFFECT_COUNTERS]);
    for (int i = 0; i < EFFECT_COUNT; i++) {
        ck_assert((usual.hashes[i] == owners.hashes[i]) || i == EFFECT_COUNTERS ||
                  i == EFFECT_CONTRACT);
    }
}

/* Declares that it counts owners, and counts none. */
static enum target_result open_uncounting(const struct target_setup *setup,
                                          const struct device_services *services,
                                          struct target_instance **instance,
                                          struct target_contract *contract, char *reason,
                                          size_t reason_bytes)
{
    const enum target_result result = target_null.open(setup, services, instance, contract, reason,
                                                       reason_bytes);
    contract->counts_owners = true;
    return result;
}

TEST(owners_that_are_declared_and_not_counted_are_no_effect)
{
    struct target uncounting = target_null;
    struct lab_trace honest, other;
    struct setup setup;
    uncounting.open = open_uncounting;
    choose(&setup, "null");
    trace_init(&honest);
    trace_init(&other);
    experiment_make(EXPERIMENT_fill, &target_null, &setup, &no_limits, NULL, &honest);
    experiment_make(EXPERIMENT_fill, &uncounting, &setup, &no_limits, NULL, &other);
    ck_assert_uint_eq(honest.sights[0].counters_digest, other.sights[0].counters_digest);
    ck_assert_uint_gt(other.findings.count, honest.findings.count);
    trace_deinit(&honest);
    trace_deinit(&other);
}
