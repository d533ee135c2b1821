/* Limits of a target (target_limits): whoever draws a device or an op keeps them. */
#ifndef HARNESS_OP_LIMITS_H
#define HARNESS_OP_LIMITS_H

#include "harness/op/op.h"
#include "harness/op/setup.h"
#include "harness/target.h"

enum { LIMITS_REASON_BYTES = 160 };

/* NULL, or what is wrong with the limits themselves. */
const char *limits_flaw(const struct target_limits *limits);
/* True if a device of that capacity is within them; otherwise reason says why not. */
bool limits_take_capacity(const struct target_limits *limits, uint64_t capacity_bytes,
                          char reason[LIMITS_REASON_BYTES]);
/* Brings a drawn capacity within them; a setup that is changed names no chip any more. */
void limits_keep_setup(const struct target_limits *limits, struct setup *setup);

/* It asks for memory. */
static inline bool limits_concern(const struct op *op)
{
    return op->kind == OP_ALLOC || op->kind == OP_OUTPUT || op->kind == OP_LOAD ||
           op->kind == OP_DONATE;
}

static inline bool limits_align_exceeded(const struct target_limits *limits, const struct op *op)
{
    return limits->largest_align_bytes != 0 &&
           (UINT64_C(1) << op->align_log2) > limits->largest_align_bytes;
}

/* True if a resolved op asks for more than they allow. */
static inline bool limits_are_exceeded(const struct target_limits *limits, const struct op *op)
{
    const bool is_large = limits->largest_size_bytes != 0 &&
                          op->size_bytes > limits->largest_size_bytes;
    return limits_concern(op) && (is_large || limits_align_exceeded(limits, op));
}
/* Brings size and alignment of a drawn op within them.  A size that is named by what fits stays. */
void limits_keep_op(const struct target_limits *limits, struct op *op);

#endif
