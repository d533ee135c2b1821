#include "measure/needs.h"

#include "harness/base/align.h"
#include "harness/base/check.h"

#include <stdlib.h>

/* The block of an op that lives, under the name of the op that has it now. */
struct op_need {
    bool is_live;
    uint64_t asked_bytes, packed_bytes; /* 0: nothing lives, or it may be evicted */
    /* programs: what they need beyond that while they run */
    uint64_t asked_run_bytes, packed_run_bytes;
};

struct needs_walk {
    struct needs needs;
    struct op_need *blocks; /* by op */
    uint64_t asked_bytes, packed_bytes, block_count;
    const struct target_contract *contract;
    unsigned filler_tag;
};

/* Sizes above every device stay above it, and sums of them do not wrap in 64 bits for any list. */
#define PEAK_BYTES_MAX (UINT64_C(1) << 55)

static uint64_t pack(uint64_t bytes, uint64_t most, const struct target_contract *contract)
{
    return align_up(bytes < most ? bytes : most, contract->granule_bytes);
}

static void raise_peak(struct needs_peak *peak, uint64_t bytes, uint32_t op)
{
    if (bytes > peak->bytes) {
        *peak = (struct needs_peak){bytes, op};
    }
}

static void begin_need(struct needs_walk *walk, const struct op *op, uint32_t number)
{
    struct op_need *life = &walk->blocks[number];
    const bool is_program = op->kind == OP_LOAD;
    const bool may_go = is_program &&
                        (walk->contract->evicts || walk->contract->program_evicts_program);
    const uint64_t packed = pack(op->size_bytes, PEAK_BYTES_MAX, walk->contract) +
                            (is_program ? 0 : walk->contract->header_bytes);
    if (!is_program && op->tag == walk->filler_tag) {
        return;
    }
    *life = (struct op_need){.is_live = true,
                             .asked_bytes = may_go ? 0 : op->size_bytes,
                             .packed_bytes = may_go ? 0 : packed};
    if (is_program) {
        life->asked_run_bytes = op->size_bytes - life->asked_bytes + op->stack_bytes;
        life->packed_run_bytes = packed - life->packed_bytes +
                                 pack(op->stack_bytes, PEAK_BYTES_MAX, walk->contract);
    }
    walk->asked_bytes += life->asked_bytes;
    walk->packed_bytes += life->packed_bytes;
    walk->block_count++;
    if (walk->block_count > walk->needs.block_count_max) {
        walk->needs.block_count_max = walk->block_count;
    }
}

static void end_need(struct needs_walk *walk, uint32_t number)
{
    struct op_need *life = &walk->blocks[number];
    walk->asked_bytes -= life->asked_bytes;
    walk->packed_bytes -= life->packed_bytes;
    walk->block_count -= life->is_live;
    *life = (struct op_need){0};
}

/* A program that is loaded or executed is there then, with its stack.  NULL: the op does neither.
 */
static const struct op_need *find_running(const struct needs_walk *walk, const struct op *op,
                                          uint32_t number)
{
    const bool executes = op->kind == OP_EXECUTE && op->ref < number;
    return !executes && op->kind != OP_LOAD ? NULL : &walk->blocks[executes ? op->ref : number];
}

static void raise_peaks(struct needs_walk *walk, const struct op_need *running, uint32_t number)
{
    uint64_t asked_bytes = walk->asked_bytes, packed_bytes = walk->packed_bytes;
    if (running != NULL) {
        asked_bytes += running->asked_run_bytes;
        packed_bytes += running->packed_run_bytes;
    }
    raise_peak(&walk->needs.asked, asked_bytes, number);
    raise_peak(&walk->needs.packed, packed_bytes, number);
}

static void count_op(struct needs_walk *walk, const struct op *op, uint32_t number)
{
    if (list_op_is_request(op) && (op->flags & OP_RETRY) == 0) {
        begin_need(walk, op, number);
    } else if (op->kind == OP_DONATE && op->ref < number) {
        walk->blocks[number] = walk->blocks[op->ref]; /* the block is the same */
        walk->blocks[op->ref] = (struct op_need){0};
    } else if (list_op_ends(op) && op->ref < number) {
        end_need(walk, op->ref);
    }
    raise_peaks(walk, find_running(walk, op, number), number);
}

struct needs needs_find(const struct op_list *ops, size_t op_count, uint32_t host,
                        const struct target_contract *contract, unsigned filler_tag)
{
    CHECK(op_count <= ops->count);
    struct needs_walk walk = {.needs = {{0, OP_NONE}, {0, OP_NONE}, 0},
                              .blocks = calloc(op_count + 1, sizeof *walk.blocks),
                              .contract = contract,
                              .filler_tag = filler_tag};
    CHECK(walk.blocks != NULL);
    for (uint32_t i = 0; i < op_count; i++) {
        if (ops->ops[i].host == host) {
            count_op(&walk, &ops->ops[i], i);
        }
    }
    free(walk.blocks);
    return walk.needs;
}

/* --- the peak of a list --- */

bool list_op_is_request(const struct op *op)
{
    return op->kind == OP_ALLOC || op->kind == OP_OUTPUT || op->kind == OP_LOAD;
}

bool list_op_ends(const struct op *op)
{
    return op->kind == OP_FREE || op->kind == OP_FREE_AFTER || op->kind == OP_UNLOAD;
}

struct needs_peak list_peak_find(const struct op_list *ops)
{
    struct needs_peak peak = {.op = OP_NONE};
    uint64_t held_bytes = 0;
    uint64_t *sizes = calloc(ops->count + 1, sizeof *sizes); /* by op; 0 = it holds nothing */
    CHECK(sizes != NULL);
    for (uint32_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        if (list_op_is_request(op)) {
            sizes[i] = op->size_bytes;
            held_bytes += sizes[i];
        } else if (op->ref < i && (op->kind == OP_DONATE || list_op_ends(op))) {
            sizes[i] = op->kind == OP_DONATE ? sizes[op->ref] : 0; /* the block is the same */
            held_bytes -= sizes[op->ref] - sizes[i];
            sizes[op->ref] = 0;
        }
        raise_peak(&peak, held_bytes, i);
    }
    free(sizes);
    return peak;
}

/* --- lives --- */

#define ALL_BYTES_MAX (UINT64_C(1) << 62)
#define NO_LIFE SIZE_MAX

struct need_taking {
    const struct target_contract *contract;
    struct list_lives *lives;
    size_t *names; /* by op: the life of the block that it names now, or NO_LIFE */
    uint64_t stack_bytes, all_bytes;
    uint32_t end; /* ops */
    enum lives_result result;
};

/* Sizes of which a single one is too large stay so. */
static uint64_t pack_life(uint64_t bytes, const struct target_contract *contract)
{
    return pack(bytes == 0 ? 1 : bytes, ALL_BYTES_MAX, contract);
}

static void begin_life(struct need_taking *taking, const struct op *op, uint32_t number)
{
    const struct target_contract *contract = taking->contract;
    const bool is_program = op->kind == OP_LOAD;
    const uint64_t align_bytes = UINT64_C(1) << op->align_log2;
    const uint64_t header_bytes = is_program ? 0 : contract->header_bytes;
    struct list_lives *lives = taking->lives;
    if (is_program && (contract->evicts || contract->program_evicts_program)) {
        taking->result = LIVES_EVICTED;
    }
    if (is_program && op->stack_bytes > taking->stack_bytes) {
        taking->stack_bytes = op->stack_bytes;
    }
    struct life *life = &lives->lives[lives->count];
    *life = (struct life){.from = number,
                          .to = taking->end,
                          .bytes = pack_life(op->size_bytes, contract) + header_bytes,
                          .header_bytes = header_bytes,
                          .align_bytes = align_bytes > contract->granule_bytes
                                             ? align_bytes
                                             : contract->granule_bytes};
    taking->all_bytes += life->bytes + life->align_bytes;
    if (taking->all_bytes > ALL_BYTES_MAX) {
        taking->result = LIVES_TOO_LARGE;
    }
    taking->names[number] = lives->count++;
}

static void take_op(struct need_taking *taking, const struct op *op, uint32_t number)
{
    if (list_op_is_request(op) && (op->flags & OP_RETRY) == 0) {
        begin_life(taking, op, number);
    } else if (op->kind == OP_DONATE && op->ref < number) {
        taking->names[number] = taking->names[op->ref];
        taking->names[op->ref] = NO_LIFE;
    } else if (list_op_ends(op) && op->ref < number && taking->names[op->ref] != NO_LIFE) {
        taking->lives->lives[taking->names[op->ref]].to = number;
        taking->names[op->ref] = NO_LIFE;
    }
}

static void take_ops(struct need_taking *taking, const struct op_list *ops, uint32_t host,
                     unsigned filler_tag)
{
    for (uint32_t i = 0; i < taking->end && taking->result == LIVES_OK; i++) {
        const struct op *op = &ops->ops[i];
        const bool is_filler = list_op_is_request(op) && op->kind != OP_LOAD &&
                               op->tag == filler_tag;
        taking->names[i] = NO_LIFE;
        if (op->host == host && !is_filler) {
            take_op(taking, op, i);
        }
    }
}

/* The first of the lives is kept for it. */
static void place_stack(struct need_taking *taking)
{
    const struct target_contract *contract = taking->contract;
    struct list_lives *lives = taking->lives;
    lives->lives[0] = (struct life){.to = taking->end,
                                    .bytes = pack_life(taking->stack_bytes, contract),
                                    .align_bytes = contract->granule_bytes};
    taking->all_bytes += lives->lives[0].bytes;
    if (taking->stack_bytes == 0) {
        lives->count--;
        for (size_t i = 0; i < lives->count; i++) {
            lives->lives[i] = lives->lives[i + 1];
        }
    }
}

enum lives_result lives_take(const struct op_list *ops, size_t op_count, uint32_t host,
                             const struct target_contract *contract, unsigned filler_tag,
                             struct list_lives *lives)
{
    CHECK(op_count <= ops->count && op_count < UINT32_MAX);
    *lives = (struct list_lives){malloc((op_count + 1) * sizeof *lives->lives), 1};
    struct need_taking taking = {.contract = contract,
                                 .lives = lives,
                                 .names = malloc((op_count + 1) * sizeof *taking.names),
                                 .end = (uint32_t)op_count};
    CHECK(lives->lives != NULL && taking.names != NULL);
    take_ops(&taking, ops, host, filler_tag);
    free(taking.names);
    place_stack(&taking);
    if (taking.result == LIVES_OK && taking.all_bytes > ALL_BYTES_MAX) {
        taking.result = LIVES_TOO_LARGE;
    }
    if (taking.result != LIVES_OK) {
        lives->count = 0;
    }
    return taking.result;
}

void lives_deinit(struct list_lives *lives)
{
    free(lives->lives);
    *lives = (struct list_lives){NULL, 0};
}
