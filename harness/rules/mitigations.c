#include "harness/base/align.h"
#include "harness/base/check.h"
#include "harness/device/collectives.h"
#include "harness/rules/private/families.h"

#include <inttypes.h>
#include <stdio.h>

/* --- what both rules ask --- */

static bool has_surplus(const struct oom *oom)
{
    for (size_t i = 0; i < oom->block_count; i++) {
        if (oom->blocks[i].surplus_bytes > 0) {
            return true;
        }
    }
    return false;
}

/* The state of a call alone, before its next device call, in the scratch of the judge, where it
 * stays until the next state is taken.  Its evidence needs the judge, the host and the call.
 * O(blocks + events). */
static const struct oom *state_take(const struct rule_evidence *evidence)
{
    struct oom *oom = &evidence->judge->reservable;
    const struct oom_request request = judge_request(evidence->host, evidence->call);
    oom_take(oom, evidence->host->model, &request, 0);
    return oom;
}

/* True if the request fits once the mitigations have gone so far, and blocks are moved by sliding
 * alone.  False if a block is larger than was promised: what its target takes for free is not
 * known.  Blocks have addresses.  O(blocks + events). */
static bool state_fits(const struct rule_evidence *evidence, const struct reach_limits *limits)
{
    struct reach *reach = &evidence->judge->reach;
    const struct oom *oom = state_take(evidence);
    struct reach_gap where;
    if (has_surplus(oom)) {
        return false;
    }
    reach_decide(reach, oom, limits);
    return !reach_is_too_large(reach) && reach_fixed_below(reach) == NULL &&
           reach_slides(reach, &where);
}

/* True if the contract names the first of them before the other one, even if the order does not
 * bind.  A mitigation that it does not name comes last. */
static bool is_named_before(const struct target_contract *contract, enum mitigation first,
                            enum mitigation other)
{
    unsigned i = 0;
    while (i < MITIGATION_ORDER_COUNT && contract->order[i] != first &&
           contract->order[i] != other && contract->order[i] != MITIGATION_NONE) {
        i++;
    }
    return first != other && i < MITIGATION_ORDER_COUNT && contract->order[i] == first;
}

/* --- the order that binds --- */

/* Only where blocks are plain ranges.  A refused call excuses what comes after it.  What room is
 * kept for a block in host memory nobody can see, a free that the harness keeps back is no queued
 * free of the target, and next to lanes events complete between a look at them and what follows
 * from it. */
static bool is_order_judged(const struct judge *judge, const struct host *host,
                            const struct call *call)
{
    const struct target_contract *contract = &host->contract;
    return (contract->order_binds || contract->evicts_until_fits) && contract->queues_frees &&
           contract->placement == PLACEMENT_RANGES && contract->header_bytes == 0 &&
           host->clients == NULL && judge_is_request(&call->op) && !judge->had_absent &&
           !device_had_fault(host->device) && model_absent_count(host->model) == 0;
}

/* A wait for what is done already is none. */
static bool is_mitigation(const struct device_call *made, uint64_t completed_after)
{
    return made->kind == DEVICE_CALL_COPY || made->kind == DEVICE_CALL_STAGE_OUT ||
           made->kind == DEVICE_CALL_UNLOAD ||
           (made->kind == DEVICE_CALL_WAIT && completed_after > made->completed_before);
}

bool judge_order(struct judge *judge, const struct host *host, const struct call *call,
                 const struct device_call *made, uint64_t completed_after, bool has_moved)
{
    if (!is_mitigation(made, completed_after) || !is_order_judged(judge, host, call)) {
        return true;
    }
    struct rule_evidence begun = evidence_on(judge, host, call, SIGHT_MITIGATION, SLOT_NONE);
    begun.made = made;
    begun.has_moved = has_moved;
    return rule_judge(RULE_ORDER, &begun);
}

/* False if the request is larger than the device: it is out of memory whatever goes. */
static bool can_ever_fit(const struct host *host, const struct call *call)
{
    const struct oom_request request = judge_request(host, call);
    const uint64_t capacity = model_capacity_bytes(host->model);
    return request.stack_bytes <= capacity && request.size_bytes <= capacity - request.stack_bytes;
}

bool judge_last_eviction(struct judge *judge, const struct host *host, const struct call *call)
{
    struct rule_evidence kept = evidence_of(judge, host, call, SIGHT_KEPT);
    if (!host->contract.evicts_until_fits || !is_order_judged(judge, host, call) ||
        !judge_may_evict(host, &call->op) || !can_ever_fit(host, call)) {
        return true;
    }
    for (size_t i = 0; i < model_program_count(host->model); i++) {
        const struct block *program = model_program(host->model, i);
        kept.slot = model_slot_of_op(host->model, program->op);
        if (judge_is_evictable(call, kept.slot, program) && !rule_judge(RULE_ORDER, &kept)) {
            return false;
        }
    }
    return true;
}

/* This rule asks if a mitigation of a request had to wait for others: for those before it in the
 * contract's order, and for the hole that was there. */

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

/* True if the contract's order binds the first of them to come before the other one. */
static bool comes_before(const struct target_contract *contract, enum mitigation first,
                         enum mitigation other)
{
    return contract->order_binds && is_named_before(contract, first, other);
}

/* --- what the others could do --- */

static bool is_evictable(const struct rule_evidence *evidence, uint32_t slot)
{
    return judge_may_evict(evidence->host, &evidence->call->op) &&
           judge_is_evictable(evidence->call, slot, model_block(evidence->host->model, slot));
}

/* True if [from, to) has room for the block that is asked for. */
static bool has_room(const struct oom_request *request, uint64_t from, uint64_t to)
{
    const uint64_t at = align_up(from, request->align_bytes);
    return at <= to && request->size_bytes <= to - at;
}

/* True if the request has a place as the blocks lie; without_idle: the programs that it may evict
 * are gone. */
static bool fits_in_place(const struct rule_evidence *evidence, bool without_idle)
{
    const struct model *model = evidence->host->model;
    const struct oom_request request = judge_request(evidence->host, evidence->call);
    const uint64_t reserved = model_reserved_bytes(model);
    uint64_t at = request.stack_bytes > reserved ? request.stack_bytes : reserved;
    struct span span;
    bool is_found = request.size_bytes == 0;
    EACH_SPAN(model_map(model), &span) {
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

/* True if a free is queued that waiting can end. */
static bool has_queued_free(const struct rule_evidence *evidence)
{
    return evidence->host->contract.drains && model_dying_count(evidence->host->model) > 0 &&
           reach_drain_ns(state_take(evidence)) > 0;
}

static bool has_idle_program(const struct rule_evidence *evidence)
{
    const struct model *model = evidence->host->model;
    for (size_t i = 0; i < model_program_count(model); i++) {
        if (is_evictable(evidence, model_slot_of_op(model, model_program(model, i)->op))) {
            return true;
        }
    }
    return false;
}

/* True if evictions could do more.  A target that evicts until it fits goes on in any case, another
 * one if that makes room. */
static bool could_evict(const struct rule_evidence *evidence)
{
    return evidence->host->contract.evicts_until_fits
               ? has_idle_program(evidence)
               : !evidence->has_moved && has_idle_program(evidence) &&
                     fits_in_place(evidence, true);
}

/* --- the rule --- */

static bool break_order(const struct rule_evidence *evidence, enum mitigation begun,
                        const char *missed)
{
    static const char *const names[] = {[MITIGATION_DRAIN] = "wait",
                                        [MITIGATION_DEFRAGMENT] = "move",
                                        [MITIGATION_EVICT] = "eviction"};
    char mechanism[VERDICT_MECHANISM_BYTES];
    (void)snprintf(mechanism, sizeof mechanism, "%s %s", names[begun], missed);
    return evidence_break_as(evidence, RULE_ORDER, mechanism,
                             "%s %s, for a request of %" PRIu64 " bytes",
                             begun == MITIGATION_EVICT ? "an eviction" : names[begun], missed,
                             judge_request(evidence->host, evidence->call).size_bytes);
}

/* After a move the places are known again when the op is over: what depends on them is not asked
 * then. */
static bool judge_begun(const struct rule_evidence *evidence)
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
        contract->defrag != DEFRAG_NONE &&
        state_fits(evidence, &(const struct reach_limits){.moves = true})) {
        return break_order(evidence, begun, "although moves were enough");
    }
    if (comes_before(contract, MITIGATION_EVICT, begun) && could_evict(evidence)) {
        return break_order(evidence, begun, "before the programs were evicted");
    }
    return true;
}

bool rules_judge_order(const struct rule_evidence *evidence)
{
    if (evidence->sight == SIGHT_MITIGATION) {
        return judge_begun(evidence);
    }
    return evidence_break_as(evidence, RULE_ORDER, "program kept at an out-of-memory",
                             "out of memory, but the idle program {block} is still loaded");
}

/* --- waits in vain --- */

/* The collective that was awaited until the bound; NULL: the wait was for something else, or for
 * what was over already. */
static const struct collective *find_awaited(const struct host *host,
                                             const struct device_call *made)
{
    if (made->kind != DEVICE_CALL_WAIT || collectives_open_count(host->collectives) == 0 ||
        timeline_state(host->timeline, made->from) != EVENT_DONE ||
        timeline_completed_index(host->timeline, made->from) < made->completed_before) {
        return NULL;
    }
    return collectives_open_of(host->collectives, made->from);
}

/* Only where the places of all blocks are known, and nothing else kept the target from granting:
 * after a move they are known again when the op is over, and what others of the process have, what
 * room is kept for a block in host memory and what completes next to lanes nobody sees.  A refusal
 * of what fitted is premature, waited or not. */
static bool is_wait_judged(const struct judge *judge, const struct host *host,
                           const struct call *call)
{
    const struct target_contract *contract = &host->contract;
    return judge_is_request(&call->op) && call->result == TARGET_OK &&
           contract->placement == PLACEMENT_RANGES && contract->limit == TARGET_LIMIT_DEVICE &&
           host->clients == NULL && !judge->had_absent && model_absent_count(host->model) == 0 &&
           !device_had_fault(host->device);
}

bool judge_held_back(struct judge *judge, const struct host *host, const struct call *call,
                     const struct device_call *made, bool has_moved)
{
    const struct collective *awaited = find_awaited(host, made);
    if (awaited == NULL || has_moved || !is_wait_judged(judge, host, call)) {
        return true;
    }
    struct rule_evidence wait = evidence_on(judge, host, call, SIGHT_MITIGATION, SLOT_NONE);
    wait.made = made;
    wait.awaited = awaited;
    return rule_judge(RULE_HELD_BACK, &wait);
}

/* This rule asks if an allocator held back what it could have granted: its request waited for a
 * collective that somebody did not join in time, and fitted without that wait. */

/* True if something completed in this call before the wait.  From then on an allocator that is
 * draining may look for holes alone: no contract says that it begins anew with what comes first. */
static bool is_draining(const struct rule_evidence *evidence)
{
    size_t count = 0;
    const struct device_call *calls = device_calls(evidence->host->device, &count);
    CHECK(count > 0);
    return evidence->made->completed_before > calls[0].completed_before;
}

/* Returns what was enough without the wait; NULL: nothing that comes before it. */
static const char *find_enough(const struct rule_evidence *evidence)
{
    const struct target_contract *contract = &evidence->host->contract;
    if (state_fits(evidence, &(const struct reach_limits){0})) {
        return "although a hole fitted";
    }
    if (is_draining(evidence)) {
        return NULL;
    }
    if (is_named_before(contract, MITIGATION_DEFRAGMENT, MITIGATION_DRAIN) &&
        state_fits(evidence, &(const struct reach_limits){.moves = true})) {
        return "although moves were enough";
    }
    if (is_named_before(contract, MITIGATION_EVICT, MITIGATION_DRAIN) &&
        state_fits(evidence, &(const struct reach_limits){.evicts = true})) {
        return "although evictions were enough";
    }
    return NULL;
}

/* Whom the collective lacked: "collective 'stage 0', which host 1 and 2 more had not joined". */
static void describe_awaited(const struct rule_evidence *evidence, char *text, size_t text_bytes)
{
    const struct collective *awaited = evidence->awaited;
    const char *name = setup_group_name(evidence->judge->setup, awaited->group);
    const uint64_t missing = awaited->members & ~awaited->joined;
    const int more = __builtin_popcountll(missing) - 1;
    char number[16] = "";
    char others[24] = "";
    (void)snprintf(number, sizeof number, "%" PRIu16, awaited->group);
    if (more > 0) {
        (void)snprintf(others, sizeof others, " and %d more", more);
    }
    const char *quote = name[0] == '\0' ? "" : "'";
    (void)snprintf(text, text_bytes, "collective %s%s%s, which host %d%s had not joined", quote,
                   name[0] == '\0' ? number : name, quote, __builtin_ctzll(missing), others);
}

bool rules_judge_held_back(const struct rule_evidence *evidence)
{
    const char *enough = find_enough(evidence);
    if (enough == NULL) {
        return true;
    }
    char mechanism[VERDICT_MECHANISM_BYTES];
    char awaited[SETUP_GROUP_NAME_BYTES + 64];
    (void)snprintf(mechanism, sizeof mechanism, "wait in vain %s", enough);
    describe_awaited(evidence, awaited, sizeof awaited);
    return evidence_break_as(
        evidence, RULE_HELD_BACK, mechanism,
        "it waited until the bound for %s, %s, for a request of %" PRIu64 " bytes", awaited, enough,
        judge_request(evidence->host, evidence->call).size_bytes);
}
