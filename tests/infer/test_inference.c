/* What is inferred of targets whose behaviour is known: one that keeps what it says, and some that
 * say more, or less, than they keep. */
#include "infer/inference.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <stdio.h>
#include <string.h>

/* All experiments on one target, and the lines that follow. */
struct studied {
    struct inference inference;
    struct inference_line lines[FIELD_COUNT];
};

static void make_claimed(struct studied *studied, const struct setup *setup,
                         const struct limits *limits, int number)
{
    struct inference *inference = &studied->inference;
    const enum claim claim = experiments[number].claim;
    struct target claiming;
    if (claim != CLAIM_NONE && !claim_is_declared(claim, inference_contract(inference))) {
        claim_make(claim, inference->target, &claiming);
        experiment_make((enum experiment_number)number, &claiming, setup, limits, NULL,
                        &inference->claimed[number]);
    }
}

/* option: "KEY=VALUE", or NULL. */
static void study_target(struct studied *studied, const struct target *target, const char *option)
{
    struct setup setup;
    struct limits limits = {0, 0};
    struct inference *inference = &studied->inference;
    char key[SETUP_NAME_BYTES] = "";
    setup_init(&setup);
    setup.capacity_bytes = experiment_capacity_bytes(strncmp(target->name, "segments", 8) == 0 ||
                                                     strncmp(target->name, "caching", 7) == 0);
    (void)snprintf(setup.target, sizeof setup.target, "%s", target->name);
    if (option != NULL) {
        memcpy(key, option, strcspn(option, "="));
        ck_assert(setup_set_option(&setup, key, strchr(option, '=') + 1));
    }
    *inference = (struct inference){target, experiment_traces_create(), experiment_traces_create()};
    for (int i = 0; i < EXPERIMENT_COUNT; i++) {
        if (i == EXPERIMENT_LIMIT_COUNT) {
            limits = experiment_limits(inference->declared);
        }
        experiment_make((enum experiment_number)i, inference->target, &setup, &limits, NULL,
                        &inference->declared[i]);
    }
    for (int i = 0; i < EXPERIMENT_COUNT; i++) {
        make_claimed(studied, &setup, &limits, i);
    }
    for (int i = 0; i < FIELD_COUNT; i++) {
        inference_read(inference, (enum inference_field)i, &studied->lines[i]);
    }
}

static void study(struct studied *studied, const char *name, const char *option)
{
    study_target(studied, target_find(name), option);
}

static void forget(struct studied *studied)
{
    experiment_traces_destroy(studied->inference.declared);
    experiment_traces_destroy(studied->inference.claimed);
}

/* The fields that are refuted, "drains order"; rules that have no field besides. */
static const char *print_refuted(const struct studied *studied)
{
    static char text[512];
    int used = 0;
    text[0] = '\0';
    for (int i = 0; i < FIELD_COUNT; i++) {
        if (studied->lines[i].verdict == INFERENCE_REFUTED) {
            used += snprintf(text + used, sizeof text - (size_t)used, "%s%s", used == 0 ? "" : " ",
                             studied->lines[i].name);
        }
    }
    for (int i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        struct inference_line line;
        inference_read_rule(&studied->inference, (enum rule)i, &line);
        if (line.verdict == INFERENCE_REFUTED) {
            used += snprintf(text + used, sizeof text - (size_t)used, "%s%s", used == 0 ? "" : " ",
                             line.name);
        }
    }
    return text;
}

static const struct {
    const char *target, *option, *refuted;
} cases[] = {
    {"hbm", NULL, ""},
    {"hbm", "defrag=none", ""},
    {"hbm", "defrag=slide", ""},
    {"hbm", "drains=no", ""},
    {"hbm", "evicts=no", ""},
    {"hbm", "order=evict,defragment,drain", ""},
    {"hbm", "order=defragment,evict,drain", ""},
    {"hbm", "program_evicts_program=yes", ""},
    {"hbm", "granule=64K", ""},
    {"first_fit", NULL, ""},
    {"first_fit", "rounding=pow2", ""},
    {"first_fit", "drains=yes", "drains"},
    {"first_fit", "evicts=yes", "evicts"},
    {"first_fit", "defrag=slide", "defrag"},
    {"null", NULL, ""},
    {"null", "slot=4K", ""},
    {"threaded", NULL, ""},
    {"threaded", "defrag=none", ""},
    {"paged", NULL, ""},
    {"segments", NULL, ""},
    {"segments", "empty=keep", ""},
    {"segments", "trims=no", ""},
    {"segments", "grows=no", "regions"},
    {"segments_across", NULL, "regions overlap"},
    {"segments_given_live", NULL, "regions"},
    {"segments_leaked", NULL, "regions"},
    {"segments_untrimmed", NULL, "regions"},
    {"segments_ungrown", NULL, "regions"},
    {"segments_spins", NULL, "hang"},
    {"caching", NULL, "regions"}, /* its segments have three sizes */
    {"caching", "expandable_segments=True", ""},
    {"buddy", NULL, ""},
    {"streamed", NULL, ""},
    {"streamed", "drains=yes", ""},
    {"streamed", "records=no", ""},
    {"streamed", "declares=no", "stream_ordered"},
    {"plant_stream_crossed", NULL, "stream_ordered"},
    {"plant_stream_forgets", NULL, "stream_ordered"},
    {"plant_stream_stuck", NULL, "stream_ordered"},
    {"plant_stream_uses", NULL, "stream_ordered counters"},
    {"plant_record_reused", NULL, "records"},
    {"plant_record_freed", NULL, "records"},
    {"plant_record_undropped", NULL, "records"},
    {"hbm", "sleep=keeps", ""},
    {"hbm", "sleep=discards", ""},
    {"hbm", "owners=yes", ""},
    {"plant_not_released", NULL, "sleeps"},
    {"plant_not_released_half", NULL, "sleeps"},
    {"plant_wake_forgets", NULL, "sleeps"},
    {"plant_wake_loses", NULL, "sleeps"},
    {"plant_wake_moves", NULL, "sleeps"},
    {"plant_wake_refuses", NULL, "sleeps"},
    {"plant_wake_grows", NULL, "sleeps"},
    {"plant_wake_grows_stage", NULL, "sleeps"},
    {"plant_premature_undrained", NULL, "drains"},
    {"plant_premature_stalled", NULL, "drains"},
    {"plant_premature_unretried", NULL, "drains"},
    {"plant_premature_moved_unretried", NULL, "defrag"},
    {"plant_premature_defragmented_once", NULL, "defrag"},
    {"plant_premature_evicted_once", NULL, "evicts"},
    {"plant_moved_unasked", NULL, "defrag"},
    {"plant_wrong_eviction", NULL, "program_evicts_program"},
    {"plant_regret_evicts_first", NULL, "order"},
    {"plant_too_large_classes", NULL, "rounding"},
    {"plant_message", NULL, "documented_messages"},
    {"plant_reused_early", NULL, "queues_frees"},
    {"plant_premature_reserve", NULL, "premature"},
    {"plant_premature_last_hole", NULL, "premature"},
    {"plant_retry", NULL, "retry"},
    {"hbm", "cost=constant", ""},
    {"hbm", "latency=1", "latency"},
    {"plant_cost_polls", NULL, "cost"},
    {"plant_cost_closes_up", NULL, "cost"},
    {"plant_cost_walks", NULL, "cost"},
    {"plant_latency_spins", NULL, "latency"},
    {"plant_latency_moves", NULL, "latency"},
};

TEST(what_is_not_kept_is_refuted_and_nothing_else, .to = sizeof cases / sizeof *cases)
{
    struct studied studied;
    study(&studied, cases[_i].target, cases[_i].option);
    ck_assert_msg(strcmp(print_refuted(&studied), cases[_i].refuted) == 0, "%s %s refutes '%s'",
                  cases[_i].target, cases[_i].option == NULL ? "" : cases[_i].option,
                  print_refuted(&studied));
    forget(&studied);
}

static void expect_line(const struct studied *studied, enum inference_field field,
                        enum inference_verdict verdict, const char *inferred)
{
    const struct inference_line *line = &studied->lines[field];
    ck_assert_msg(line->verdict == verdict, "%s is %s", line->name,
                  inference_verdict_name(line->verdict));
    ck_assert_str_eq(line->inferred, inferred);
}

/* libhbm that promises less than it keeps. */
static enum target_result open_modestly(const struct target_setup *setup,
                                        const struct device_services *services,
                                        struct target_instance **instance,
                                        struct target_contract *contract, char *reason,
                                        size_t reason_bytes)
{
    const enum target_result result = target_hbm.open(setup, services, instance, contract, reason,
                                                      reason_bytes);
    contract->drains = contract->documented_messages = contract->resumes = false;
    contract->rounding.kind = ROUNDING_ANY;
    return result;
}

TEST(what_is_kept_without_a_promise_is_told)
{
    struct studied studied;
    struct target modest = target_hbm;
    modest.open = open_modestly;
    study_target(&studied, &modest, NULL);
    ck_assert_str_eq(print_refuted(&studied), "");
    expect_line(&studied, FIELD_drains, INFERENCE_UNDECLARED, "true");
    expect_line(&studied, FIELD_documented_messages, INFERENCE_UNDECLARED, "true");
    expect_line(&studied, FIELD_resumes, INFERENCE_UNDECLARED, "true");
    expect_line(&studied, FIELD_rounding, INFERENCE_UNDECLARED, "{.kind = ROUNDING_GRANULE}");
    ck_assert_str_eq(inference_value(&studied.lines[FIELD_drains]), "true");
    forget(&studied);
}

TEST(claims_that_are_not_kept_are_not_inferred)
{
    struct studied studied;
    study(&studied, "null", NULL);
    expect_line(&studied, FIELD_queues_frees, INFERENCE_KEPT, "false");
    expect_line(&studied, FIELD_documented_messages, INFERENCE_KEPT, "false");
    expect_line(&studied, FIELD_largest_request, INFERENCE_UNDECLARED, "64K");
    expect_line(&studied, FIELD_rounding, INFERENCE_KEPT,
                "{.kind = ROUNDING_CLASSES, .steps = 1, .smallest_bytes = 65536}");
    forget(&studied);
    study(&studied, "threaded", NULL);
    expect_line(&studied, FIELD_resumes, INFERENCE_KEPT, "false");
    expect_line(&studied, FIELD_defrag, INFERENCE_KEPT, "DEFRAG_SLIDE");
    forget(&studied);
}

TEST(the_order_of_mitigations_is_seen_in_the_device_calls)
{
    struct studied studied;
    study(&studied, "hbm", "order=evict,drain,defragment");
    expect_line(&studied, FIELD_order, INFERENCE_KEPT,
                "{MITIGATION_EVICT, MITIGATION_DRAIN, MITIGATION_DEFRAGMENT}");
    forget(&studied);
    study(&studied, "plant_regret_evicts_first", NULL);
    expect_line(&studied, FIELD_order, INFERENCE_REFUTED,
                "{MITIGATION_EVICT, MITIGATION_DRAIN, MITIGATION_DEFRAGMENT}");
    forget(&studied);
}

TEST(streams_and_recordings_are_inferred_without_a_promise)
{
    struct studied studied;
    study(&studied, "streamed", "records=no");
    expect_line(&studied, FIELD_stream_ordered, INFERENCE_KEPT, "true");
    expect_line(&studied, FIELD_queues_frees, INFERENCE_KEPT, "true");
    expect_line(&studied, FIELD_records, INFERENCE_UNDECLARED, "true");
    forget(&studied);
    study(&studied, "streamed", "declares=no");
    expect_line(&studied, FIELD_stream_ordered, INFERENCE_REFUTED, "true");
    expect_line(&studied, FIELD_queues_frees, INFERENCE_KEPT, "true");
    ck_assert_str_eq(inference_value(&studied.lines[FIELD_stream_ordered]), "true");
    forget(&studied);
    study(&studied, "first_fit", NULL);
    expect_line(&studied, FIELD_stream_ordered, INFERENCE_KEPT, "false");
    expect_line(&studied, FIELD_records, INFERENCE_KEPT, "false");
    forget(&studied);
}

TEST(a_stream_ordered_target_drains_for_another_stream)
{
    struct studied studied;
    study(&studied, "streamed", "drains=yes");
    expect_line(&studied, FIELD_drains, INFERENCE_KEPT, "true");
    forget(&studied);
    study(&studied, "streamed", NULL);
    expect_line(&studied, FIELD_drains, INFERENCE_KEPT, "false");
    forget(&studied);
}

TEST(regions_are_inferred_from_those_that_are_taken)
{
    static const char all[] = "{.grows = true, .trims = true, .step_bytes = 2097152}";
    static const char no_trims[] = "{.grows = true, .trims = false, .step_bytes = 2097152}";
    struct studied studied;
    study(&studied, "segments", NULL);
    expect_line(&studied, FIELD_regions, INFERENCE_KEPT, all);
    forget(&studied);
    study(&studied, "segments", "trims=no");
    expect_line(&studied, FIELD_regions, INFERENCE_UNDECLARED, all);
    forget(&studied);
    study(&studied, "segments", "empty=keep");
    expect_line(&studied, FIELD_regions, INFERENCE_KEPT, no_trims);
    forget(&studied);
    study(&studied, "segments", "grows=no");
    expect_line(&studied, FIELD_regions, INFERENCE_REFUTED, all);
    forget(&studied);
    study(&studied, "segments_untrimmed", NULL);
    expect_line(&studied, FIELD_regions, INFERENCE_REFUTED, no_trims);
    forget(&studied);
}

TEST(sleep_is_kept_only_where_it_was_seen)
{
    struct studied studied;
    study(&studied, "hbm", "sleep=discards");
    expect_line(&studied, FIELD_sleeps, INFERENCE_KEPT, "SLEEP_DISCARDS");
    ck_assert_int_eq(studied.lines[FIELD_sleeps].experiment, EXPERIMENT_sleep);
    forget(&studied);
    study(&studied, "hbm", NULL);
    expect_line(&studied, FIELD_sleeps, INFERENCE_KEPT, "SLEEP_NONE");
    ck_assert_int_eq(studied.lines[FIELD_sleeps].experiment, EXPERIMENT_COUNT);
    forget(&studied);
}

static const char calls_alone[] = "{.calls = TARGET_GROWTH_CONSTANT}";

TEST(the_slowest_growth_and_a_bound_are_inferred_without_a_promise)
{
    struct studied studied;
    study(&studied, "first_fit", NULL);
    expect_line(&studied, FIELD_cost, INFERENCE_UNDECLARED, calls_alone);
    expect_line(&studied, FIELD_latency, INFERENCE_UNDECLARED,
                "{.per_mille = 1000, .calls_max = 2}");
    forget(&studied);
    study(&studied, "first_fit", "cost=linear");
    expect_line(&studied, FIELD_cost, INFERENCE_KEPT,
                "{.calls = TARGET_GROWTH_LINEAR, .accesses = TARGET_GROWTH_LINEAR}");
    forget(&studied);
}

TEST(what_moves_has_a_growth_of_moved_bytes_and_no_bound_for_all_capacities)
{
    struct studied studied;
    study(&studied, "hbm", NULL);
    expect_line(&studied, FIELD_cost, INFERENCE_UNDECLARED,
                "{.calls = TARGET_GROWTH_CONSTANT, .moved_bytes = TARGET_GROWTH_CONSTANT}");
    expect_line(&studied, FIELD_latency, INFERENCE_OPEN, "");
    ck_assert_ptr_nonnull(strstr(studied.lines[FIELD_latency].seen, "of one capacity"));
    forget(&studied);
}

TEST(a_refuted_growth_is_replaced_by_the_one_that_was_seen)
{
    struct studied studied;
    study(&studied, "plant_cost_polls", NULL);
    expect_line(&studied, FIELD_cost, INFERENCE_REFUTED,
                "{.calls = TARGET_GROWTH_LINEAR, .moved_bytes = TARGET_GROWTH_CONSTANT}");
    forget(&studied);
}

TEST(a_device_of_few_blocks_shows_no_growth)
{
    struct studied studied;
    study(&studied, "null", NULL);
    expect_line(&studied, FIELD_cost, INFERENCE_OPEN, "");
    expect_line(&studied, FIELD_latency, INFERENCE_OPEN, "");
    forget(&studied);
}

/* A target that promises one thing more than it keeps. */
static const struct boast {
    const char *target, *refuted;
    void (*boast)(struct target_contract *contract);
} * boast_now;

static void boast_queues(struct target_contract *contract)
{
    contract->queues_frees = true;
}

static void boast_messages(struct target_contract *contract)
{
    contract->documented_messages = true;
}

static void boast_resumes(struct target_contract *contract)
{
    contract->resumes = true;
}

static void boast_rivalry(struct target_contract *contract)
{
    contract->program_evicts_program = true;
}

static void boast_repack(struct target_contract *contract)
{
    contract->defrag = DEFRAG_REPACK;
}

static void boast_granule(struct target_contract *contract)
{
    contract->granule_bytes *= 2;
}

static void boast_rounding(struct target_contract *contract)
{
    contract->rounding = (struct target_rounding){0};
}

static void boast_order(struct target_contract *contract)
{
    contract->order[0] = MITIGATION_EVICT;
    contract->order[2] = MITIGATION_DRAIN;
}

/* hbm with sleep=none saves nothing. */
static void boast_sleep(struct target_contract *contract)
{
    contract->sleeps = SLEEP_KEEPS;
}

static void boast_streams(struct target_contract *contract)
{
    contract->stream_ordered = true;
}

static void boast_step(struct target_contract *contract)
{
    contract->regions.step_bytes = contract->granule_bytes;
}

static const struct boast boasts[] = {
    {"hbm", "sleeps", boast_sleep},
    {"paged", "stream_ordered", boast_streams},
    {"segments", "regions", boast_step},
    {"null", "queues_frees", boast_queues},
    {"threaded", "documented_messages", boast_messages},
    {"threaded", "resumes", boast_resumes},
    {"threaded", "program_evicts_program", boast_rivalry},
    {"threaded", "defrag", boast_repack},
    {"first_fit", "granule_bytes", boast_granule},
    {"null", "rounding", boast_rounding},
    {"hbm", "order", boast_order},
};

static enum target_result open_boasting(const struct target_setup *setup,
                                        const struct device_services *services,
                                        struct target_instance **instance,
                                        struct target_contract *contract, char *reason,
                                        size_t reason_bytes)
{
    const enum target_result result = target_find(boast_now->target)
                                          ->open(setup, services, instance, contract, reason,
                                                 reason_bytes);
    if (result == TARGET_OK) {
        boast_now->boast(contract);
    }
    return result;
}

TEST(each_promise_too_much_is_refuted, .to = sizeof boasts / sizeof *boasts)
{
    struct studied studied;
    boast_now = &boasts[_i];
    struct target boasting = *target_find(boast_now->target);
    boasting.open = open_boasting;
    study_target(&studied, &boasting, NULL);
    ck_assert_msg(strstr(print_refuted(&studied), boast_now->refuted) != NULL,
                  "%s with too much of %s refutes '%s'", boast_now->target, boast_now->refuted,
                  print_refuted(&studied));
    forget(&studied);
}

TEST(a_refuted_promise_is_not_copied)
{
    struct studied studied;
    study(&studied, "first_fit", "drains=yes");
    const struct inference_line *line = &studied.lines[FIELD_drains];
    ck_assert_str_eq(line->declared, "true");
    ck_assert_str_eq(inference_value(line), "false");
    ck_assert_uint_lt(line->op, studied.inference.declared[line->experiment].ops.count);
    ck_assert_ptr_nonnull(strstr(line->seen, "premature"));
    forget(&studied);
}
