#include "measure/lives.h"

#include "harness/base/align.h"
#include "harness/base/check.h"
#include "measure/list_peak.h"

#include <stdlib.h>

#define ALL_BYTES_MAX (UINT64_C(1) << 62)
#define NO_LIFE SIZE_MAX

struct taking {
    const struct target_contract *contract;
    struct lives *lives;
    size_t *names; /* by op: the life of the block that it names now, or NO_LIFE */
    uint64_t stack_bytes, all_bytes;
    uint32_t end; /* ops */
    enum lives_result result;
};

/* Sizes of which a single one is too large stay so. */
static uint64_t pack(uint64_t bytes, const struct target_contract *contract)
{
    const uint64_t bounded = bytes < ALL_BYTES_MAX ? bytes : ALL_BYTES_MAX;
    return align_up(bounded == 0 ? 1 : bounded, contract->granule_bytes);
}

static void begin_life(struct taking *taking, const struct op *op, uint32_t number)
{
    const struct target_contract *contract = taking->contract;
    const bool is_program = op->kind == OP_LOAD;
    const uint64_t align_bytes = UINT64_C(1) << op->align_log2;
    const uint64_t header_bytes = is_program ? 0 : contract->header_bytes;
    struct lives *lives = taking->lives;
    if (is_program && (contract->evicts || contract->program_evicts_program)) {
        taking->result = LIVES_EVICTED;
    }
    if (is_program && op->stack_bytes > taking->stack_bytes) {
        taking->stack_bytes = op->stack_bytes;
    }
    struct life *life = &lives->lives[lives->count];
    *life = (struct life){.from = number,
                          .to = taking->end,
                          .bytes = pack(op->size_bytes, contract) + header_bytes,
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

static void take_op(struct taking *taking, const struct op *op, uint32_t number)
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

static void take_ops(struct taking *taking, const struct op_list *ops, uint32_t host,
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
static void place_stack(struct taking *taking)
{
    const struct target_contract *contract = taking->contract;
    struct lives *lives = taking->lives;
    lives->lives[0] = (struct life){.to = taking->end,
                                    .bytes = pack(taking->stack_bytes, contract),
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
                             struct lives *lives)
{
    CHECK(op_count <= ops->count && op_count < UINT32_MAX);
    *lives = (struct lives){malloc((op_count + 1) * sizeof *lives->lives), 1};
    struct taking taking = {.contract = contract,
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

void lives_deinit(struct lives *lives)
{
    free(lives->lives);
    *lives = (struct lives){NULL, 0};
}
