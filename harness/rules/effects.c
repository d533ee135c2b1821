#include "harness/rules/private/families.h"
#include "harness/rules/private/pass.h"

static bool is_granted(const struct call *call)
{
    return call->result == TARGET_OK && !call->skipped;
}

static bool is_taking_memory(const struct call *call)
{
    const uint8_t kind = call->op.kind;
    return is_granted(call) &&
           (kind == OP_ALLOC || kind == OP_OUTPUT || kind == OP_LOAD || kind == OP_EXECUTE);
}

bool overlap_effects_gives_back(const struct call *call)
{
    const uint8_t kind = call->op.kind;
    return is_granted(call) &&
           (kind == OP_FREE || kind == OP_FREE_AFTER || kind == OP_UNLOAD || kind == OP_RELEASE);
}

/* Only an execution of a program that was evicted needs a range. */
static bool has_new_range(const struct host *host, const struct call *call)
{
    const uint32_t slot = slot_named(host, call);
    return call->op.kind != OP_EXECUTE ||
           (slot != SLOT_NONE && model_block(host->model, slot)->state == BLOCK_GONE);
}

/* The block lies in the device, above the stack. */
static bool is_in_heap(const struct host *host, const struct target_block *block)
{
    const uint64_t capacity = model_capacity_bytes(host->model);
    return block->size_bytes > 0 && block->size_bytes <= capacity &&
           block->address <= capacity - block->size_bytes &&
           block->address >= model_reserved_bytes(host->model);
}

static bool is_range_free(const struct host *host, const struct target_block *block)
{
    struct span span;
    return is_in_heap(host, block) &&
           !span_map_intersects(model_map(host->model), block->address,
                                block->address + block->size_bytes, &span);
}

bool overlap_effects_is_taking(const struct pass *pass, uint32_t number)
{
    const struct overlap_call *over = call_at(pass, number);
    return is_taking_memory(&over->call) && has_new_range(over->host, &over->call) &&
           is_in_heap(over->host, &over->call.block);
}

/* --- one effect --- */

static bool take_success(struct pass *pass, const struct overlap_call *over)
{
    const struct call *call = &over->call;
    struct host *host = over->host;
    model_begin_op(host->model, call->number);
    const bool needs = is_taking_memory(call) && has_new_range(host, call);
    if (!judge_take_success(pass->judge, host, call)) {
        return false;
    }
    if (call->op.kind == OP_DONATE) {
        overlap_moves_add_young(&pass->moves, host, call->slot); /* its contents are new */
    }
    if (needs) {
        pass->taken_bytes[host->index] += call->block.size_bytes;
        overlap_moves_add_young(
            &pass->moves, host,
            call->op.kind == OP_EXECUTE ? call->slot : model_slot_of_op(host->model, call->number));
    }
    return true;
}

static bool take_granted(struct pass *pass, struct overlap_call *over)
{
    struct call *call = &over->call;
    const struct op_kind_info *info = op_kind_info(call->op.kind);
    call->slot = slot_named(over->host, call);
    if ((info->has_block || info->has_program) && call->slot == SLOT_NONE) {
        const struct rule_evidence gone = evidence_of(pass->judge, over->host, call, SIGHT_GONE);
        return rule_judge(RULE_STATUS, &gone);
    }
    if (call->op.kind == OP_TOUCH || call->op.kind == OP_REPORT || call->op.kind == OP_DEFRAGMENT) {
        return true; /* it is looked at when no call is under way */
    }
    return take_success(pass, over);
}

/* The effect of the call is in the model from here on; false: that cannot be.  A rule that it
 * breaks without harm is the call's, which may not have returned yet. */
static bool take_effect(struct pass *pass, uint32_t number)
{
    struct overlap_call *over = call_at(pass, number);
    struct pending *pending = &pass->pending[number];
    struct verdict *verdict = pass->judge->verdict;
    pending->is_done = true;
    if (!is_granted(&over->call)) {
        return true;
    }
    clear_verdict(&pending->noted, over->call.number);
    pass->judge->verdict = &pending->noted;
    const bool is_good = take_granted(pass, over);
    pass->judge->verdict = verdict;
    pending->is_noted = pending->noted.kind != VERDICT_NONE;
    if (!is_good) {
        *verdict = pending->noted;
    }
    return is_good;
}

/* --- giving back --- */

/* True if the call gives back what the op made, and has not done so in the model.  It is a call on
 * the same host: one that names what another host has is skipped. */
static bool is_giving_back(const struct pass *pass, uint32_t number, uint32_t op)
{
    const struct call *call = &call_at(pass, number)->call;
    return is_open(pass, number) && overlap_effects_gives_back(call) && call->op.ref == op;
}

/* Calls under way that give back what the op made do so now. */
static void give_back_block(struct pass *pass, uint32_t op)
{
    for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
        if (is_giving_back(pass, i, op)) {
            (void)take_effect(pass, i);
        }
    }
}

/* True if the copied bytes come from the block. */
static bool is_source(const struct pass *pass, const struct host *host,
                      const struct device_call *copy, const struct span *span)
{
    if (copy->kind == DEVICE_CALL_STAGE_IN) {
        const struct staged *staged = overlap_stages_find(&pass->moves.stages, host, copy->from);
        return staged != NULL && staged->slot == span->owner;
    }
    return span->start >= copy->from && span->start < copy->from + copy->bytes;
}

/* Calls under way that give back what lies in the range do so now: the others' answers say that
 * they did.  But not what is itself copied there (copy; NULL: nothing is), or may have gone from
 * there to host memory. */
static void give_back_range(struct pass *pass, const struct host *host, const struct span *range,
                            const struct device_call *copy)
{
    const uint64_t end = range->end;
    struct span span;
    EACH_SPAN_IN(model_map(host->model), range->start, end, &span) {
        if (copy == NULL ||
            !(is_source(pass, host, copy, &span) ||
              overlap_stages_hold(&pass->moves.stages, host, (uint32_t)span.owner, false))) {
            give_back_block(pass, model_block(host->model, (uint32_t)span.owner)->op);
        }
    }
}

void overlap_effects_give_way(struct pass *pass, const struct host *host,
                              const struct device_call *made)
{
    give_back_range(pass, host, &(struct span){.start = made->to, .end = made->to + made->bytes},
                    made);
}

/* --- as soon as nothing speaks against it --- */

static bool is_on_range(const struct target_block *block, uint64_t start, uint64_t end)
{
    return block->address < end && start < block->address + block->size_bytes;
}

/* True if the other call, which takes memory, got part of the block, or the stack there. */
static bool has_same_range(const struct pass *pass, const struct target_block *block,
                           const struct overlap_call *other)
{
    const struct target_block *theirs = &other->call.block;
    return is_on_range(block, theirs->address, theirs->address + theirs->size_bytes) ||
           is_on_range(block, 0, stack_of(pass, other));
}

static bool is_leaving(const struct target_block *block, const struct device_call *made)
{
    return (made->kind == DEVICE_CALL_COPY || made->kind == DEVICE_CALL_STAGE_OUT) &&
           block->address >= made->from &&
           block->address + block->size_bytes <= made->from + made->bytes;
}

static bool is_overwriting(const struct target_block *block, const struct device_call *made)
{
    return (made->kind == DEVICE_CALL_COPY || made->kind == DEVICE_CALL_STAGE_IN) &&
           is_on_range(block, made->to, made->to + made->bytes);
}

static struct overlap_thing make_thing(const struct call *call)
{
    return (struct overlap_thing){call->number, call->op.size_bytes, call->block.address};
}

/* The device calls that the host still makes before the call `until` returns. */
struct asked_calls {
    const struct device_call *at, *end;
};
static struct asked_calls asked_until(const struct pass *pass, const struct host *host,
                                      uint32_t until)
{
    const struct overlap_mark *returns = &pass->overlap->marks[pass->pending[until].return_index];
    size_t count = 0;
    const struct device_call *calls = device_calls(host->device, &count);
    return (struct asked_calls){calls + pass->device_call_counts[host->index],
                                calls + returns->device_call_counts[host->index]};
}

/* True if the block of the call, in a range that is free now, is copied away before the call
 * `until` returns: only this block can be what is copied.  An execution makes no block, and a
 * retired one stays. */
static bool is_left_before(const struct pass *pass, uint32_t number, uint32_t until)
{
    const struct overlap_call *over = call_at(pass, number);
    if (over->call.op.kind == OP_EXECUTE || over->call.op.kind == OP_RETIRE) {
        return false;
    }
    const struct overlap_thing thing = make_thing(&over->call);
    for (struct asked_calls made = asked_until(pass, over->host, until); made.at < made.end;
         made.at++) {
        if (made.at->result == DEVICE_OK && is_leaving(&over->call.block, made.at) &&
            overlap_moves_may_have_taken(over->host, made.at, &thing)) {
            return true;
        }
    }
    return false;
}

/* True if something is copied to its range before it returns, and that is not the block itself,
 * which left the range before.  The copy then came before this call got the range. */
static bool is_overwritten(const struct pass *pass, uint32_t number)
{
    const struct overlap_call *over = call_at(pass, number);
    const struct target_block *block = &over->call.block;
    bool has_left = false;
    for (struct asked_calls made = asked_until(pass, over->host, number); made.at < made.end;
         made.at++) {
        if (made.at->result != DEVICE_OK) {
            continue;
        }
        has_left = has_left || is_leaving(block, made.at);
        if (is_overwriting(block, made.at)) {
            return !has_left ||
                   overlap_moves_ends_at(over->host, over->call.number, block->address);
        }
    }
    return false;
}

/* True if the program that the call loads is evicted before the call `number` returns. */
static bool is_evicted_before(const struct pass *pass, uint32_t load, uint32_t number)
{
    const struct overlap_call *over = call_at(pass, load);
    for (struct asked_calls made = asked_until(pass, over->host, number); made.at < made.end;
         made.at++) {
        if (over->call.op.kind == OP_LOAD && made.at->kind == DEVICE_CALL_UNLOAD &&
            made.at->result == DEVICE_OK && made.at->from == (uint64_t)over->call.number + 1) {
            return true;
        }
    }
    return false;
}

/* True if `first` had the memory before `second`: its program was evicted since, or else its block
 * was moved away since, or else it returns first. */
static bool is_before(const struct pass *pass, uint32_t first, uint32_t second)
{
    if (is_evicted_before(pass, first, second) != is_evicted_before(pass, second, first)) {
        return is_evicted_before(pass, first, second);
    }
    if (is_left_before(pass, first, second) != is_left_before(pass, second, first)) {
        return is_left_before(pass, first, second);
    }
    return pass->pending[first].return_index <= pass->pending[second].return_index;
}

/* True if another call, whose effect is still open but came before, got the same range, or the
 * stack there: that was over before this one got it.  False if the block of this call was moved out
 * of its way. */
static bool is_rivalled(const struct pass *pass, uint32_t number)
{
    const struct overlap_call *over = call_at(pass, number);
    for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
        const struct overlap_call *other = call_at(pass, i);
        if (i != number && !pass->pending[i].is_done && other->host == over->host &&
            is_taking_memory(&other->call) && has_same_range(pass, &over->call.block, other) &&
            is_before(pass, i, number) && !is_left_before(pass, number, i)) {
            return true;
        }
    }
    return false;
}

/* A call that takes memory takes effect as soon as nothing speaks against it; an execution, which
 * takes the stack, too, only when it returns. */
static bool may_take_now(const struct pass *pass, uint32_t number)
{
    const struct overlap_call *over = call_at(pass, number);
    return is_open(pass, number) && is_taking_memory(&over->call) &&
           over->call.op.kind != OP_EXECUTE && is_range_free(over->host, &over->call.block) &&
           !is_rivalled(pass, number) && !is_overwritten(pass, number);
}

bool overlap_effects_take(struct pass *pass)
{
    for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
        if (may_take_now(pass, i) && !take_effect(pass, i)) {
            pass->current = i;
            return false;
        }
    }
    return true;
}

/* --- at the latest --- */

/* Makes room where the call got its block: what lies there is gone, or in host memory. */
static void make_room(struct pass *pass, const struct overlap_call *over)
{
    struct host *host = over->host;
    const struct target_block *block = &over->call.block;
    if (!has_new_range(host, &over->call) || is_range_free(host, block)) {
        return;
    }
    const struct span range = {.start = block->address, .end = block->address + block->size_bytes};
    give_back_range(pass, host, &range, NULL);
    overlap_stages_strand_in(&pass->moves.stages, host, range.start, range.end);
}

static void make_room_for_stack(struct pass *pass, const struct overlap_call *over)
{
    const uint32_t slot = slot_named(over->host, &over->call);
    const uint64_t stack = slot == SLOT_NONE ? 0
                                             : model_block(over->host->model, slot)->stack_bytes;
    give_back_range(pass, over->host, &(struct span){.end = stack}, NULL);
}

bool overlap_effects_finish(struct pass *pass, uint32_t number)
{
    const struct overlap_call *over = call_at(pass, number);
    if (pass->pending[number].is_done) {
        return true;
    }
    if (is_taking_memory(&over->call)) {
        make_room(pass, over);
    }
    if (is_taking_memory(&over->call) && over->call.op.kind == OP_EXECUTE) {
        make_room_for_stack(pass, over);
    }
    return take_effect(pass, number);
}

/* --- what the device was asked to do says that they had it --- */

/* Finishes the call.  What it breaks by that is its own, whoever's device call shows it. */
static bool bring_call(struct pass *pass, uint32_t number)
{
    const bool is_good = overlap_effects_finish(pass, number);
    if (!is_good) {
        pass->current = number;
    }
    return is_good;
}

bool overlap_effects_bring(struct pass *pass, const struct host *host, uint64_t op)
{
    for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
        const struct overlap_call *over = call_at(pass, i);
        if (is_open(pass, i) && over->host == host && is_granted(&over->call) &&
            over->call.op.kind == OP_LOAD && over->call.number == op) {
            return bring_call(pass, i);
        }
    }
    return true;
}

static bool is_being_given_back(const struct pass *pass, uint32_t op)
{
    for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
        if (is_giving_back(pass, i, op)) {
            return true;
        }
    }
    return false;
}

/* True if the copied bytes must be what the model has there. */
static bool is_source_staying(const struct pass *pass, const struct host *host,
                              const struct device_call *made)
{
    const uint64_t end = made->from + made->bytes;
    struct span span;
    EACH_SPAN_IN(model_map(host->model), made->from, end, &span) {
        if (!is_being_given_back(pass, model_block(host->model, (uint32_t)span.owner)->op)) {
            return true;
        }
    }
    return false;
}

/* True if they may be: a block that was not freed yet lies just there. */
static bool is_source_known(const struct host *host, const struct device_call *made)
{
    struct span span;
    return span_map_intersects(model_map(host->model), made->from, made->from + 1, &span) &&
           span.start == made->from && span.end == made->from + made->bytes &&
           model_block(host->model, (uint32_t)span.owner)->state == BLOCK_LIVE;
}

/* True if the call got just what is copied, and it is somewhere else in the end. */
static bool is_source_of(const struct overlap_call *over, const struct device_call *made)
{
    const struct target_block *block = &over->call.block;
    return over->call.op.kind != OP_EXECUTE && block->address == made->from &&
           block->size_bytes == made->bytes &&
           !overlap_moves_ends_at(over->host, over->call.number, block->address);
}

/* True if the copied block is that of the call, though another one that is being given back may lie
 * there.  The copy can lead to where the block is in the end, and either no later copy does, or
 * something else is in its place before the call returns. */
static bool is_certain_source(const struct pass *pass, uint32_t number,
                              const struct device_call *made)
{
    const struct overlap_call *over = call_at(pass, number);
    const struct overlap_thing thing = make_thing(&over->call);
    return overlap_moves_may_have_taken(over->host, made, &thing) &&
           (overlap_moves_took_away(over->host, made, &thing) || is_overwritten(pass, number));
}

bool overlap_effects_bring_source(struct pass *pass, const struct host *host,
                                  const struct device_call *made)
{
    if (made->kind == DEVICE_CALL_STAGE_IN || is_source_staying(pass, host, made)) {
        return true;
    }
    const bool is_known = is_source_known(host, made);
    for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
        const struct overlap_call *over = call_at(pass, i);
        if (is_open(pass, i) && over->host == host && overlap_effects_is_taking(pass, i) &&
            is_source_of(over, made) && (!is_known || is_certain_source(pass, i, made))) {
            return bring_call(pass, i);
        }
    }
    return true;
}

void overlap_effects_let_go(void *context, const struct host *host, uint32_t slot)
{
    struct pass *pass = context;
    const uint32_t op = model_block(host->model, slot)->op;
    for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
        if (call_at(pass, i)->call.op.kind == OP_RELEASE && is_giving_back(pass, i, op)) {
            (void)take_effect(pass, i);
        }
    }
}
