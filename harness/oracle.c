#include "harness/oracle.h"

#include "harness/check.h"
#include "harness/packing.h"
#include "harness/size.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum range_class { RANGE_FIXED, RANGE_MOVABLE };

/* A block that is still there in the state that the oracle decides in. */
struct range {
    uint64_t start, size_bytes, align_bytes;
    enum range_class class;
};

struct oracle {
    struct range *ranges; /* ascending */
    size_t range_count, range_capacity;
    uint64_t *wait_due_ns, *use_due_ns; /* by slot */
    size_t slot_capacity;
    struct packing_bin *bins;
    struct packing_item *items;
    uint64_t *tops; /* slide: where the blocks from here up begin when pushed up */
    size_t packing_capacity;
};

/* The state to decide in, and how the allocator may get there. */
struct state {
    enum defrag_contract defrag;
    bool evicts;
    uint64_t drained_until_ns; /* events due by then count as done; 0 = none are awaited */
    uint64_t heap_start;       /* the stack, grown for a program request */
    uint64_t capacity, granule;
    uint64_t frees_awaited, programs_evicted;
};

struct oracle *oracle_create(void)
{
    struct oracle *oracle = calloc(1, sizeof *oracle);
    CHECK(oracle != NULL);
    return oracle;
}

void oracle_destroy(struct oracle *oracle)
{
    if (oracle == NULL) {
        return;
    }
    free(oracle->ranges);
    free(oracle->wait_due_ns);
    free(oracle->use_due_ns);
    free(oracle->bins);
    free(oracle->items);
    free(oracle->tops);
    free(oracle);
}

static void *resized(void *array, size_t bytes)
{
    array = realloc(array, bytes);
    CHECK(array != NULL);
    return array;
}

static uint64_t round_up(uint64_t value, uint64_t multiple)
{
    return (value + (multiple - 1)) & ~(multiple - 1);
}

/* --- the state to decide in ------------------------------------------------------------------ */

static void know_due_times(struct oracle *oracle, const struct model *model)
{
    const size_t count = model_slot_count(model);
    if (count > oracle->slot_capacity) {
        oracle->slot_capacity = count * 2;
        oracle->wait_due_ns = resized(oracle->wait_due_ns, oracle->slot_capacity * sizeof(uint64_t));
        oracle->use_due_ns = resized(oracle->use_due_ns, oracle->slot_capacity * sizeof(uint64_t));
    }
    model_due_times(model, oracle->wait_due_ns, oracle->use_due_ns);
}

/* Slot of a block, counted from the first one. */
static size_t slot_of(const struct model *model, const struct block *block)
{
    return (size_t)(block - model_block(model, 0));
}

/* The time until which the drain waits: the latest queued free that can complete at all. */
static uint64_t drain_time(const struct oracle *oracle, const struct model *model)
{
    uint64_t until = 0;
    for (size_t i = 0; i < model_dying_count(model); i++) {
        const struct block *block = model_dying(model, i);
        const uint64_t due = oracle->wait_due_ns[slot_of(model, block)];
        if (block->hold_count == 0 && due != DELAY_NEVER && due > until) {
            until = due;
        }
    }
    return until;
}

static bool use_has_ended(const struct oracle *oracle, const struct model *model, const struct block *block,
                          const struct state *state)
{
    return block->use_count == 0 || oracle->use_due_ns[slot_of(model, block)] <= state->drained_until_ns;
}

static uint64_t reserved_after_drain(const struct oracle *oracle, const struct model *model,
                                     const struct state *state)
{
    uint64_t reserved = 0;
    for (size_t i = 0; i < model_busy_count(model); i++) {
        const struct block *program = model_busy(model, i);
        if (!use_has_ended(oracle, model, program, state) && program->stack_bytes > reserved) {
            reserved = program->stack_bytes;
        }
    }
    return reserved;
}

static struct state decide_state(struct oracle *oracle, const struct model *model,
                                 const struct oracle_request *request)
{
    const struct target_contract *contract = model_contract(model);
    const uint32_t faults = request->faults_fired;
    struct state state = {
        .defrag = contract->defrag,
        .evicts = request->class == REQUEST_BUFFER ? contract->evicts : contract->program_evicts_program,
        .capacity = model_capacity_bytes(model),
        .granule = contract->granule_bytes,
    };
    /* A refused call excuses the mitigation that it belonged to; without host memory none can be planned. */
    const bool no_host_memory = (faults & 1u << FAULT_HOST_MEMORY) != 0;
    if (no_host_memory || (faults & 1u << FAULT_COPY) != 0) {
        state.defrag = DEFRAG_NONE;
    }
    if (no_host_memory || (faults & 1u << FAULT_UNLOAD) != 0) {
        state.evicts = false;
    }
    know_due_times(oracle, model);
    if (contract->drains && !no_host_memory && (faults & 1u << FAULT_WAIT) == 0) {
        state.drained_until_ns = drain_time(oracle, model);
    }
    const uint64_t reserved = reserved_after_drain(oracle, model, &state);
    state.heap_start = request->stack_bytes > reserved ? request->stack_bytes : reserved;
    return state;
}

static void add_range(struct oracle *oracle, const struct block *block, enum range_class class)
{
    if (oracle->range_count == oracle->range_capacity) {
        oracle->range_capacity = oracle->range_capacity == 0 ? 256 : oracle->range_capacity * 2;
        oracle->ranges = resized(oracle->ranges, oracle->range_capacity * sizeof *oracle->ranges);
    }
    oracle->ranges[oracle->range_count++] =
        (struct range){block->address, block->size_bytes, block->align_bytes, class};
}

/* Adds the block's range unless the mitigations make it go. */
static void take_range(struct oracle *oracle, const struct model *model, const struct block *block, uint32_t slot,
                       const struct oracle_request *request, struct state *state)
{
    const bool is_idle = use_has_ended(oracle, model, block, state);
    if (block->state == BLOCK_DYING) {
        if (block->hold_count == 0 && oracle->wait_due_ns[slot] <= state->drained_until_ns) {
            state->frees_awaited++;
            return;
        }
    } else if (block->kind == BLOCK_PROGRAM && is_idle && state->evicts && slot != request->own_slot) {
        state->programs_evicted++;
        return;
    }
    const bool is_movable = block->state == BLOCK_LIVE && block->hold_count == 0 && is_idle;
    add_range(oracle, block, is_movable && state->defrag != DEFRAG_NONE ? RANGE_MOVABLE : RANGE_FIXED);
}

static void take_ranges(struct oracle *oracle, const struct model *model, const struct oracle_request *request,
                        struct state *state)
{
    struct span_cursor cursor;
    struct span span;
    oracle->range_count = 0;
    for (bool found = span_map_first(model_map(model), &cursor); found;
         found = span_map_next(model_map(model), &cursor)) {
        span_map_get(model_map(model), &cursor, &span);
        const uint32_t slot = (uint32_t)span.owner;
        take_range(oracle, model, model_block(model, slot), slot, request, state);
    }
}

/* --- spans between unmovable blocks ----------------------------------------------------------- */

/* One span: [start, end) and the movable blocks first..last (not included) that lie in it. */
struct gap {
    uint64_t start, end;
    size_t first, last;
};

/* The gap after *gap; the first one when gap->last is SIZE_MAX.  False: no more. */
static bool next_gap(const struct oracle *oracle, const struct state *state, struct gap *gap)
{
    size_t i = 0;
    if (gap->last == SIZE_MAX) {
        gap->start = state->heap_start;
    } else if (gap->last == oracle->range_count) {
        return false;
    } else {
        const struct range *fixed = &oracle->ranges[gap->last];
        const uint64_t end = fixed->start + fixed->size_bytes;
        gap->start = end > state->heap_start ? end : state->heap_start;
        i = gap->last + 1;
    }
    gap->first = i;
    while (i < oracle->range_count && oracle->ranges[i].class == RANGE_MOVABLE) {
        i++;
    }
    gap->last = i;
    gap->end = i < oracle->range_count ? oracle->ranges[i].start : state->capacity;
    gap->end = gap->end < gap->start ? gap->start : gap->end;
    return true;
}

static const struct gap before_all = {.last = SIZE_MAX};

/* Whether an unmovable block lies below the stack that is needed; then no mitigation helps. */
static const struct range *fixed_below_heap(const struct oracle *oracle, const struct state *state)
{
    for (size_t i = 0; i < oracle->range_count && oracle->ranges[i].start < state->heap_start; i++) {
        if (oracle->ranges[i].class == RANGE_FIXED) {
            return &oracle->ranges[i];
        }
    }
    return NULL;
}

/* --- slide ------------------------------------------------------------------------------------ */

/* Whether the blocks of the gap, order kept, fit into it together with the request (if any) in some
 * place of the order: the lower ones pushed down, the upper ones pushed up, the request between. */
static bool slide_fits(const struct oracle *oracle, const struct gap *gap, uint64_t size, uint64_t align)
{
    uint64_t top = gap->end;
    for (size_t i = gap->last; i-- > gap->first;) {
        const struct range *range = &oracle->ranges[i];
        oracle->tops[i + 1] = top;
        if (top < gap->start || range->size_bytes > top - gap->start) {
            return false;
        }
        top = (top - range->size_bytes) & ~(range->align_bytes - 1);
    }
    oracle->tops[gap->first] = top;
    if (top < gap->start) {
        return false;
    }
    uint64_t bottom = gap->start;
    for (size_t i = gap->first;; i++) {
        const uint64_t at = round_up(bottom, align);
        if (size == 0 || (at <= oracle->tops[i] && size <= oracle->tops[i] - at)) {
            return true;
        }
        if (i == gap->last) {
            return false;
        }
        bottom = round_up(bottom, oracle->ranges[i].align_bytes) + oracle->ranges[i].size_bytes;
    }
}

/* The block for the request may be in any gap; the lowest gap must still take its own blocks above the
 * stack.  *where is set to the gap that takes the request. */
static bool slide_decide(const struct oracle *oracle, const struct state *state, uint64_t size, uint64_t align,
                         struct gap *where)
{
    struct gap gap = before_all;
    bool found = false;
    bool is_lowest = true;
    while (next_gap(oracle, state, &gap)) {
        if (is_lowest && !slide_fits(oracle, &gap, 0, 1)) {
            return false;
        }
        is_lowest = false;
        if (!found && slide_fits(oracle, &gap, size, align)) {
            found = true;
            *where = gap;
        }
    }
    return found;
}

/* --- repack ----------------------------------------------------------------------------------- */

static enum packing_result repack_decide(struct oracle *oracle, const struct state *state, uint64_t size,
                                         uint64_t align, uint64_t nodes_max, struct packing_answer *answer)
{
    size_t bin_count = 0;
    size_t item_count = 0;
    struct gap gap = before_all;
    while (next_gap(oracle, state, &gap)) {
        oracle->bins[bin_count++] = (struct packing_bin){gap.start, gap.end};
        for (size_t i = gap.first; i < gap.last; i++) {
            oracle->items[item_count++] =
                (struct packing_item){oracle->ranges[i].size_bytes, oracle->ranges[i].align_bytes};
        }
    }
    if (size > 0) {
        oracle->items[item_count++] = (struct packing_item){size, align};
    }
    const struct packing_problem problem = {
        .bins = oracle->bins,
        .bin_count = bin_count,
        .items = oracle->items,
        .item_count = item_count,
        .granule_bytes = state->granule,
        .nodes_max = nodes_max,
    };
    packing_solve(&problem, answer);
    return answer->result;
}

/* --- the verdict ------------------------------------------------------------------------------ */

static void explain(struct verdict *verdict, const struct state *state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void explain(struct verdict *verdict, const struct state *state, const char *format, ...)
{
    char start[96] = "";
    if (state->frees_awaited > 0 || state->programs_evicted > 0) {
        snprintf(start, sizeof start, "with %" PRIu64 " queued frees awaited and %" PRIu64 " idle programs evicted, ",
                 state->frees_awaited, state->programs_evicted);
    }
    const int used = snprintf(verdict->reason, sizeof verdict->reason, "%s", start);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(verdict->reason + used, sizeof verdict->reason - (size_t)used, format, arguments);
    va_end(arguments);
}

static void set_premature(struct verdict *verdict)
{
    verdict->kind = VERDICT_PREMATURE;
    verdict->rule = RULE_PREMATURE;
}

/* The largest gap without counting blocks in it, and all free bytes: what a reader wants to know. */
static void summarise(const struct oracle *oracle, const struct state *state, uint64_t *largest, uint64_t *all)
{
    *largest = *all = 0;
    struct gap gap = before_all;
    while (next_gap(oracle, state, &gap)) {
        uint64_t room = gap.end - gap.start;
        for (size_t i = gap.first; i < gap.last; i++) {
            room -= oracle->ranges[i].size_bytes < room ? oracle->ranges[i].size_bytes : room;
        }
        *largest = room > *largest ? room : *largest;
        *all += room;
    }
}

static void reserve_scratch(struct oracle *oracle)
{
    const size_t need = oracle->range_count + 2;
    if (need <= oracle->packing_capacity) {
        return;
    }
    oracle->packing_capacity = need * 2;
    oracle->bins = resized(oracle->bins, oracle->packing_capacity * sizeof *oracle->bins);
    oracle->items = resized(oracle->items, oracle->packing_capacity * sizeof *oracle->items);
    oracle->tops = resized(oracle->tops, oracle->packing_capacity * sizeof *oracle->tops);
}

static void judge_repack(struct oracle *oracle, const struct state *state, const struct oracle_request *request,
                         uint64_t size, struct verdict *verdict)
{
    struct packing_answer answer;
    const uint64_t nodes_max = request->nodes_max == 0 ? ORACLE_NODES_DEFAULT : request->nodes_max;
    repack_decide(oracle, state, size, request->align_bytes, nodes_max, &answer);
    verdict->nodes = answer.nodes;
    if (answer.result == PACKING_FITS) {
        set_premature(verdict);
        explain(verdict, state, "the movable blocks and the request can be packed into the spans between unmovable "
                "blocks (%s)", answer.method);
        return;
    }
    if (answer.result == PACKING_UNKNOWN) {
        verdict->kind = VERDICT_UNKNOWN;
        explain(verdict, state, "no packing found and none refuted within %" PRIu64 " nodes (%s)", nodes_max,
                answer.method);
        return;
    }
    verdict->kind = VERDICT_JUSTIFIED;
    explain(verdict, state, "no packing of the movable blocks and the request exists (%s)", answer.method);
}

/* Decides without moving a block between spans; true when that settles it. */
static bool judge_in_place(struct oracle *oracle, const struct state *state, const struct oracle_request *request,
                           uint64_t size, struct verdict *verdict)
{
    struct gap where = {0};
    uint64_t largest = 0;
    uint64_t all = 0;
    if (slide_decide(oracle, state, size, request->align_bytes, &where)) {
        set_premature(verdict);
        explain(verdict, state, "the request fits into [0x%" PRIx64 ", 0x%" PRIx64 ") beside the movable blocks there (%zu)",
                where.start, where.end, where.last - where.first);
        return true;
    }
    if (state->defrag == DEFRAG_REPACK) {
        return false;
    }
    char largest_text[SIZE_TEXT_BYTES];
    char all_text[SIZE_TEXT_BYTES];
    summarise(oracle, state, &largest, &all);
    size_print_field(largest, largest_text);
    size_print_field(all, all_text);
    verdict->kind = VERDICT_JUSTIFIED;
    explain(verdict, state, "the most that one %s offers is %s of %s free",
            state->defrag == DEFRAG_SLIDE ? "span between unmovable blocks" : "hole", largest_text, all_text);
    return true;
}

void oracle_judge(struct oracle *oracle, const struct model *model, const struct oracle_request *request,
                  struct verdict *verdict)
{
    struct state state = decide_state(oracle, model, request);
    verdict->nodes = 0;
    verdict->rule = RULE_NONE;
    verdict->kind = VERDICT_JUSTIFIED;
    if (request->size_bytes > state.capacity || state.heap_start > state.capacity) {
        explain(verdict, &state, "the request is larger than the device");
        return;
    }
    take_ranges(oracle, model, request, &state);
    reserve_scratch(oracle);
    const struct range *fixed = fixed_below_heap(oracle, &state);
    if (fixed != NULL) {
        explain(verdict, &state, "an unmovable block lies at 0x%" PRIx64 ", below the end of the stack at 0x%" PRIx64,
                fixed->start, state.heap_start);
        return;
    }
    const uint64_t size = round_up(request->size_bytes, state.granule);
    if (!judge_in_place(oracle, &state, request, size, verdict)) {
        judge_repack(oracle, &state, request, size, verdict);
    }
}

struct oracle_bounds oracle_reservable(struct oracle *oracle, const struct model *model)
{
    const struct target_contract *contract = model_contract(model);
    const uint64_t capacity = model_capacity_bytes(model);
    struct span_cursor cursor;
    struct span span;
    uint64_t movable = 0;
    uint64_t lowest_fixed = capacity;
    oracle->range_count = 0;
    for (bool found = span_map_first(model_map(model), &cursor); found;
         found = span_map_next(model_map(model), &cursor)) {
        span_map_get(model_map(model), &cursor, &span);
        const struct block *block = model_block(model, (uint32_t)span.owner);
        if (contract->defrag == DEFRAG_NONE || !block_is_movable(block)) {
            lowest_fixed = span.start;
            break;
        }
        movable += span.end - span.start;
        add_range(oracle, block, RANGE_MOVABLE);
    }
    const uint64_t slid = lowest_fixed - movable;
    uint64_t aligned = lowest_fixed;
    for (size_t i = oracle->range_count; i-- > 0;) {
        aligned = (aligned - oracle->ranges[i].size_bytes) & ~(oracle->ranges[i].align_bytes - 1);
    }
    const uint64_t roomy = model_free_bytes(model) + model_reserved_bytes(model);
    if (contract->defrag != DEFRAG_REPACK) {
        return (struct oracle_bounds){aligned, slid};
    }
    return (struct oracle_bounds){aligned, lowest_fixed < roomy ? lowest_fixed : roomy};
}
