/* The outcome of an op: the call of the target that was made for it, and what is seen of it. */
#ifndef HARNESS_CALL_CALL_H
#define HARNESS_CALL_CALL_H

#include "harness/op/op.h"
#include "harness/target.h"

/* An open value, with the answer.  No model was changed for it yet. */
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

/* The visible effect of one op: the target's answer, its device calls in numbers, and its counters
 * after.  Plain data without pointers: it prints, stores and compares. */

enum { OBSERVATION_MESSAGE_BYTES = 512 };

/* Two runs of the same list must give observations that are equal byte for byte (all padding is
 * zeroed); handles are left out, because they may be addresses of the host. */
struct observation {
    uint32_t op;         /* its number */
    uint32_t skipped;    /* 1: the op does not apply here, the target was not called */
    uint32_t result;     /* enum target_result */
    uint32_t call_count; /* device calls */
    uint64_t address;    /* of the block, image */
    uint64_t size_bytes;
    uint64_t wait_count, copy_count, stage_count, unload_count;
    uint64_t copy_bytes;                   /* moved inside the device or through host memory */
    uint64_t now_ns;                       /* its host's virtual time after the op */
    uint64_t bytes_in_use, bytes_reserved; /* the target's counters after the op */
    uint64_t calls_digest;                 /* FNV-1a over the device calls */
    uint64_t message_digest;               /* FNV-1a over the error text; 0 = none */
};

#endif
