#include "harness/oracle/private/layout.h"

#include "harness/base/align.h"

/* Insertions are priced until so many blocks were looked at, a few milliseconds; the best until
 * then is taken. */
enum { SLIDE_STEPS_MAX = 1 << 20 };

static uint64_t clamp_window(uint64_t value, uint64_t low, uint64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* A place for the request between the movable ranges of a gap. */
struct insertion {
    struct reach_gap gap;
    size_t before; /* it lies below this range and above the one before */
    uint64_t start;
    uint64_t cost_bytes;
    bool is_guess; /* one that costs as much may come before it */
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

/* Returns the bytes that the insertion moves, beyond what lay in the stack.  It counts no further
 * than cost_max.  to: moved when is_applied. */
static uint64_t insertion_cost(struct plan_layout *layout, const struct reach *reach,
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

/* --- what an insertion moves at least --- */

/* The least that an insertion before range i moves: so much that the free bytes around it are no
 * fewer than the request needs.  Both ends only go up with i, so all of a gap take O(ranges). */
struct slide_floor {
    size_t above, below;       /* ranges [i, above) if none goes down, [below, i) if none goes up */
    uint64_t above_bytes;      /* of the former */
    uint64_t below_bytes;      /* of the latter */
    bool has_above, has_below; /* there are so many free bytes above range i - 1, below range i */
};

static uint64_t end_below(const struct plan_layout *layout, const struct reach *reach,
                          const struct reach_gap *gap, size_t i)
{
    return i > gap->first ? layout->to[i - 1] + reach->ranges[i - 1].size_bytes : gap->start;
}

static uint64_t start_above(const struct plan_layout *layout, const struct reach_gap *gap, size_t i)
{
    return i < gap->last ? layout->to[i] : gap->end;
}

/* Moves the floor from range i - 1 to range i. */
static void raise_floor(struct slide_floor *floor, const struct plan_layout *layout,
                        const struct reach *reach, const struct reach_gap *gap, size_t i)
{
    const struct reach_range *ranges = reach->ranges;
    if (i > gap->first) {
        floor->below_bytes += ranges[i - 1].size_bytes;
        floor->above_bytes -= floor->above < i ? 0 : ranges[i - 1].size_bytes;
        floor->above = floor->above < i ? i : floor->above;
    }
    const uint64_t lower_end = end_below(layout, reach, gap, i) + reach->need;
    while (floor->above < gap->last && layout->to[floor->above] < lower_end + floor->above_bytes) {
        floor->above_bytes += ranges[floor->above++].size_bytes;
    }
    floor->has_above = start_above(layout, gap, floor->above) >= lower_end + floor->above_bytes;
    const uint64_t upper_start = start_above(layout, gap, i);
    /* That `below` does not go down: its end takes the place of the end of what is below it. */
    while (floor->below < i &&
           layout->to[floor->below] + floor->below_bytes + reach->need <= upper_start) {
        floor->below_bytes -= ranges[floor->below++].size_bytes;
    }
    floor->has_below = end_below(layout, reach, gap, floor->below) + floor->below_bytes +
                           reach->need <=
                       upper_start;
}

/* --- the cheapest one --- */

static bool is_dearer(bool is_known, uint64_t floor_bytes, const struct insertion *best)
{
    return is_known && floor_bytes >= best->cost_bytes + best->is_guess;
}

/* Keeps the cheaper one of *best and an insertion at start; true: that is the latter. */
static bool consider_window(struct plan_layout *layout, const struct reach *reach,
                            const struct reach_gap *gap, size_t before, uint64_t start,
                            struct insertion *best)
{
    struct insertion insertion = {.gap = *gap, .before = before, .start = start};
    const uint64_t cost_max = best->cost_bytes + best->is_guess;
    /* A step is counted only for an insertion that has a price: there is a best one then. */
    if (layout->steps > SLIDE_STEPS_MAX) {
        return false;
    }
    insertion.cost_bytes = insertion_cost(layout, reach, &insertion, cost_max, false);
    if (insertion.cost_bytes >= cost_max) {
        return false;
    }
    *best = insertion;
    return true;
}

/* Guesses the gap's place that moves the least if alignment takes nothing.  A dearer place need not
 * be priced to its end. */
static void guess_place(struct plan_layout *layout, const struct reach *reach,
                        const struct reach_gap *gap, struct insertion *best)
{
    struct slide_floor floor = {.above = gap->first, .below = gap->first};
    uint64_t least = UINT64_MAX;
    size_t before = 0;
    for (size_t i = gap->first; i <= gap->last; i++) {
        raise_floor(&floor, layout, reach, gap, i);
        if (floor.has_above && floor.above_bytes < least) {
            least = floor.above_bytes;
            before = i;
        }
    }
    if (least >= best->cost_bytes) {
        return;
    }
    const uint64_t start = reach_aligned_up(reach, end_below(layout, reach, gap, before));
    if (start <= reach->tops[before] && reach->need <= reach->tops[before] - start) {
        best->is_guess = consider_window(layout, reach, gap, before, start, best);
    }
}

/* Before range i, next to the lower neighbour and next to the upper one, as near as the others let
 * it be: bottom is where the lower ones end when pushed down.  What is dearer than *best is not
 * priced. */
static void consider_place(struct plan_layout *layout, const struct reach *reach,
                           const struct reach_gap *gap, size_t i, uint64_t bottom,
                           const struct slide_floor *floor, struct insertion *best)
{
    const uint64_t low = reach_aligned_up(reach, bottom);
    if (low > reach->tops[i] || reach->need > reach->tops[i] - low) {
        return;
    }
    const uint64_t high = reach_aligned_down(reach, reach->tops[i] - reach->need);
    const uint64_t above_lower = reach_aligned_up(reach, end_below(layout, reach, gap, i));
    const uint64_t upper_start = start_above(layout, gap, i);
    const uint64_t below_upper = upper_start > reach->need
                                     ? reach_aligned_down(reach, upper_start - reach->need)
                                     : low;
    if (above_lower > high || !is_dearer(floor->has_above, floor->above_bytes, best)) {
        (void)consider_window(layout, reach, gap, i, clamp_window(above_lower, low, high), best);
    }
    if (below_upper < low || !is_dearer(floor->has_below, floor->below_bytes, best)) {
        (void)consider_window(layout, reach, gap, i, clamp_window(below_upper, low, high), best);
    }
}

/* Every place in the order of the gap's blocks.  What is moved for one before range i begins with
 * some range up to i, so it weighs no less than the least of what must go up from there. */
static void consider_gap(struct plan_layout *layout, const struct reach *reach,
                         const struct reach_gap *gap, struct insertion *best)
{
    struct slide_floor floor = {.above = gap->first, .below = gap->first};
    uint64_t bottom = gap->start; /* where the lower ones end when pushed down */
    uint64_t least = UINT64_MAX;
    guess_place(layout, reach, gap, best);
    for (size_t i = gap->first; best->cost_bytes > 0 || best->is_guess; i++) {
        raise_floor(&floor, layout, reach, gap, i);
        least = floor.has_above && floor.above_bytes < least ? floor.above_bytes : least;
        if (!is_dearer(true, least, best)) {
            consider_place(layout, reach, gap, i, bottom, &floor, best);
        }
        if (i == gap->last) {
            return;
        }
        bottom = align_up(bottom, reach->ranges[i].align_bytes) + reach->ranges[i].size_bytes;
    }
}

bool slide_find(struct plan_layout *layout, const struct reach *reach)
{
    struct reach_gap gap = reach_before_all;
    struct insertion best = {.cost_bytes = UINT64_MAX};
    bool is_lowest = true;
    layout_keep_all(reach, layout->to);
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
            best.is_guess = false;
        }
    }
    if (reach->need > 0 && best.cost_bytes == UINT64_MAX) {
        return false;
    }
    layout->address = reach->need > 0 ? best.start : UINT64_MAX;
    if (reach->need > 0) {
        insertion_cost(layout, reach, &best, UINT64_MAX, true);
    }
    layout->moved_bytes = layout_cost(reach, layout->to);
    return true;
}
