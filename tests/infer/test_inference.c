/* What is inferred of targets whose behaviour is known: one that keeps what it says, and some that
 * say more, or less, than they keep. */
#include "harness/base/writing.h"
#include "infer/inference.h"
#include "targets/targets.h"
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static struct writing shown;

static void snap_shown(void)
{
    snap(writing_string(&shown));
    writing_deinit(&shown);
}

EVERY_TEST(.teardown = snap_shown);

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

/* option: "KEY=VALUE", or "". */
static void study(struct studied *studied, const struct target *target, const char *option)
{
    struct setup setup;
    struct limits limits = {0, 0};
    struct inference *inference = &studied->inference;
    char key[SETUP_NAME_BYTES] = "";
    setup_init(&setup);
    setup.capacity_bytes = experiment_capacity_bytes(strncmp(target->name, "segments", 8) == 0 ||
                                                     strncmp(target->name, "caching", 7) == 0);
    (void)snprintf(setup.target, sizeof setup.target, "%s", target->name);
    if (option[0] != '\0') {
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

/* Shows which fields are refuted, and rules without a field; of these fields, what was found. */
static void show_studied(const struct target *target, const char *option, const char *fields)
{
    struct studied studied;
    study(&studied, target, option);
    writing_append_format(&shown, "%s%s%s refutes:", target->name, option[0] == '\0' ? "" : " ",
                          option);
    for (int i = 0; i < FIELD_COUNT + RULE_COUNT; i++) {
        struct inference_line line = {.verdict = INFERENCE_KEPT};
        if (i < FIELD_COUNT) {
            line = studied.lines[i];
        } else if (i > FIELD_COUNT + RULE_NONE) {
            inference_read_rule(&studied.inference, (enum rule)(i - FIELD_COUNT), &line);
        }
        if (line.verdict == INFERENCE_REFUTED) {
            writing_append_format(&shown, " %s", line.name);
        }
    }
    writing_append(&shown, "\n");
    for (int i = 0; i < FIELD_COUNT; i++) {
        const struct inference_line *line = &studied.lines[i];
        const char *found = strstr(fields, line->name);
        const char end = found == NULL ? 'x' : found[strlen(line->name)];
        if (end != ' ' && end != '\0') {
            continue;
        }
        writing_append_format(
            &shown, "  %s is %s: declared '%s', inferred '%s', to declare '%s'\n    %s%s%s\n",
            line->name, inference_verdict_name(line->verdict), line->declared, line->inferred,
            inference_value(line),
            line->experiment == EXPERIMENT_COUNT ? "no experiment"
                                                 : experiments[line->experiment].name,
            line->seen[0] == '\0' ? "" : " saw: ", line->seen);
        ck_assert(line->op == OP_NONE || line->experiment == EXPERIMENT_COUNT ||
                  line->op < studied.inference.declared[line->experiment].ops.count);
    }
    experiment_traces_destroy(studied.inference.declared);
    experiment_traces_destroy(studied.inference.claimed);
}

/* A target of the program, and an option or none. */
static void show_fields(const char *words, const char *fields)
{
    char name[SETUP_NAME_BYTES] = "";
    const size_t length = strcspn(words, " ");
    memcpy(name, words, length);
    show_studied(target_find(name), words + length + (words[length] == ' '), fields);
}

/* clang-format off */
static const char *const sound[] = {
    "hbm", "hbm defrag=none", "hbm defrag=slide", "hbm drains=no", "hbm evicts=no",
    "hbm order=evict,defragment,drain", "hbm order=defragment,evict,drain",
    "hbm program_evicts_program=yes", "hbm granule=64K", "first_fit", "first_fit rounding=pow2",
    "null", "null slot=4K", "threaded", "threaded defrag=none", "paged", "segments",
    "segments empty=keep", "segments trims=no", "caching expandable_segments=True", "buddy",
    "streamed", "streamed drains=yes", "streamed records=no", "hbm sleep=keeps",
    "hbm sleep=discards", "hbm owners=yes", "hbm cost=constant"};

/* The segments of caching have three sizes. */
static const char *const unsound[] = {
    "first_fit drains=yes", "first_fit evicts=yes", "first_fit defrag=slide", "segments grows=no",
    "segments_across", "segments_given_live", "segments_leaked", "segments_untrimmed",
    "segments_ungrown", "segments_spins", "caching", "streamed declares=no",
    "plant_stream_crossed", "plant_stream_forgets", "plant_stream_stuck", "plant_stream_uses",
    "plant_record_reused", "plant_record_freed", "plant_record_undropped", "plant_not_released",
    "plant_not_released_half", "plant_wake_forgets", "plant_wake_loses", "plant_wake_moves",
    "plant_wake_refuses", "plant_wake_grows", "plant_wake_grows_stage",
    "plant_premature_undrained", "plant_premature_stalled", "plant_premature_unretried",
    "plant_premature_moved_unretried", "plant_premature_defragmented_once",
    "plant_premature_evicted_once", "plant_moved_unasked", "plant_wrong_eviction",
    "plant_regret_evicts_first", "plant_too_large_classes", "plant_message", "plant_reused_early",
    "plant_premature_reserve", "plant_premature_last_hole", "plant_retry", "hbm latency=1",
    "plant_cost_polls", "plant_cost_closes_up", "plant_cost_walks", "plant_latency_spins",
    "plant_latency_moves"};
/* clang-format on */

TEST(what_keeps_all_that_it_says_is_refuted_in_nothing, .to = sizeof sound / sizeof *sound)
{
    show_fields(sound[_i], "");
    ck_assert_ptr_nonnull(strstr(writing_string(&shown), " refutes:\n"));
}

TEST(what_is_not_kept_is_refuted_and_nothing_else, .to = sizeof unsound / sizeof *unsound)
{
    show_fields(unsound[_i], "");
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
    struct target modest = target_hbm;
    modest.open = open_modestly;
    show_studied(&modest, "", "drains documented_messages resumes rounding");
}

TEST(claims_that_are_not_kept_are_not_inferred)
{
    show_fields("null", "queues_frees documented_messages largest_request rounding");
    show_fields("threaded", "resumes defrag");
}

TEST(the_order_of_mitigations_is_seen_in_the_device_calls)
{
    show_fields("hbm order=evict,drain,defragment", "order");
    show_fields("plant_regret_evicts_first", "order");
}

TEST(streams_and_recordings_are_inferred_without_a_promise)
{
    show_fields("streamed records=no", "stream_ordered queues_frees records");
    show_fields("streamed declares=no", "stream_ordered queues_frees");
    show_fields("first_fit", "stream_ordered records");
}

TEST(a_stream_ordered_target_drains_for_another_stream)
{
    show_fields("streamed drains=yes", "drains");
    show_fields("streamed", "drains");
}

TEST(regions_are_inferred_from_those_that_are_taken)
{
    show_fields("segments", "regions");
    show_fields("segments trims=no", "regions");
    show_fields("segments empty=keep", "regions");
    show_fields("segments grows=no", "regions");
    show_fields("segments_untrimmed", "regions");
}

TEST(sleep_is_kept_only_where_it_was_seen)
{
    show_fields("hbm sleep=discards", "sleeps");
    show_fields("hbm", "sleeps");
}

TEST(the_slowest_growth_and_a_bound_are_inferred_without_a_promise)
{
    show_fields("first_fit", "cost latency");
    show_fields("first_fit cost=linear", "cost");
}

TEST(what_moves_has_a_growth_of_moved_bytes_and_no_bound_for_all_capacities)
{
    show_fields("hbm", "cost latency");
}

TEST(a_refuted_promise_is_replaced_by_what_was_seen)
{
    show_fields("plant_cost_polls", "cost");
    show_fields("first_fit drains=yes", "drains");
}

TEST(a_device_of_few_blocks_shows_no_growth)
{
    show_fields("null", "cost latency");
}

/* A target that promises one thing more than it keeps. */
static const struct boast {
    const char *target;
    size_t offset, bytes;
    const void *value;
} * boast_now;

#define CONTRACT ((struct target_contract *)NULL)
#define BOAST(target, member, ...)                                                 \
    {                                                                              \
        target, offsetof(struct target_contract, member), sizeof CONTRACT->member, \
            &(const __typeof__(CONTRACT->member))__VA_ARGS__                       \
    }
static const struct boast boasts[] = {
    BOAST("hbm", sleeps, {SLEEP_KEEPS}), /* sleep=none saves nothing */
    BOAST("paged", stream_ordered, {true}),
    BOAST("segments", regions.step_bytes, {512}),
    BOAST("null", queues_frees, {true}),
    BOAST("threaded", documented_messages, {true}),
    BOAST("threaded", resumes, {true}),
    BOAST("threaded", program_evicts_program, {true}),
    BOAST("threaded", defrag, {DEFRAG_REPACK}),
    BOAST("first_fit", granule_bytes, {1024}),
    BOAST("null", rounding, {0}),
    BOAST("hbm", order, {MITIGATION_EVICT, MITIGATION_DEFRAGMENT, MITIGATION_DRAIN}),
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
        memcpy((char *)contract + boast_now->offset, boast_now->value, boast_now->bytes);
    }
    return result;
}

TEST(each_promise_too_much_is_refuted, .to = sizeof boasts / sizeof *boasts)
{
    boast_now = &boasts[_i];
    struct target boasting = *target_find(boast_now->target);
    boasting.open = open_boasting;
    show_studied(&boasting, "", "");
}
