
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/op/rounding.h"
#include "harness/rules/private/families.h"
#include "harness/rules/private/pass.h"

#include <string.h>

struct overlap_orders overlap_orders_find(const struct pass *pass, uint32_t number)
{
    struct overlap_orders orders = {0};
    for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
        if (!is_open(pass, i) || call_at(pass, i)->host != call_at(pass, number)->host ||
            !overlap_effects_is_taking(pass, i)) {
            continue;
        }
        if (orders.taker_count == OVERLAP_ORDERS_TAKER_COUNT_MAX) {
            orders.has_more = true;
            return orders;
        }
        orders.takers[orders.taker_count++] = i;
    }
    return orders;
}

/* --- who makes way --- */

/* True if the event that the free waits for, if any, is done. */
static bool is_event_done(const struct pass *pass, const struct call *call)
{
    const struct timeline *timeline = pass->judge->hosts[0].timeline;
    return call->op.kind != OP_FREE_AFTER ||
           (timeline_state(timeline, call->event) == EVENT_DONE &&
            timeline_completed_index(timeline, call->event) < pass->judge->absorbed_counts[0]);
}

/* True if calls under way may have made the block go, or have made it, so that it was not there
 * yet.  A block that is used, or waits for an event, is there.  An op names a block of its own host
 * alone. */
static bool may_be_gone(const struct pass *pass, const struct oom_block *block)
{
    for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
        const struct overlap_call *over = call_at(pass, i);
        if (!pass->pending[i].is_under_way) {
            continue;
        }
        if (over->call.number == block->op) {
            return true;
        }
        if (!pass->pending[i].is_done && overlap_effects_gives_back(&over->call) &&
            over->call.op.ref == block->op && block->used_until_ns == 0 &&
            block->freed_at_ns == 0 && is_event_done(pass, &over->call)) {
            return true;
        }
    }
    return false;
}

/* Returns where the block ends as it is, surplus included. */
static uint64_t find_end(const struct oom_block *block)
{
    return block->address + block->size_bytes + block->surplus_bytes;
}

/* False: something in the range stays. */
static bool clear_range(const struct pass *pass, uint64_t start, uint64_t end, struct oom *oom)
{
    size_t kept = 0;
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block block = oom->blocks[i];
        if (block.address >= end || find_end(&block) <= start) {
            oom->blocks[kept++] = block;
        } else if (!may_be_gone(pass, &block)) {
            return false;
        }
    }
    oom->block_count = kept;
    return true;
}

/* --- who takes --- */

void overlap_orders_put(struct oom *oom, const struct oom_block *block)
{
    size_t at = 0;
    while (at < oom->block_count && oom->blocks[at].address < block->address) {
        at++;
    }
    CHECK(at == 0 ||
          oom->blocks[at - 1].address + oom->blocks[at - 1].size_bytes <= block->address);
    CHECK(at == oom->block_count || block->address + block->size_bytes <= oom->blocks[at].address);
    oom->blocks = array_grown(oom->blocks, oom->block_count, &oom->block_capacity,
                              sizeof *oom->blocks);
    memmove(&oom->blocks[at + 1], &oom->blocks[at], (oom->block_count - at) * sizeof *oom->blocks);
    oom->blocks[at] = *block;
    oom->block_count++;
}

/* Returns how large the contract allows it to be. */
static uint64_t find_promised_bytes(const struct overlap_call *over)
{
    const struct target_contract *contract = &over->host->contract;
    if (over->call.op.kind != OP_EXECUTE) {
        return rounding_bytes_max(&contract->rounding, contract->granule_bytes,
                                  over->call.op.size_bytes);
    }
    const uint32_t slot = slot_named(over->host, &over->call);
    CHECK(slot != SLOT_NONE); /* or it takes nothing */
    return model_block(over->host->model, slot)->promised_bytes;
}

struct oom_block overlap_orders_make(const struct pass *pass, const struct overlap_call *over)
{
    const struct op *op = &over->call.op;
    const bool is_execution = op->kind == OP_EXECUTE;
    const uint64_t granule = over->host->contract.granule_bytes;
    const uint64_t promised = find_promised_bytes(over);
    const uint64_t has = over->call.block.size_bytes;
    const uint64_t size = has < promised ? has : promised;
    return (struct oom_block){
        .address = over->call.block.address,
        .size_bytes = size,
        .surplus_bytes = has - size,
        .align_bytes = is_execution ? granule : judge_align_bytes(over->host, op),
        .stack_bytes = is_execution          ? stack_of(pass, over)
                       : op->kind == OP_LOAD ? align_up(op->stack_bytes, granule)
                                             : 0,
        .used_until_ns = is_execution ? DELAY_NEVER : 0,
        .op = is_execution ? op->ref : over->call.number,
        .kind = is_execution || op->kind == OP_LOAD ? BLOCK_PROGRAM
                : op->kind == OP_OUTPUT             ? BLOCK_OUTPUT
                                                    : BLOCK_BUFFER,
        .state = BLOCK_LIVE,
    };
}

/* Everything makes way before anything is taken: takers do not make way for each other. */
bool overlap_orders_apply(const struct pass *pass, const struct overlap_orders *orders,
                          uint32_t set, struct oom *oom)
{
    struct oom_block taken[OVERLAP_ORDERS_TAKER_COUNT_MAX];
    size_t count = 0;
    for (uint32_t i = 0; i < orders->taker_count; i++) {
        const struct overlap_call *over = call_at(pass, orders->takers[i]);
        const struct oom_block block = overlap_orders_make(pass, over);
        const uint64_t end = find_end(&block);
        if ((set >> i & 1) == 0) {
            continue;
        }
        for (size_t k = 0; k < count; k++) {
            if (taken[k].address < end && block.address < find_end(&taken[k])) {
                return false;
            }
        }
        if (!clear_range(pass, block.address, end, oom)) {
            return false;
        }
        taken[count++] = block;
    }
    for (size_t k = 0; k < count; k++) {
        overlap_orders_put(oom, &taken[k]);
    }
    return true;
}
