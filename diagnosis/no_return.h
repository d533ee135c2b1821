/* The point of no return: the op after which nothing that the allocator does, and no request that
 * the job leaves out, could have avoided an out-of-memory. */
#ifndef DIAGNOSIS_NO_RETURN_H
#define DIAGNOSIS_NO_RETURN_H

#include "harness/run/run.h"

enum no_return_kind {
    NO_RETURN_NONE = 0, /* it would fit to the end, if all that is free lay together */
    NO_RETURN_START,    /* the request alone is larger than the device */
    NO_RETURN_OP        /* from op on */
};

/* *Kept* is a block that the job holds when it fails: an op before made it, and none freed it.  It
 * counts with what any allocator of that granule must give it: its request and the contract's
 * header, rounded up to granules.  Of programs only those count that no mitigation may evict for
 * this request.  Memory that was retired is no part of the device.
 *
 * Let K(p) be the bytes of the kept blocks made by ops up to p, R those of the request and C the
 * device.  op is the least p with K(p) + R > C.
 *
 * Why no later op helps: let the job leave out any of its requests after p, with all that it does
 * with their blocks, and the allocator do anything at all.  The blocks of K(p) are there when the
 * request comes, because the job never frees them; a donation hands on the range that it had;
 * they and the request need more than C, wherever they lie.  Why op p itself is not too early: had
 * the job left out its requests from p on, the kept blocks made before would be K(p - 1), and
 * K(p - 1) + R <= C; once queued frees are done and memory lies together, the request fits. */
struct no_return {
    enum no_return_kind kind;
    uint32_t op;             /* NO_RETURN_OP */
    uint64_t kept_bytes;     /* K at the failure */
    uint64_t kept_by_op;     /* K(op); 0 unless NO_RETURN_OP */
    uint64_t request_bytes;  /* R */
    uint64_t capacity_bytes; /* C */
};

/* At the out-of-memory of the op that the run executed last.  O(ops + blocks log blocks). */
void no_return_find(const struct run *run, const struct verdict *verdict,
                    struct no_return *no_return);

#endif
