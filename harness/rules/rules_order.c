/* Whether a mitigation of a request had to wait for others: for those before it in the contract's
 * order, and for the hole that was there. */
#include "harness/base/align.h"
#include "harness/rules/judge_request.h"
#include "harness/rules/private/judge_log.h"
#include "harness/rules/private/rules.h"
#include "harness/rules/private/state_fits.h"

#include <inttypes.h>
#include <stdio.h>

static enum mitigation mitigation_of(const struct device_call *made)
{
    switch (made->kind) {
    case DEVICE_CALL_WAIT:
        return MITIGATION_DRAIN;
    case DEVICE_CALL_UNLOAD:
        return MITIGATION_EVICT;
    default:
        return MITIGATION_DEFRAGMENT;
    }
}

/* Whether the contract has the first of them, and before the other one. */
static bool comes_before(const struct target_contract *contract, enum mitigation first,
                         enum mitigation other)
{
    for (unsigned i = 0; i < MITIGATION_ORDER_COUNT; i++) {
        if (contract->order[i] == other || contract->order[i] == MITIGATION_NONE) {
            return false;
        }
        if (contract->order[i] == first) {
            return contract->order_binds;
        }
    }
    return false;
}

/* --- what the others could do --- */

static bool is_evictable(const struct evidence *evidence, uint32_t slot)
{
    return judge_may_evict(evidence->host, &evidence->call->op) &&
           judge_is_evictable(evidence->call, slot, model_block(evidence->host->model, slot));
}

/* Whether [from, to) has room for the block that is asked for. */
static bool has_room(const struct oom_request *request, uint64_t from, uint64_t to)
{
    const uint64_t at = align_up(from, request->align_bytes);
    return at <= to && request->size_bytes <= to - at;
}

/* Whether the request has a place as the blocks lie; without_idle: the programs that it may evict
 * are gone. */
static bool fits_in_place(const struct evidence *evidence, bool without_idle)
{
    const struct model *model = evidence->host->model;
    const struct oom_request request = judge_request(evidence->host, evidence->call);
    const uint64_t reserved = model_reserved_bytes(model);
    uint64_t at = request.stack_bytes > reserved ? request.stack_bytes : reserved;
    struct span_cursor cursor;
    struct span span;
    bool is_found = request.size_bytes == 0;
    for (bool more = span_map_first(model_map(model), &cursor); more;
         more = span_map_next(model_map(model), &cursor)) {
        span_map_get(model_map(model), &cursor, &span);
        if (without_idle && is_evictable(evidence, (uint32_t)span.owner)) {
            continue;
        }
        if (span.start < request.stack_bytes) {
            return false;
        }
        is_found = is_found || has_room(&request, at, span.start);
        at = span.end;
    }
    const uint64_t capacity = model_capacity_bytes(model);
    return request.stack_bytes <= capacity && (is_found || has_room(&request, at, capacity));
}

/* Whether moves alone make room, in an order that every contract with moves allows. */
static bool fits_by_sliding(const struct evidence *evidence)
{
    return evidence->host->contract.defrag != DEFRAG_NONE &&
           state_fits(evidence, &(const struct reach_limits){.moves = true});
}

/* Whether a free is queued that waiting can end. */
static bool has_queued_free(const struct evidence *evidence)
{
    return evidence->host->contract.drains && model_dying_count(evidence->host->model) > 0 &&
           reach_drain_ns(state_take(evidence)) > 0;
}

static bool has_idle_program(const struct evidence *evidence)
{
    const struct model *model = evidence->host->model;
    for (size_t i = 0; i < model_program_count(model); i++) {
        if (is_evictable(evidence, model_slot_of_op(model, model_program(model, i)->op))) {
            return true;
        }
    }
    return false;
}

/* Whether evictions could do more: one that evicts until it fits goes on in any case, another where
 * that makes room. */
static bool could_evict(const struct evidence *evidence)
{
    return evidence->host->contract.evicts_until_fits
               ? has_idle_program(evidence)
               : !evidence->has_moved && has_idle_program(evidence) &&
                     fits_in_place(evidence, true);
}

/* --- the rule --- */

static bool break_order(const struct evidence *evidence, enum mitigation begun, const char *missed)
{
    static const char *const names[] = {[MITIGATION_DRAIN] = "wait",
                                        [MITIGATION_DEFRAGMENT] = "move",
                                        [MITIGATION_EVICT] = "eviction"};
    char mechanism[VERDICT_MECHANISM_BYTES];
    (void)snprintf(mechanism, sizeof mechanism, "%s %s", names[begun], missed);
    const struct evidence named = evidence_named(evidence, mechanism);
    return evidence_break(&named, RULE_ORDER, "%s %s, for a request of %" PRIu64 " bytes",
                          begun == MITIGATION_EVICT ? "an eviction" : names[begun], missed,
                          judge_request(evidence->host, evidence->call).size_bytes);
}

/* After a move the places are known again when the op is over: what depends on them is not asked
 * then. */
static bool judge_begun(const struct evidence *evidence)
{
    const struct target_contract *contract = &evidence->host->contract;
    const enum mitigation begun = mitigation_of(evidence->made);
    const bool ends_when_it_fits = contract->order_binds || begun == MITIGATION_EVICT;
    const bool has_places = !evidence->has_moved;
    if (ends_when_it_fits && has_places && fits_in_place(evidence, false)) {
        return break_order(evidence, begun, "although a hole fitted");
    }
    if (comes_before(contract, MITIGATION_DRAIN, begun) && has_queued_free(evidence)) {
        return break_order(evidence, begun, "before the last queued free was awaited");
    }
    if (comes_before(contract, MITIGATION_DEFRAGMENT, begun) && has_places &&
        fits_by_sliding(evidence)) {
        return break_order(evidence, begun, "although moves were enough");
    }
    if (comes_before(contract, MITIGATION_EVICT, begun) && could_evict(evidence)) {
        return break_order(evidence, begun, "before the programs were evicted");
    }
    return true;
}

bool rules_judge_order(const struct evidence *evidence)
{
    if (evidence->sight == SIGHT_MITIGATION) {
        return judge_begun(evidence);
    }
    const struct evidence named = evidence_named(evidence, "program kept at an out-of-memory");
    return evidence_break(&named, RULE_ORDER,
                          "out of memory, but the idle program %" PRIu32 " is still loaded",
                          evidence_block(evidence)->op);
}
