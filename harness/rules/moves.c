#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/call/clients.h"
#include "harness/device/span_map.h"
#include "harness/rules/private/families.h"
#include "harness/rules/private/pass.h"

#include <inttypes.h>
#include <stdlib.h>

/* These rules ask if blocks moved that may not, and how those moved that may. */

/* --- blocks that are in use --- */

/* True if the block may have moved.  A block that the op freed may have moved before that, unless
 * it was in use.  One that was in host memory alone when it was held had no place to keep. */
static bool has_leave(const struct rule_evidence *evidence)
{
    const struct block *block = evidence_block(evidence);
    const bool is_idle = block->hold_count == 0 &&
                         (block->state == BLOCK_LIVE || evidence->has_ended);
    return block->use_count == 0 && (is_idle || evidence->may_be_absent);
}

bool rules_judge_held_moved(const struct rule_evidence *evidence)
{
    return has_leave(evidence) ||
           evidence_break(
               evidence, RULE_HELD_MOVED,
               evidence->sight == SIGHT_COPY
                   ? "block {block} was copied to another place while it had {holds} holds and {uses} uses"
               : evidence->sight == SIGHT_MOVE
                   ? "block {block} was moved to {at} while it had {holds} holds and {uses} uses"
                   : "block {block} moved although it has {holds} holds and {uses} uses");
}

/* --- moves that nobody asked for --- */

static bool judge_touch(const struct rule_evidence *evidence)
{
    const struct block *block = evidence_block(evidence);
    if (evidence->is_in_host_memory != block->is_absent) {
        return evidence_break(evidence, RULE_MOVED_UNASKED, "block {block} went %s host memory",
                              block->is_absent ? "from" : "to");
    }
    return block->is_absent || evidence->address == block->address ||
           evidence_break(evidence, RULE_MOVED_UNASKED, "block {block} went from {was} to {at}");
}

/* A sleep and a wake move nothing. */
static bool may_move(const struct rule_evidence *evidence)
{
    const struct call *call = evidence->call;
    return evidence->host->contract.defrag != DEFRAG_NONE &&
           (call == NULL || (call->op.kind != OP_SLEEP && call->op.kind != OP_WAKE));
}

/* Only a device that refuses may leave a block in host memory, and only where blocks change places.
 */
static bool judge_stranded(const struct rule_evidence *evidence)
{
    const struct host *host = evidence->host;
    const bool is_repack = host->contract.defrag == DEFRAG_REPACK && may_move(evidence);
    return (is_repack && device_faults_fired(host->device) != 0) ||
           evidence_break(evidence, RULE_MOVED_UNASKED,
                          "block {block} was left in host memory, although %s",
                          is_repack ? "no call was refused"
                                    : "the contract lets no block move past another in this call");
}

/* If calls overlap, others may have moved the donated block since.  A lost block whose bytes are
 * where they were was lost by the target alone. */
bool rules_judge_moved_unasked(const struct rule_evidence *evidence)
{
    const struct host *host = evidence->host;
    const struct block *block = evidence_block(evidence);
    const bool is_there = evidence->address == block->address;
    switch (evidence->sight) {
    case SIGHT_DONATION:
        return ((is_there || evidence->judge->is_overlapping) &&
                evidence->size_bytes == block->size_bytes) ||
               evidence_break(evidence, RULE_MOVED_UNASKED,
                              "a donation took {at} instead of its input's {was}");
    case SIGHT_IMAGE:
        return is_there ||
               evidence_break(
                   evidence, RULE_MOVED_UNASKED,
                   "the target reports the image of program {block} at {at}, but it was at {was}");
    case SIGHT_PASSED:
        return block->address > model_block(host->model, evidence->other)->address ||
               evidence_break(
                   evidence, RULE_MOVED_UNASKED,
                   "block {block} is at {was} and block {other} at {other_at}, so that they passed each other");
    case SIGHT_TOUCH:
        return judge_touch(evidence);
    case SIGHT_STRANDED:
        return judge_stranded(evidence);
    case SIGHT_STAYS:
        return evidence_break(
            evidence, RULE_MOVED_UNASKED,
            "block {block} is still in host memory, although no call was refused and [{at}, 0x%" PRIx64
            ") is free",
            evidence->address + evidence->size_bytes);
    case SIGHT_RETURN:
        return evidence->has_moved ||
               evidence_break(
                   evidence, RULE_MOVED_UNASKED,
                   "block {block} came back from host memory to {at}, but nothing was copied");
    case SIGHT_LOST:
        return block->is_absent || !judge_has_contents(host, evidence->slot) ||
               evidence_break(
                   evidence, RULE_MOVED_UNASKED,
                   "block {block} was at {was} and has no address now, but host memory does not hold it");
    case SIGHT_NEIGHBOUR:
        return host->contract.defrag != DEFRAG_SLIDE ||
               evidence->address >= evidence->below_address ||
               evidence_break(evidence, RULE_MOVED_UNASKED,
                              "block {block} went from {was} to {at}, past its lower neighbour");
    default:
        return (evidence->has_moved && may_move(evidence)) ||
               evidence_break(evidence, RULE_MOVED_UNASKED,
                              "block {block} went from {was} to {at}");
    }
}

/* --- blocks while calls overlap --- */

static_assert(OP_HOST_COUNT_MAX <= 64, "a bit for each host");

static void add_slot(struct overlap_slots *to, const struct host *host, uint32_t slot)
{
    to->slots = array_grown(to->slots, to->count, &to->capacity, sizeof *to->slots);
    to->slots[to->count].host = host;
    to->slots[to->count++].slot = slot;
}

/* True if the slot's block came into being meanwhile.  It has not been written yet: the bytes of
 * its slot are those of the block before it. */
static bool is_young(const struct overlap_moves *moves, const struct host *host, uint32_t slot)
{
    size_t i = 0;
    while (i < moves->young.count &&
           (moves->young.slots[i].host != host || moves->young.slots[i].slot != slot)) {
        i++;
    }
    return i < moves->young.count;
}

/* Something is about to move on the host.  O(blocks) once. */
static void note_sequence(struct overlap_moves *moves, const struct host *host)
{
    const uint64_t bit = UINT64_C(1) << host->index;
    struct span span;
    if (host->contract.defrag != DEFRAG_SLIDE || (moves->noted_hosts & bit) != 0) {
        return;
    }
    moves->noted_hosts |= bit;
    EACH_SPAN(model_map(host->model), &span) {
        add_slot(&moves->sequence, host, (uint32_t)span.owner);
    }
}

/* Where a block was placed meanwhile says nothing of who lay there before. */
bool overlap_moves_judge_order(const struct overlap_moves *moves, struct judge *judge,
                               const struct host *host)
{
    struct rule_evidence evidence = evidence_of(judge, host, NULL, SIGHT_PASSED);
    evidence.other = SLOT_NONE;
    for (size_t i = 0; i < moves->sequence.count; i++) {
        evidence.slot = moves->sequence.slots[i].slot;
        if (moves->sequence.slots[i].host != host || is_young(moves, host, evidence.slot) ||
            evidence_block(&evidence)->state == BLOCK_GONE) {
            continue;
        }
        if (evidence.other != SLOT_NONE && !rule_judge(RULE_MOVED_UNASKED, &evidence)) {
            return false;
        }
        evidence.other = evidence.slot;
    }
    return true;
}

void overlap_moves_deinit(struct overlap_moves *moves)
{
    free(moves->young.slots);
    free(moves->sequence.slots);
    free(moves->copied);
    overlap_stages_deinit(&moves->stages);
    *moves = (struct overlap_moves){0};
}

void overlap_moves_add_young(struct overlap_moves *moves, const struct host *host, uint32_t slot)
{
    add_slot(&moves->young, host, slot);
}

void overlap_moves_stamp(const struct overlap_moves *moves, const struct host *host)
{
    for (size_t i = 0; i < moves->young.count; i++) {
        const uint32_t slot = moves->young.slots[i].slot;
        if (moves->young.slots[i].host == host &&
            model_block(host->model, slot)->state != BLOCK_GONE &&
            !model_block(host->model, slot)->is_absent) {
            judge_stamp(host, slot);
        }
    }
}

void overlap_moves_stamp_staged(const struct overlap_moves *moves, const struct host *host)
{
    for (size_t i = 0; i < moves->young.count; i++) {
        const uint32_t slot = moves->young.slots[i].slot;
        if (moves->young.slots[i].host == host &&
            model_block(host->model, slot)->state != BLOCK_GONE) {
            overlap_stages_stamp(&moves->stages, host, slot);
        }
    }
}

/* --- which copies were moves --- */

/* A block on its way: at an address, and maybe in a stage that was taken out there, so far behind
 * its start. */
struct whereabouts {
    uint64_t address, stage, offset; /* stage 0 = in none */
};

/* Follows the block through one device call.  True: it came to another address. */
static bool follow_call(struct whereabouts *at, const struct device_call *call, uint64_t bytes)
{
    if (call->result != DEVICE_OK) {
        return false;
    }
    if (call->kind == DEVICE_CALL_STAGE_IN && at->stage != 0 && call->from == at->stage) {
        *at = (struct whereabouts){.address = call->to + at->offset};
        return true;
    }
    const bool is_in_it = at->address >= call->from &&
                          at->address + bytes <= call->from + call->bytes;
    if (call->kind == DEVICE_CALL_STAGE_OUT && is_in_it) {
        at->stage = call->to;
        at->offset = at->address - call->from;
    } else if (call->kind == DEVICE_CALL_COPY && is_in_it) {
        *at = (struct whereabouts){.address = call->to + (at->address - call->from)};
        return true;
    }
    return false;
}

/* True if calls from `made` on can bring what lies at its address to where it is in the end. */
static bool has_path_to(const struct host *host, const struct device_call *made,
                        const struct overlap_thing *thing, uint64_t final)
{
    size_t count = 0;
    const struct device_call *calls = device_calls(host->device, &count);
    struct whereabouts at = {.address = thing->address};
    for (; at.address != final && made < calls + count; made++) {
        if (made->kind == DEVICE_CALL_UNLOAD && made->from == (uint64_t)thing->op + 1) {
            return true; /* evicted there: where it is now is another story */
        }
        (void)follow_call(&at, made, thing->bytes);
    }
    return at.address == final;
}

/* Asks the target where what op made is in the end, after everything; false: it cannot be asked. */
static bool find_final(const struct host *host, uint32_t op, uint64_t *address)
{
    CHECK(host->clients != NULL);
    const struct block *known = clients_block(host->clients, host->index, op);
    struct target_block at = {0};
    if (known == NULL || !known->is_known || host->target->locate == NULL ||
        host->target->locate(host->instance, known->handle, &at) != TARGET_OK) {
        return false;
    }
    *address = at.address;
    return true;
}

bool overlap_moves_ends_at(const struct host *host, uint32_t op, uint64_t address)
{
    uint64_t final = 0;
    return find_final(host, op, &final) && final == address;
}

bool overlap_moves_may_have_taken(const struct host *host, const struct device_call *made,
                                  const struct overlap_thing *thing)
{
    uint64_t final = 0;
    return !find_final(host, thing->op, &final) ||
           (final != thing->address && has_path_to(host, made, thing, final));
}

bool overlap_moves_took_away(const struct host *host, const struct device_call *made,
                             const struct overlap_thing *thing)
{
    uint64_t final = 0;
    return find_final(host, thing->op, &final) && has_path_to(host, made, thing, final) &&
           !has_path_to(host, made + 1, thing, final);
}

/* --- taking them in --- */

/* Blocks that will be elsewhere in the end make room: another one goes where they were. */
static void make_room(const struct overlap_moves *moves, struct host *host,
                      const struct span *range)
{
    const uint64_t end = range->end;
    struct span span;
    EACH_SPAN_IN(model_map(host->model), range->start, end, &span) {
        const struct block *block = model_block(host->model, (uint32_t)span.owner);
        uint64_t final = 0;
        if ((find_final(host, block->op, &final) && final != block->address) ||
            overlap_stages_hold(&moves->stages, host, (uint32_t)span.owner, false)) {
            overlap_stages_strand(&moves->stages, host, (uint32_t)span.owner);
        }
    }
}

/* The run that is being judged, and the device call that is taken in. */
struct move_taking {
    struct overlap_moves *moves;
    struct judge *judge;
    struct host *host;
    const struct device_call *made;
};

/* True if the block was in host memory alone when it was held: it had no place to keep. */
static bool has_no_place(const struct move_taking *taking)
{
    const struct device_call *made = taking->made;
    const struct staged *staged = made->kind == DEVICE_CALL_STAGE_IN
                                      ? overlap_stages_find(&taking->moves->stages, taking->host,
                                                            made->from)
                                      : NULL;
    return staged != NULL && staged->may_stay;
}

/* True if the copy moved the block; *to is where. */
static bool is_move(const struct move_taking *taking, uint32_t slot, uint64_t *to)
{
    const struct device_call *made = taking->made;
    const struct block *block = model_block(taking->host->model, slot);
    uint64_t final = 0;
    struct whereabouts at = {.address = block->address,
                             .stage = made->kind == DEVICE_CALL_STAGE_IN ? made->from : 0};
    if (!follow_call(&at, made, block->requested_bytes)) {
        return false;
    }
    *to = at.address;
    if (!find_final(taking->host, block->op, &final)) { /* what was freed went with its bytes */
        const bool may_move = taking->host->contract.defrag != DEFRAG_NONE;
        return (block->state == BLOCK_LIVE && may_move) || has_no_place(taking);
    }
    return has_path_to(taking->host, made + 1,
                       &(struct overlap_thing){block->op, block->requested_bytes, *to}, final);
}

static bool move_block(const struct move_taking *taking, uint32_t slot, uint64_t to)
{
    struct host *host = taking->host;
    const struct block *block = model_block(host->model, slot);
    struct rule_evidence evidence = evidence_on(taking->judge, host, NULL, SIGHT_MOVE, slot);
    evidence.made = taking->made;
    evidence.address = to;
    evidence.has_moved = true;
    evidence.may_be_absent = has_no_place(taking);
    uint32_t other = SLOT_NONE;
    if (block->hold_count > 0) {
        taking->moves->let_go(taking->moves->context, host, slot);
    }
    if (!rule_judge(RULE_HELD_MOVED, &evidence) || !rule_judge(RULE_MOVED_UNASKED, &evidence)) {
        return false;
    }
    if (!block->is_absent) {
        model_strand(host->model, slot);
    }
    make_room(taking->moves, host, &(struct span){.start = to, .end = to + block->size_bytes});
    (void)model_return(host->model, slot, to,
                       &other); /* else it is looked for when no call is under way */
    return true;
}

static bool take_stage_in(const struct move_taking *taking)
{
    uint64_t to = 0;
    struct staged *staged = overlap_stages_find(&taking->moves->stages, taking->host,
                                                taking->made->from);
    if (staged == NULL || model_block(taking->host->model, staged->slot)->state == BLOCK_GONE) {
        return true;
    }
    const bool is_good = !is_move(taking, staged->slot, &to) ||
                         move_block(taking, staged->slot, to);
    staged->is_back = true;
    staged->may_stay = false;
    return is_good;
}

/* The blocks of the source, in the order in which a copy that overlaps itself must take them. */
static bool take_copy(const struct move_taking *taking)
{
    struct overlap_moves *moves = taking->moves;
    struct span span;
    const struct device_call *made = taking->made;
    const uint64_t end = made->from + made->bytes;
    size_t count = 0;
    EACH_SPAN_IN(model_map(taking->host->model), made->from, end, &span) {
        moves->copied = array_grown(moves->copied, count, &moves->copied_capacity,
                                    sizeof *moves->copied);
        moves->copied[count++] = (uint32_t)span.owner;
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t slot = moves->copied[made->to > made->from ? count - 1 - i : i];
        uint64_t to = 0;
        if (is_move(taking, slot, &to) && !move_block(taking, slot, to)) {
            return false;
        }
    }
    return true;
}

bool overlap_moves_take(struct overlap_moves *moves, struct judge *judge, struct host *host,
                        const struct device_call *made)
{
    const struct move_taking taking = {moves, judge, host, made};
    moves->has_moved = true;
    note_sequence(moves, host);
    if (made->kind == DEVICE_CALL_STAGE_OUT) {
        overlap_stages_take_out(&moves->stages, host, made);
        return true;
    }
    if (made->kind == DEVICE_CALL_STAGE_IN && !is_young(moves, host, made->owner)) {
        overlap_stages_take_in(&moves->stages, host, made);
    }
    struct rule_evidence copy = evidence_of(judge, host, NULL, SIGHT_COPY);
    copy.made = made;
    return judge_written(&copy, &moves->stages) &&
           (made->kind == DEVICE_CALL_STAGE_IN ? take_stage_in(&taking) : take_copy(&taking));
}
