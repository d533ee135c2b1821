#include "harness/oracle/private/layout.h"

#include "harness/base/align.h"
#include "harness/base/array.h"
#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

/* A window with more blocks is not tried. */
enum { EVACUATED_COUNT_MAX = 1024 };

void layout_deinit(struct plan_layout *layout)
{
    free(layout->to);
    free(layout->candidate);
    free(layout->evacuated);
    free(layout->holes);
    *layout = (struct plan_layout){0};
}

static void reserve_layout(struct plan_layout *layout, size_t count)
{
    if (count <= layout->capacity) {
        return;
    }
    layout->capacity = count * 2;
    layout->to = array_resized(layout->to, layout->capacity * sizeof *layout->to);
    layout->candidate = array_resized(layout->candidate,
                                      layout->capacity * sizeof *layout->candidate);
    layout->evacuated = array_resized(layout->evacuated,
                                      layout->capacity * sizeof *layout->evacuated);
    /* Every range ends a hole, and evacuating one makes at most one more. */
    layout->holes = array_resized(layout->holes, layout->capacity * 2 * sizeof *layout->holes);
}

/* --- emptying a window --- */

static bool must_leave(const struct reach *reach, const struct reach_range *range, uint64_t start,
                       uint64_t end)
{
    return range->is_movable && (range->start < reach->bottom ||
                                 (range->start < end && start < range->start + range->size_bytes));
}

static void add_hole(struct plan_layout *layout, size_t *count, uint64_t start, uint64_t end)
{
    if (start < end) {
        layout->holes[(*count)++] = (struct layout_hole){start, end};
    }
}

/* Free bytes of all gaps without the blocks that leave, and without the window itself. */
static size_t find_holes(struct plan_layout *layout, const struct reach *reach, uint64_t start,
                         uint64_t end)
{
    size_t count = 0;
    uint64_t at = reach->bottom;
    bool is_window_passed = reach->need == 0;
    for (size_t i = 0; i <= reach->range_count; i++) {
        const bool is_last = i == reach->range_count;
        const struct reach_range *range = is_last ? NULL : &reach->ranges[i];
        if (!is_last && must_leave(reach, range, start, end)) {
            continue;
        }
        const uint64_t next = is_last ? reach->oom->capacity_bytes : range->start;
        if (!is_window_passed && next >= end) {
            add_hole(layout, &count, at, start);
            at = end;
            is_window_passed = true;
        }
        add_hole(layout, &count, at, next);
        at = is_last ? next : range->start + range->size_bytes;
    }
    return count;
}

/* The smallest hole that takes the range; SIZE_MAX: none. */
static size_t best_hole(const struct plan_layout *layout, size_t count,
                        const struct reach_range *range)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct layout_hole *hole = &layout->holes[i];
        const uint64_t at = align_up(hole->start, range->align_bytes);
        const bool fits = at <= hole->end && range->size_bytes <= hole->end - at;
        if (fits && (best == SIZE_MAX || hole->end - hole->start <
                                             layout->holes[best].end - layout->holes[best].start)) {
            best = i;
        }
    }
    return best;
}

/* Puts the ranges that leave the window into holes, the largest first; false: they do not all fit
 * that way. */
static bool evacuate_window(struct plan_layout *layout, const struct reach *reach, uint64_t start,
                            uint64_t end)
{
    size_t hole_count = find_holes(layout, reach, start, end);
    size_t count = 0;
    layout_keep_all(reach, layout->candidate);
    for (size_t i = 0; i < reach->range_count; i++) {
        if (must_leave(reach, &reach->ranges[i], start, end)) {
            if (count == EVACUATED_COUNT_MAX) {
                return false;
            }
            size_t at = count++;
            /* Few leave as a rule, so they are sorted as they come. */
            for (; at > 0 && reach->ranges[layout->evacuated[at - 1]].size_bytes <
                                 reach->ranges[i].size_bytes;
                 at--) {
                layout->evacuated[at] = layout->evacuated[at - 1];
            }
            layout->evacuated[at] = (uint32_t)i;
        }
    }
    for (size_t i = 0; i < count; i++) {
        const struct reach_range *range = &reach->ranges[layout->evacuated[i]];
        const size_t best = best_hole(layout, hole_count, range);
        if (best == SIZE_MAX) {
            return false;
        }
        const uint64_t at = align_up(layout->holes[best].start, range->align_bytes);
        layout->candidate[layout->evacuated[i]] = at;
        layout->holes[best].start = at +
                                    range->size_bytes; /* what alignment skipped stays unused */
    }
    return true;
}

static void add_window(struct layout_window *windows, size_t *count,
                       const struct layout_window *window)
{
    if (*count == PLAN_WINDOW_COUNT_MAX &&
        windows[PLAN_WINDOW_COUNT_MAX - 1].cost_bytes <= window->cost_bytes) {
        return;
    }
    size_t at = *count < PLAN_WINDOW_COUNT_MAX ? (*count)++ : PLAN_WINDOW_COUNT_MAX - 1;
    for (; at > 0 && windows[at - 1].cost_bytes > window->cost_bytes; at--) {
        windows[at] = windows[at - 1];
    }
    windows[at] = *window;
}

/* Windows of one gap that begin where the gap or a block's end is.  Ranges low..high (not included)
 * lie in the window; both only go up. */
static void collect_windows(const struct reach *reach, const struct reach_gap *gap,
                            struct layout_window *windows, size_t *count)
{
    const struct reach_range *ranges = reach->ranges;
    size_t low = gap->first;
    size_t high = gap->first;
    uint64_t cost = 0;
    for (size_t i = gap->first; i <= gap->last; i++) {
        const uint64_t from = i == gap->first ? gap->start
                                              : ranges[i - 1].start + ranges[i - 1].size_bytes;
        const uint64_t start = align_up(from < gap->start ? gap->start : from, reach->align);
        if (start > gap->end || reach->need > gap->end - start) {
            return;
        }
        for (; high < gap->last && ranges[high].start < start + reach->need; high++) {
            cost += ranges[high].size_bytes;
        }
        for (; low < high && ranges[low].start + ranges[low].size_bytes <= start; low++) {
            cost -= ranges[low].size_bytes;
        }
        const uint64_t below = low > gap->first ? ranges[low - 1].start + ranges[low - 1].size_bytes
                                                : gap->start;
        const uint64_t above = high < gap->last ? ranges[high].start : gap->end;
        const uint64_t around = start - below > above - start - reach->need
                                    ? start - below
                                    : above - start - reach->need;
        add_window(windows, count, &(struct layout_window){start, cost, low, high, around});
    }
}

/* The largest of all holes. */
static uint64_t largest_hole(const struct plan_layout *layout, size_t count)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t bytes = layout->holes[i].end - layout->holes[i].start;
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

/* False: a block of the window fits nowhere else, where no hole of the state has more than so
 * much. */
static bool may_evacuate(const struct reach *reach, const struct layout_window *window,
                         uint64_t largest_bytes)
{
    const uint64_t most = largest_bytes > window->around_bytes ? largest_bytes
                                                               : window->around_bytes;
    size_t i = window->low;
    while (i < window->high && reach->ranges[i].size_bytes <= most) {
        i++;
    }
    return i == window->high;
}

static void find_by_evacuation(struct plan_layout *layout, const struct reach *reach)
{
    struct layout_window windows[PLAN_WINDOW_COUNT_MAX] = {0};
    struct reach_gap gap = reach_before_all;
    size_t count = 0;
    while (reach_next_gap(reach, &gap)) {
        collect_windows(reach, &gap, windows, &count);
    }
    /* The window has no bytes and lies at the end; the blocks in the stack are gone. */
    const uint64_t capacity = reach->oom->capacity_bytes;
    const uint64_t largest = largest_hole(layout, find_holes(layout, reach, capacity, capacity));
    for (size_t i = 0; i < count && windows[i].cost_bytes < layout->moved_bytes; i++) {
        if (!may_evacuate(reach, &windows[i], largest) ||
            !evacuate_window(layout, reach, windows[i].start, windows[i].start + reach->need)) {
            continue;
        }
        const uint64_t cost = layout_cost(reach, layout->candidate);
        if (cost < layout->moved_bytes) {
            memcpy(layout->to, layout->candidate, reach->range_count * sizeof *layout->to);
            layout->moved_bytes = cost;
            layout->address = reach->need > 0 ? windows[i].start : UINT64_MAX;
        }
    }
}

/* --- packing anew --- */

static enum plan_result plan_result_of(enum packing_result result)
{
    return result == PACKING_FITS ? PLAN_FOUND : result == PACKING_NONE ? PLAN_NONE : PLAN_UNKNOWN;
}

static enum plan_result find_by_packing(struct plan_layout *layout, const struct reach *reach,
                                        struct repack *repack, uint64_t nodes_max)
{
    struct packing_answer answer;
    repack_decide(repack, reach, nodes_max, true, &answer);
    if (answer.result != PACKING_FITS) {
        return plan_result_of(answer.result);
    }
    size_t item = 0;
    layout_keep_all(reach, layout->to);
    for (size_t i = 0; i < reach->range_count; i++) {
        if (reach->ranges[i].is_movable) {
            layout->to[i] = packing_address(repack->packing, item++);
        }
    }
    layout->address = reach->need > 0 ? packing_address(repack->packing, item) : UINT64_MAX;
    layout->moved_bytes = layout_cost(reach, layout->to);
    return PLAN_FOUND;
}

static enum plan_result find_by_sums(struct plan_layout *layout, const struct reach *reach)
{
    reserve_layout(layout, reach->range_count + 1);
    layout_keep_all(reach, layout->to);
    layout->address = UINT64_MAX;
    layout->moved_bytes = 0;
    return sums_judge(reach) == SUMS_FIT ? PLAN_FOUND : PLAN_NONE;
}

/* --- all together --- */

enum plan_result layout_find(struct plan_layout *layout, const struct reach *reach,
                             struct repack *repack, uint64_t nodes_max)
{
    if (reach->oom->placement != PLACEMENT_RANGES) {
        return find_by_sums(layout, reach);
    }
    if (reach_is_too_large(reach) || reach_fixed_below(reach) != NULL) {
        return PLAN_NONE;
    }
    reserve_layout(layout, reach->range_count + 1);
    if (reach->absent_count > 0) {
        CHECK(reach->defrag == DEFRAG_REPACK);
        return find_by_packing(layout, reach, repack, nodes_max);
    }
    const bool slides = slide_find(layout, reach);
    if (reach->defrag != DEFRAG_REPACK || (slides && layout->moved_bytes == 0)) {
        return slides ? PLAN_FOUND : PLAN_NONE;
    }
    layout->moved_bytes = slides ? layout->moved_bytes : UINT64_MAX;
    find_by_evacuation(layout, reach);
    if (layout->moved_bytes < UINT64_MAX) {
        return PLAN_FOUND;
    }
    return find_by_packing(layout, reach, repack, nodes_max);
}

enum plan_result layout_exists(const struct reach *reach, struct repack *repack,
                               uint64_t *nodes_left)
{
    struct reach_gap where;
    struct packing_answer answer;
    if (reach->oom->placement != PLACEMENT_RANGES) {
        return sums_judge(reach) == SUMS_FIT ? PLAN_FOUND : PLAN_NONE;
    }
    if (reach_is_too_large(reach) || reach_fixed_below(reach) != NULL) {
        return PLAN_NONE;
    }
    if (reach->absent_count == 0 && reach_slides(reach, &where)) {
        return PLAN_FOUND;
    }
    if (reach->defrag != DEFRAG_REPACK) {
        return PLAN_NONE;
    }
    repack_decide(repack, reach, *nodes_left, false, &answer);
    *nodes_left -= answer.nodes < *nodes_left ? answer.nodes : *nodes_left;
    return plan_result_of(answer.result);
}
