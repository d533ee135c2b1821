#include "campaign/engine/private/campaign_state.h"

#include "campaign/plan/run_options.h"
#include "campaign/trials/trials.h"
#include "harness/base/check.h"
#include "harness/base/hash.h"

#include <stdlib.h>
#include <string.h>

static uint64_t plan_digest(const struct plan *plan, uint64_t replay_sample)
{
    uint64_t digest = hash_bytes(HASH_START, &replay_sample, sizeof replay_sample);
    for (size_t i = 0; i < plan->count; i++) {
        const struct part *part = &plan->parts[i];
        const uint64_t bounds[] = {
            part->op_count_max,         part->trial_count_max,
            part->duration_ns,          part->capacity_is_free,
            part->faults.kinds,         part->lanes.lane_count,
            part->lanes.schedule_count, part->lanes.argument,
            part->lanes.backend,        part->lanes.checks_races,
            part->fault_period,         part->small_period,
            part->head_start,           part->stride,
            part->keep_count,           part->trace == NULL ? 0 : trace_digest(part->trace)};
        const char *strategy = part->lanes.strategy == NULL ? "" : part->lanes.strategy->name;
        digest = hash_bytes(digest, part->name, strlen(part->name) + 1);
        digest = hash_bytes(digest, &part->setup, sizeof part->setup);
        digest = hash_bytes(digest, bounds, sizeof bounds);
        digest = hash_bytes(digest, strategy, strlen(strategy) + 1);
    }
    return digest;
}

/* The digest was written by whoever wrote the file; the parts are what is reported. */
static bool is_of_part(const struct campaign_part *described, const struct part *part)
{
    return strcmp(described->name, part->name) == 0 && strcmp(described->note, part->note) == 0 &&
           memcmp(&described->setup, &part->setup, sizeof part->setup) == 0 &&
           described->op_count_max == part->op_count_max &&
           described->trial_count_max == part->trial_count_max &&
           described->duration_ns == part->duration_ns;
}

bool campaign_is_of_plan(const struct campaign_description *description, const struct plan *plan)
{
    bool is_same = description->head.part_count == plan->count &&
                   description->head.shard_index == plan->shard_index &&
                   description->head.shard_count == plan->shard_count &&
                   (description->head.has_canary != 0) == plan->has_canary &&
                   description->head.plan_digest ==
                       plan_digest(plan, description->head.replay_sample);
    for (size_t i = 0; i < plan->count && is_same; i++) {
        is_same = is_of_part(&description->parts[i], &plan->parts[i]);
    }
    return is_same;
}

static void describe_part(const struct plan *plan, size_t i, struct campaign_part *to)
{
    const struct part *part = &plan->parts[i];
    memcpy(to->name, part->name, sizeof to->name);
    memcpy(to->note, part->note, sizeof to->note);
    to->setup = part->setup;
    snprintf(to->how, sizeof to->how, "%s", part->how == NULL ? "" : part->how);
    to->fault_period = part->fault_period;
    if (part->trace != NULL) {
        snprintf(to->trace, sizeof to->trace, "%s", trace_path(part->trace));
    }
    if (part->job != NULL && strlen(part->job) < sizeof to->job) {
        strcpy(to->job, part->job);
        to->job_line = part->job_line;
    }
    (void)op_options_print_faults(&part->faults, to->faults, sizeof to->faults);
    if (part->lanes.lane_count != 0) {
        lane_options_report(&part->lanes, &to->lanes);
    }
    to->op_count_max = part->op_count_max;
    to->trial_count_max = part->trial_count_max;
    to->duration_ns = part->duration_ns;
    to->first_round = rounds_of(plan, i, 0);
    to->head_start = part->head_start == 0 ? 1 : part->head_start;
    to->stride = rounds_stride(part);
}

void campaign_describe(const struct run_options *options, const struct plan *plan,
                       struct campaign_description *description)
{
    memset(description, 0, sizeof *description);
    description->head.setup = plan->setup;
    description->head.duration_ns = plan->duration_ns;
    description->head.replay_sample = options->replay_sample;
    description->head.plan_digest = plan_digest(plan, options->replay_sample);
    description->head.shard_index = plan->shard_index;
    description->head.shard_count = plan->shard_count;
    description->head.part_count = plan->count;
    description->head.argument_count = options->raw_count;
    description->head.has_canary = plan->has_canary;
    description->head.requires_probes = plan->has_required_probes;
    description->head.allowance = plan->allowance;
    memcpy(description->head.seed_source, plan->seed_source, sizeof description->head.seed_source);
    description->parts = calloc(plan->count, sizeof *description->parts);
    CHECK(description->parts != NULL);
    for (size_t i = 0; i < plan->count; i++) {
        describe_part(plan, i, &description->parts[i]);
    }
    for (size_t i = 0; i < options->raw_count; i++) {
        writing_append_bytes(&description->arguments, options->raw[i], strlen(options->raw[i]) + 1);
    }
}
