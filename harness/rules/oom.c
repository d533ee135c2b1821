#include "harness/base/check.h"
#include "harness/oracle/exhaustive.h"
#include "harness/oracle/shortfall.h"
#include "harness/rules/private/families.h"
#include "harness/rules/private/pass.h"

#include <stdio.h>
#include <string.h>

/* One in so many OOMs of a run gets a second opinion, and every premature one does.  It costs about
 * as much as the first, and it takes only small states. */
enum { SECOND_OPINION_PERIOD = 8 };
/* For one in so many the related states are judged, too: up to four judgements. */
enum { RELATIONS_PERIOD = 64 };

/* Asks a judge that shares nothing with the oracle.  True: it comes to another verdict, and
 * *verdict says so. */
static bool is_disputed(struct judge *judge, struct verdict *verdict)
{
    const enum verdict_kind second = exhaustive_judge(&judge->oom);
    judge->has_second_opinion = second != VERDICT_NONE;
    if (second == VERDICT_NONE || verdict->kind == VERDICT_UNKNOWN || second == verdict->kind) {
        return false;
    }
    snprintf(verdict->reason, sizeof verdict->reason,
             "the oracle reports %s, the exhaustive search reports %s", verdict_name(verdict->kind),
             verdict_name(second));
    verdict->kind = VERDICT_DISPUTED;
    verdict->rule = RULE_NONE;
    return true;
}

static enum verdict_kind ask_oracle(void *context, const struct oom *oom, uint64_t nodes_max)
{
    struct verdict verdict = {0};
    oracle_judge(context, oom, nodes_max, &verdict);
    return verdict.kind;
}

/* True: the oracle contradicts itself, and *verdict says so. */
static bool is_inconsistent(struct judge *judge, struct verdict *verdict)
{
    enum verdict_kind answer = VERDICT_NONE;
    const struct relation_judge ask = {judge->oracle, ask_oracle};
    const enum relation broken = relations_find_broken(&judge->relations, &judge->oom, verdict,
                                                       &ask, &judge->relations_checked, &answer);
    if (broken == RELATION_NONE) {
        return false;
    }
    snprintf(verdict->reason, sizeof verdict->reason,
             "the oracle reports %s, and %s of the same state %s", verdict_name(verdict->kind),
             verdict_name(answer), relation_words(broken));
    verdict->kind = VERDICT_DISPUTED;
    verdict->rule = RULE_NONE;
    return true;
}

/* Each of the others is asked about some.  True: one does not agree, and *verdict says so. */
static bool ask_others(struct judge *judge, struct verdict *verdict)
{
    const uint64_t index = judge->oom_count++;
    if ((index % SECOND_OPINION_PERIOD == 0 || verdict->kind == VERDICT_PREMATURE) &&
        is_disputed(judge, verdict)) {
        return true;
    }
    return index % RELATIONS_PERIOD == 0 && is_inconsistent(judge, verdict);
}

/* True if an out-of-memory is not judged.  After a refused call nobody sees the room kept for
 * blocks in host memory.  What others of the process have taken nobody sees at all. */
static bool is_excused(const struct host *host)
{
    return host->contract.limit == TARGET_LIMIT_PROCESS ||
           (model_absent_count(host->model) > 0 && device_faults_fired(host->device) != 0);
}

/* While a block is absent, the numbers of the text leave out the room that is kept for it, and
 * nobody can see where; nor where blocks without an address are, nor whether the target saw what
 * completed between its last looks. */
static bool judge_text(struct judge *judge, const struct host *host, const struct call *call)
{
    const bool has_seen_all = device_seen_count(host->device) ==
                              timeline_completed_count(host->timeline);
    const bool has_numbers = has_seen_all && model_absent_count(host->model) == 0 &&
                             host->contract.placement == PLACEMENT_RANGES;
    struct rule_evidence text = evidence_of(judge, host, call, SIGHT_ANSWER);
    text.has_numbers = has_numbers;
    return rule_judge(RULE_MESSAGE, &text);
}

/* The mitigations that were made, SHORTFALL_DRAIN and so on. */
static unsigned find_done(const struct device *device)
{
    static const unsigned bits[DEVICE_CALL_KIND_COUNT] = {
        [DEVICE_CALL_WAIT] = SHORTFALL_DRAIN,          [DEVICE_CALL_COPY] = SHORTFALL_DEFRAGMENT,
        [DEVICE_CALL_STAGE_IN] = SHORTFALL_DEFRAGMENT, [DEVICE_CALL_UNLOAD] = SHORTFALL_EVICT,
        [DEVICE_CALL_REGION_GIVE] = SHORTFALL_TRIM,    [DEVICE_CALL_REGION_TAKE] = SHORTFALL_GROW};
    unsigned done = 0;
    EACH_DEVICE_CALL(device, made) {
        done |= made->result == DEVICE_OK ? bits[made->kind] : 0;
    }
    return done;
}

/* The reason is the plan, which costs more than the verdict: a run that goes on has it for the
 * first of each mechanism. */
static void explain_premature(struct judge *judge, unsigned done)
{
    struct verdict *verdict = judge->verdict;
    char mechanism[VERDICT_MECHANISM_BYTES];
    shortfall_name(judge->oracle, &judge->oom, &judge->reach, done, mechanism);
    if (!judge->goes_on || !judge_was_told(judge, RULE_PREMATURE, mechanism)) {
        (void)oracle_prove(judge->oracle, &judge->oom, verdict->nodes_max, verdict);
    }
    memcpy(verdict->mechanism, mechanism, sizeof mechanism);
}

/* Restores what the device calls of the op broke before: that is reported, next to the verdict. */
static void restore_broken(struct judge *judge, const struct verdict *broken)
{
    struct verdict *verdict = judge->verdict;
    if (broken->kind != VERDICT_BROKEN) {
        return;
    }
    judge->oom_verdict = *verdict;
    judge->hides_oom = true;
    verdict->kind = broken->kind;
    verdict->rule = broken->rule;
    memcpy(verdict->mechanism, broken->mechanism, sizeof verdict->mechanism);
    memcpy(verdict->reason, broken->reason, sizeof verdict->reason);
}

/* Without places nobody sees whether memory that is kept for other streams was given out again
 * there.  The verdict stands if it is the same with all of it and with none of it. */
static void ask_oracle_twice(struct judge *judge, const struct host *host,
                             const struct oom_request *request)
{
    struct verdict *verdict = judge->verdict;
    oracle_judge(judge->oracle, &judge->oom, judge->nodes_max, verdict);
    if (verdict->kind != VERDICT_JUSTIFIED) {
        return;
    }
    oom_take(&judge->oom, host->model, request, device_faults_fired(host->device));
    oracle_judge(judge->oracle, &judge->oom, judge->nodes_max, verdict);
    verdict->kind = verdict->kind == VERDICT_PREMATURE ? VERDICT_NONE : verdict->kind;
}

/* Each is at most 2^63. */
static uint64_t sum_request(const struct oom_request *request)
{
    uint64_t bytes = 0;
    return __builtin_add_overflow(request->asked_bytes, request->stack_bytes, &bytes) ? UINT64_MAX
                                                                                      : bytes;
}

bool judge_no_memory(struct judge *judge, struct host *host, const struct call *call)
{
    const struct oom_request request = judge_request(host, call);
    struct verdict *verdict = judge->verdict;
    verdict->requested_bytes = sum_request(&request);
    verdict->free_bytes = model_free_bytes(host->model);
    oom_take(&judge->oom, host->model, &request, device_faults_fired(host->device));
    if (is_excused(host)) {
        return judge_text(judge, host, call);
    }
    judge_pool(host, &judge->oom);
    if (model_absent_count(host->model) > 0) {
        oom_add_absent(&judge->oom, host->model);
    }
    oom_assume(&judge->oom, host->model, judge->setup);
    const struct verdict before = *verdict;
    if (host->contract.placement != PLACEMENT_RANGES && oom_add_kept(&judge->oom, host->model)) {
        ask_oracle_twice(judge, host, &request);
    } else {
        oracle_judge(judge->oracle, &judge->oom, judge->nodes_max, verdict);
    }
    judge->oom_kind = verdict->kind;
    if (verdict->kind == VERDICT_NONE) { /* it depends on places that are hidden */
        *verdict = before;
        return judge_text(judge, host, call);
    }
    if (ask_others(judge, verdict)) {
        judge->oom_kind = VERDICT_NONE;
        return false;
    }
    assumed_judge(judge->assumed, judge->oracle, &judge->oom, verdict);
    judge->oom_kind = verdict->kind;
    if (verdict->kind == VERDICT_PREMATURE) {
        explain_premature(judge, find_done(host->device));
        return judge->goes_on;
    }
    restore_broken(judge, &before);
    return judge_text(judge, host, call);
}

/* Whatever the device refused, the allocator may have in mind what it could do otherwise.  Room for
 * blocks that are absent is not asked for. */
void judge_loaded_stack(struct judge *judge, const struct host *host, const struct call *call,
                        uint64_t stack_bytes, struct verdict *proof)
{
    const struct oom_request request = {.class = REQUEST_PROGRAM,
                                        .align_bytes = host->contract.granule_bytes,
                                        .stack_bytes = stack_bytes,
                                        .own_op = call->number};
    oom_take(&judge->oom, host->model, &request, 0);
    oracle_judge_stack(judge->oracle, &judge->oom, judge->nodes_max, proof);
    if (proof->kind == VERDICT_JUSTIFIED && is_disputed(judge, proof)) {
        *judge->verdict = *proof;
        judge->verdict->op = call->number;
    }
}

/* --- calls that overlap: each is held against every instant between its call and its return --- */

static bool is_oom(const struct overlap_call *over)
{
    return over->call.result == TARGET_NO_MEMORY && judge_is_request(&over->call.op);
}

/* --- what may have been felt already --- */

/* The image of a program that was evicted may be back already. */
static void blur_reload(const struct pass *pass, const struct overlap_call *over, struct oom *oom)
{
    const struct oom_block block = overlap_orders_make(pass, over);
    size_t at = 0;
    while (at < oom->block_count &&
           oom->blocks[at].address + oom->blocks[at].size_bytes <= block.address) {
        at++;
    }
    if (block.size_bytes == 0 ||
        (at < oom->block_count && oom->blocks[at].address < block.address + block.size_bytes)) {
        return; /* it was never away, or is not back yet */
    }
    overlap_orders_put(oom, &block);
}

/* Makes the block as the op may leave it: held or used, it does not move; freed, it may be stuck
 * behind an event that never comes. */
static void blur_block(const struct op *op, struct oom_block *block)
{
    if (op->kind == OP_HOLD) {
        block->hold_count++;
    } else if (op->kind == OP_USE || op->kind == OP_EXECUTE) {
        block->used_until_ns = DELAY_NEVER;
    } else if (op->kind == OP_FREE_AFTER) {
        block->state = BLOCK_DYING;
        block->freed_at_ns = DELAY_NEVER;
    }
}

static void blur_call(const struct pass *pass, const struct overlap_call *over, struct oom *oom)
{
    const struct call *call = &over->call;
    if (call->op.kind == OP_EXECUTE && call->result == TARGET_OK) {
        blur_reload(pass, over, oom);
    }
    for (size_t i = 0; i < oom->block_count; i++) {
        if (oom->blocks[i].op == call->op.ref) {
            blur_block(&call->op, &oom->blocks[i]);
        }
    }
}

/* True if call i may have had its effect already on the host of the call `number`.  A program whose
 * execution is asked for is as good as queued, whatever comes of it. */
static bool may_be_felt(const struct pass *pass, uint32_t number, uint32_t i)
{
    const struct overlap_call *over = call_at(pass, i);
    const struct call *call = &over->call;
    return i != number && is_open(pass, i) && over->host == call_at(pass, number)->host &&
           !call->skipped && (call->result == TARGET_OK || call->op.kind == OP_EXECUTE);
}

/* Effects that calls under way may have had already, and that leave less room; false: there are
 * none. oom: the state that gets them; NULL: that is only asked. */
static bool blur_state(const struct pass *pass, uint32_t number, struct oom *oom)
{
    bool is_blurred = false;
    for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
        const uint8_t kind = call_at(pass, i)->call.op.kind;
        if (may_be_felt(pass, number, i) &&
            (kind == OP_HOLD || kind == OP_USE || kind == OP_EXECUTE || kind == OP_FREE_AFTER)) {
            is_blurred = true;
            if (oom != NULL) {
                blur_call(pass, call_at(pass, i), oom);
            }
        }
    }
    return is_blurred;
}

/* --- one instant --- */

static bool has_other_of_op(const struct oom *oom, size_t i)
{
    for (size_t k = i + 1; k < oom->block_count; k++) {
        if (oom->blocks[k].op == oom->blocks[i].op) {
            return true;
        }
    }
    return false;
}

/* True if a moment could show the blocks like that.  Half-done effects could not: a program's stack
 * is reserved before what lies there was moved away, or its image is back while the old one is
 * still there, or while the request still needs room for it. */
static bool is_possible(const struct oom *oom)
{
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        const bool is_own = block->op == oom->request.own_op && oom->request.size_bytes > 0;
        if (block->kind == BLOCK_PROGRAM && (is_own || has_other_of_op(oom, i))) {
            return false;
        }
    }
    return oom->block_count == 0 || oom->blocks[0].address >= oom_reserved_bytes(oom);
}

/* Keeps the state that was just judged, and the verdict on it, for the call's return. */
static void keep_state(struct pass *pass, uint32_t number, const struct verdict *verdict)
{
    struct pending *pending = &pass->pending[number];
    const struct oom saved = pass->oom;
    pass->oom = pending->oom; /* its memory is used again */
    pending->oom = saved;
    pending->verdict = *verdict;
    pending->has_oom = true;
}

/* The state is kept of the first instant in which nothing fitted, else of the last that is not
 * known, else of the last. */
static void take_verdict(struct pass *pass, uint32_t number, const struct verdict *verdict)
{
    struct pending *pending = &pass->pending[number];
    pending->nodes += verdict->nodes;
    pending->is_excused = verdict->kind == VERDICT_JUSTIFIED;
    pending->is_unknown = pending->is_unknown || verdict->kind == VERDICT_UNKNOWN;
    if (verdict->kind != VERDICT_PREMATURE || !pending->is_unknown) {
        keep_state(pass, number, verdict);
    }
}

static uint64_t sum_blocks(const struct oom *oom)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < oom->block_count; i++) {
        bytes += oom->blocks[i].size_bytes;
    }
    return bytes;
}

/* Holds the out-of-memory against one order of effects: as it leaves the blocks, then as it may be
 * felt. */
static void hold_against(struct pass *pass, uint32_t number, const struct overlap_orders *orders,
                         uint32_t set)
{
    const struct judge *judge = pass->judge;
    const struct overlap_call *over = call_at(pass, number);
    const struct oom_request request = judge_request(over->host, &over->call);
    const int last = blur_state(pass, number, NULL);
    for (int with_blur = 0; with_blur <= last && !pass->pending[number].is_excused; with_blur++) {
        struct verdict verdict = {.op = over->call.number};
        oom_take(&pass->oom, over->host->model, &request, device_faults_fired(over->host->device));
        const uint64_t before = sum_blocks(&pass->oom);
        if (set != 0 && !overlap_orders_apply(pass, orders, set, &pass->oom)) {
            return;
        }
        verdict.free_bytes = model_free_bytes(over->host->model) + before - sum_blocks(&pass->oom);
        if (with_blur != 0) {
            (void)blur_state(pass, number, &pass->oom);
        }
        oracle_judge(judge->oracle, &pass->oom, judge->nodes_max, &verdict);
        if (is_possible(&pass->oom)) {
            take_verdict(pass, number, &verdict);
        } else if (verdict.kind != VERDICT_PREMATURE) {
            /* An allocator may have felt it like that; but it proves nothing. */
            pass->pending[number].was_blind = true;
        }
    }
}

/* Holds the out-of-memory against this instant: in the order that leaves least room as a rule, then
 * in each other one in which somebody got the place of something else. */
static void judge_instant(struct pass *pass, uint32_t number)
{
    struct overlap_call *over = call_at(pass, number);
    over->call.slot = slot_named(over->host, &over->call);
    const struct overlap_orders orders = overlap_orders_find(pass, number);
    for (uint32_t set = 0; set >> orders.taker_count == 0 && !pass->pending[number].is_excused;
         set++) {
        hold_against(pass, number, &orders, set);
    }
    /* The refusal may have been right in an order that is not looked at. */
    pass->pending[number].was_blind = pass->pending[number].was_blind || orders.has_more;
}

void overlap_oom_ask(struct pass *pass)
{
    for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
        struct pending *pending = &pass->pending[i];
        if (!pending->is_under_way || pending->is_excused || !is_oom(call_at(pass, i))) {
            continue;
        }
        const struct host *host = call_at(pass, i)->host;
        if (host->contract.limit == TARGET_LIMIT_PROCESS || model_absent_count(host->model) > 0) {
            pending->was_blind = true;
        } else {
            judge_instant(pass, i);
        }
    }
}

/* --- the return --- */

/* The state that decided is the judge's again, for who asks for a certificate. */
static void restore_state(struct pass *pass, uint32_t number)
{
    struct pending *pending = &pass->pending[number];
    struct judge *judge = pass->judge;
    const struct oom spare = judge->oom;
    judge->oom = pending->oom;
    pending->oom = spare;
    judge->verdict->kind = pending->verdict.kind;
    judge->verdict->free_bytes = pending->verdict.free_bytes;
    judge->verdict->nodes = pending->nodes;
    judge->verdict->nodes_max = pending->verdict.nodes_max;
    judge->verdict->oom_class = pending->verdict.oom_class;
    memcpy(judge->verdict->reason, pending->verdict.reason, sizeof judge->verdict->reason);
}

bool overlap_oom_finish(struct pass *pass, uint32_t number)
{
    struct judge *judge = pass->judge;
    const struct overlap_call *over = call_at(pass, number);
    if (!is_oom(over) || judge->has_wrong_status) {
        return true;
    }
    const struct oom_request request = judge_request(over->host, &over->call);
    judge->verdict->requested_bytes = sum_request(&request);
    /* An instant at which it could not be judged may have been the one that excuses it. */
    const struct pending *pending = &pass->pending[number];
    if (pending->has_oom && (!pending->was_blind || pending->is_excused)) {
        restore_state(pass, number);
        judge->oom_kind = judge->verdict->kind;
    }
    if (judge->oom_kind == VERDICT_PREMATURE) {
        /* nobody knows whose the device calls of an overlap were */
        explain_premature(judge, 0);
        return judge->goes_on;
    }
    /* The numbers may be those of any instant. */
    const struct rule_evidence text = evidence_of(judge, over->host, &over->call, SIGHT_ANSWER);
    return rule_judge(RULE_MESSAGE, &text);
}
