#include "campaign/plan/plan.h"

#include "harness/base/check.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"

/* Frees are queued and an out-of-memory does not wait for them: what a harness like this one is
 * for. */
static const char canary_target[] = "plant_premature_undrained";
static const char canary_scenario[] = "queued_free_race";

void canary_add(struct plan *plan)
{
    struct part *part = plan_add_part(plan);
    *part = (struct part){.name = "canary",
                          .scenario = scenario_find(canary_scenario),
                          .target = target_find(canary_target),
                          .capacity_is_free = true,
                          .op_count_max = UINT64_MAX,
                          .trial_count_max = UINT64_MAX,
                          .duration_ns = UINT64_MAX};
    CHECK(part->scenario != NULL && part->target != NULL);
    setup_init(&part->setup);
    snprintf(part->setup.target, sizeof part->setup.target, "%s", canary_target);
    snprintf(part->setup.scenario, sizeof part->setup.scenario, "%s", canary_scenario);
    const struct chip *chip = chip_find(part->scenario->chip);
    CHECK(chip != NULL);
    snprintf(part->setup.chip, sizeof part->setup.chip, "%s", chip->name);
    part->setup.capacity_bytes = chip->capacity_bytes;
    part->setup.seed = plan->setup.seed;
    plan->has_canary = true;
}

const struct part *canary_of(const struct plan *plan)
{
    return plan->has_canary ? &plan->parts[plan->count - 1] : NULL;
}
