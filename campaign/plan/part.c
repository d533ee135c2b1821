#include "campaign/plan/plan.h"

#include "campaign/base/message.h"
#include "campaign/plan/lookup.h"
#include "campaign/process/attempt.h"
#include "harness/base/hash.h"
#include "harness/base/target_option.h"
#include "harness/op/limits.h"
#include "scenarios/scenarios.h"

#include <string.h>

/* --- its trials --- */

uint64_t plan_trial_seed(const struct part *part, uint64_t trial)
{
    const uint64_t hash = hash_string(HASH_START, part->scenario->name);
    return random_derive(random_derive(part->setup.seed, hash), trial);
}

struct fault_options plan_trial_faults(const struct part *part, uint64_t trial)
{
    const uint64_t period = part->fault_period;
    const bool is_as_it_is = part->trace != NULL && trial == 0;
    const bool has_faults = !is_as_it_is && (period == 0 || trial % period == period - 1);
    return has_faults ? part->faults : (struct fault_options){0};
}

bool plan_trial_is_small(const struct part *part, uint64_t trial)
{
    const uint64_t period = part->small_period;
    return part->capacity_is_free && part->trace == NULL && period != 0 &&
           trial % period == period / 2;
}

bool plan_trial_make(const struct part *part, uint64_t trial, struct setup *setup,
                     struct op_list *ops)
{
    *setup = part->setup;
    setup->seed = plan_trial_seed(part, trial);
    if (part->trace != NULL) {
        trace_make_trial(part->trace, trial, setup, ops);
        return true;
    }
    if (plan_trial_is_small(part, trial)) {
        setup->capacity_bytes = 0; /* device_draw() draws a small one */
    }
    return false;
}

/* --- as it is made --- */

/* A scenario's own chip, when the user leaves the device open; a trace has a capacity. */
static enum exit_code choose_device(struct part *part, const struct run_options *options)
{
    part->capacity_is_free = options->chip == NULL && options->capacity_bytes == 0;
    if (!part->capacity_is_free) {
        return EXIT_KEPT;
    }
    if (part->trace != NULL) {
        limits_keep_setup(&part->target->limits, &part->setup);
        return EXIT_KEPT;
    }
    const struct chip *chip;
    const enum exit_code code = lookup_chip(
        part->scenario->chip == NULL ? "v5e" : part->scenario->chip, &chip);
    if (code != EXIT_KEPT) {
        return code;
    }
    snprintf(part->setup.chip, sizeof part->setup.chip, "%s", chip->name);
    part->setup.capacity_bytes = chip->capacity_bytes;
    limits_keep_setup(&part->target->limits, &part->setup);
    return EXIT_KEPT;
}

bool part_check_weights(const struct scenario *scenario, const struct run_options *given,
                        char reason[RUN_REASON_BYTES])
{
    if (!given->has_weights || scenario->takes_weights) {
        return true;
    }
    int used = snprintf(
        reason, RUN_REASON_BYTES,
        "scenario '%s' accepts no weights; only scenarios that draw from the generator do:",
        scenario->name);
    for (size_t i = 0; scenarios[i] != NULL && used > 0 && used < RUN_REASON_BYTES; i++) {
        if (scenarios[i]->takes_weights) {
            used += snprintf(reason + used, RUN_REASON_BYTES - (size_t)used, " %s",
                             scenarios[i]->name);
        }
    }
    return false;
}

static void set_scenario_options(struct setup *setup, const struct run_options *options)
{
    setup->until_step = options->until_step;
    setup->scenario_option_count = options->scenario_option_count;
    memcpy(setup->scenario_options, options->scenario_options, sizeof setup->scenario_options);
}

/* Without lanes nothing of what is said of them matters. */
static void set_lanes(struct part *part, const struct lane_options *wanted)
{
    part->setup.checks_races = wanted->lane_count != 0 && wanted->checks_races;
    if (wanted->lane_count != 0) {
        part->lanes = lane_options_completed(wanted, &part->setup);
    }
}

enum exit_code part_init(struct part *part, const char *name, const struct part_wish *wish)
{
    const struct run_options *options = wish->options;
    const struct scenario *scenario = wish->scenario;
    *part = (struct part){.scenario = scenario, .trace = wish->trace};
    snprintf(part->name, sizeof part->name, "%s", name);
    setup_init(&part->setup);
    if (wish->trace != NULL) {
        setup_copy(&part->setup, trace_setup(wish->trace));
    }
    part->setup.seed = wish->seed;
    enum exit_code code = setup_override(&part->setup, options);
    if (code != EXIT_KEPT) {
        return code;
    }
    code = lookup_target(part->setup.target, &part->target);
    if (code != EXIT_KEPT) {
        return code;
    }
    snprintf(part->setup.scenario, sizeof part->setup.scenario, "%s", scenario->name);
    part->faults = options->faults;
    set_lanes(part, &options->lanes);
    if (options->has_weights) {
        memcpy(part->setup.weights, options->weights, sizeof part->setup.weights);
    }
    set_scenario_options(&part->setup, options);
    return choose_device(part, options);
}

/* Lists that lanes run are short, whatever the scenario. */
static uint64_t choose_op_count(const struct part *part)
{
    const uint64_t wanted = part->scenario->op_count_default;
    if (part->trace != NULL && trace_op_count_max(part->trace) > PLAN_OP_COUNT_DEFAULT) {
        return trace_op_count_max(part->trace); /* a whole trial */
    }
    return wanted == 0 || part->lanes.lane_count != 0 ? PLAN_OP_COUNT_DEFAULT : wanted;
}

void part_bound(struct part *part, const struct run_options *given)
{
    const bool has_steps = given->until_step != 0; /* which bound each trial */
    const bool is_bounded = given->duration_ns != 0 || given->trial_count_max != 0 || has_steps;
    const uint64_t unbounded = is_bounded ? UINT64_MAX : choose_op_count(part);
    part->has_op_count_max = given->op_count_max != 0;
    part->op_count_max = part->has_op_count_max ? given->op_count_max : unbounded;
    const uint64_t trial_count_max = has_steps && given->duration_ns == 0 ? 1 : UINT64_MAX;
    part->trial_count_max = given->trial_count_max != 0 ? given->trial_count_max : trial_count_max;
    part->duration_ns = UINT64_MAX;
    part->keep_count = has_steps && !given->has_keep ? 1 : given->keep_count;
}

/* --- its target --- */

/* Finds why lanes do not work: the contract says so, or no scheduler sees all that it does. */
static void find_why_no_lanes(struct part *part, const struct target_probe *target_probe)
{
    char reason[LANES_WHY_NOT_BYTES];
    const bool is_free = part->lanes.backend == LANE_BACKEND_FREE;
    memcpy(part->why_no_lanes, target_probe->why_no_lanes, sizeof part->why_no_lanes);
    part->is_thread_safe = part->why_no_lanes[0] == '\0';
    if (part->is_thread_safe && !is_free && lanes_why_not_scheduled(part->target, reason)) {
        snprintf(part->why_no_lanes, sizeof part->why_no_lanes, "%s", reason);
    }
}

/* The scenario sets the option where the user did not. */
static bool may_be_told_to_sleep(const struct part *part)
{
    return setup_option(&part->setup, "sleep") == NULL && target_has_option(part->target, "sleep");
}

enum exit_code part_try_target(struct part *part, uint64_t duration_ns)
{
    struct target_probe target_probe;
    const enum exit_code code = target_probe_run(part->target, &part->setup, NULL, duration_ns,
                                                 &target_probe);
    if (code == EXIT_KEPT) {
        find_why_no_lanes(part, &target_probe);
    }
    if (code == EXIT_KEPT && part->lanes.lane_count != 0 && part->why_no_lanes[0] != '\0') {
        return message_fail(EXIT_USAGE, "target '%s' cannot be run with lanes: %s",
                            part->setup.target, part->why_no_lanes);
    }
    if (code == EXIT_KEPT && part->scenario->needs_programs && !target_probe.has_programs) {
        snprintf(part->note, sizeof part->note,
                 "skipped: it needs programs, and target %s has none", part->target->name);
        part->how = "a target whose contract has programs";
    }
    if (code == EXIT_KEPT && part->scenario->shares_device && !target_probe.sleeps &&
        !target_probe.has_regions && !may_be_told_to_sleep(part)) {
        snprintf(part->note, sizeof part->note,
                 "skipped: it needs sleep and wake, or regions, and target %s has none",
                 part->target->name);
        part->how = "a target whose contract sleeps, or grows in regions";
    }
    if (code == EXIT_KEPT && part->scenario->has_clocks && part->lanes.lane_count != 0) {
        snprintf(part->note, sizeof part->note,
                 "skipped: its hosts have a time of their own, and lanes have not");
        part->how = "--lanes none";
    }
    return code;
}
