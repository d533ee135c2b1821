#include "diagnosis/no_return.h"

#include "harness/base/align.h"
#include "harness/base/check.h"

#include <stdlib.h>

struct no_return_kept {
    uint32_t op; /* that made it; of what was donated, the first of its names */
    uint64_t bytes;
};

struct keeping {
    const struct op_list *ops;
    const struct target_contract *contract;
    struct no_return_kept *blocks; /* count of them */
    size_t count;
};

static uint64_t round_up(uint64_t bytes, uint64_t granule_bytes)
{
    const uint64_t most = UINT64_C(1) << 62; /* beyond every device, and sums of two do not wrap */
    return align_up(bytes < most ? bytes : most, granule_bytes);
}

static uint32_t find_root(const struct op_list *ops, uint32_t op)
{
    while (ops->ops[op].kind == OP_DONATE && ops->ops[op].ref < op) {
        op = ops->ops[op].ref;
    }
    return op;
}

/* A block that was donated keeps the range of its first name. */
static void keep_block(struct keeping *keeping, const struct block *block)
{
    const uint64_t granule_bytes = keeping->contract->granule_bytes;
    const uint32_t root = find_root(keeping->ops, block->op);
    const uint64_t header_bytes = block->kind == BLOCK_PROGRAM ? 0
                                                               : keeping->contract->header_bytes;
    const uint64_t asked_bytes = root == block->op ? block->requested_bytes
                                                   : keeping->ops->ops[root].size_bytes;
    keeping->blocks[keeping->count++] = (struct no_return_kept){
        .op = root, .bytes = round_up(asked_bytes, granule_bytes) + header_bytes};
}

/* True if a mitigation of this request may evict programs. */
static bool may_evict(const struct target_contract *contract, const struct op *op)
{
    const bool is_program = op->kind == OP_LOAD || op->kind == OP_EXECUTE;
    return is_program ? contract->program_evicts_program : contract->evicts;
}

/* The program that is executed must be there, evicted or not: it is part of the request. */
static void keep_blocks(struct keeping *keeping, const struct model *model, const struct op *op)
{
    const size_t most = model_live_count(model) + model_program_count(model);
    keeping->blocks = calloc(most + 1, sizeof *keeping->blocks);
    CHECK(keeping->blocks != NULL);
    for (size_t i = 0; i < model_live_count(model); i++) {
        keep_block(keeping, model_live(model, i));
    }
    const bool evicts = may_evict(keeping->contract, op);
    for (size_t i = 0; i < model_program_count(model); i++) {
        const struct block *program = model_program(model, i);
        const bool is_own = op->kind == OP_EXECUTE && op->ref == program->op;
        if (!is_own && !evicts && program->state != BLOCK_GONE) {
            keep_block(keeping, program);
        }
    }
}

static uint64_t count_request(const struct keeping *keeping, const struct model *model,
                              const struct op *op)
{
    const uint64_t granule_bytes = keeping->contract->granule_bytes;
    if (op->kind == OP_EXECUTE) {
        const struct block *program = model_find(model, op->ref);
        return program == NULL
                   ? 0
                   : round_up(program->requested_bytes, granule_bytes) + program->stack_bytes;
    }
    if (op->kind == OP_LOAD) {
        return round_up(op->size_bytes, granule_bytes) + round_up(op->stack_bytes, granule_bytes);
    }
    return round_up(op->size_bytes, granule_bytes) + keeping->contract->header_bytes;
}

static int compare_kept(const void *a, const void *b)
{
    const struct no_return_kept *x = a, *y = b;
    return (x->op > y->op) - (x->op < y->op);
}

/* Adds them in the order of their ops until they and the request are too much. */
static void sum_kept(struct keeping *keeping, struct no_return *no_return)
{
    qsort(keeping->blocks, keeping->count, sizeof *keeping->blocks, compare_kept);
    for (size_t i = 0; i < keeping->count; i++) {
        no_return->kept_bytes += keeping->blocks[i].bytes;
        if (no_return->kind == NO_RETURN_NONE &&
            no_return->kept_bytes + no_return->request_bytes > no_return->capacity_bytes) {
            no_return->kind = NO_RETURN_OP;
            no_return->op = keeping->blocks[i].op;
            no_return->kept_by_op = no_return->kept_bytes;
        }
    }
}

void no_return_find(const struct run *run, const struct verdict *verdict,
                    struct no_return *no_return)
{
    CHECK(verdict->op < run_ops(run)->count);
    const struct op *op = &run_ops(run)->ops[verdict->op];
    const struct model *model = run_model(run, op->host);
    struct keeping keeping = {.ops = run_ops(run), .contract = model_contract(model)};
    keep_blocks(&keeping, model, op);
    *no_return = (struct no_return){.op = OP_NONE,
                                    .request_bytes = count_request(&keeping, model, op),
                                    .capacity_bytes = model_capacity_bytes(model) -
                                                      model_retired_bytes(model)};
    if (no_return->request_bytes > no_return->capacity_bytes) {
        no_return->kind = NO_RETURN_START;
    }
    sum_kept(&keeping, no_return);
    free(keeping.blocks);
}
