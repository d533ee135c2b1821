/* One pass over an overlap, as its parts share it: what is known of each call so far, and how far
 * the log was read. */
#ifndef HARNESS_RULES_PRIVATE_OVERLAP_PASS_H
#define HARNESS_RULES_PRIVATE_OVERLAP_PASS_H

#include "harness/base/align.h"
#include "harness/rules/overlap.h"
#include "harness/rules/private/overlap_moves.h"

#include <stddef.h>
#include <string.h>

/* A call as the pass knows it. */
struct pending {
    bool is_under_way, is_done; /* done: its effect is in the model */
    size_t return_index;        /* of the mark at which it returns */
    bool is_excused;            /* an out-of-memory: nothing fitted at some instant */
    bool is_unknown;            /* at some instant the search ended without an answer */
    bool was_blind;             /* at some instant it could not be told where a block was */
    bool has_oom;               /* oom is the state of the instant that decided */
    struct oom oom;
    uint64_t nodes;
    bool is_noted;          /* its effect broke a rule that does no harm: noted says which */
    struct verdict verdict; /* on that state; large, so only has_oom makes it mean something */
    struct verdict noted;   /* the same with is_noted: told when the call returns */
};
struct pass {
    struct judge *judge;
    struct overlap *overlap;
    struct pending *pending; /* by call */
    struct overlap_moves moves;
    struct oom oom; /* the state of the instant that is asked for; the judge's is that of the call
                       told last */
    uint32_t device_call_counts[OP_HOST_COUNT_MAX]; /* taken in */
    uint64_t in_use_before[OP_HOST_COUNT_MAX], taken_bytes[OP_HOST_COUNT_MAX];
    uint64_t peak_low_before[OP_HOST_COUNT_MAX];
    uint32_t current; /* the call that is blamed */
};

static inline struct overlap_call *call_at(const struct pass *pass, size_t i)
{
    return &pass->overlap->calls[i];
}

/* The rest of the reason means nothing, and it is large. */
static inline void clear_verdict(struct verdict *verdict, uint32_t op)
{
    memset(verdict, 0, offsetof(struct verdict, reason) + 1);
    verdict->kind = VERDICT_NONE;
    verdict->rule = RULE_NONE;
    verdict->op = op;
}

/* Whether the call is under way and has not had its effect yet. */
static inline bool is_open(const struct pass *pass, size_t i)
{
    return pass->pending[i].is_under_way && !pass->pending[i].is_done;
}

/* The block or program that the call names. */
static inline uint32_t slot_named(const struct host *host, const struct call *call)
{
    const struct op_kind_info *info = op_kind_info(call->op.kind);
    return info->has_block || info->has_program ? model_slot_of_op(host->model, call->op.ref)
                                                : SLOT_NONE;
}

/* What an execution reserves at the bottom; the program may not be in the model yet. */
static inline uint64_t stack_of(const struct pass *pass, const struct overlap_call *over)
{
    const struct op_list *ops = pass->judge->ops;
    const uint32_t load = over->call.op.ref;
    if (over->call.op.kind != OP_EXECUTE || load >= ops->count || ops->ops[load].kind != OP_LOAD) {
        return 0;
    }
    return align_up(ops->ops[load].stack_bytes, over->host->contract.granule_bytes);
}

#endif
