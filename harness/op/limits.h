/* What a target can take at all (target_limits), kept by whoever draws a device or an op. */
#ifndef HARNESS_OP_LIMITS_H
#define HARNESS_OP_LIMITS_H

#include "harness/op/op.h"
#include "harness/op/setup.h"
#include "harness/target.h"

enum { LIMITS_REASON_BYTES = 160 };

/* NULL, or what is wrong with the limits themselves. */
const char *limits_flaw(const struct target_limits *limits);
/* Whether a device of that capacity is within them; reason says why not. */
bool limits_take_capacity(const struct target_limits *limits, uint64_t capacity_bytes,
                          char reason[LIMITS_REASON_BYTES]);
/* Brings a drawn capacity within them; a setup that is changed names no chip any more. */
void limits_keep_setup(const struct target_limits *limits, struct setup *setup);

/* Whether an op that is resolved asks for more than they allow. */
bool limits_are_exceeded(const struct target_limits *limits, const struct op *op);
/* Brings size and alignment of a drawn op within them.  A size that is named by what fits stays. */
void limits_keep_op(const struct target_limits *limits, struct op *op);

#endif
