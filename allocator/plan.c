#include "allocator/private/plan.h"

#include <string.h>

/* Items are disjoint and in address order. */
static bool has_items_in_order(const struct hbm_plan *plan)
{
    bool is_in_order = true;
    for (size_t i = 1; i < plan->item_count; i++) {
        const struct hbm_item *below = &plan->items[i - 1];
        is_in_order &= below->size_bytes <= plan->items[i].address - below->address;
        is_in_order &= below->address < plan->items[i].address;
    }
    return is_in_order;
}

/* Targets keep the order, are disjoint and aligned, and lie between stack and end of the device;
 * what may not move stays. */
static bool has_valid_targets(const struct hbm_plan *plan)
{
    bool is_valid = true;
    uint64_t end = plan->demand.stack_bytes;
    for (size_t i = 0; i < plan->item_count; i++) {
        const struct hbm_item *item = &plan->items[i];
        is_valid &= item->target >= end;
        is_valid &= hbm_align_down(item->target, item->align_shift) == item->target;
        is_valid &= item->movable || item->target == item->address;
        end = item->target + item->size_bytes;
    }
    return is_valid && end <= plan->capacity_bytes;
}

bool hbm_plan_spans(const struct hbm_plan *plan, struct hbm_span *spans, size_t *span_count)
{
    HBM_CHECK_COSTLY(has_items_in_order(plan));
    uint64_t low = plan->demand.stack_bytes;
    size_t first = 0;
    *span_count = 0;
    for (size_t i = 0; i <= plan->item_count; i++) {
        const bool last = i == plan->item_count;
        if (!last && plan->items[i].movable) {
            continue;
        }
        const uint64_t high = last ? plan->capacity_bytes : plan->items[i].address;
        if (high < low) {
            return false;
        }
        if (high > low || first < i) {
            spans[(*span_count)++] = (struct hbm_span){first, i, low, high};
        }
        first = i + 1;
        low = last ? high : plan->items[i].address + plan->items[i].size_bytes;
    }
    HBM_CHECK(*span_count <= plan->item_count + 1);
    return true;
}

static bool can_gap_fit(const struct hbm_demand *demand, uint64_t low, uint64_t high)
{
    if (high < low || high - low < demand->size_bytes) {
        return false;
    }
    return hbm_align_down(high - demand->size_bytes, demand->align_shift) >= low;
}

bool hbm_plan_direct(const struct hbm_plan *plan)
{
    uint64_t low = plan->demand.stack_bytes;
    bool found = plan->demand.size_bytes == 0;
    for (size_t i = 0; i < plan->item_count; i++) {
        if (plan->items[i].address < plan->demand.stack_bytes) {
            return false;
        }
        found = found || can_gap_fit(&plan->demand, low, plan->items[i].address);
        low = plan->items[i].address + plan->items[i].size_bytes;
    }
    return found || can_gap_fit(&plan->demand, low, plan->capacity_bytes);
}

/* ---- slide ---- */

/* The best place found for the demanded block: before item `position`, at `address`. */
struct plan_choice {
    bool found;
    struct hbm_span span;
    size_t position;
    uint64_t address;
    uint64_t cost_bytes;
};

/* Pushes items first..end-1 up until none is below `limit` or under another.  The caller knows that
 * they have room.  Returns the bytes moved relative to the current targets, and stops counting
 * once `cost_max` is passed.  Only with `apply` are targets changed. */
static uint64_t push_items_up(struct hbm_plan *plan, size_t first, size_t end, uint64_t limit,
                              uint64_t cost_max, bool apply)
{
    HBM_CHECK(first <= end);
    HBM_CHECK(end <= plan->item_count);
    uint64_t cost_bytes = 0;
    for (size_t i = first; i < end && cost_bytes <= cost_max; i++) {
        struct hbm_item *item = &plan->items[i];
        if (item->target >= limit) {
            break;
        }
        const uint64_t target = hbm_align_up(limit, item->align_shift);
        cost_bytes += item->size_bytes;
        limit = target + item->size_bytes;
        if (apply) {
            HBM_CHECK_COSTLY(target > item->target);
            item->target = target;
        }
    }
    return cost_bytes;
}

/* Does the same downwards: items end-1 .. first, none above `limit`. */
static uint64_t push_items_down(struct hbm_plan *plan, size_t first, size_t end, uint64_t limit,
                                uint64_t cost_max, bool apply)
{
    HBM_CHECK(first <= end);
    HBM_CHECK(end <= plan->item_count);
    uint64_t cost_bytes = 0;
    for (size_t i = end; i-- > first && cost_bytes <= cost_max;) {
        struct hbm_item *item = &plan->items[i];
        if (item->target + item->size_bytes <= limit) {
            break;
        }
        const uint64_t target = hbm_align_down(limit - item->size_bytes, item->align_shift);
        cost_bytes += item->size_bytes;
        limit = target;
        if (apply) {
            HBM_CHECK_COSTLY(target < item->target);
            item->target = target;
        }
    }
    return cost_bytes;
}

/* starts[i]: where item i begins when all items from i on are packed against the top of the span.
 * False when they do not even fit so. */
static bool pack_items_high(const struct hbm_plan *plan, const struct hbm_span *span,
                            uint64_t *starts)
{
    uint64_t limit = span->high;
    for (size_t i = span->end; i-- > span->first;) {
        const struct hbm_item *item = &plan->items[i];
        if (limit < span->low || limit - span->low < item->size_bytes) {
            return false;
        }
        limit = hbm_align_down(limit - item->size_bytes, item->align_shift);
        starts[i] = limit;
    }
    return limit >= span->low;
}

static void try_choice(struct hbm_plan *plan, struct plan_choice *best, const struct hbm_span *span,
                       size_t position, uint64_t address)
{
    HBM_CHECK(position >= span->first);
    HBM_CHECK(position <= span->end);
    const uint64_t max = best->found ? best->cost_bytes : UINT64_MAX;
    const uint64_t end = address + plan->demand.size_bytes;
    uint64_t cost_bytes = push_items_down(plan, span->first, position, address, max, false);
    if (cost_bytes <= max) {
        cost_bytes += push_items_up(plan, position, span->end, end, max - cost_bytes, false);
    }
    if (best->found && cost_bytes >= best->cost_bytes) {
        return;
    }
    *best = (struct plan_choice){true, *span, position, address, cost_bytes};
}

static uint64_t clamp_address(uint64_t value, uint64_t low, uint64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Tries the block before item `position`, when packed_end is the lowest end of all items before it
 * and packed_start the highest start of those from it on.  Of all addresses between, those next to
 * a neighbour that then stays cost least. */
static void try_position(struct hbm_plan *plan, struct plan_choice *best,
                         const struct hbm_span *span, size_t position, uint64_t packed_end,
                         uint64_t packed_start)
{
    HBM_CHECK(packed_end >= span->low);
    const struct hbm_demand *demand = &plan->demand;
    const uint64_t lowest = hbm_align_up(packed_end, demand->align_shift);
    if (packed_start < demand->size_bytes || packed_start - demand->size_bytes < lowest) {
        return;
    }
    const uint64_t highest = hbm_align_down(packed_start - demand->size_bytes, demand->align_shift);
    HBM_CHECK(highest >= lowest);
    const uint64_t above = position == span->end ? span->high : plan->items[position].target;
    uint64_t below = span->low;
    if (position > span->first) {
        below = plan->items[position - 1].target + plan->items[position - 1].size_bytes;
    }
    const uint64_t hug_above = above < demand->size_bytes
                                   ? 0
                                   : hbm_align_down(above - demand->size_bytes,
                                                    demand->align_shift);
    const uint64_t hug_below = hbm_align_up(below, demand->align_shift);
    try_choice(plan, best, span, position, clamp_address(hug_above, lowest, highest));
    try_choice(plan, best, span, position, clamp_address(hug_below, lowest, highest));
}

static void try_span(struct hbm_plan *plan, struct plan_choice *best, const struct hbm_span *span,
                     const uint64_t *starts)
{
    if (span->high - span->low < plan->demand.size_bytes) {
        return;
    }
    uint64_t packed_end = span->low;
    for (size_t i = span->first; i <= span->end; i++) {
        try_position(plan, best, span, i, packed_end, i == span->end ? span->high : starts[i]);
        if (i < span->end) {
            packed_end = hbm_align_up(packed_end, plan->items[i].align_shift) +
                         plan->items[i].size_bytes;
        }
    }
}

/* When nothing wants more than the granule, the cheapest place is the window with the fewest bytes
 * of blocks among those with enough bytes of holes: all its blocks go down and the demanded one
 * lies at its top.  Both ends of the window only ever move up, so one pass is enough. */
static void try_span_windows(const struct hbm_plan *plan, struct plan_choice *best,
                             const struct hbm_span *span)
{
    HBM_CHECK(span->low <= span->high);
    uint64_t inside_bytes = 0, low = span->low, size_bytes = plan->demand.size_bytes;
    size_t first = span->first;
    for (size_t i = span->first; i <= span->end; i++) {
        const uint64_t high = i == span->end ? span->high : plan->items[i].target;
        for (; first < i; first++) {
            const struct hbm_item *lowest = &plan->items[first];
            const uint64_t above = lowest->target + lowest->size_bytes;
            if (high - above - (inside_bytes - lowest->size_bytes) < size_bytes) {
                break;
            }
            low = above;
            inside_bytes -= lowest->size_bytes;
        }
        HBM_CHECK_COSTLY(high - low >= inside_bytes);
        const bool enough = high - low - inside_bytes >= size_bytes;
        if (enough && (!best->found || inside_bytes < best->cost_bytes)) {
            *best = (struct plan_choice){true, *span, i, high - size_bytes, inside_bytes};
        }
        if (i < span->end) {
            inside_bytes += plan->items[i].size_bytes;
        }
    }
}

static bool has_only_granule_aligned(const struct hbm_plan *plan)
{
    for (size_t i = 0; i < plan->item_count; i++) {
        if (plan->items[i].align_shift > plan->granule_shift) {
            return false;
        }
    }
    return plan->demand.align_shift <= plan->granule_shift;
}

static bool slide_spans(struct hbm_plan *plan, struct hbm_span *spans, uint64_t *starts)
{
    size_t span_count;
    struct plan_choice best = {.found = false};
    if (!hbm_plan_spans(plan, spans, &span_count)) {
        return false;
    }
    for (size_t i = 0; i < span_count; i++) {
        if (!pack_items_high(plan, &spans[i], starts)) {
            return false;
        }
        (void)push_items_up(plan, spans[i].first, spans[i].end, spans[i].low, UINT64_MAX, true);
    }
    if (plan->demand.size_bytes == 0) {
        return true;
    }
    const bool simple = has_only_granule_aligned(plan);
    for (size_t i = 0; i < span_count; i++) {
        if (simple) {
            try_span_windows(plan, &best, &spans[i]);
        } else {
            try_span(plan, &best, &spans[i], starts);
        }
    }
    if (!best.found) {
        return false;
    }
    HBM_CHECK(best.address >= best.span.low);
    HBM_CHECK(plan->demand.size_bytes <= best.span.high - best.address);
    (void)push_items_down(plan, best.span.first, best.position, best.address, UINT64_MAX, true);
    (void)push_items_up(plan, best.position, best.span.end, best.address + plan->demand.size_bytes,
                        UINT64_MAX, true);
    return true;
}

static void reset_targets(struct hbm_plan *plan)
{
    HBM_CHECK(plan->items != NULL || plan->item_count == 0);
    HBM_CHECK(plan->item_count <= plan->item_room);
    for (size_t i = 0; i < plan->item_count; i++) {
        plan->items[i].target = plan->items[i].address;
    }
}

bool hbm_plan_slide(struct hbm_plan *plan)
{
    HBM_CHECK(plan->item_count <= plan->item_room);
    const size_t count = plan->item_count + 1;
    struct hbm_span *spans = hbm_host_array(plan->host, count, sizeof *spans);
    uint64_t *starts = hbm_host_array(plan->host, count, sizeof *starts);
    reset_targets(plan);
    bool fits = false;
    if (spans == NULL || starts == NULL) {
        plan->host_refused = true;
    } else {
        fits = slide_spans(plan, spans, starts);
    }
    HBM_CHECK_COSTLY(!fits || has_valid_targets(plan));
    hbm_host_free(plan->host, starts, count, sizeof *starts);
    hbm_host_free(plan->host, spans, count, sizeof *spans);
    return fits;
}

/* ---- explicit compaction ---- */

static void compact_span(struct hbm_plan *plan, const struct hbm_span *span)
{
    HBM_CHECK(span->end <= plan->item_count);
    uint64_t limit = span->high;
    for (size_t i = span->end; i-- > span->first;) {
        struct hbm_item *item = &plan->items[i];
        /* Never below the item: its own address is aligned, and nothing above it has gone lower. */
        limit = hbm_align_down(limit - item->size_bytes, item->align_shift);
        item->target = limit;
    }
    HBM_CHECK(limit >= span->low);
}

/* Moves what fits of the lowest spans' blocks into the space that compaction leaves at the bottom
 * of higher ones; free_low[s]..free_high[s] is that space. */
static void lift_between_spans(struct hbm_plan *plan, const struct hbm_span *spans,
                               size_t span_count, uint64_t *free_high)
{
    HBM_CHECK(span_count <= plan->item_count + 1);
    for (size_t s = 0; s < span_count; s++) {
        free_high[s] = spans[s].first == spans[s].end ? spans[s].high
                                                      : plan->items[spans[s].first].target;
    }
    for (size_t s = 0; s < span_count; s++) {
        for (size_t i = spans[s].first; i < spans[s].end; i++) {
            struct hbm_item *item = &plan->items[i];
            for (size_t t = span_count; t-- > s + 1;) {
                if (free_high[t] - spans[t].low < item->size_bytes) {
                    continue;
                }
                const uint64_t target = hbm_align_down(free_high[t] - item->size_bytes,
                                                       item->align_shift);
                if (target < spans[t].low) {
                    continue;
                }
                HBM_CHECK_COSTLY(target + item->size_bytes <= free_high[t]);
                item->target = free_high[t] = target;
                break;
            }
        }
    }
}

void hbm_plan_compact(struct hbm_plan *plan, bool anywhere)
{
    HBM_CHECK(plan->demand.size_bytes == 0);
    size_t count = plan->item_count + 1, span_count;
    struct hbm_span *spans = hbm_host_array(plan->host, count, sizeof *spans);
    uint64_t *free_high = hbm_host_array(plan->host, count, sizeof *free_high);
    reset_targets(plan);
    if (spans == NULL || free_high == NULL) {
        plan->host_refused = true;
    } else if (hbm_plan_spans(plan, spans, &span_count)) {
        for (size_t s = 0; s < span_count; s++) {
            compact_span(plan, &spans[s]);
        }
        if (anywhere) {
            lift_between_spans(plan, spans, span_count, free_high);
        }
    }
    HBM_CHECK_COSTLY(anywhere || has_valid_targets(plan));
    hbm_host_free(plan->host, free_high, count, sizeof *free_high);
    hbm_host_free(plan->host, spans, count, sizeof *spans);
}
