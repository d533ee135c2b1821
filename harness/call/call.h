/* The outcome of an op: the call of the target that was made for it, and the answer. */
#ifndef HARNESS_CALL_CALL_H
#define HARNESS_CALL_CALL_H

#include "harness/op/op.h"
#include "harness/target.h"

/* An open value.  No model was changed for it yet. */
struct call {
    struct op op;            /* resolved */
    uint32_t number;         /* of the op */
    uint32_t slot;           /* of the block or program that the op names; SLOT_NONE */
    uint64_t event;          /* that the op refers to or made; 0 = none */
    uint64_t event_delay_ns; /* of an event that the op made */
    bool makes_event;
    bool skipped;     /* does not apply here: no call was made */
    bool is_pinned;   /* no event completes and no fault strikes during it: OP_RETRY */
    bool is_deferred; /* a free that the harness keeps back until its event is done */
    bool is_spoiled;  /* the block that the call ends, or reads, did not hold its stamps */
    bool is_plain;    /* an alloc or free of a plain host, made on the short road and granted; the
                         device was quiet */
    enum target_result result;
    struct target_block block; /* zero unless the call sets one and returned OK */
};

#endif
