/* The visible effect of one op: the target's answer, its device calls in numbers, and its counters
 * after.  Plain data without pointers: it prints, stores and compares. */
#ifndef HARNESS_CALL_OBSERVATION_H
#define HARNESS_CALL_OBSERVATION_H

#include "harness/op/op.h"
#include "harness/target.h"

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
