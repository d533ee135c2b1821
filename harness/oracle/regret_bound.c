#include "harness/base/align.h"
#include "harness/base/check.h"
#include "harness/oracle/regret.h"

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
