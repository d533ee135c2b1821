#include "harness/oracle/regret.h"

#include "harness/base/align.h"
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

/* More holes than that are not asked about. */
enum { HOLE_COUNT_MAX = 8 };

/* --- there is a plan --- */

/* True if nothing is in the way of moves but holds, uses and alignments. */
static bool has_plain_state(const struct model *model)
{
    const struct target_contract *contract = model_contract(model);
    return contract->defrag != DEFRAG_NONE && contract->placement == PLACEMENT_RANGES &&
           contract->header_bytes == 0 && !contract->regions.grows && model_is_plain(model) &&
           model_dying_count(model) == 0;
}

/* For certain blocks can slide: between two that may not move there is room for the request once
 * the others there are together, whatever aligning them takes. */
static bool has_plan(const struct model *model, const struct oom_request *request)
{
    const uint64_t gap_count = model_pinned_count_max(model) + 1;
    const uint64_t lost = model_slack_bytes(model) + request->align_bytes;
    const uint64_t free_bytes = model_free_bytes(model) / gap_count;
    return request->size_bytes <= free_bytes && lost <= free_bytes - request->size_bytes;
}

/* --- none is cheaper --- */

/* For certain no plan empties the window: in it lies a block that no hole takes but those that are
 * in it, too. */
static bool is_never_emptied(const struct model *model, const struct model_window *window,
                             uint64_t size_bytes)
{
    struct model_window holes[HOLE_COUNT_MAX];
    size_t count = 0;
    uint64_t free_above = 0;
    const uint64_t largest = model_largest_inside(model, window->start, size_bytes, &free_above);
    if (largest <= free_above || !model_find_holes(model, largest, HOLE_COUNT_MAX, holes, &count) ||
        count == HOLE_COUNT_MAX) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (holes[i].start < window->start || holes[i].start >= window->start + size_bytes) {
            return false;
        }
    }
    return true;
}

static bool is_none_emptied(const struct model *model, const struct model_window *windows,
                            size_t count, uint64_t size_bytes)
{
    size_t i = 0;
    while (i < count && is_never_emptied(model, &windows[i], size_bytes)) {
        i++;
    }
    return i == count;
}

/* Whatever a plan does, it empties a window of the request's size or slides blocks out of it. */
static bool has_no_cheaper(const struct model *model, const struct model_window_query *query)
{
    struct model_window windows[PLAN_WINDOW_COUNT_MAX];
    size_t count = 0;
    if (model_contract(model)->defrag == DEFRAG_SLIDE) {
        return !model_may_slide(model, query->size_bytes, query->taken_bytes);
    }
    if (!model_find_windows(model, query, windows, &count)) {
        return false;
    }
    /* With larger alignments room is free below the window, too, that is_never_emptied() does not
     * count. */
    return count == 0 || (query->align_bytes == model_granule_bytes(model) &&
                          is_none_emptied(model, windows, count, query->size_bytes) &&
                          !model_may_slide(model, query->size_bytes, query->taken_bytes));
}

bool regret_has_none(const struct model *model, const struct oom_request *request,
                     uint64_t moved_bytes)
{
    const struct model_window_query query = {
        .size_bytes = align_up(request->size_bytes, model_granule_bytes(model)),
        .align_bytes = request->align_bytes,
        .taken_bytes = moved_bytes,
        .count_max = PLAN_WINDOW_COUNT_MAX};
    return has_plain_state(model) && request->stack_bytes == 0 && request->size_bytes > 0 &&
           moved_bytes > 0 && has_plan(model, request) && has_no_cheaper(model, &query);
}
