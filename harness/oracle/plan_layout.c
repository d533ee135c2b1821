#include "harness/oracle/private/plan_layout.h"

#include "harness/base/align.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/oracle/private/sums.h"

#include <stdlib.h>
#include <string.h>

/* So many of the cheapest windows are tried, unless more blocks lie there. */
enum { WINDOW_COUNT_MAX = 16, EVACUATED_COUNT_MAX = 1024 };
/* Insertions are priced until so many blocks were looked at, a few milliseconds; the best until
 * then is taken. */
enum { SLIDE_STEPS_MAX = 1 << 20 };

void layout_deinit(struct layout *layout)
{
    free(layout->to);
    free(layout->candidate);
    free(layout->evacuated);
    free(layout->holes);
    *layout = (struct layout){0};
}

static void reserve_layout(struct layout *layout, size_t count)
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

static uint64_t clamp_window(uint64_t value, uint64_t low, uint64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static void keep_all(const struct reach *reach, uint64_t *to)
{
    for (size_t i = 0; i < reach->range_count; i++) {
        to[i] = reach->ranges[i].start;
    }
}

static uint64_t cost_of(const struct reach *reach, const uint64_t *to)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < reach->range_count; i++) {
        const struct reach_range *range = &reach->ranges[i];
        const bool is_moved = to[i] != range->start && range->start != OOM_IN_HOST_MEMORY;
        bytes += is_moved ? range->size_bytes : 0;
    }
    return bytes;
}

/* --- sliding --- */

/* A place for the request between the movable ranges of a gap. */
struct insertion {
    struct reach_gap gap;
    size_t before; /* it lies below this range and above the one before */
    uint64_t start;
    uint64_t cost_bytes;
};

/* Blocks that begin below the gap (below the stack, that is) go up, and push others. */
static void push_out_of_stack(const struct reach *reach, const struct reach_gap *gap, uint64_t *to)
{
    uint64_t floor = gap->start;
    for (size_t i = gap->first; i < gap->last && to[i] < floor; i++) {
        to[i] = align_up(floor, reach->ranges[i].align_bytes);
        floor = to[i] + reach->ranges[i].size_bytes;
    }
}

/* What the insertion moves, beyond what lay in the stack; no further than cost_max.  to: moved when
 * is_applied. */
static uint64_t insertion_cost(struct layout *layout, const struct reach *reach,
                               const struct insertion *insertion, uint64_t cost_max,
                               bool is_applied)
{
    uint64_t *to = layout->to;
    const struct reach_gap *gap = &insertion->gap;
    uint64_t cost = 0;
    uint64_t limit = insertion->start;
    for (size_t i = insertion->before; i-- > gap->first && cost < cost_max;) {
        const struct reach_range *range = &reach->ranges[i];
        if (to[i] + range->size_bytes <= limit) {
            break;
        }
        limit = align_down(limit - range->size_bytes, range->align_bytes);
        cost += range->size_bytes;
        layout->steps++;
        to[i] = is_applied ? limit : to[i];
    }
    limit = insertion->start + reach->need;
    for (size_t i = insertion->before; i < gap->last && cost < cost_max; i++) {
        const struct reach_range *range = &reach->ranges[i];
        if (to[i] >= limit) {
            break;
        }
        const uint64_t start = align_up(limit, range->align_bytes);
        limit = start + range->size_bytes;
        cost += range->size_bytes;
        layout->steps++;
        to[i] = is_applied ? start : to[i];
    }
    return cost;
}

/* Keeps the cheaper one of *best and an insertion that begins as near to `wanted` as low and high
 * allow. */
static void consider_window(struct layout *layout, const struct reach *reach,
                            const struct reach_gap *gap, size_t before, uint64_t start,
                            struct insertion *best)
{
    struct insertion insertion = {.gap = *gap, .before = before, .start = start};
    /* A step is counted only for an insertion that has a price: there is a best one then. */
    if (layout->steps > SLIDE_STEPS_MAX) {
        return;
    }
    insertion.cost_bytes = insertion_cost(layout, reach, &insertion, best->cost_bytes, false);
    if (insertion.cost_bytes < best->cost_bytes) {
        *best = insertion;
    }
}

/* Every place in the order of the gap's blocks, next to the lower neighbour and next to the upper
 * one. */
static void consider_gap(struct layout *layout, const struct reach *reach,
                         const struct reach_gap *gap, struct insertion *best)
{
    const uint64_t *to = layout->to;
    uint64_t bottom = gap->start; /* where the lower ones end when pushed down */
    for (size_t i = gap->first; best->cost_bytes > 0; i++) {
        const uint64_t low = reach_aligned_up(reach, bottom);
        if (low <= reach->tops[i] && reach->need <= reach->tops[i] - low) {
            const uint64_t high = reach_aligned_down(reach, reach->tops[i] - reach->need);
            const uint64_t lower_end = i > gap->first ? to[i - 1] + reach->ranges[i - 1].size_bytes
                                                      : gap->start;
            const uint64_t upper_start = i < gap->last ? to[i] : gap->end;
            const uint64_t below_upper = upper_start > reach->need
                                             ? reach_aligned_down(reach, upper_start - reach->need)
                                             : low;
            consider_window(layout, reach, gap, i,
                            clamp_window(reach_aligned_up(reach, lower_end), low, high), best);
            consider_window(layout, reach, gap, i, clamp_window(below_upper, low, high), best);
        }
        if (i == gap->last) {
            return;
        }
        bottom = align_up(bottom, reach->ranges[i].align_bytes) + reach->ranges[i].size_bytes;
    }
}

/* The cheapest layout by sliding alone; false: there is none. */
static bool find_by_sliding(struct layout *layout, const struct reach *reach)
{
    struct reach_gap gap = reach_before_all;
    struct insertion best = {.cost_bytes = UINT64_MAX};
    bool is_lowest = true;
    keep_all(reach, layout->to);
    layout->steps = 0;
    while (reach_next_gap(reach, &gap)) {
        if (is_lowest && !reach_gap_slides(reach, &gap, 0, 1)) {
            return false;
        }
        if (is_lowest) {
            push_out_of_stack(reach, &gap, layout->to);
        }
        is_lowest = false;
        if (reach->need > 0 && reach_gap_slides(reach, &gap, reach->need, reach->align)) {
            consider_gap(layout, reach, &gap, &best);
        }
    }
    if (reach->need > 0 && best.cost_bytes == UINT64_MAX) {
        return false;
    }
    layout->address = reach->need > 0 ? best.start : UINT64_MAX;
    if (reach->need > 0) {
        insertion_cost(layout, reach, &best, UINT64_MAX, true);
    }
    layout->moved_bytes = cost_of(reach, layout->to);
    return true;
}

/* --- emptying a window --- */

static bool must_leave(const struct reach *reach, const struct reach_range *range, uint64_t start,
                       uint64_t end)
{
    return range->is_movable && (range->start < reach->bottom ||
                                 (range->start < end && start < range->start + range->size_bytes));
}

static void add_hole(struct layout *layout, size_t *count, uint64_t start, uint64_t end)
{
    if (start < end) {
        layout->holes[(*count)++] = (struct layout_hole){start, end};
    }
}

/* Free bytes of all gaps without the blocks that leave, and without the window itself. */
static size_t find_holes(struct layout *layout, const struct reach *reach, uint64_t start,
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
static size_t best_hole(const struct layout *layout, size_t count, const struct reach_range *range)
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
static bool evacuate_window(struct layout *layout, const struct reach *reach, uint64_t start,
                            uint64_t end)
{
    size_t hole_count = find_holes(layout, reach, start, end);
    size_t count = 0;
    keep_all(reach, layout->candidate);
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
    if (*count == WINDOW_COUNT_MAX &&
        windows[WINDOW_COUNT_MAX - 1].cost_bytes <= window->cost_bytes) {
        return;
    }
    size_t at = *count < WINDOW_COUNT_MAX ? (*count)++ : WINDOW_COUNT_MAX - 1;
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
        add_window(windows, count, &(struct layout_window){start, cost});
    }
}

static void find_by_evacuation(struct layout *layout, const struct reach *reach)
{
    struct layout_window windows[WINDOW_COUNT_MAX] = {0};
    struct reach_gap gap = reach_before_all;
    size_t count = 0;
    while (reach_next_gap(reach, &gap)) {
        collect_windows(reach, &gap, windows, &count);
    }
    for (size_t i = 0; i < count && windows[i].cost_bytes < layout->moved_bytes; i++) {
        if (!evacuate_window(layout, reach, windows[i].start, windows[i].start + reach->need)) {
            continue;
        }
        const uint64_t cost = cost_of(reach, layout->candidate);
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

static enum plan_result find_by_packing(struct layout *layout, const struct reach *reach,
                                        struct repack *repack, uint64_t nodes_max)
{
    struct packing_answer answer;
    repack_decide(repack, reach, nodes_max, true, &answer);
    if (answer.result != PACKING_FITS) {
        return plan_result_of(answer.result);
    }
    size_t item = 0;
    keep_all(reach, layout->to);
    for (size_t i = 0; i < reach->range_count; i++) {
        if (reach->ranges[i].is_movable) {
            layout->to[i] = packing_address(repack->packing, item++);
        }
    }
    layout->address = reach->need > 0 ? packing_address(repack->packing, item) : UINT64_MAX;
    layout->moved_bytes = cost_of(reach, layout->to);
    return PLAN_FOUND;
}

/* --- no addresses --- */

static enum plan_result find_by_sums(struct layout *layout, const struct reach *reach)
{
    reserve_layout(layout, reach->range_count + 1);
    keep_all(reach, layout->to);
    layout->address = UINT64_MAX;
    layout->moved_bytes = 0;
    return sums_judge(reach) == SUMS_FIT ? PLAN_FOUND : PLAN_NONE;
}

/* --- all together --- */

enum plan_result layout_find(struct layout *layout, const struct reach *reach,
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
    const bool slides = find_by_sliding(layout, reach);
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
