#include "measure/needs.h"

#include "harness/base/align.h"
#include "harness/base/check.h"
#include "measure/list_peak.h"

#include <stdlib.h>

/* The block of an op that lives, under the name of the op that has it now. */
struct life {
    bool is_live;
    uint64_t asked_bytes, packed_bytes; /* 0: nothing lives, or it may be evicted */
    /* programs: what they need beyond that while they run */
    uint64_t asked_run_bytes, packed_run_bytes;
};

struct walk {
    struct needs needs;
    struct life *lives; /* by op */
    uint64_t asked_bytes, packed_bytes, block_count;
    const struct target_contract *contract;
    unsigned filler_tag;
};

/* Sizes above every device stay above it, and sums of them do not wrap in 64 bits for any list. */
static uint64_t pack(uint64_t bytes, const struct target_contract *contract)
{
    const uint64_t most = UINT64_C(1) << 55;
    const uint64_t bounded = bytes < most ? bytes : most;
    return align_up(bounded, contract->granule_bytes);
}

static void raise_peak(struct needs_peak *peak, uint64_t bytes, uint32_t op)
{
    if (bytes > peak->bytes) {
        *peak = (struct needs_peak){bytes, op};
    }
}

static void begin_life(struct walk *walk, const struct op *op, uint32_t number)
{
    struct life *life = &walk->lives[number];
    const bool is_program = op->kind == OP_LOAD;
    const bool may_go = is_program &&
                        (walk->contract->evicts || walk->contract->program_evicts_program);
    const uint64_t packed = pack(op->size_bytes, walk->contract) +
                            (is_program ? 0 : walk->contract->header_bytes);
    if (!is_program && op->tag == walk->filler_tag) {
        return;
    }
    *life = (struct life){.is_live = true,
                          .asked_bytes = may_go ? 0 : op->size_bytes,
                          .packed_bytes = may_go ? 0 : packed};
    if (is_program) {
        life->asked_run_bytes = op->size_bytes - life->asked_bytes + op->stack_bytes;
        life->packed_run_bytes = packed - life->packed_bytes +
                                 pack(op->stack_bytes, walk->contract);
    }
    walk->asked_bytes += life->asked_bytes;
    walk->packed_bytes += life->packed_bytes;
    walk->block_count++;
    if (walk->block_count > walk->needs.block_count_max) {
        walk->needs.block_count_max = walk->block_count;
    }
}

static void end_life(struct walk *walk, uint32_t number)
{
    struct life *life = &walk->lives[number];
    walk->asked_bytes -= life->asked_bytes;
    walk->packed_bytes -= life->packed_bytes;
    walk->block_count -= life->is_live;
    *life = (struct life){0};
}

/* A program that is loaded or executed is there then, with its stack.  NULL: the op does neither.
 */
static const struct life *find_running(const struct walk *walk, const struct op *op,
                                       uint32_t number)
{
    const bool executes = op->kind == OP_EXECUTE && op->ref < number;
    return !executes && op->kind != OP_LOAD ? NULL : &walk->lives[executes ? op->ref : number];
}

static void raise_peaks(struct walk *walk, const struct life *running, uint32_t number)
{
    uint64_t asked_bytes = walk->asked_bytes, packed_bytes = walk->packed_bytes;
    if (running != NULL) {
        asked_bytes += running->asked_run_bytes;
        packed_bytes += running->packed_run_bytes;
    }
    raise_peak(&walk->needs.asked, asked_bytes, number);
    raise_peak(&walk->needs.packed, packed_bytes, number);
}

static void take_op(struct walk *walk, const struct op *op, uint32_t number)
{
    if (list_op_is_request(op) && (op->flags & OP_RETRY) == 0) {
        begin_life(walk, op, number);
    } else if (op->kind == OP_DONATE && op->ref < number) {
        walk->lives[number] = walk->lives[op->ref]; /* the block is the same */
        walk->lives[op->ref] = (struct life){0};
    } else if (list_op_ends(op) && op->ref < number) {
        end_life(walk, op->ref);
    }
    raise_peaks(walk, find_running(walk, op, number), number);
}

struct needs needs_find(const struct op_list *ops, size_t op_count, uint32_t host,
                        const struct target_contract *contract, unsigned filler_tag)
{
    CHECK(op_count <= ops->count);
    struct walk walk = {.needs = {{0, OP_NONE}, {0, OP_NONE}, 0},
                        .lives = calloc(op_count + 1, sizeof *walk.lives),
                        .contract = contract,
                        .filler_tag = filler_tag};
    CHECK(walk.lives != NULL);
    for (uint32_t i = 0; i < op_count; i++) {
        if (ops->ops[i].host == host) {
            take_op(&walk, &ops->ops[i], i);
        }
    }
    free(walk.lives);
    return walk.needs;
}
