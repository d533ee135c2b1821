#include "harness/base/align.h"
#include "harness/op/rounding.h"
#include "harness/rules/private/families.h"

/* Returns the alignment that the op asks for, at least the granule. */
static uint64_t find_asked_align(const struct host *host, const struct op *op)
{
    const uint64_t align = (uint64_t)1 << op->align_log2;
    return align > host->contract.granule_bytes ? align : host->contract.granule_bytes;
}

uint64_t judge_align_bytes(const struct host *host, const struct op *op)
{
    const uint64_t align = find_asked_align(host, op);
    if (!host->contract.aligns_naturally) {
        return align;
    }
    const uint64_t size = judge_needed_bytes(host, op->size_bytes);
    return size > align && size <= model_capacity_bytes(host->model) ? size : align;
}

bool judge_is_request(const struct op *op)
{
    return op_kind_info((enum op_kind)op->kind)->can_be_refused;
}

uint64_t judge_needed_bytes(const struct host *host, uint64_t asked_bytes)
{
    return rounding_bytes_needed(&host->contract.rounding, host->contract.granule_bytes,
                                 asked_bytes);
}

struct oom_request judge_request(const struct host *host, const struct call *call)
{
    const struct op *op = &call->op;
    const uint64_t granule = host->contract.granule_bytes;
    struct oom_request request = {
        .class = op->kind == OP_ALLOC || op->kind == OP_OUTPUT ? REQUEST_BUFFER : REQUEST_PROGRAM,
        .asked_bytes = op->size_bytes,
        .asked_align_bytes = find_asked_align(host, op),
        .align_bytes = judge_align_bytes(host, op),
        .own_op = OP_NONE,
        .stream = host->contract.stream_ordered ? op_stream(op) : 0,
    };
    if (op->kind == OP_LOAD) {
        /* Above 2^63 it was invalid already: the sum cannot overflow. */
        request.stack_bytes = align_up(op->stack_bytes, granule);
    } else if (op->kind == OP_EXECUTE) {
        const struct block *program = model_block(host->model, call->slot);
        request.asked_bytes = program->state == BLOCK_GONE ? program->requested_bytes : 0;
        request.stack_bytes = program->stack_bytes;
        request.own_op = program->op;
    }
    if (request.asked_bytes > 0) {
        request.size_bytes = judge_needed_bytes(host, request.asked_bytes);
    }
    return request;
}
