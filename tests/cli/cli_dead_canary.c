/* The program with a canary that has no defect: it stands before the one in the library. */
#include "campaign/plan/plan.h"

#include "harness/base/check.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"

#include <stdlib.h>

static struct target harmless;

void canary_add(struct plan *plan)
{
    plan->parts = realloc(plan->parts, (plan->count + 1) * sizeof *plan->parts);
    CHECK(plan->parts != NULL);
    struct part *part = &plan->parts[plan->count++];
    harmless = target_hbm;
    harmless.breaks = "premature";
    *part = (struct part){.name = "canary",
                          .scenario = scenario_find("queued_free_race"),
                          .target = &harmless,
                          .capacity_is_free = true,
                          .op_count_max = UINT64_MAX,
                          .trial_count_max = UINT64_MAX,
                          .duration_ns = UINT64_MAX};
    setup_init(&part->setup);
    part->setup.capacity_bytes = UINT64_C(1) << 30;
    part->setup.seed = plan->setup.seed;
    plan->has_canary = true;
}

const struct part *canary_of(const struct plan *plan)
{
    return plan->has_canary ? &plan->parts[plan->count - 1] : NULL;
}
