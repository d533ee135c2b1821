#include "campaign/plan/plan.h"

#include "harness/generate/faulting.h"
#include "scenarios/scenarios.h"

#include <stdio.h>
#include <string.h>

static void widen_part(const struct run_options *options, struct part *part)
{
    if (!options->has_faults) {
        part->faults.kinds = FAULTING_ALL;
        part->fault_period = WIDEN_FAULT_PERIOD;
    }
    part->small_period = WIDEN_SMALL_PERIOD;
    if (part->scenario == &scenario_crowded) {
        part->head_start = WIDEN_HEAD_START_COUNT;
    }
}

/* The trials of the part again, each dealt to clients. */
static void add_lanes(struct plan *plan, size_t i, const struct lane_options *wanted)
{
    struct part *part = plan_add_part(plan);
    const struct part *from = &plan->parts[i];
    *part = *from;
    snprintf(part->name, sizeof part->name, "%.50s.lanes", from->scenario->name);
    part->lanes = lane_options_completed(wanted, &part->setup);
    part->setup.checks_races = part->lanes.checks_races;
    part->head_start = 0;
    part->stride = WIDEN_LANES_STRIDE;
    part->is_tentative = true;
}

const char widen_not_modelled[] = "not modelled: ";
const char widen_how_free[] = "--lanes 3 --free-running (docs/interleavings.md)";
static const char how_contract[] =
    "a contract with thread_safe and queues_frees, where the target keeps them";

/* Adds one part for all lanes, so that they are skipped with one message. */
static void skip_lanes(struct plan *plan, const struct lane_options *wanted)
{
    add_lanes(plan, 0, wanted);
    struct part *part = &plan->parts[plan->count - 1];
    snprintf(part->name, sizeof part->name, "lanes");
    snprintf(part->note, sizeof part->note, "skipped: %.240s", part->why_no_lanes);
    part->how = part->is_thread_safe ? widen_how_free : how_contract;
}

void plan_widen(const struct run_options *options, struct plan *plan)
{
    const size_t count = plan->count;
    const struct lane_options wanted = {.lane_count = WIDEN_LANE_COUNT,
                                        .schedule_count = WIDEN_SCHEDULE_COUNT,
                                        .checks_races = true,
                                        .has_schedules = true,
                                        .has_races = true};
    for (size_t i = 0; i < count; i++) {
        widen_part(options, &plan->parts[i]);
    }
    if (options->lanes.has_lanes || options->trace != NULL) {
        return;
    }
    for (size_t i = 0; i < count; i++) { /* all have one target */
        if (plan->parts[i].why_no_lanes[0] != '\0') {
            skip_lanes(plan, &wanted);
            return;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (plan->parts[i].note[0] == '\0' && !plan->parts[i].scenario->has_clocks) {
            add_lanes(plan, i, &wanted);
        }
    }
}
