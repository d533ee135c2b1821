#include "harness/generate/retrying.h"

#include "harness/base/check.h"

/* "retrying", as a number that no other part of a seed uses. */
#define RETRYING_STREAM UINT64_C(0x7265747279696E67)

void retrying_init(struct retrying *retrying, uint64_t seed)
{
    random_init(&retrying->random, random_derive(seed, RETRYING_STREAM));
}

bool retrying_next(struct retrying *retrying, const struct op *refused, struct op *op)
{
    CHECK(op_kind_info((enum op_kind)refused->kind)->can_be_refused);
    if ((refused->flags & (OP_RETRY | OP_SPMD | OP_COLLECTIVE)) != 0 ||
        !random_chance(&retrying->random, 1, RETRYING_PERIOD)) {
        return false;
    }
    *op = *refused;
    op->flags |= OP_RETRY;
    return true;
}
