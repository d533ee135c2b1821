#include "tests/harness/oracle/plan_simulator.h"

#include "harness/base/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Where a block is while the plan is carried out. */
struct place {
    uint64_t address;
    bool is_gone, is_staged;
};

struct simulator {
    const struct oom *oom;
    const struct proof_plan *plan;
    struct place *places; /* by block */
    uint64_t bottom;
    char *reason;
};

__attribute__((format(printf, 2, 3))) static bool refuse(struct simulator *simulator,
                                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(simulator->reason, PLAN_SIMULATOR_REASON_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

/* --- what is allowed --- */

static bool is_refused(const struct oom *oom, enum fault_kind fault)
{
    return (oom->faults_fired >> fault & 1) != 0;
}

enum defrag_contract plan_defrag(const struct oom *oom)
{
    return is_refused(oom, FAULT_COPY) || is_refused(oom, FAULT_HOST_MEMORY) ? DEFRAG_NONE
                                                                             : oom->defrag;
}

bool plan_may_evict(const struct oom *oom)
{
    const bool is_promised = oom->request.class == REQUEST_BUFFER ? oom->evicts
                                                                  : oom->program_evicts_program;
    return is_promised && !is_refused(oom, FAULT_UNLOAD) && !is_refused(oom, FAULT_HOST_MEMORY);
}

uint64_t plan_drain_ns(const struct oom *oom)
{
    uint64_t latest = 0;
    const bool drains = oom->drains && !is_refused(oom, FAULT_WAIT) &&
                        !is_refused(oom, FAULT_HOST_MEMORY);
    for (size_t i = 0; i < oom->block_count && drains; i++) {
        const struct oom_block *block = &oom->blocks[i];
        if (block->state == BLOCK_DYING && block->hold_count == 0 &&
            block->freed_at_ns != DELAY_NEVER && block->freed_at_ns > latest) {
            latest = block->freed_at_ns;
        }
    }
    return latest;
}

/* --- what lies where --- */

static bool has_use_ended(const struct simulator *simulator, size_t i)
{
    const uint64_t until = simulator->oom->blocks[i].used_until_ns;
    return until != DELAY_NEVER && until <= simulator->plan->until_ns;
}

/* Whether [address, address + size) is above the bottom, inside the device, and free but for block
 * `own`. */
static bool is_free(const struct simulator *simulator, uint64_t address, uint64_t size_bytes,
                    size_t own)
{
    const uint64_t capacity = simulator->oom->capacity_bytes;
    if (address < simulator->bottom || address > capacity || size_bytes > capacity - address) {
        return false;
    }
    for (size_t i = 0; i < simulator->oom->block_count; i++) {
        const struct place *place = &simulator->places[i];
        const bool is_there = i != own && !place->is_gone && !place->is_staged;
        if (is_there && place->address < address + size_bytes &&
            address < place->address + simulator->oom->blocks[i].size_bytes) {
            return false;
        }
    }
    return true;
}

static bool is_movable(const struct simulator *simulator, size_t i)
{
    const struct oom_block *block = &simulator->oom->blocks[i];
    return plan_defrag(simulator->oom) != DEFRAG_NONE && !simulator->places[i].is_gone &&
           block->state == BLOCK_LIVE && block->hold_count == 0 && has_use_ended(simulator, i);
}

/* --- the steps --- */

static bool place_blocks(struct simulator *simulator)
{
    const struct oom *oom = simulator->oom;
    uint64_t end = 0;
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        if (block->address < end || block->size_bytes > oom->capacity_bytes - block->address) {
            return refuse(simulator, "block %" PRIu32 " overlaps or lies outside", block->op);
        }
        end = block->address + block->size_bytes;
        simulator->places[i] = (struct place){.address = block->address};
    }
    return true;
}

static bool await_frees(struct simulator *simulator)
{
    const uint64_t until = simulator->plan->until_ns;
    if (until > plan_drain_ns(simulator->oom)) {
        return refuse(simulator, "nothing is awaited until %" PRIu64, until);
    }
    for (size_t i = 0; i < simulator->oom->block_count; i++) {
        const struct oom_block *block = &simulator->oom->blocks[i];
        const bool is_done = block->freed_at_ns != DELAY_NEVER && block->freed_at_ns <= until;
        simulator->places[i].is_gone = block->state == BLOCK_DYING && block->hold_count == 0 &&
                                       is_done;
    }
    return true;
}

static bool evict_blocks(struct simulator *simulator)
{
    const struct oom *oom = simulator->oom;
    for (size_t i = 0; i < simulator->plan->evicted_count; i++) {
        const size_t block = simulator->plan->evicted[i];
        if (block >= oom->block_count || !plan_may_evict(oom) || simulator->places[block].is_gone ||
            oom->blocks[block].kind != BLOCK_PROGRAM || oom->blocks[block].state != BLOCK_LIVE ||
            !has_use_ended(simulator, block) || oom->blocks[block].op == oom->request.own_op) {
            return refuse(simulator, "block %zu may not be evicted", block);
        }
        simulator->places[block].is_gone = true;
    }
    return true;
}

static void grow_stack(struct simulator *simulator)
{
    const struct oom *oom = simulator->oom;
    simulator->bottom = oom->request.stack_bytes;
    for (size_t i = 0; i < oom->block_count; i++) {
        const uint64_t stack = has_use_ended(simulator, i) ? 0 : oom->blocks[i].stack_bytes;
        simulator->bottom = stack > simulator->bottom ? stack : simulator->bottom;
    }
}

/* Under slide: the blocks below stay below and those above stay above; blocks ascend in the
 * document. */
static bool keeps_order(const struct simulator *simulator, size_t moved)
{
    const uint64_t address = simulator->places[moved].address;
    for (size_t i = 0; i < simulator->oom->block_count; i++) {
        const struct place *place = &simulator->places[i];
        const bool is_there = i != moved && !place->is_gone && !place->is_staged;
        if (is_there && (i < moved) != (place->address < address)) {
            return false;
        }
    }
    return true;
}

static bool carry_in(struct simulator *simulator, size_t block, const struct proof_move *move)
{
    struct place *place = &simulator->places[block];
    if (move->to % simulator->oom->blocks[block].align_bytes != 0 ||
        !is_free(simulator, move->to, move->size_bytes, block)) {
        return refuse(simulator, "block %" PRIu32 " cannot go to %" PRIu64, move->block, move->to);
    }
    *place = (struct place){.address = move->to};
    if (plan_defrag(simulator->oom) == DEFRAG_SLIDE && !keeps_order(simulator, block)) {
        return refuse(simulator, "block %" PRIu32 " leaves the order", move->block);
    }
    return true;
}

static bool carry_block(struct simulator *simulator, const struct proof_move *move)
{
    const size_t block = move->block;
    if (block >= simulator->oom->block_count || !is_movable(simulator, block)) {
        return refuse(simulator, "block %" PRIu32 " cannot be moved", move->block);
    }
    struct place *place = &simulator->places[block];
    const bool comes_back = move->from == PROOF_IN_HOST_MEMORY;
    if (move->size_bytes != simulator->oom->blocks[block].size_bytes ||
        comes_back != place->is_staged || (!comes_back && move->from != place->address)) {
        return refuse(simulator, "block %" PRIu32 " is not what or where the move says",
                      move->block);
    }
    if (move->to != PROOF_IN_HOST_MEMORY) {
        return carry_in(simulator, block, move);
    }
    place->is_staged = true;
    return !comes_back ||
           refuse(simulator, "block %" PRIu32 " is in host memory twice", move->block);
}

static bool is_settled(struct simulator *simulator)
{
    for (size_t i = 0; i < simulator->oom->block_count; i++) {
        const struct place *place = &simulator->places[i];
        if (!place->is_gone && (place->is_staged || place->address < simulator->bottom)) {
            return refuse(simulator, "block %" PRIu32 " ends in host memory or on the stack",
                          simulator->oom->blocks[i].op);
        }
    }
    return true;
}

static bool place_request(struct simulator *simulator)
{
    const struct oom *oom = simulator->oom;
    const uint64_t address = simulator->plan->address;
    if (oom->request.size_bytes > oom->capacity_bytes || simulator->bottom > oom->capacity_bytes) {
        return refuse(simulator, "the request is larger than the device");
    }
    const uint64_t need = (oom->request.size_bytes + oom->granule_bytes - 1) / oom->granule_bytes *
                          oom->granule_bytes;
    if (need == 0) {
        return address == UINT64_MAX || refuse(simulator, "the request needs no place");
    }
    return ((address + oom->header_bytes) % oom->request.align_bytes == 0 &&
            is_free(simulator, address, need, SIZE_MAX)) ||
           refuse(simulator, "the request cannot go to %" PRIu64, address);
}

bool plan_simulate(const struct oom *oom, const struct proof_plan *plan,
                   char reason[PLAN_SIMULATOR_REASON_BYTES])
{
    struct simulator simulator = {.oom = oom, .plan = plan, .reason = reason};
    simulator.places = calloc(oom->block_count + 1, sizeof *simulator.places);
    CHECK(simulator.places != NULL);
    bool is_good = place_blocks(&simulator) && await_frees(&simulator) && evict_blocks(&simulator);
    grow_stack(&simulator);
    for (size_t i = 0; i < plan->move_count && is_good; i++) {
        is_good = carry_block(&simulator, &plan->moves[i]);
    }
    is_good = is_good && is_settled(&simulator) && place_request(&simulator);
    free(simulator.places);
    return is_good;
}
