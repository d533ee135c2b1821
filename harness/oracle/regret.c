#include "harness/oracle/regret.h"

#include "harness/base/check.h"

static const struct regret_info regrets[REGRET_KIND_COUNT] = {
    [REGRET_EVICTED_NEEDLESSLY] = {"evicted_needlessly",
                                   "evicted although draining or moving was enough"},
    [REGRET_MOVED_NEEDLESSLY] = {"moved_needlessly", "moved although a hole fitted"},
    [REGRET_EVICTED_TOO_MUCH] = {"evicted_too_much",
                                 "evicted more programs or bytes than the cheapest plan"},
    [REGRET_MOVED_TOO_MUCH] = {"moved_too_much", "moved more bytes than the cheapest plan found"},
    [REGRET_IN_VAIN] = {"in_vain", "moved or evicted for a request that was still refused"},
};

const struct regret_info *regret_info(enum regret_kind kind)
{
    CHECK(kind < REGRET_KIND_COUNT);
    return &regrets[kind];
}

static uint64_t excess_over(uint64_t spent, uint64_t needed)
{
    return spent > needed ? spent - needed : 0;
}

/* Against a plan that would have met the request. */
static struct regret compare_plans(const struct proof_plan *plan, const struct regret_spent *spent)
{
    struct regret regret = {.evicted_bytes = excess_over(spent->evicted_bytes, plan->evicted_bytes),
                            .moved_bytes = excess_over(spent->moved_bytes, plan->moved_bytes)};
    const bool fits_in_place = plan->until_ns == 0 && plan->moved_bytes == 0 &&
                               plan->evicted_count == 0;
    const bool evicts_more = spent->evicted_count > plan->evicted_count || regret.evicted_bytes > 0;
    if (spent->evicted_count > 0 && evicts_more) {
        regret.kinds |= 1u << (plan->evicted_count == 0 ? REGRET_EVICTED_NEEDLESSLY
                                                        : REGRET_EVICTED_TOO_MUCH);
    }
    /* A target that evicts less than the plan may move more for it. */
    if (regret.moved_bytes > 0 && spent->evicted_count >= plan->evicted_count) {
        regret.kinds |= 1u << (fits_in_place ? REGRET_MOVED_NEEDLESSLY : REGRET_MOVED_TOO_MUCH);
    }
    return regret;
}

struct regret regret_judge(struct planner *planner, const struct oom *before,
                           const struct regret_spent *spent)
{
    if (spent->evicted_count == 0 && spent->moved_bytes == 0) {
        return (struct regret){0};
    }
    if (!spent->is_met) {
        return (struct regret){.kinds = 1u << REGRET_IN_VAIN,
                               .evicted_bytes = spent->evicted_bytes,
                               .moved_bytes = spent->moved_bytes};
    }
    struct proof_plan plan;
    if (planner_price(planner, before, REGRET_NODES_MAX, &plan) != PLAN_FOUND) {
        return (struct regret){.is_unknown = true};
    }
    return compare_plans(&plan, spent);
}
