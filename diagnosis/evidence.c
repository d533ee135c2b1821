#include "diagnosis/evidence.h"

#include "harness/base/check.h"
#include "harness/base/number_map.h"
#include "harness/base/order.h"
#include "harness/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_BLOCK SIZE_MAX

struct tag_text evidence_tag_name(const struct evidence *evidence, uint8_t tag)
{
    struct tag_text name;
    (void)setup_tag_name(evidence->setup, tag, name.text);
    return name;
}

bool evidence_placement_is_assumed(const struct evidence *evidence)
{
    for (size_t i = 0; i < evidence->block_count; i++) {
        if (setup_is_placed_name(evidence->setup->tags[evidence->blocks[i].tag])) {
            return true;
        }
    }
    return false;
}

bool evidence_has_oom(const struct evidence *evidence)
{
    const enum verdict_kind kind = evidence->verdict->kind;
    return kind == VERDICT_JUSTIFIED || kind == VERDICT_PREMATURE || kind == VERDICT_UNKNOWN ||
           kind == VERDICT_DISPUTED;
}

/* The op that made what op names, or op itself. */
static const struct op *find_maker(const struct evidence *evidence, const struct op *op)
{
    return op->kind == OP_EXECUTE && op->ref < evidence->ops->count ? &evidence->ops->ops[op->ref]
                                                                    : op;
}

uint8_t evidence_tag_of(const struct evidence *evidence, const struct op *op)
{
    return find_maker(evidence, op)->tag;
}

uint64_t evidence_stack_bytes(const struct evidence *evidence, const struct op *op)
{
    const struct op *maker = find_maker(evidence, op);
    return op_kind_info((enum op_kind)maker->kind)->has_stack ? maker->stack_bytes : 0;
}

/* --- blocks --- */

static uint64_t find_unpadded_bytes(const struct op_list *ops, const struct block *block)
{
    const struct op *op = &ops->ops[block->op];
    const bool is_told = op_kind_info((enum op_kind)op->kind)->has_unpadded &&
                         op->unpadded_bytes != 0;
    return is_told && op->unpadded_bytes < block->requested_bytes ? op->unpadded_bytes
                                                                  : block->requested_bytes;
}

static void add_block(struct evidence *evidence, const struct block *block)
{
    CHECK(block->op < evidence->ops->count || block->kind == BLOCK_RETIRED);
    evidence->blocks[evidence->block_count++] = (struct evidence_block){
        .address = block->address,
        .size_bytes = block->size_bytes,
        .requested_bytes = block->requested_bytes,
        .unpadded_bytes = block->kind == BLOCK_RETIRED ? block->size_bytes
                                                       : find_unpadded_bytes(evidence->ops, block),
        .image_stack_bytes = block->stack_bytes,
        .op = block->op,
        .freed_op = OP_NONE,
        .hold_op = OP_NONE,
        .event_op = OP_NONE,
        .hold_count = block->hold_count,
        .state = block->state,
        .kind = block->kind,
        .tag = block->tag,
        .is_movable = block_is_movable(block),
        .is_absent = block->is_absent,
        .is_busy = block->use_count > 0};
}

static int rank_block(const struct evidence_block *block)
{
    return block->is_absent || block->state == BLOCK_GONE;
}

static int compare_addresses(const void *a, const void *b)
{
    const struct evidence_block *x = a;
    const struct evidence_block *y = b;
    const int by_rank = rank_block(x) - rank_block(y);
    const int by_address = rank_block(x) == 0 ? compare_numbers(x->address, y->address) : 0;
    return compare_then(compare_then(by_rank, by_address), compare_numbers(x->op, y->op));
}

static void add_retired(struct evidence *evidence, const struct model *model)
{
    for (uint32_t slot = 0; slot < model_slot_count(model); slot++) {
        const struct block *block = model_block(model, slot);
        if (block->kind == BLOCK_RETIRED && block->state == BLOCK_LIVE) {
            add_block(evidence, block);
        }
    }
}

static void collect_blocks(struct evidence *evidence, const struct model *model)
{
    const uint64_t retired_count = model_retired_count(model);
    const size_t most = model_live_count(model) + model_program_count(model) +
                        model_dying_count(model) + retired_count;
    evidence->blocks = calloc(most + 1, sizeof *evidence->blocks);
    CHECK(evidence->blocks != NULL);
    for (size_t i = 0; i < model_live_count(model); i++) {
        add_block(evidence, model_live(model, i));
    }
    for (size_t i = 0; i < model_program_count(model); i++) {
        add_block(evidence, model_program(model, i));
    }
    for (size_t i = 0; i < model_dying_count(model); i++) {
        add_block(evidence, model_dying(model, i));
    }
    if (retired_count > 0) {
        add_retired(evidence, model);
    }
    qsort(evidence->blocks, evidence->block_count, sizeof *evidence->blocks, compare_addresses);
}

/* --- what the list says of them --- */

/* The block that an op made, by the op. */
static void index_blocks(const struct evidence *evidence, struct number_map *block_of)
{
    for (size_t i = 0; i < evidence->block_count; i++) {
        if (evidence->blocks[i].op < evidence->ops->count) {
            number_map_set(block_of, evidence->blocks[i].op, (uint32_t)i);
        }
    }
}

/* The ops of which the event is pending. */
static void index_pending(const struct evidence *evidence, const struct model *model,
                          struct number_map *pending)
{
    for (size_t i = 0; i < model_event_count(model); i++) {
        const uint32_t op = model_event_op(model, i);
        if (op < evidence->ops->count) {
            number_map_set(pending, op, 0);
        }
    }
}

static void note_event(const struct evidence *evidence, struct evidence_block *block,
                       uint32_t event_op)
{
    const struct op *made = &evidence->ops->ops[event_op];
    const bool is_lost = op_kind_info((enum op_kind)made->kind)->has_delay &&
                         made->delay_ns == DELAY_NEVER;
    if (block->event_op == OP_NONE || is_lost || !block->waits_for_ever) {
        block->event_op = event_op;
        block->waits_for_ever = is_lost;
    }
}

static void note_op(const struct evidence *evidence, struct evidence_block *block, uint32_t number,
                    const struct number_map *pending)
{
    const struct op *op = &evidence->ops->ops[number];
    if (block->freed_op != OP_NONE) {
        return; /* it was skipped: the client had no handle any more */
    }
    if (op->kind == OP_FREE || op->kind == OP_FREE_AFTER || op->kind == OP_UNLOAD) {
        block->freed_op = block->state == BLOCK_DYING ? number : OP_NONE;
    }
    if (op->kind == OP_HOLD) {
        block->hold_op = number;
    }
    if (op->kind == OP_FREE_AFTER || op->kind == OP_USE || op->kind == OP_EXECUTE) {
        const uint32_t event_op = op->kind != OP_EXECUTE && op->event != OP_NONE ? op->event
                                                                                 : number;
        if (event_op < evidence->ops->count && number_map_find(pending, event_op) != NUMBER_NONE) {
            note_event(evidence, block, event_op);
        }
    }
}

static void read_list(struct evidence *evidence, const struct model *model)
{
    struct number_map block_of = {0}, pending = {0};
    index_blocks(evidence, &block_of);
    index_pending(evidence, model, &pending);
    for (uint32_t i = 0; i < evidence->ops->count; i++) {
        const struct op *op = &evidence->ops->ops[i];
        const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
        const bool names = info->has_block || info->has_program;
        const uint32_t block = names && op->host == evidence->host
                                   ? number_map_find(&block_of, op->ref)
                                   : NUMBER_NONE;
        if (block != NUMBER_NONE) {
            note_op(evidence, &evidence->blocks[block], i, &pending);
        }
    }
    number_map_deinit(&block_of);
    number_map_deinit(&pending);
}

/* --- the whole --- */

static uint32_t find_newest_op(const struct model *model)
{
    uint32_t newest = OP_NONE;
    for (size_t i = 0; i < model_live_count(model); i++) {
        const uint32_t op = model_live(model, i)->op;
        newest = newest == OP_NONE || op > newest ? op : newest;
    }
    for (size_t i = 0; i < model_program_count(model); i++) {
        const uint32_t op = model_program(model, i)->op;
        newest = newest == OP_NONE || op > newest ? op : newest;
    }
    return newest;
}

static void collect_numbers(struct evidence *evidence, const struct run *run,
                            const struct model *model)
{
    evidence->contract = model_contract(model);
    evidence->capacity_bytes = model_capacity_bytes(model);
    evidence->retired_bytes = model_retired_bytes(model);
    evidence->in_use_bytes = model_in_use_without(model, OP_TAG_COUNT);
    evidence->stack_bytes = model_reserved_bytes(model);
    evidence->free_bytes = model_free_bytes(model);
    evidence->largest_hole_bytes = model_largest_hole_bytes(model);
    evidence->hole_count = model_hole_count(model);
    for (uint32_t i = 0; i < evidence->host_count; i++) {
        evidence->host_in_use_bytes[i] = model_in_use_without(run_model(run, i), OP_TAG_COUNT);
        evidence->host_capacity_bytes[i] = model_capacity_bytes(run_model(run, i));
        evidence->host_newest_ops[i] = find_newest_op(run_model(run, i));
    }
    if (evidence_has_oom(evidence)) {
        const uint64_t requested = evidence->verdict->requested_bytes;
        evidence->requested_bytes = requested;
        evidence->missing_bytes = requested > evidence->free_bytes
                                      ? requested - evidence->free_bytes
                                      : 0;
    }
}

/* If nothing may move and places are assumed, the refusal shows that no piece served the request,
 * or that the allocator was wrong.  As far as anybody was told, there was no room. */
static enum evidence_room find_room(const struct evidence *evidence, const struct run *run)
{
    if (!evidence_has_oom(evidence)) {
        return ROOM_NOT_JUDGED;
    }
    switch (evidence->verdict->kind) {
    case VERDICT_JUSTIFIED:
        return ROOM_NONE;
    case VERDICT_PREMATURE:
        return fit_has_efforts(&evidence->fit) ? ROOM_AFTER_EFFORTS : ROOM_AT_ONCE;
    case VERDICT_UNKNOWN:
        return oom_has_placed(run_oom(run)) ? ROOM_NONE : ROOM_UNKNOWN;
    default:
        return ROOM_UNKNOWN;
    }
}

void evidence_take_of_host(const struct history *history, const struct run *run,
                           const struct verdict *verdict, uint32_t host, struct evidence *evidence)
{
    memset(evidence, 0, sizeof *evidence);
    evidence->history = history;
    evidence->setup = run_setup(run);
    evidence->ops = run_ops(run);
    evidence->verdict = verdict;
    evidence->host_count = run_setup(run)->host_count;
    evidence->host = host;
    if (evidence_has_oom(evidence) && verdict->op < evidence->ops->count) {
        evidence->op = &evidence->ops->ops[verdict->op];
    }
    if (verdict->kind == VERDICT_PREMATURE) {
        fit_take(run, history->has_lanes, &evidence->fit);
    }
    evidence->room = find_room(evidence, run);
    const struct model *model = run_model(run, evidence->host);
    collect_numbers(evidence, run, model);
    collect_blocks(evidence, model);
    read_list(evidence, model);
}

void evidence_take(const struct history *history, const struct run *run,
                   const struct verdict *verdict, struct evidence *evidence)
{
    const bool is_on_op = verdict->kind != VERDICT_NONE && verdict->kind != VERDICT_BROKEN &&
                          verdict->op < run_ops(run)->count;
    evidence_take_of_host(history, run, verdict, is_on_op ? run_ops(run)->ops[verdict->op].host : 0,
                          evidence);
}

void evidence_deinit(struct evidence *evidence)
{
    free(evidence->blocks);
    evidence->blocks = NULL;
    evidence->block_count = 0;
}

bool evidence_invariants_hold(const struct evidence *evidence)
{
    const uint64_t requested = evidence->requested_bytes, free_bytes = evidence->free_bytes;
    bool hold = evidence->host < evidence->host_count &&
                evidence->largest_hole_bytes <= free_bytes &&
                evidence->missing_bytes == (requested > free_bytes ? requested - free_bytes : 0);
    for (size_t i = 1; hold && i < evidence->block_count; i++) {
        hold = compare_addresses(&evidence->blocks[i - 1], &evidence->blocks[i]) <= 0;
    }
    return hold;
}
