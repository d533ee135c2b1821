#include "harness/run/probe_watch.h"

#include "harness/base/align.h"
#include "harness/base/check.h"
#include "harness/device/timeline.h"
#include "harness/rules/judge.h"

#include <assert.h>

static_assert(PROBE_COUNT <= 64, "one bit each in a word of hits");

static const struct probe_info probes[PROBE_COUNT] = {
#define PROBE(enumerator, name, summary) {#name, summary},
#include "harness/run/probe_list.h"
#undef PROBE
};

const struct probe_info *probe_info(enum probe probe)
{
    CHECK(probe < PROBE_COUNT);
    return &probes[probe];
}

void probe_count(uint64_t hits, uint64_t counts[PROBE_COUNT])
{
    CHECK_COSTLY(hits < UINT64_C(1) << PROBE_COUNT);
    for (; hits != 0; hits &= hits - 1) {
        counts[__builtin_ctzll(hits)]++;
    }
}

uint64_t probes_ever_hit(const uint64_t counts[PROBE_COUNT])
{
    uint64_t hit = 0;
    for (unsigned i = 0; i < PROBE_COUNT; i++) {
        hit += counts[i] > 0;
    }
    return hit;
}

/* The bit of a probe, or nothing. */
static uint64_t bit_if(bool is_hit, enum probe probe)
{
    return (uint64_t)is_hit << probe;
}

/* --- the log of device calls --- */

struct call_log {
    const struct device_call *calls; /* count of them, at least 1 */
    size_t count;
    const struct timeline *timeline;
    const struct op_list *ops;
};

/* The recorded op that made the event; NULL: it is not in the list. */
static const struct op *event_op(const struct call_log *log, uint64_t event)
{
    return event == 0 || event > log->ops->count ? NULL : &log->ops->ops[event - 1];
}

/* Returns how many events had completed when the call returned, at the latest. */
static uint64_t completed_after(const struct call_log *log, size_t i)
{
    return i + 1 < log->count ? log->calls[i + 1].completed_before
                              : timeline_completed_count(log->timeline);
}

/* own_event: of the op itself, which ends with it when it failed or takes no time. */
static bool another_completed(const struct call_log *log, size_t i, uint64_t own_event)
{
    for (uint64_t at = log->calls[i].completed_before; at < completed_after(log, i); at++) {
        const uint64_t event = timeline_completed_at(log->timeline, at);
        if (event != log->calls[i].from && event != own_event) {
            return true;
        }
    }
    return false;
}

static uint64_t oldest_pending(const struct timeline *timeline)
{
    uint64_t oldest = UINT64_MAX;
    for (size_t i = 0; i < timeline_pending_count(timeline); i++) {
        const uint64_t event = timeline_pending_at(timeline, i);
        oldest = event < oldest ? event : oldest;
    }
    return oldest;
}

static uint64_t waits_hit(const struct probe_sight *sight, const struct call_log *log)
{
    const uint64_t oldest = oldest_pending(log->timeline);
    uint64_t hits = 0;
    for (size_t i = 0; i < log->count; i++) {
        const struct device_call *wait = &log->calls[i];
        if (wait->kind != DEVICE_CALL_WAIT || wait->result != DEVICE_OK) {
            continue;
        }
        hits |= bit_if(another_completed(log, i, sight->call->event),
                       PROBE_COMPLETED_WHILE_AWAITING_ANOTHER) |
                bit_if(oldest < wait->from, PROBE_AWAITED_OUT_OF_ORDER);
    }
    return hits;
}

/* An execution of the program ended after the op's first device call and before this eviction. */
static bool ended_before(const struct call_log *log, const struct device_call *unload)
{
    for (uint64_t at = log->calls[0].completed_before; at < unload->completed_before; at++) {
        const struct op *maker = event_op(log, timeline_completed_at(log->timeline, at));
        if (maker != NULL && maker->kind == OP_EXECUTE && maker->ref == unload->from - 1) {
            return true;
        }
    }
    return false;
}

static bool could_be_awaited(const struct oom *before)
{
    for (size_t i = 0; i < before->block_count; i++) {
        const struct oom_block *block = &before->blocks[i];
        if (block->state == BLOCK_DYING && block->hold_count == 0 && block->freed_at_ns != 0 &&
            block->freed_at_ns != DELAY_NEVER) {
            return true;
        }
    }
    return false;
}

static uint64_t evictions_hit(const struct probe_sight *sight, const struct call_log *log)
{
    uint64_t hits = bit_if(sight->judge->is_spending && !sight->judge->is_cheapest &&
                               could_be_awaited(&sight->judge->before),
                           PROBE_EVICTED_WHILE_A_FREE_WAS_QUEUED);
    for (size_t i = 0; i < log->count; i++) {
        const struct device_call *unload = &log->calls[i];
        if (unload->kind == DEVICE_CALL_UNLOAD && unload->result == DEVICE_OK) {
            hits |= bit_if(ended_before(log, unload), PROBE_EVICTED_ONCE_IT_WAS_IDLE);
        }
    }
    return hits;
}

/* The part of the device that moves read or wrote. */
static struct span moves_extent(const struct call_log *log)
{
    struct span extent = {.start = UINT64_MAX};
    for (size_t i = 0; i < log->count; i++) {
        const struct device_call *move = &log->calls[i];
        const bool reads = move->kind == DEVICE_CALL_COPY || move->kind == DEVICE_CALL_STAGE_OUT;
        const bool writes = move->kind == DEVICE_CALL_COPY || move->kind == DEVICE_CALL_STAGE_IN;
        if (move->result != DEVICE_OK || (!reads && !writes)) {
            continue;
        }
        const uint64_t low = !reads || (writes && move->to < move->from) ? move->to : move->from;
        const uint64_t high = !reads || (writes && move->to > move->from) ? move->to : move->from;
        extent.start = low < extent.start ? low : extent.start;
        extent.end = high + move->bytes > extent.end ? high + move->bytes : extent.end;
    }
    return extent;
}

static bool has_held_block(const struct model *model, const struct span *extent)
{
    struct span span;
    EACH_SPAN_BETWEEN(model_map(model), extent->start, extent->end, &span) {
        if (model_block(model, (uint32_t)span.owner)->hold_count > 0) {
            return true;
        }
    }
    return false;
}

/* A program other than the one that this op executes; it executed throughout, because only an op
 * begins that. */
static bool another_executes(const struct probe_sight *sight)
{
    const size_t count = model_busy_count(sight->host->model);
    const bool is_own = sight->call->op.kind == OP_EXECUTE && sight->call->result == TARGET_OK &&
                        model_block(sight->host->model, sight->call->slot)->use_count == 1;
    return count > (is_own ? 1u : 0u);
}

static uint64_t moves_hit(const struct probe_sight *sight, const struct call_log *log)
{
    const struct span extent = moves_extent(log);
    return bit_if(sight->call->op.kind == OP_LOAD, PROBE_MOVED_WHILE_A_PROGRAM_LOADS) |
           bit_if(another_executes(sight), PROBE_MOVED_WHILE_A_PROGRAM_EXECUTES) |
           bit_if(sight->seen->stage_count > 0, PROBE_MOVED_THROUGH_THE_HOST) |
           bit_if(has_held_block(sight->host->model, &extent), PROBE_MOVED_AROUND_A_HELD_BLOCK);
}

/* Returns the probes of faults.  A fired fault refused its call, whatever its kind; one that struck
 * may still have been granted. */
static uint64_t faults_hit(const struct device *device)
{
    enum {
        MOVE = 1u << FAULT_COPY | 1u << FAULT_COPY_HALF | 1u << FAULT_COPY_LATE,
        WAIT = 1u << FAULT_WAIT | 1u << FAULT_WAIT_TIMEOUT | 1u << FAULT_EVENT_LOST |
               1u << FAULT_EVENT_LATE | 1u << FAULT_EVENT_EARLY | 1u << FAULT_EVENT_DOUBLED |
               1u << FAULT_EVENT_ORDER | 1u << FAULT_EVENT_OTHERS,
        UNLOAD = 1u << FAULT_UNLOAD | 1u << FAULT_UNLOAD_BUSY | 1u << FAULT_UNLOAD_HALF,
    };
    const uint32_t faults = device_faults_struck(device) | device_faults_fired(device);
    return bit_if((faults & MOVE) != 0, PROBE_FAULT_STRUCK_A_MOVE) |
           bit_if((faults & WAIT) != 0, PROBE_FAULT_STRUCK_A_WAIT) |
           bit_if((faults & UNLOAD) != 0, PROBE_FAULT_STRUCK_AN_UNLOAD) |
           bit_if((faults & 1u << FAULT_HOST_MEMORY) != 0, PROBE_FAULT_STRUCK_HOST_MEMORY);
}

/* --- holes --- */

/* The largest hole, and whether one of them takes the request as it is aligned. */
struct oom_holes {
    uint64_t largest_bytes;
    bool takes_aligned;
};

static void add_hole(struct oom_holes *holes, uint64_t start, uint64_t end,
                     const struct oom_request *request)
{
    if (end <= start) {
        return;
    }
    const uint64_t aligned = align_up(start, request->align_bytes);
    CHECK_COSTLY(aligned >= start);
    holes->largest_bytes = end - start > holes->largest_bytes ? end - start : holes->largest_bytes;
    CHECK_COSTLY(holes->largest_bytes >= end - start);
    holes->takes_aligned = holes->takes_aligned ||
                           (aligned < end && end - aligned >= request->size_bytes);
}

static struct oom_holes find_holes(const struct oom *oom)
{
    struct oom_holes holes = {0};
    const uint64_t reserved = oom_reserved_bytes(oom);
    uint64_t at = reserved > oom->request.stack_bytes ? reserved : oom->request.stack_bytes;
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        if (oom_block_is_absent(block)) {
            break; /* they are last */
        }
        add_hole(&holes, at, block->address, &oom->request);
        at = block->address + block->size_bytes > at ? block->address + block->size_bytes : at;
    }
    add_hole(&holes, at, oom->capacity_bytes, &oom->request);
    return holes;
}

/* Looks at the state in which no hole fitted, for a request that needed more than a hole. */
static uint64_t holes_hit(const struct oom *oom)
{
    const struct oom_request *request = &oom->request;
    if (request->size_bytes == 0) {
        return 0;
    }
    const struct oom_holes holes = find_holes(oom);
    const uint64_t need = align_up(request->size_bytes, oom->granule_bytes);
    const bool fits_unaligned = request->align_bytes > oom->granule_bytes &&
                                holes.largest_bytes >= need;
    return bit_if(holes.largest_bytes + oom->granule_bytes == need, PROBE_HOLE_ONE_GRANULE_SHORT) |
           bit_if(fits_unaligned && !holes.takes_aligned, PROBE_HOLE_FITS_BUT_FOR_ALIGNMENT);
}

/* No byte is free on either side of the block. */
static bool fills_its_hole(const struct model *model, const struct block *block)
{
    const uint64_t end = block->address + block->size_bytes;
    struct span span;
    return (block->address == model_reserved_bytes(model) ||
            span_map_intersects(model_map(model), block->address - 1, block->address, &span)) &&
           (end == model_capacity_bytes(model) ||
            span_map_intersects(model_map(model), end, end + 1, &span));
}

/* --- requests --- */

/* Placed, and not without mitigation. */
static uint64_t mitigated_hit(const struct probe_watch *watch, const struct probe_sight *sight)
{
    const struct observation *seen = sight->seen;
    const struct call *call = sight->call;
    const struct model *model = sight->host->model;
    const bool is_program = call->op.kind == OP_LOAD || call->op.kind == OP_EXECUTE;
    const bool drained = seen->wait_count > 0, evicted = seen->unload_count > 0;
    const bool moved = seen->copy_count + seen->stage_count > 0;
    const bool has_new_block = call->op.kind != OP_EXECUTE || watch->was_evicted;
    const uint32_t slot = call->op.kind == OP_EXECUTE ? call->slot
                                                      : model_slot_of_op(model, call->number);
    return bit_if(drained, PROBE_DRAINED_FOR_A_REQUEST) | bit_if(moved, PROBE_MOVED_FOR_A_REQUEST) |
           bit_if(evicted, is_program ? PROBE_EVICTED_FOR_A_PROGRAM : PROBE_EVICTED_FOR_A_BUFFER) |
           bit_if(drained && moved && evicted, PROBE_PLACED_AFTER_ALL_THREE) |
           bit_if((drained || moved || evicted) && has_new_block &&
                      fills_its_hole(model, model_block(model, slot)),
                  PROBE_HOLE_EXACTLY_THE_REQUEST);
}

static bool stack_meets_the_heap(const struct model *model)
{
    struct span_cursor cursor;
    struct span span;
    const uint64_t reserved = model_reserved_bytes(model);
    if (reserved == 0 || !span_map_first(model_map(model), &cursor)) {
        return false;
    }
    span_map_get(model_map(model), &cursor, &span);
    return span.start == reserved;
}

static uint64_t placed_hit(struct probe_watch *watch, const struct probe_sight *sight)
{
    CHECK_COSTLY(sight->call->result == TARGET_OK);
    CHECK_COSTLY(sight->host->index < OP_HOST_COUNT_MAX);
    const uint64_t host = (uint64_t)1 << sight->host->index;
    uint64_t hits = bit_if((watch->hosts_failed & host) != 0, PROBE_FAILED_AND_RECOVERED) |
                    bit_if(model_free_bytes(sight->host->model) == 0, PROBE_DEVICE_FULL);
    watch->hosts_failed &= ~host;
    watch->hosts_short &= ~host;
    if (sight->call->op.kind == OP_EXECUTE) {
        hits |= bit_if(watch->was_evicted, PROBE_RELOADED_BY_EXECUTE) |
                bit_if(stack_meets_the_heap(sight->host->model), PROBE_STACK_MET_THE_HEAP);
    }
    return sight->seen->call_count == 0 ? hits : hits | mitigated_hit(watch, sight);
}

static bool has_lost_free(const struct oom *oom)
{
    for (size_t i = 0; i < oom->block_count; i++) {
        if (oom->blocks[i].state == BLOCK_DYING && oom->blocks[i].freed_at_ns == DELAY_NEVER) {
            return true;
        }
    }
    return false;
}

static bool had_enough_free(const struct oom *oom, const struct model *model)
{
    const uint64_t free_bytes = model_free_bytes(model);
    const uint64_t reserved = model_reserved_bytes(model);
    const uint64_t stack = oom->request.stack_bytes;
    const uint64_t growth = stack > reserved ? stack - reserved : 0;
    const uint64_t need = align_up(oom->request.size_bytes,
                                   oom->granule_bytes); /* of at most 2^63 bytes */
    return need <= free_bytes && growth <= free_bytes - need;
}

static bool has_block(const struct oom *oom, bool is_program)
{
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        if ((block->kind == BLOCK_PROGRAM) == is_program && block->state == BLOCK_LIVE &&
            block->hold_count == 0 && block->used_until_ns == 0) {
            return true;
        }
    }
    return false;
}

/* Whoever plans does not move or evict in vain: then it is enough that there was something to move
 * and to evict. */
static bool was_all_in_vain(const struct oom *oom, const struct observation *seen)
{
    const bool evicts = oom->request.class == REQUEST_BUFFER ? oom->evicts
                                                             : oom->program_evicts_program;
    return seen->wait_count > 0 &&
           (seen->copy_count + seen->stage_count > 0 ||
            (oom->defrag != DEFRAG_NONE && has_block(oom, false))) &&
           (seen->unload_count > 0 || (evicts && has_block(oom, true)));
}

static uint64_t refused_hit(struct probe_watch *watch, const struct probe_sight *sight)
{
    CHECK_COSTLY(sight->call->result == TARGET_NO_MEMORY);
    CHECK_COSTLY(sight->host->index < OP_HOST_COUNT_MAX);
    const struct oom *oom = &sight->judge->oom;
    const struct model *model = sight->host->model;
    const uint64_t host = (uint64_t)1 << sight->host->index;
    const bool had_enough = had_enough_free(oom, model);
    watch->hosts_short |= host;
    return bit_if(was_all_in_vain(oom, sight->seen), PROBE_OOM_AFTER_ALL_THREE) |
           bit_if(had_enough, PROBE_OOM_WITH_ENOUGH_FREE) |
           bit_if(!had_enough, PROBE_OOM_WITHOUT_ENOUGH_FREE) |
           bit_if(oom->request.size_bytes == 0, PROBE_OOM_FOR_THE_STACK) |
           bit_if(has_lost_free(oom), PROBE_OOM_WHILE_A_FREE_IS_LOST) |
           bit_if(model_busy_count(model) > 0, PROBE_OOM_WHILE_A_PROGRAM_EXECUTES) |
           bit_if(sight->call->op.kind == OP_EXECUTE && watch->was_evicted, PROBE_RELOAD_REFUSED) |
           bit_if((watch->hosts_short & ~host) != 0, PROBE_SEVERAL_HOSTS_SHORT_TOGETHER) |
           holes_hit(oom);
}

/* --- one op --- */

void probe_watch_execution(struct probe_watch *watch, const struct model *model,
                           const struct op *op)
{
    CHECK_COSTLY(op->kind == OP_EXECUTE);
    CHECK_COSTLY(model != NULL);
    const struct block *program = model_find(model, op->ref);
    watch->was_evicted = program != NULL && program->state == BLOCK_GONE;
}

/* Whatever made the device do something, or would have. */
static uint64_t device_hit(const struct probe_sight *sight)
{
    const struct observation *seen = sight->seen;
    struct call_log log = {.timeline = sight->host->timeline, .ops = sight->judge->ops};
    log.calls = device_calls(sight->host->device, &log.count);
    uint64_t hits = faults_hit(sight->host->device);
    hits |= seen->wait_count > 0 ? waits_hit(sight, &log) : 0;
    hits |= seen->unload_count > 0 ? evictions_hit(sight, &log) : 0;
    hits |= seen->copy_count + seen->stage_count > 0 ? moves_hit(sight, &log) : 0;
    /* The state before the first move or eviction is one in which nothing fitted, unless that was
     * needless. */
    if (sight->judge->is_cheapest) {
        return hits | bit_if(sight->judge->is_granule_short, PROBE_HOLE_ONE_GRANULE_SHORT);
    }
    return sight->judge->is_spending ? hits | holes_hit(&sight->judge->before) : hits;
}

/* Granted, and not a request. */
static uint64_t other_hit(const struct host *host, const struct call *call)
{
    switch ((enum op_kind)call->op.kind) {
    case OP_DONATE:
        return bit_if(model_block(host->model, call->slot)->use_count > 0,
                      PROBE_DONATED_WHILE_USED);
    case OP_FREE:
    case OP_FREE_AFTER:
        return bit_if(model_block(host->model, call->slot)->hold_count > 0, PROBE_FREED_WHILE_HELD);
    case OP_RELEASE: {
        const struct block *block = model_block(host->model, call->slot);
        return bit_if(block->state == BLOCK_DYING && block->hold_count > 0,
                      PROBE_RELEASED_BY_ONE_OF_TWO);
    }
    case OP_RETIRE:
        return bit_if(true, PROBE_RETIRED_MEMORY);
    default:
        return 0;
    }
}

/* Not inlined: the way of the quiet ops saves no registers for it. */
static __attribute__((noinline)) uint64_t loud_hit(struct probe_watch *watch,
                                                   const struct probe_sight *sight)
{
    CHECK_COSTLY(!sight->call->skipped);
    CHECK_COSTLY(sight->host->index < OP_HOST_COUNT_MAX);
    const struct call *call = sight->call;
    if (call->op.kind == OP_SLEEP || call->op.kind == OP_WAKE) {
        return 0; /* what it has the device do is no mitigation */
    }
    const bool is_struck = device_faults_struck(sight->host->device) != 0;
    const uint64_t hits = sight->seen->call_count > 0 || is_struck ? device_hit(sight) : 0;
    switch (call->result) {
    case TARGET_OK:
        return hits | (judge_is_request(&call->op) ? placed_hit(watch, sight)
                                                   : other_hit(sight->host, call));
    case TARGET_NO_MEMORY:
        return hits | refused_hit(watch, sight);
    case TARGET_FAILED:
        watch->hosts_failed |= (uint64_t)1 << sight->host->index;
        return hits;
    default:
        return hits;
    }
}

uint64_t probes_hit(struct probe_watch *watch, const struct probe_sight *sight)
{
    const struct call *call = sight->call;
    const uint64_t noise = watch->hosts_failed | watch->hosts_short | (uint64_t)call->result |
                           sight->seen->call_count | device_faults_struck(sight->host->device);
    if (noise != 0 || call->op.kind == OP_EXECUTE) {
        return loud_hit(watch, sight);
    }
    switch ((enum op_kind)call->op.kind) {
    case OP_ALLOC:
    case OP_OUTPUT:
    case OP_LOAD:
        return bit_if(model_free_bytes(sight->host->model) == 0, PROBE_DEVICE_FULL);
    default:
        return other_hit(sight->host, call);
    }
}
