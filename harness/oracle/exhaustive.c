#include "harness/oracle/exhaustive.h"

#include "harness/base/check.h"

enum {
    SPANS_MAX = EXHAUSTIVE_BLOCKS_MAX + 1,
    ITEMS_MAX = EXHAUSTIVE_LOOSE_MAX + 1,
    ANY_SPAN = SPANS_MAX
};

/* A thing to place: a movable block, or the request. */
struct item {
    uint64_t size_bytes, align_bytes;
    uint64_t header_bytes; /* what is aligned is so much above its start */
    size_t span;           /* the only one that takes it; ANY_SPAN */
    unsigned below;        /* the items (a bit for each) that must stay below it */
};

/* One state that the mitigations reach: what is placed, and the spans between what stays where it
 * is. */
struct reached_state {
    struct item items[ITEMS_MAX];
    size_t item_count;
    uint64_t starts[SPANS_MAX], ends[SPANS_MAX];
    size_t span_count;
};

/* The lowest place where the next item may begin.  Places are ordered by span, then by address. */
struct least_place {
    size_t span;
    uint64_t address;
};

static uint64_t round_up(uint64_t value, uint64_t power_of_two)
{
    return (value + (power_of_two - 1)) & ~(power_of_two - 1);
}

/* --- what may be done --- */

static bool was_refused(const struct oom *oom, enum fault_kind call)
{
    return (oom->faults_fired & (1u << call | 1u << FAULT_HOST_MEMORY)) != 0;
}

static bool may_wait(const struct oom *oom)
{
    return oom->drains && !was_refused(oom, FAULT_WAIT);
}

static enum defrag_contract moves_allowed(const struct oom *oom)
{
    return was_refused(oom, FAULT_COPY) ? DEFRAG_NONE : oom->defrag;
}

/* used_until_ns is DELAY_NEVER, and no time is as late, for what never ends. */
static bool is_used(const struct oom_block *block, uint64_t now_ns)
{
    return block->used_until_ns > now_ns;
}

static bool is_dead(const struct oom_block *block, uint64_t now_ns)
{
    return block->state == BLOCK_DYING && block->hold_count == 0 && block->freed_at_ns <= now_ns;
}

static bool is_in_host_memory(const struct oom_block *block)
{
    return block->address == OOM_IN_HOST_MEMORY;
}

static bool may_move(const struct oom *oom, const struct oom_block *block, uint64_t now_ns)
{
    return moves_allowed(oom) != DEFRAG_NONE && !is_in_host_memory(block) &&
           block->state == BLOCK_LIVE && block->hold_count == 0 && !is_used(block, now_ns);
}

static bool may_be_evicted(const struct oom *oom, const struct oom_block *block, uint64_t now_ns)
{
    const bool evicts = oom->request.class == REQUEST_BUFFER ? oom->evicts
                                                             : oom->program_evicts_program;
    return evicts && !was_refused(oom, FAULT_UNLOAD) && block->kind == BLOCK_PROGRAM &&
           block->state == BLOCK_LIVE && !is_used(block, now_ns) && !is_in_host_memory(block) &&
           block->op != oom->request.own_op;
}

/* --- one state: is there a placement? --- */

/* Behind the item when it is placed as low as it can be at or above `from`; span_count as the span
 * when nowhere. */
static struct least_place place_above(const struct reached_state *state, struct least_place from,
                                      const struct item *item)
{
    for (size_t span = from.span; span < state->span_count; span++) {
        const uint64_t lowest = span == from.span ? from.address : state->starts[span];
        const uint64_t start = round_up(lowest + item->header_bytes, item->align_bytes) -
                               item->header_bytes;
        const bool is_allowed = item->span == ANY_SPAN || item->span == span;
        if (is_allowed && start <= state->ends[span] &&
            item->size_bytes <= state->ends[span] - start) {
            return (struct least_place){span, start + item->size_bytes};
        }
    }
    return (struct least_place){state->span_count, 0};
}

/* Items of any placement can be taken in the order of their addresses and put down one after the
 * other, each as low as it can be above the one before: none ends higher than it was.  So every
 * order is tried.  Of all orders of the same items only the one that ends lowest matters to those
 * that come after, because what fits above some place fits above a lower one: lowest[set] is where
 * that order ends. */
static bool placement_exists(const struct reached_state *state)
{
    struct least_place lowest[1u << ITEMS_MAX];
    const unsigned all = (1u << state->item_count) - 1;
    lowest[0] = (struct least_place){0, state->starts[0]};
    for (unsigned set = 1; set <= all; set++) {
        lowest[set] = (struct least_place){state->span_count, 0};
        for (size_t last = 0; last < state->item_count; last++) {
            const unsigned before = set & ~(1u << last);
            const struct item *item = &state->items[last];
            if (before == set || (item->below & ~before) != 0) {
                continue;
            }
            const struct least_place place = place_above(state, lowest[before], item);
            const struct least_place least = lowest[set];
            const bool is_lower = place.span < least.span ||
                                  (place.span == least.span && place.address < least.address);
            lowest[set] = is_lower ? place : least;
        }
    }
    return lowest[all].span < state->span_count;
}

/* --- the states --- */

/* Returns the lowest address where blocks may begin. */
static uint64_t bottom_of_heap(const struct oom *oom, uint64_t now_ns)
{
    uint64_t bottom = oom->request.stack_bytes;
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        if (block->kind == BLOCK_PROGRAM && is_used(block, now_ns) && block->stack_bytes > bottom) {
            bottom = block->stack_bytes;
        }
    }
    return bottom;
}

static void add_item(struct reached_state *state, uint64_t size_bytes, uint64_t align_bytes)
{
    CHECK(state->item_count < ITEMS_MAX);
    state->items[state->item_count++] = (struct item){
        .size_bytes = size_bytes, .align_bytes = align_bytes, .span = ANY_SPAN};
}

static void add_movable(struct reached_state *state, const struct oom_block *block,
                        enum defrag_contract moves)
{
    add_item(state, block->size_bytes, block->align_bytes);
    if (moves == DEFRAG_SLIDE) {
        const size_t index = state->item_count - 1;
        state->items[index].span = state->span_count - 1;
        state->items[index].below = (1u << index) - 1;
    }
}

/* The state at now_ns without the blocks of `evicted` (a bit for each).  False: an unmovable block
 * is in the way of the stack. */
static bool state_build(struct reached_state *state, const struct oom *oom, uint64_t now_ns,
                        uint64_t evicted)
{
    const uint64_t bottom = bottom_of_heap(oom, now_ns);
    if (bottom > oom->capacity_bytes) {
        return false;
    }
    state->item_count = 0;
    state->span_count = 1;
    state->starts[0] = bottom;
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        if ((evicted >> i & 1) != 0 || is_dead(block, now_ns)) {
            continue;
        }
        if (may_move(oom, block, now_ns)) {
            add_movable(state, block, moves_allowed(oom));
            continue;
        }
        if (is_in_host_memory(block)) {
            add_item(state, block->size_bytes, block->align_bytes);
            continue;
        }
        if (block->address < bottom) {
            return false;
        }
        state->ends[state->span_count - 1] = block->address;
        state->starts[state->span_count++] = block->address + block->size_bytes;
    }
    state->ends[state->span_count - 1] = oom->capacity_bytes;
    if (oom->request.size_bytes > 0) {
        add_item(state, round_up(oom->request.size_bytes, oom->granule_bytes),
                 oom->request.align_bytes);
        state->items[state->item_count - 1].header_bytes = oom->header_bytes;
    }
    return true;
}

/* Every choice of the programs that may be evicted at now_ns, from block i on. */
static bool placement_exists_at(const struct oom *oom, uint64_t now_ns, size_t i, uint64_t evicted)
{
    while (i < oom->block_count && !may_be_evicted(oom, &oom->blocks[i], now_ns)) {
        i++;
    }
    if (i == oom->block_count) {
        struct reached_state state;
        return state_build(&state, oom, now_ns, evicted) && placement_exists(&state);
    }
    return placement_exists_at(oom, now_ns, i + 1, evicted) ||
           placement_exists_at(oom, now_ns, i + 1, evicted | UINT64_C(1) << i);
}

/* --- regions --- */

/* True if a block lies there at now_ns. */
static bool is_occupied(const struct oom *oom, uint64_t now_ns, uint64_t start, uint64_t end)
{
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        if (!is_dead(block, now_ns) && block->address < end &&
            start < block->address + block->size_bytes) {
            return true;
        }
    }
    return false;
}

/* True if the request fits at `address` or the next aligned place above, within the region. */
static bool fits_in_region(const struct oom *oom, uint64_t now_ns,
                           const struct device_region *region, uint64_t address)
{
    const uint64_t start = round_up(address, oom->request.align_bytes);
    const uint64_t end = start + round_up(oom->request.size_bytes, oom->granule_bytes);
    return start >= region->address && end <= region->address + region->size_bytes &&
           !is_occupied(oom, now_ns, start, end);
}

/* True if it fits at the start of some region held, or above some block in it. */
static bool fits_in_some_region(const struct oom *oom, uint64_t now_ns)
{
    for (size_t i = 0; i < oom->region_count; i++) {
        const struct device_region *region = &oom->regions[i];
        if (fits_in_region(oom, now_ns, region, region->address)) {
            return true;
        }
        for (size_t k = 0; k < oom->block_count; k++) {
            const struct oom_block *block = &oom->blocks[k];
            if (fits_in_region(oom, now_ns, region, block->address + block->size_bytes)) {
                return true;
            }
        }
    }
    return false;
}

/* The new region may lie there: what meets it was given back, for no block lies in it. */
static bool may_take_region(const struct oom *oom, uint64_t now_ns, uint64_t address)
{
    const uint64_t step = oom->promised.step_bytes;
    const uint64_t need = round_up(oom->request.size_bytes, oom->granule_bytes);
    const uint64_t end = address + (need + step - 1) / step * step;
    if (end > oom->capacity_bytes || was_refused(oom, FAULT_REGION)) {
        return false;
    }
    for (size_t i = 0; i < oom->region_count; i++) {
        const struct device_region *region = &oom->regions[i];
        const uint64_t region_end = region->address + region->size_bytes;
        if (region->address < end && region_end > address &&
            (!oom->promised.trims || is_occupied(oom, now_ns, region->address, region_end))) {
            return false;
        }
    }
    return true;
}

/* The lowest place of a new region is the bottom, or the first above some region. */
static bool fits_with_regions(const struct oom *oom, uint64_t now_ns)
{
    bool fits = fits_in_some_region(oom, now_ns) || may_take_region(oom, now_ns, 0);
    for (size_t i = 0; i < oom->region_count && !fits; i++) {
        const struct device_region *region = &oom->regions[i];
        fits = may_take_region(
            oom, now_ns, round_up(region->address + region->size_bytes, oom->region_align_bytes));
    }
    return fits;
}

/* --- the times --- */

/* 0 and every time at which a queued free completes.  The result is their count; 0 when there are
 * too many. */
static size_t find_waits(const struct oom *oom, uint64_t waits[EXHAUSTIVE_WAITS_MAX])
{
    size_t count = 1;
    waits[0] = 0;
    for (size_t i = 0; i < oom->block_count && may_wait(oom); i++) {
        const struct oom_block *block = &oom->blocks[i];
        bool is_new = block->state == BLOCK_DYING && block->hold_count == 0 &&
                      block->freed_at_ns != DELAY_NEVER;
        for (size_t k = 0; k < count; k++) {
            is_new = is_new && waits[k] != block->freed_at_ns;
        }
        if (is_new && count == EXHAUSTIVE_WAITS_MAX) {
            return 0;
        }
        if (is_new) {
            waits[count++] = block->freed_at_ns;
        }
    }
    return count;
}

/* True if few enough blocks move or go.  A block that can do so at all can do so when everything
 * that ends has ended. */
static bool is_small(const struct oom *oom)
{
    size_t loose = 0;
    for (size_t i = 0; i < oom->block_count && loose <= EXHAUSTIVE_LOOSE_MAX; i++) {
        const uint64_t end_ns = may_wait(oom) ? DELAY_NEVER - 1 : 0;
        loose += is_in_host_memory(&oom->blocks[i]) || may_move(oom, &oom->blocks[i], end_ns) ||
                 may_be_evicted(oom, &oom->blocks[i], end_ns);
    }
    return loose <= EXHAUSTIVE_LOOSE_MAX;
}

enum verdict_kind exhaustive_judge(const struct oom *oom)
{
    uint64_t waits[EXHAUSTIVE_WAITS_MAX];
    if (oom->placement != PLACEMENT_RANGES || oom->block_count > EXHAUSTIVE_BLOCKS_MAX ||
        oom->region_count > EXHAUSTIVE_REGIONS_MAX || !is_small(oom)) {
        return VERDICT_NONE;
    }
    const size_t wait_count = find_waits(oom, waits);
    if (wait_count == 0) {
        return VERDICT_NONE;
    }
    for (size_t i = 0; i < wait_count && oom->request.size_bytes <= oom->capacity_bytes; i++) {
        if (oom->promised.grows ? fits_with_regions(oom, waits[i])
                                : placement_exists_at(oom, waits[i], 0, 0)) {
            return VERDICT_PREMATURE;
        }
    }
    return VERDICT_JUSTIFIED;
}
